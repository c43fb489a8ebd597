"""The gRPC server: listeners, threads, protections, and how it starts, drains and stops."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from mooring.service.calls.access import asks_place, permitted
from mooring.service.calls.audit import ListenerAudit
from mooring.service.calls.masking import masked
from mooring.service.calls.namespaces import PodDecoder, no_pod
from mooring.service.calls.slots import Slots
from mooring.serving.access.access import Access
from mooring.serving.addresses import ListenError, is_local
from mooring.serving.calls.identity import identified
from mooring.serving.calls.layers import Behavior, admitted
from mooring.serving.calls.listener import CallListener, OfferedService
from mooring.serving.calls.memory import MemoryBudget, body_budget_bytes
from mooring.serving.calls.pipeline import Pipeline
from mooring.serving.calls.pools import CallPool
from mooring.serving.certificates import TlsFiles
from mooring.serving.listeners.health import HealthListener
from mooring.serving.listeners.page_listener import PageListener
from mooring.serving.listeners.probes import Probes
from mooring.serving.shares import Shares, share_metrics
from mooring.telemetry.metrics import Metrics
from mooring.telemetry.shown_metrics import ShownMetrics
from mooring.tracing.spans import Tracer
from mooring_client.v1 import cluster_service_pb2, decision_service_pb2, scheduling_service_pb2

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Options:
    """Settings of the server. Times are in seconds.

    Attributes:
        listen: HOST:PORT or unix:PATH of the service; port 0 takes a free one.
        health_listen: The same for gRPC health, which is always plain text; "" = none.
        metrics_listen: HOST:PORT for /healthz, /livez, /readyz and /metrics; "" = none.
        metrics_prefix: The prefix of metric names.
        tls: Files of the service's certificate. REQUIRED, or ``insecure_listen``, if others can connect.
        insecure_listen: Allows plain text on an address that others can reach.
        insecure_flag: The name in errors of the flag that allows it.
        authority_flag: The name in warnings of the flag of ``tls.authority``.
        allow_clients: Names in client certificates that may bind, reserve and push, as ``typed_names`` reads
            them; ``Access.at`` has the rights of others.
        insecure_binding: Lets all callers that reach a loopback address bind through an API server.
        access: Who calls, and what they may; None = as ``Access.at`` says.
        decode: Decodes the pods in requests, for rights by namespace.
        binds: Bindings go to an API server; otherwise they count as reservations.
        read_only: No call may bind, reserve or push.
        audit: Records calls that are denied or read; None = none are.
        shares: The limits that clients share, besides calls and their bodies.
        reflection: Offers server reflection; on loopback it is offered anyway.
        transport_threads: Threads that calls may have, most of them waiting; made on demand.
        max_concurrent_calls: Queries in progress at once, and as many commits; more wait for a
            moment and are rejected then.
        body_timeout: How long a request may take to arrive.
        body_budget_bytes: The most that the bodies of all calls may take until they are answered; default an
            eighth of the memory that this process may use, 512 MiB at most. 256 KiB of each are free.
        drain_delay: Time from the end of readiness to the end of listening, for balancers to notice.
        stop_grace: How long running calls may continue after that.
    """

    listen: str = "127.0.0.1:50051"
    health_listen: str = "127.0.0.1:50052"
    metrics_listen: str = "127.0.0.1:50053"
    metrics_prefix: str = "mooring"
    tls: TlsFiles | None = None
    insecure_listen: bool = False
    insecure_flag: str = "--insecure-listen"
    authority_flag: str = "--tls-client-ca-file"
    allow_clients: frozenset[str] = frozenset()
    insecure_binding: bool = False
    access: Access | None = None
    decode: PodDecoder = no_pod
    binds: bool = False
    read_only: bool = False
    audit: ListenerAudit | None = None
    shares: Sequence[Shares] = ()
    reflection: bool = False
    transport_threads: int = 512
    max_concurrent_calls: int = 128
    body_timeout: float = 2.0
    body_budget_bytes: int = field(default_factory=body_budget_bytes)
    drain_delay: float = 5.0
    stop_grace: float = 15.0


@dataclass
class Server:
    """A server with its listeners; ``build`` makes it. The ports are taken, nothing is answered before
    ``start``.

    Attributes:
        address: The service's address; port 0 is replaced by the real one.
        health_address: The address of gRPC health; "" = none.
        metrics_address: The address of HTTP probes and metrics; "" = none.
    """

    address: str
    health_address: str
    metrics_address: str
    _options: Options
    _probes: Probes
    _calls: CallListener
    _health: HealthListener | None
    _telemetry: PageListener | None
    _slots: Slots
    _end_streams: Sequence[Callable[[], None]]
    _ended: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Start answering: probes first, then calls."""
        for listener in (self._telemetry, self._health):
            if listener is not None:
                listener.start()
        self._calls.start()

    def ready(self) -> bool:
        """Return whether calls should be sent here: alive, complete, not draining."""
        return not self._probes.not_ready()

    def drain(self) -> None:
        """Stop gracefully: end readiness, wait for balancers, reject new calls, let running ones end.

        Takes ``drain_delay`` plus at most ``stop_grace`` seconds. ``stop`` from another thread ends the
        delay.
        """
        self.withdraw()
        self._close(self._options.stop_grace)
        log.info("ended")

    def withdraw(self) -> None:
        """End readiness for good and wait until balancers have noticed. Harmless when repeated."""
        if self._probes.draining:
            return
        log.info("draining: not ready for %s s, then up to %s s for running calls", *self._times())
        self._probes.drain()
        self._ended.wait(self._options.drain_delay)

    def stop(self) -> None:
        """Stop at once; running calls are cancelled. Harmless when repeated."""
        self._close(None)

    def _times(self) -> tuple[float, float]:
        return self._options.drain_delay, self._options.stop_grace

    def _close(self, grace: float | None) -> None:
        self._ended.set()
        self._probes.drain()
        for end in self._end_streams:
            end()
        self._calls.stop(grace)
        self._slots.stop()
        for listener in (self._health, self._telemetry):
            if listener is not None:
                listener.stop()


def build(
    services: Sequence[OfferedService],
    options: Options,
    *,
    metrics: Metrics,
    slots: Slots,
    ready: Callable[[], str],
    fault: Callable[[], str] = lambda: "",
    session_slots: Slots | None = None,
    tracer: Tracer | None = None,
) -> Server:
    """Build a server and bind its ports.

    Args:
        services: The services that it offers.
        options: Its settings.
        metrics: The server's metrics; the same object that the servicers use.
        slots: The threads in which servicers run plugins; stopped with the server, and checked by liveness.
        ready: Why no decisions can be made yet, as one phrase; "" once they can.
        fault: Why only a restart helps, as one phrase; "" = it need not. Calls in ``slots`` don't count here.
        session_slots: The threads for calls about sessions, which give way to all others.
        tracer: Decides which calls are traced; None = none.

    Raises:
        ListenError: An address cannot be listened on, or must not be without TLS.
    """
    check_exposure(options)
    probes = Probes(lambda: slots.fault() or fault(), ready)
    admission = Admission(metrics, options.max_concurrent_calls)
    if session_slots is not None:
        session_slots.give_way_to(admission.is_live)
    rule = replace(options.access or access_of(options), binds=options.binds, read_only=options.read_only)

    budget = MemoryBudget(options.body_budget_bytes)
    used = [each.used for each in (slots, session_slots) if each is not None]
    metrics.scrape(partial(share_metrics, (*admission.shares, budget.bytes, *options.shares), used))

    def layer(behavior: Behavior, method: str) -> Behavior:
        # A call that waits for the API server's verdict has a place, so that few do.
        behavior = permitted(masked(behavior), method, rule, options.decode)
        behavior = identified(admitted(behavior, admission.pool_of(method)), rule)
        return behavior if options.audit is None else options.audit.layer(behavior, method, rule)

    calls = CallListener(
        options.listen,
        services,
        Pipeline(metrics, budget, layer, rule, tracer),
        metrics,
        tls=options.tls,
        threads=options.transport_threads,
        body_timeout=options.body_timeout,
        reflection=options.reflection or is_local(options.listen),
    )
    health, telemetry = _listeners(options, probes, metrics, services)
    return Server(
        calls.address,
        health.address if health is not None else "",
        telemetry.address if telemetry is not None else "",
        options,
        probes,
        calls,
        health,
        telemetry,
        slots,
        [service.end_streams for service in services],
    )


def access_of(options: Options) -> Access:
    """Return the rule of the service's listener without a policy."""
    return Access.at(options.listen, options.allow_clients, insecure_binding=options.insecure_binding)


def _listeners(
    options: Options, probes: Probes, metrics: Metrics, services: Sequence[OfferedService]
) -> tuple[HealthListener | None, PageListener | None]:
    """Those for probes and metrics that are wanted; neither if one can't listen."""
    health, telemetry = None, None
    with ExitStack() as undone:
        if options.health_listen:
            names = [str(service.descriptor.full_name) for service in services]
            health = HealthListener(options.health_listen, probes, names)
            undone.callback(health.stop)
        if options.metrics_listen:
            shown = ShownMetrics(metrics.registry, prefix=options.metrics_prefix)
            telemetry = PageListener(
                options.metrics_listen, probes, shown, broken=metrics.broken_connections.inc
            )
        undone.pop_all()
    return health, telemetry


def check_exposure(options: Options) -> None:
    """Raise ListenError if others could connect in plain text and no option allows that.

    Warns if every client that reaches the port may call.
    """
    if is_local(options.listen):
        return
    if options.tls is None:
        if not options.insecure_listen:
            raise ListenError(
                f"{options.listen} can be reached from other machines: give a certificate and key for TLS, "
                f"or allow plain text with {options.insecure_flag}"
            )
        log.warning(
            "%s: every client that reaches %s may call it, and eavesdrop",
            options.insecure_flag,
            options.listen,
        )
    elif options.tls.authority is None:
        log.warning(
            "TLS without %s: every client that reaches %s may call it; clients have no names",
            options.authority_flag,
            options.listen,
        )


LIVE_SECONDS: Final = 0.1
"""For this long after a call about the live state, another one is likely to come."""

PUSHES: Final = 4
"""Pushes at once; a source has one, as a rule."""

_SCHEDULING: Final = "/mooring.v1.SchedulingService/"
_COMMITS: Final = frozenset(_SCHEDULING + name for name in ("Bind", "Reserve", "Unreserve", "UnreserveMany"))
_SCHEDULES: Final = frozenset(_SCHEDULING + name for name in ("Schedule", "ScheduleGroups"))
_ABOUT_SESSIONS: Final = frozenset(
    _SCHEDULING + name for name in ("Filter", "Score", "NormalizeScore", "Explain", "Preempt")
)
STREAMS: Final = 64
"""Answers in parts and watches at once."""

_STREAMS: Final = frozenset(
    f"/{service.full_name}/{method.name}"
    for file in (cluster_service_pb2, decision_service_pb2, scheduling_service_pb2)
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
    if method.server_streaming
)
_PUSH: Final = "/mooring.v1.ClusterService/PushObjects"
_SIMULATION: Final = "/mooring.v1.SimulationService/"


class Admission:
    """The pools of one server: of questions, commits, pushes, calls about sessions and streams. Thread-safe.

    So calls that wait for others, such as commits for the API server, take no place of those that don't. A
    place is taken after the request has arrived: a call without a body takes none. ``limit`` is for queries
    in progress at once, and for commits.
    """

    def __init__(self, metrics: Metrics, limit: int) -> None:
        rejected = metrics.shed_calls.inc
        self._questions = CallPool("questions", limit, rejected)
        self._commits = CallPool("commits", limit, rejected)
        self._pushes = CallPool("pushes", PUSHES, rejected)
        self._futures = CallPool("calls about sessions", limit, rejected)
        self._streams = CallPool("streams", STREAMS, rejected)
        pools = (self._questions, self._commits, self._pushes, self._futures, self._streams)
        metrics.inflight_calls.set_function(lambda: sum(pool.inflight for pool in pools))
        self.shares = tuple(pool.places for pool in pools)

    def is_live(self) -> bool:
        """Return whether calls about the live state are being worked on, or were a moment ago."""
        ended = max(self._questions.ended, self._commits.ended)
        inflight = self._questions.inflight + self._commits.inflight
        return inflight > 0 or time.monotonic() - ended < LIVE_SECONDS

    def pool_of(self, method: str) -> Callable[[Any], CallPool]:
        """Return the pool of a request of ``method``, its full name as on the wire."""
        if method in _STREAMS:
            return lambda _: self._streams
        if method.startswith(_SIMULATION):
            return lambda _: self._futures
        if method in _SCHEDULES:
            return self._schedules_of
        if method == _PUSH:
            return lambda _: self._pushes
        if method in _ABOUT_SESSIONS:
            return self._asked_of
        pool = self._commits if method in _COMMITS else self._questions
        return lambda _: pool

    def _schedules_of(self, request: Any) -> CallPool:
        if request.session:
            return self._futures
        return self._commits if asks_place(request) else self._questions

    def _asked_of(self, request: Any) -> CallPool:
        return self._futures if request.session else self._questions
