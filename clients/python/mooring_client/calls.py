"""Calls that are sent again, where that is safe, until their time is over."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

import grpc
from google.protobuf.message import Message

from mooring_client.errors import NOT_LEADER, CallFailedError, failure_of, stream_ended
from mooring_client.v1 import (
    cluster_service_pb2,
    decision_service_pb2,
    plugin_service_pb2,
    scheduling_service_pb2,
    simulation_service_pb2,
)
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from mooring_client.v1.decision_service_pb2_grpc import DecisionServiceStub
from mooring_client.v1.plugin_service_pb2_grpc import PluginServiceStub
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from mooring_client.v1.simulation_service_pb2_grpc import SimulationServiceStub

Request = TypeVar("Request", bound=Message)
Answer = TypeVar("Answer", bound=Message)
Method = Callable[["Stubs"], "grpc.UnaryUnaryMultiCallable[Request, Answer]"]
"""Selects an RPC."""
StreamMethod = Callable[["Stubs"], "grpc.UnaryStreamMultiCallable[Request, Answer]"]
"""Selects an RPC that answers with a stream."""

Whole = TypeVar("Whole", bound=Message)


def merged(
    method: StreamMethod[Any, Any], asks: Callable[..., Message], whole: type[Whole]
) -> Method[Any, Whole]:
    """Select an RPC that answers in parts, as one that answers at once.

    Args:
        method: The RPC.
        asks: Its request, which has the one of the RPC that answers at once.
        whole: The answer.
    """

    def select(stubs: Stubs) -> Any:
        def call(request: Message, timeout: float | None) -> Whole:
            answer = whole()
            for response in method(stubs)(asks(request=request), timeout=timeout):
                answer.MergeFrom(response.part)
            return answer

        return call

    return select


FIRST_PAUSE: Final = 0.05
LONGEST_PAUSE: Final = 1.0
"""Seconds before a call is sent again: at most the first, then twice as long each time, up to the longest."""

_CHANNEL_OPTIONS: Final = (
    ("grpc.enable_retries", 0),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 1000),
)

SERVICES: Final = (
    cluster_service_pb2,
    decision_service_pb2,
    plugin_service_pb2,
    scheduling_service_pb2,
    simulation_service_pb2,
)

IDEMPOTENT: Final = frozenset(
    method.input_type.full_name
    for module in SERVICES
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
    if method.GetOptions().idempotency_level
)
"""The requests that may be sent again after a lost answer, as the contract says."""


class Stubs:
    """The services of one server.

    Attributes:
        scheduling, cluster, plugins, simulation, decisions: Their stubs.
    """

    def __init__(self, channel: grpc.Channel) -> None:
        self._channel = channel
        self.scheduling = SchedulingServiceStub(channel)
        self.cluster = ClusterServiceStub(channel)
        self.plugins = PluginServiceStub(channel)
        self.simulation = SimulationServiceStub(channel)
        self.decisions = DecisionServiceStub(channel)

    def close(self) -> None:
        """End the connection."""
        self._channel.close()


class Pauses:
    """The pauses of one operation between its attempts.

    Args:
        timeout: The seconds that the operation has; None = no limit.
    """

    def __init__(self, timeout: float | None) -> None:
        self._until = math.inf if timeout is None else time.monotonic() + timeout
        self._longest = FIRST_PAUSE

    @property
    def left(self) -> float | None:
        """The seconds that are left, 0 or more; None = no limit."""
        return None if self._until == math.inf else max(self._until - time.monotonic(), 0.0)

    def reset(self) -> None:
        """Begin with short pauses again."""
        self._longest = FIRST_PAUSE

    def before_again(self, error: CallFailedError) -> None:
        """Wait before the next attempt; raise the ``error`` instead if that would begin too late."""
        pause = self._longest * random.uniform(0.5, 1.0)  # noqa: S311  # it spreads load, it protects nothing
        self._longest = min(2 * self._longest, LONGEST_PAUSE)
        if self.left is not None and pause >= self.left:
            raise error
        time.sleep(pause)


class Calls:
    """Sends requests to a server, or to its leader. Safe from any thread.

    Args:
        target: As grpcio has it, such as ``localhost:50051`` or ``unix:/run/mooring.sock``.
        credentials: TLS; None = plain text.
        max_message_bytes: The largest answer that is taken.
    """

    def __init__(
        self, target: str, credentials: grpc.ChannelCredentials | None, max_message_bytes: int
    ) -> None:
        self._target = target
        self._credentials = credentials
        self._max_message_bytes = max_message_bytes
        self._lock = threading.Lock()
        self._connections: dict[str, Stubs] = {}
        self._leader = target
        self._closed = False

    def close(self) -> None:
        """End the connections."""
        with self._lock:
            self._closed = True
            for stubs in self._connections.values():
                stubs.close()
            self._connections.clear()

    def send(
        self, method: Method[Request, Answer], request: Request, pauses: Pauses, *, commits: bool = False
    ) -> Answer:
        """Return the answer to ``request``; it is sent again if that is safe, and may help.

        Args:
            method: The RPC, of some stubs.
            request: Its request.
            pauses: Those of the operation.
            commits: Whether only the leader of several replicas takes it.

        Raises:
            CallFailedError: It failed for a reason that remains, or time is over.
        """
        idempotent = request.DESCRIPTOR.full_name in IDEMPOTENT
        earlier: CallFailedError | None = None
        while True:
            target = self._leader if commits else self._target
            try:
                return method(self._stubs(target))(request, timeout=pauses.left)
            except grpc.RpcError as error:
                failed = failure_of(error, idempotent=idempotent)
            if earlier is not None and idempotent and failed.ended_by_time:
                raise earlier
            earlier = failed
            if failed.reason in ("", NOT_LEADER):
                self._leader = failed.metadata.get("leader_address") or self._target
            if not failed.repeatable or self._closed:
                raise failed
            pauses.before_again(failed)

    def stream(
        self, method: StreamMethod[Request, Answer], request: Request, pauses: Pauses
    ) -> Iterator[tuple[Answer, bool]]:
        """Yield the messages of a stream, and whether each is the first of a call.

        When a call ends, or fails in a way that passes, ``request`` is sent again as it is then.

        Args:
            method: The RPC, of some stubs.
            request: Its request; the caller changes it so that the next call goes on.
            pauses: Those of the operation.

        Raises:
            CallFailedError: It failed for a reason that remains, or time is over.
        """
        while True:
            call: Any = method(self._stubs(self._target))(request, timeout=pauses.left)
            begins = True
            try:
                for message in call:
                    pauses.reset()
                    yield message, begins
                    begins = False
                failed = stream_ended()
            except grpc.RpcError as error:
                failed = failure_of(error, idempotent=True)
            finally:
                call.cancel()
            if not failed.repeatable or self._closed:
                raise failed
            pauses.before_again(failed)

    def _stubs(self, target: str) -> Stubs:
        with self._lock:
            if target not in self._connections:
                self._connections[target] = Stubs(self._channel(target))
            return self._connections[target]

    def _channel(self, target: str) -> grpc.Channel:
        options: list[tuple[str, int | str]] = [
            *_CHANNEL_OPTIONS,
            ("grpc.max_receive_message_length", self._max_message_bytes),
        ]
        if target.startswith("unix:"):
            # Servers in Rust reject the path as the authority.
            options.append(("grpc.default_authority", "localhost"))
        if self._credentials:
            return grpc.secure_channel(target, self._credentials, options)
        return grpc.insecure_channel(target, options)
