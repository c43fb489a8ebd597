"""How an adapter asks mooring: a channel that follows certificate files, and calls that share a deadline."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Final, Protocol, TypeVar

import grpc

from mooring.serving.access.access import asking_client
from mooring.serving.access.clients import on_behalf_of
from mooring.serving.calls.threads import waiting
from mooring.serving.certificates import FollowedFiles, TlsFiles
from mooring.serving.http.tls import channel_credentials
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from mooring_client.v1.simulation_service_pb2 import CloseSessionRequest, OpenSessionRequest
from mooring_client.v1.simulation_service_pb2_grpc import SimulationServiceStub

CHANNEL_OPTIONS: Final = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.enable_http_proxy", 0),
)

MOST_SECONDS: Final = 60.0
"""Seconds for an answer, where the caller would wait for longer."""
CLOSING_SECONDS: Final = 1.0

Request_contra = TypeVar("Request_contra", contravariant=True)
Response_co = TypeVar("Response_co", covariant=True)
Request = TypeVar("Request")
Response = TypeVar("Response")


class _UnaryCall(Protocol[Request_contra, Response_co]):
    def __call__(
        self, request: Request_contra, /, *, timeout: float, metadata: tuple[tuple[str, str], ...]
    ) -> Response_co: ...


class Mooring:
    """A mooring server. Safe from any thread.

    Args:
        address: The server as "host:port" or "unix:PATH".
        tls: The certificates to trust and to show; None speaks plain text.
        impersonate: Whether mooring learns for which client a call is, and decides by its rights.

    Raises:
        OSError: A file of ``tls`` can't be read.
    """

    def __init__(self, address: str, tls: TlsFiles | None = None, *, impersonate: bool = False) -> None:
        self._address = address
        self._impersonate = impersonate
        self._lock = threading.Lock()
        self._files = FollowedFiles(tls, channel_credentials) if tls else None
        self._channel = self._open()

    def asking(self, context: grpc.ServicerContext) -> Asking:
        """Return what the answer to one call asks with, which has the time that the caller has."""
        remaining: float | None = context.time_remaining()
        seconds = MOST_SECONDS if remaining is None else min(remaining, MOST_SECONDS)
        return Asking(self._current(), seconds, on_behalf_of(asking_client()) if self._impersonate else ())

    def asking_for(self, seconds: float) -> Asking:
        """Return calls of the adapter's own, which may take this many seconds together."""
        return Asking(self._current(), seconds)

    def _current(self) -> grpc.Channel:
        with self._lock:
            if self._files is not None and self._files.changed() is not None:
                # Calls that are under way keep the channel that they were made on.
                self._channel = self._open()
            return self._channel

    def _open(self) -> grpc.Channel:
        if self._files is None:
            return grpc.insecure_channel(self._address, options=CHANNEL_OPTIONS)
        return grpc.secure_channel(self._address, self._files.current, options=CHANNEL_OPTIONS)


class Asking:
    """The calls of mooring that one answer takes, ``seconds`` together at most. For one thread."""

    def __init__(
        self, channel: grpc.Channel, seconds: float, metadata: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self._end = time.monotonic() + seconds
        self._metadata = metadata
        self.cluster = ClusterServiceStub(channel)
        self.scheduling = SchedulingServiceStub(channel)
        self.simulation = SimulationServiceStub(channel)

    def call(self, method: _UnaryCall[Request, Response], request: Request) -> Response:
        """Call a method of one of the stubs. Raises grpc.RpcError."""
        with waiting():
            return method(request, timeout=max(self._end - time.monotonic(), 0.0), metadata=self._metadata)

    @contextlib.contextmanager
    def session(self) -> Iterator[str]:
        """Open a session on the live state, and close it in the end."""
        opened = self.call(self.simulation.OpenSession, OpenSessionRequest()).session.id
        try:
            yield opened
        finally:
            # One that can't be closed now ends with its lease; what happened before is of interest.
            with contextlib.suppress(grpc.RpcError):
                self.simulation.CloseSession(
                    CloseSessionRequest(session=opened), timeout=CLOSING_SECONDS, metadata=self._metadata
                )

    def place(
        self,
        session: str,
        templates: Sequence[pb.PodTemplate],
        indices: Sequence[int],
        uids: Sequence[str],
        profile: str,
    ) -> Sequence[bool]:
        """Place pods in a session, one after the other. Each has a template by its index, and a UID that
        nothing else in the session has.

        Returns:
            Per pod, whether it has a node now.
        """
        request = pb.ScheduleRequest(
            session=session,
            templates=templates,
            pods=pb.PodColumns(template_indices=indices, uids=uids),
            profile=profile,
            commit_mode=pb.COMMIT_MODE_RESERVE,
        )
        return [verdict == 0 for verdict in self.call(self.scheduling.Schedule, request).pod_verdicts]
