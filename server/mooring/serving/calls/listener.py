"""A listener for gRPC: the one on which every program of mooring is called."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from grpc_reflection.v1alpha.reflection import (  # type: ignore[import-untyped]  # ships no types
    SERVICE_NAME,
    enable_server_reflection,
)

from mooring.serving.calls.incoming_calls import Arrivals
from mooring.serving.calls.pipeline import Pipeline
from mooring.serving.calls.reading import LARGEST_MESSAGE_BYTES, MAX_MESSAGE_BYTES
from mooring.serving.calls.threads import Threads
from mooring.serving.certificates import TlsFiles
from mooring.serving.listeners.listen import add_port, at_most, server_credentials, share_of_files
from mooring.telemetry.metrics import MethodMetrics, Metrics

log = logging.getLogger(__name__)

# gRPC accepts unknown option names in silence, so they are kept here and their effect is tested. Never add
# maximum_concurrent_rpcs: it counts calls whose request never arrives, and pools count better.
SERVER_OPTIONS: Final[tuple[tuple[str, int], ...]] = (
    ("grpc.so_reuseport", 0),  # a taken port is an error, not a second listener
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.per_message_decompression", 0),  # Reader does, within a budget
    ("grpc.max_send_message_length", LARGEST_MESSAGE_BYTES),
    ("grpc.max_concurrent_streams", 1_024),  # counts calls that have ended until grpcio has noticed
    # Calls that grpcio's thread has not taken yet. Past the default of 1,000 a burst of strangers' streams
    # ends good calls too. Each holds the frames that came for it: without a limit a flood takes any memory.
    ("grpc.server.max_pending_requests", 4_000),
    ("grpc.server.max_pending_requests_hard_limit", 4_000),
    (
        "grpc.absolute_max_metadata_size",
        8_192,
    ),  # twice that by default, and a flood of such heads takes 270 MB
    ("grpc.server_handshake_timeout_ms", 3_000),
    ("grpc.max_connection_age_ms", 300_000),  # lets clients find new replicas
    ("grpc.max_connection_age_grace_ms", 30_000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),  # below the interval of usual clients
    ("grpc.keepalive_permit_without_calls", 1),
)

CONNECTIONS_SHARE: Final = 1 / 3
"""The part of the files that this process may open, which calls' connections may take,"""
MAX_CONNECTIONS: Final = 4_096
"""and their number at most. Half is for HTTP; probes and the API server's need the rest."""


@dataclass(frozen=True)
class OfferedService:
    """A service to offer.

    Attributes:
        add: Adds the servicer: ``partial(add_NAMEServicer_to_server, servicer)``.
        end_streams: Ends the streams that last, before the server ends.
    """

    descriptor: ServiceDescriptor
    add: Callable[[grpc.Server], None]
    end_streams: Callable[[], None] = lambda: None


class CallListener:
    """Listens for the calls of some services. Its port is taken when it is made.

    Args:
        address: HOST:PORT or unix:PATH; port 0 takes a free one.
        tls: The server's certificate and the CA of its clients; None = plain text.
        threads: Threads that calls may have, most of them waiting; made on demand.
        body_timeout: How many seconds a request may take to arrive.

    Raises:
        ListenError: The address cannot be listened on.
        OSError: A file of the certificate can't be read.

    Attributes:
        address: The address on which it listens; port 0 is replaced by the real one.
    """

    def __init__(
        self,
        address: str,
        services: Sequence[OfferedService],
        pipeline: Pipeline,
        metrics: Metrics,
        *,
        tls: TlsFiles | None = None,
        threads: int = 512,
        body_timeout: float = 2.0,
        reflection: bool = False,
    ) -> None:
        self._threads = Threads(threads, "grpc")
        self._arrivals = Arrivals(self._threads, metrics, body_timeout)
        self._server = grpc.server(
            self._arrivals,  # type: ignore[arg-type]  # any executor will do
            interceptors=[pipeline],
            options=(*SERVER_OPTIONS, at_most(share_of_files(CONNECTIONS_SHARE, MAX_CONNECTIONS))),
        )
        for service in services:
            service.add(self._server)
            for method in service.descriptor.methods:
                MethodMetrics(metrics, f"/{service.descriptor.full_name}/{method.name}")
        if reflection:
            names = [str(service.descriptor.full_name) for service in services]
            enable_server_reflection((*names, SERVICE_NAME), self._server)
        credentials = server_credentials(tls) if tls else None
        self.address = add_port(self._server, address, credentials)
        if credentials:
            log.info(
                "%s takes TLS alone: a client in plain text gets UNAVAILABLE, and gRPC logs here that its "
                "handshake failed with WRONG_VERSION_NUMBER",
                self.address,
            )

    def start(self) -> None:
        """Begin to answer."""
        self._arrivals.start()
        self._server.start()

    def stop(self, grace: float | None) -> None:
        """Take no more calls; running ones have ``grace`` seconds; None = no time."""
        self._server.stop(grace).wait()
        self._threads.shutdown()
        self._arrivals.stop()
