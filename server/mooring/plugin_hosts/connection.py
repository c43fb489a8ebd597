"""The connection to one host: calls with deadlines, and what happens when it does not answer."""

from __future__ import annotations

import logging
import stat
import threading
import time
import weakref
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import grpc

import mooring
from mooring.config.types import PluginHostStanza
from mooring.framework import FieldError
from mooring.framework.errors import (
    InvalidArgumentError,
    PluginUnavailableError,
    UnavailableError,
    not_installed,
)
from mooring.plugin_hosts.wire import WrongAnswerError
from mooring.serving.addresses import UNIX, ListenError, is_local
from mooring.tracing.spans import current_span
from mooring_client.plugin_host.v1 import plugin_host_service_pb2 as pb
from mooring_client.plugin_host.v1.plugin_host_service_pb2_grpc import PluginHostServiceStub

T = TypeVar("T")

OPEN_SECONDS, BEGIN_SECONDS = 10.0, 1.0
"""How long a host may take to describe itself: when this process starts, and later."""

RETRY_SECONDS, MOST_RETRY_SECONDS = 0.05, 1.0
"""The pause before a host that failed is tried again; doubled each time up to the second."""

GUEST = "wasm:"
"""The address of a guest begins with it, and continues with the path of its module."""

_RECONNECT_MILLISECONDS = 20
_CHANNEL_OPTIONS = (
    # Libraries in Rust reject the path of a socket as an authority.
    ("grpc.default_authority", "localhost"),
    ("grpc.initial_reconnect_backoff_ms", _RECONNECT_MILLISECONDS),
    ("grpc.max_reconnect_backoff_ms", _RECONNECT_MILLISECONDS),
    # The time that one attempt may take, whatever the name says: a busy machine needs more than a pause.
    ("grpc.min_reconnect_backoff_ms", int(BEGIN_SECONDS * 1000)),
    # Two connections to one address are two hosts if it is restarted between them.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_retries", 0),
    ("grpc.max_receive_message_length", 4 << 20),
)
_EVALUATE = "/mooring.plugin_host.v1.PluginHostService/Evaluate"


class Configured(Protocol):
    """A plugin of a host in a profile.

    Attributes:
        args_json: Its arguments.
        instance: The host's number for it.
    """

    args_json: str
    instance: int

    @property
    def name(self) -> str:
        """The plugin's name."""

    def adopt(self, description: pb.PluginDescription) -> None:
        """Take what the plugin declares now.

        Raises:
            InvalidArgumentError: Only another start of this server can.
        """

    def begin_anew(self) -> None:
        """Forget what was answered: the host is another one, or it is passed over from now on."""


def check_address(address: str) -> None:
    """Check that no other user can answer instead of the host.

    Raises:
        InvalidArgumentError: Others can.
    """
    if is_guest(address):
        return
    try:
        local = is_local(address)
    except ListenError as error:
        raise InvalidArgumentError.at(address, str(error)) from None
    if not local:
        raise InvalidArgumentError.at(address, "is not a loopback address or a unix socket")
    if not address.startswith(UNIX):
        return
    path = Path(address.removeprefix(UNIX).removeprefix("//"))
    try:
        mode = path.stat().st_mode
        folder = path.parent.stat().st_mode
    except OSError:
        return
    if mode & stat.S_IWOTH or (folder & stat.S_IWOTH and not folder & stat.S_ISVTX):
        raise InvalidArgumentError.at(
            address, "is a socket that every user may write to or replace; chmod o-w it and its folder"
        )


def is_guest(address: str) -> bool:
    """Return whether it is the address of a guest: a module that runs in this process."""
    return address.startswith(GUEST)


def open_channel(address: str) -> grpc.Channel:
    """Return a channel to the host that listens there, with mooring's options, or to a guest.

    Raises:
        InvalidArgumentError: The guest can't be used.
        FailedPreconditionError: The extra ``wasm`` is not installed.
    """
    if is_guest(address):
        try:
            from mooring.plugin_hosts.guests import guest_channel
        except ImportError as error:
            raise not_installed("wasmtime", "wasm") from error
        return guest_channel(address.removeprefix(GUEST))
    return grpc.insecure_channel(address, options=_CHANNEL_OPTIONS)


class HostConnection:
    """The connection to one host. Safe from any thread.

    A call that fails closes the way for all others until the host has described itself again, so that one
    decision waits for a host that hangs, and no other one.

    Args:
        options: The host.

    Attributes:
        options: As above.
        described: Its own description.
        down: The reason for which it can't be called now; "" = it can.
        taken: The number of calls and their seconds, by call and by whether it was answered.
    """

    def __init__(self, options: PluginHostStanza) -> None:
        self.options = options
        self.described = pb.DescribeResponse()
        self.down = ""
        self.taken: defaultdict[tuple[str, bool], tuple[int, float]] = defaultdict(lambda: (0, 0.0))
        self._log = logging.getLogger("mooring.plugin_hosts")
        self._plugins: weakref.WeakSet[Any] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._beginning = threading.Lock()
        self._failures = 0
        self._closed = threading.Event()
        self._lost = threading.Event()
        self._wanted = threading.Event()
        self._channel = open_channel(options.address)
        self._stub = PluginHostServiceStub(self._channel)
        self._evaluate = self._channel.unary_unary(
            _EVALUATE,
            request_serializer=bytes,
            response_deserializer=pb.EvaluateResponse.FromString,
        )

    def open(self) -> pb.DescribeResponse:
        """Have the host describe itself, and follow it from now on.

        Raises:
            UnavailableError: It does not answer.
        """
        try:
            self._begin(OPEN_SECONDS)
        except (grpc.RpcError, WrongAnswerError) as error:
            self.close()
            advice = "" if is_guest(self.options.address) else "; start it first"
            text = f"plugin host {self.options.address} does not answer: {_told(error)}{advice}"
            raise UnavailableError(text, reason="PLUGIN_UNAVAILABLE", host=self.options.address) from None
        threading.Thread(target=self._follow, name=f"host {self.options.address}", daemon=True).start()
        self._channel.subscribe(self._on_state)
        return self.described

    def close(self) -> None:
        """End the connection."""
        self._closed.set()
        self._lost.set()
        self._wanted.set()
        # Not closed: gRPC's thread that watches the state would fail. It ends, and the channel with it.
        self._channel.unsubscribe(self._on_state)

    def configure(self, plugin: Configured) -> None:
        """Have the host make an instance for ``plugin``, now and after each of its starts.

        Raises:
            InvalidArgumentError: The arguments have faults.
            PluginUnavailableError: The host does not answer.
        """
        with self._beginning:
            try:
                plugin.instance = _instance(
                    plugin, self._configuring(plugin, self.described.host_id).result()
                )
            except grpc.RpcError as error:
                raise self._unavailable(plugin, "New", _told(error)) from None
            self._plugins.add(plugin)

    def evaluate(
        self,
        plugin: Configured,
        request: Callable[[str, int], bytes],
        check: Callable[[pb.EvaluateResponse], T],
    ) -> T:
        """Return what ``check`` makes of the answer to a message, which ``request`` makes.

        Args:
            plugin: The plugin.
            request: Gets the host's id and the plugin's instance.
            check: Raises WrongAnswerError about an answer that can't be.

        Raises:
            PluginUnavailableError: There was none in time, or it was wrong.
        """
        seconds = self.options.evaluate_timeout.total_seconds()

        def call() -> T:
            asked = self.described.host_id
            answer = self._evaluate(request(asked, plugin.instance), timeout=seconds, wait_for_ready=True)
            if answer.host_id != asked:
                raise _AnotherStartError
            return check(answer)

        return self._called(plugin, "Evaluate", seconds, call)

    def act(self, plugin: Configured, request: pb.ActRequest) -> pb.ActResponse:
        """Return the answer to ``request``.

        Raises:
            PluginUnavailableError: There was none in time.
        """
        seconds = self.options.act_timeout.total_seconds()

        def call() -> pb.ActResponse:
            # In this order: an instance of a newer start is then rejected by it.
            request.host_id = self.described.host_id
            request.instance = plugin.instance
            return self._stub.Act(request, timeout=seconds, wait_for_ready=True)

        return self._called(plugin, request.point, seconds, call)

    def measure(self, plugin: Configured, name: str, seconds: float) -> dict[str, int]:
        """Return the values that the host measured.

        Raises:
            grpc.RpcError: It did not answer.
        """
        request = pb.MeasureRequest(host_id=self.described.host_id, instance=plugin.instance, name=name)
        return dict(self._stub.Measure(request, timeout=seconds).values)

    def _called(self, plugin: Configured, point: str, seconds: float, call: Callable[[], T]) -> T:
        if self.down:
            raise self._unavailable(plugin, point, self.down)
        met, began = self.described.host_id, time.perf_counter()
        try:
            try:
                answer = call()
            except (grpc.RpcError, _AnotherStartError) as error:
                if isinstance(error, grpc.RpcError) and _code(error) != grpc.StatusCode.FAILED_PRECONDITION:
                    raise
                self._begin(seconds, unless_after=met)
                answer = call()
        except _AnotherStartError:
            why = "was started again during the call"
        except (grpc.RpcError, WrongAnswerError, InvalidArgumentError) as error:
            why = _told(error)
        else:
            self._failures = 0
            self._note(plugin, point, time.perf_counter() - began)
            return answer
        self._note(plugin, point, time.perf_counter() - began, why)
        self._fail(why)
        raise self._unavailable(plugin, point, why)

    def _note(self, plugin: Configured, point: str, seconds: float, why: str = "") -> None:
        """Note a call for metrics, and in the trace of the decision."""
        with self._lock:
            count, before = self.taken[point, not why]
            self.taken[point, not why] = count + 1, before + seconds
        if (span := current_span()) is not None:
            found = {"host": self.options.address, "host_version": self.described.host_version}
            status = f"failed: {why}" if why else "answered"
            span.record(
                "plugin host", seconds, {**found, "plugin": plugin.name, "call": point, "status": status}
            )

    def _unavailable(self, plugin: Configured, point: str, why: str) -> PluginUnavailableError:
        address = self.options.address
        text = f"plugin {plugin.name!r} failed at {point}: its host {address} {why}"
        return PluginUnavailableError(text, plugin=plugin.name, extension_point=point, host=address)

    def _fail(self, why: str) -> None:
        with self._lock:
            if self.down or self._closed.is_set():
                return
            self.down = why
            self._failures += 1
        self._log.warning("plugin host %s %s; its plugins fail until it answers", self.options.address, why)
        self._pass_over()
        self._wanted.set()

    def _pass_over(self) -> None:
        """Let decisions begin again if they depend on whether the host is down."""
        if self.options.ignorable:
            for plugin in tuple(self._plugins):
                plugin.begin_anew()

    def _on_state(self, state: grpc.ChannelConnectivity) -> None:
        if state is not grpc.ChannelConnectivity.READY and self.described.host_id:
            # A new process may listen there, and cached answers would be those of the old one.
            self._lost.set()
            self._wanted.set()

    def _follow(self) -> None:
        """Describe the host again whenever it failed or its connection was lost, until it answers."""
        while not self._closed.is_set():
            self._wanted.wait()
            pause = min(RETRY_SECONDS * (1 << min(max(self._failures - 1, 0), 5)), MOST_RETRY_SECONDS)
            # A host that is lost may be right when it is back: it is called as soon as it listens.
            self._lost.wait(pause if self.down else 0)
            if self._closed.is_set():
                return
            self._lost.clear()
            self._wanted.clear()
            try:
                self._begin(BEGIN_SECONDS)
            except (grpc.RpcError, WrongAnswerError, InvalidArgumentError, ValueError) as error:
                # ValueError: the channel was closed.
                self._fail(_told(error))
                self._wanted.set()

    def _begin(self, seconds: float, unless_after: str | None = None) -> None:
        """Describe and configure the host, and put it to use.

        Args:
            seconds: How long it may take.
            unless_after: The start that was met: there is nothing to do if another one is in use by now.

        Raises:
            grpc.RpcError: It does not answer.
            WrongAnswerError: It is not the host of before.
            InvalidArgumentError: Others can write to its socket, or it takes the arguments no longer.
        """
        if not self._beginning.acquire(timeout=seconds):
            raise WrongAnswerError("did not describe itself in time")
        try:
            before = self.described
            if unless_after is not None and before.host_id != unless_after:
                return
            check_address(self.options.address)
            request = pb.DescribeRequest(server_version=mooring.__version__)
            found = self._stub.Describe(request, timeout=seconds, wait_for_ready=True)
            if not found.host_id:
                raise WrongAnswerError("described itself without a host_id")
            if found.host_id != before.host_id:
                self._take(found)
            was_down, self.down = self.down, ""
            if was_down:
                self._pass_over()
        finally:
            self._beginning.release()

    def _take(self, found: pb.DescribeResponse) -> None:
        """Use another start of the host."""
        by_name = {each.name: each for each in found.plugins}
        plugins = tuple(self._plugins)
        for plugin in plugins:
            if plugin.name not in by_name:
                raise WrongAnswerError(f"lacks the plugin {plugin.name}")
        for plugin, asked in [(each, self._configuring(each, found.host_id)) for each in plugins]:
            plugin.instance = _instance(plugin, asked.result())
        for plugin in plugins:
            plugin.adopt(by_name[plugin.name])
        again, self.described = bool(self.described.host_id), found
        self._failures = 0
        for plugin in plugins:
            plugin.begin_anew()
        if again:
            version = found.host_version or "without a version"
            self._log.info("plugin host %s was started again: %s", self.options.address, version)

    def _configuring(self, plugin: Configured, host_id: str) -> Any:
        """Begin to have an instance made, and return the future answer."""
        request = pb.ConfigureRequest(host_id=host_id, plugin=plugin.name, args_json=plugin.args_json)
        return self._stub.Configure.future(request, timeout=OPEN_SECONDS)


class _AnotherStartError(Exception):
    """The host is not the one that was described."""


def _instance(plugin: Configured, answer: pb.ConfigureResponse) -> int:
    InvalidArgumentError.raise_if_any(
        FieldError(f"{plugin.name}: {each.field}", each.message) for each in answer.faults
    )
    return answer.instance


def _code(error: grpc.RpcError) -> grpc.StatusCode:
    code: Any = getattr(error, "code", lambda: grpc.StatusCode.UNKNOWN)
    found: grpc.StatusCode = code()
    return found


def _told(error: Exception) -> str:
    if not isinstance(error, grpc.RpcError):
        return str(error)
    code = _code(error)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return "did not answer in time"
    details: Any = getattr(error, "details", lambda: "")
    return f"answered {code.name}: {str(details())[:200]}"
