"""gRPC health on a small listener of its own, which answers while every thread of the main one is busy."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from grpc_health.v1 import (  # type: ignore[import-untyped]  # ships no types
    health,
    health_pb2,
    health_pb2_grpc,
)

from mooring.service.listen import add_port
from mooring.service.probes import Probes

LIVENESS = "liveness"
"""The name to ask for liveness by. Any other one, and the empty one, is about readiness."""

REFRESH_SECONDS = 0.5
"""How soon a watcher learns of a change. Check is always up to date."""

THREADS = 4
OPTIONS = (
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", 4096),
    ("grpc.max_concurrent_streams", 16),
    ("grpc.server_handshake_timeout_ms", 3000),
)


class _Servicer(health.HealthServicer):  # type: ignore[misc]  # the package ships no types
    """The package's servicer, with statuses that follow the probes."""

    def __init__(self, probes: Probes, services: Sequence[str]) -> None:
        super().__init__(experimental_non_blocking=True)
        self._probes = probes
        self._services = ("", *services)
        self.refresh()

    def refresh(self) -> None:
        """Tells the watchers what has changed."""
        for service, status in self._current().items():
            self.set(service, status)

    def Check(self, request: Any, context: grpc.ServicerContext) -> Any:
        self.refresh()
        return super().Check(request, context)

    def List(self, request: Any, context: grpc.ServicerContext) -> Any:
        answers = {
            service: health_pb2.HealthCheckResponse(status=status)
            for service, status in self._current().items()
        }
        return health_pb2.HealthListResponse(statuses=answers)

    def _current(self) -> dict[str, int]:
        ready, alive = _status(self._probes.not_ready()), _status(self._probes.not_alive())
        return dict.fromkeys(self._services, ready) | {LIVENESS: alive}


def _status(fault: str) -> int:
    serving = health_pb2.HealthCheckResponse
    status: int = serving.NOT_SERVING if fault else serving.SERVING
    return status


class HealthListener:
    """Serves grpc.health.v1 on an address of its own, in plain text. Its port is taken when it is made.

    Args:
        address: HOST:PORT or unix:PATH; port 0 takes a free one.
        probes: What to answer.
        services: Full names of the services whose readiness can be asked for.

    Raises:
        ListenError: The address cannot be listened on.
    """

    def __init__(self, address: str, probes: Probes, services: Sequence[str]) -> None:
        self._servicer = _Servicer(probes, services)
        self._server = grpc.server(ThreadPoolExecutor(THREADS, "health"), options=OPTIONS)
        health_pb2_grpc.add_HealthServicer_to_server(self._servicer, self._server)
        self.address = add_port(self._server, address)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._refresh, name="health-refresh", daemon=True)

    def start(self) -> None:
        self._server.start()
        self._thread.start()

    def stop(self) -> None:
        """Closes the listener at once."""
        self._stopped.set()
        self._server.stop(None).wait()

    def _refresh(self) -> None:
        while not self._stopped.wait(REFRESH_SECONDS):
            self._servicer.refresh()
