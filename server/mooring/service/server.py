"""The gRPC server: listeners, threads, protections, and how it starts, drains and stops."""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from grpc_reflection.v1alpha import reflection  # type: ignore[import-untyped]  # ships no types

from mooring.service.access import Access
from mooring.service.health import HealthListener
from mooring.service.interceptors import Admission, BodyTimeout, Pipeline
from mooring.service.listen import ListenError, add_port, is_local
from mooring.service.metrics import MethodMetrics, Metrics
from mooring.service.probes import Probes
from mooring.service.slots import Slots
from mooring.service.telemetry import TelemetryListener
from mooring.service.threads import Threads
from mooring.service.tls import TlsFiles, server_credentials

# gRPC accepts unknown option names in silence, so they are kept here and their effect is tested. Never add
# maximum_concurrent_rpcs: it counts calls whose request never arrives, and Admission counts better.
MAX_MESSAGE_BYTES = 64 * 2**20
SERVER_OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.so_reuseport", 0),  # a taken port is an error, not a second listener
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_concurrent_streams", 100),
    ("grpc.server_handshake_timeout_ms", 3_000),
    ("grpc.max_connection_age_ms", 300_000),  # lets clients find new replicas
    ("grpc.max_connection_age_grace_ms", 30_000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),  # below the interval of usual clients
    ("grpc.keepalive_permit_without_calls", 1),
)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Service:
    """A service to offer.

    Attributes:
        descriptor: Its descriptor: `module.DESCRIPTOR.services_by_name[NAME]`.
        add: Adds the servicer: `lambda server: add_NAMEServicer_to_server(servicer, server)`.
    """

    descriptor: ServiceDescriptor
    add: Callable[[grpc.Server], None]


@dataclass(frozen=True)
class Options:
    """Settings of the server. Times are in seconds.

    Attributes:
        listen: HOST:PORT or unix:PATH of the service; port 0 takes a free one.
        health_listen: The same for gRPC health, which is always plain text.
        metrics_listen: HOST:PORT for /healthz, /livez, /readyz and /metrics.
        tls: Files of the service's certificate. REQUIRED, or `insecure_listen`, if others can connect.
        insecure_listen: Allows plain text on an address that others can reach.
        allow_clients: Names in client certificates that may bind, reserve and push; needed where others can
            connect, and everywhere once a name is given.
        reflection: Offers server reflection.
        transport_threads: Threads that calls may have, most of them waiting; made on demand.
        max_concurrent_calls: Calls that are worked on at once; more are refused.
        body_timeout: How long a request may take to arrive.
        drain_delay: From the end of readiness to the end of listening, for balancers to notice.
        stop_grace: How long calls may go on after that.
    """

    listen: str = "127.0.0.1:50051"
    health_listen: str = "127.0.0.1:50052"
    metrics_listen: str = "127.0.0.1:50053"
    tls: TlsFiles | None = None
    insecure_listen: bool = False
    allow_clients: frozenset[str] = frozenset()
    reflection: bool = False
    transport_threads: int = 256
    max_concurrent_calls: int = 128
    body_timeout: float = 2.0
    drain_delay: float = 5.0
    stop_grace: float = 15.0


@dataclass
class Server:
    """A server with its listeners; `build` makes it. The ports are taken, nothing is answered before `start`.

    Attributes:
        address: Where the service listens; port 0 replaced by the real one.
        health_address: Where gRPC health listens.
        metrics_address: Where the HTTP probes and metrics are.
    """

    address: str
    health_address: str
    metrics_address: str
    _options: Options
    _probes: Probes
    _grpc: grpc.Server
    _threads: Threads
    _health: HealthListener
    _telemetry: TelemetryListener
    _bodies: BodyTimeout
    _slots: Slots
    _ended: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Starts answering: probes first, then calls."""
        self._telemetry.start()
        self._health.start()
        self._bodies.start()
        self._grpc.start()

    def ready(self) -> bool:
        """Whether calls should be sent here: alive, complete, not draining."""
        return not self._probes.not_ready()

    def drain(self) -> None:
        """Stops gracefully: ends readiness, waits for balancers, refuses new calls, lets running ones end.

        Takes `drain_delay` plus at most `stop_grace` seconds. `stop` from another thread ends the delay.
        """
        self.withdraw()
        self._close(self._options.stop_grace)

    def withdraw(self) -> None:
        """Ends readiness for good and waits until balancers have noticed. Harmless when repeated."""
        if self._probes.draining:
            return
        log.info("draining: not ready for %s s, then up to %s s for running calls", *self._times())
        self._probes.drain()
        self._ended.wait(self._options.drain_delay)

    def stop(self) -> None:
        """Stops at once; running calls are cancelled. Harmless when repeated."""
        self._close(None)

    def _times(self) -> tuple[float, float]:
        return self._options.drain_delay, self._options.stop_grace

    def _close(self, grace: float | None) -> None:
        self._ended.set()
        self._probes.drain()
        self._grpc.stop(grace).wait()
        self._threads.shutdown()
        self._bodies.stop()
        self._slots.stop()
        self._health.stop()
        self._telemetry.stop()


def build(
    services: Sequence[Service],
    options: Options,
    *,
    metrics: Metrics,
    slots: Slots,
    ready: Callable[[], str],
) -> Server:
    """Makes a server and takes its ports.

    Args:
        services: What it offers.
        options: Its settings.
        metrics: Where it counts; the same object that the servicers use.
        slots: Where the servicers run plugins; stopped with the server, and behind liveness.
        ready: Why no decisions can be made yet, as one phrase; "" once they can.

    Raises:
        ListenError: An address cannot be listened on, or must not be without TLS.
    """
    check_exposure(options)
    names = [str(service.descriptor.full_name) for service in services]
    probes = Probes(slots.fault, ready)
    bodies = BodyTimeout(metrics, options.body_timeout)
    admission = Admission(metrics, options.max_concurrent_calls)
    access = Access(bool(options.allow_clients) or not is_local(options.listen), options.allow_clients)
    threads = Threads(options.transport_threads, "grpc")
    server = grpc.server(
        threads,  # type: ignore[arg-type]  # any executor will do
        interceptors=[Pipeline(metrics, bodies, admission, access)],
        options=SERVER_OPTIONS,
    )
    for service in services:
        service.add(server)
        for method in service.descriptor.methods:
            MethodMetrics(metrics, f"/{service.descriptor.full_name}/{method.name}")
    if options.reflection:
        reflection.enable_server_reflection((*names, reflection.SERVICE_NAME), server)
    credentials = server_credentials(options.tls) if options.tls else None
    address = add_port(server, options.listen, credentials)
    health = HealthListener(options.health_listen, probes, names)
    telemetry = TelemetryListener(
        options.metrics_listen, probes, metrics.registry, broken=metrics.broken_connections.inc
    )
    return Server(
        address,
        health.address,
        telemetry.address,
        options,
        probes,
        server,
        threads,
        health,
        telemetry,
        bodies,
        slots,
    )


def check_exposure(options: Options) -> None:
    """Raises ListenError if others could connect in plain text without somebody having said so."""
    if options.tls is None and not options.insecure_listen and not is_local(options.listen):
        raise ListenError(
            f"{options.listen} can be reached from other machines: give a certificate and key for TLS, "
            "or allow plain text with --insecure-listen"
        )
