"""The gRPC listener of an adapter: that of ``mooring serve``, one pool of places, and its health."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from functools import partial
from typing import Any, Final

import grpc
from grpc_health.v1 import health_pb2  # type: ignore[import-untyped]  # ships no types

from mooring.framework.errors import NotFoundError
from mooring.serving.access.access import Access
from mooring.serving.calls.identity import identified
from mooring.serving.calls.layers import Behavior, admitted
from mooring.serving.calls.listener import CallListener, OfferedService
from mooring.serving.calls.memory import MemoryBudget, body_budget_bytes
from mooring.serving.calls.pipeline import Pipeline
from mooring.serving.calls.pools import CallPool
from mooring.serving.certificates import TlsFiles
from mooring.serving.listeners.health import LIVENESS, HealthListener
from mooring.serving.listeners.probes import Probes
from mooring.telemetry.metrics import Metrics
from mooring_adapter.mooring import Mooring
from mooring_client.v1.cluster_service_pb2 import GetClusterInfoRequest

PLACES: Final = 64
"""Calls that are answered at once."""
READY_SECONDS: Final = 1.0
"""Seconds that mooring's readiness check may take, and the pause until the next one."""

_HEALTH: Final = health_pb2.DESCRIPTOR.services_by_name["Health"]
_CHECK: Final = f"/{_HEALTH.full_name}/Check"


class AdapterListener:
    """Answers the calls of one service, and of health: on the same address, and on one of its own.

    Args:
        address: HOST:PORT; port 0 takes a free one.
        mooring: The mooring whose readiness is the adapter's.
        tls: The server's certificate and the CA of its clients; None serves plain gRPC.
        health_listen: HOST:PORT or unix:PATH of health alone, in plain text; "" = none.

    Raises:
        ListenError: An address is taken or not of this machine.
        OSError: A file of ``tls`` can't be read.

    Attributes:
        address: The address on which it listens; port 0 is replaced by the real one.
        health_address: The address of health alone; "" = none.
    """

    def __init__(
        self,
        address: str,
        service: OfferedService,
        mooring: Mooring,
        tls: TlsFiles | None = None,
        health_listen: str = "",
    ) -> None:
        metrics, self._readiness = Metrics(), _Readiness(mooring)
        pool, access = CallPool("calls", PLACES, metrics.shed_calls.inc), Access()

        def layer(behavior: Behavior, method: str) -> Behavior:
            return behavior if method == _CHECK else identified(admitted(behavior, lambda _: pool), access)

        probes = Probes(lambda: "", self._readiness.fault)
        with ExitStack() as undone:
            health = HealthListener(health_listen, probes, ()) if health_listen else None
            if health is not None:
                undone.callback(health.stop)
            self._calls = CallListener(
                address,
                (service, OfferedService(_HEALTH, partial(_add_check, probes))),
                Pipeline(metrics, MemoryBudget(body_budget_bytes()), layer, access),
                metrics,
                tls=tls,
            )
            undone.pop_all()
        self._health = health
        self.address = self._calls.address
        self.health_address = health.address if health is not None else ""

    def start(self) -> None:
        """Begin to answer, once it is known whether mooring is ready."""
        self._readiness.start()
        if self._health is not None:
            self._health.start()
        self._calls.start()

    def stop(self, grace: float | None) -> None:
        """Take no more calls; running ones have ``grace`` seconds; None = no time."""
        self._calls.stop(grace)
        self._readiness.stop()
        if self._health is not None:
            self._health.stop()


class _Readiness:
    """mooring's last readiness. Thread-safe: probes don't wait for it."""

    def __init__(self, mooring: Mooring) -> None:
        self._mooring = mooring
        self._ended = threading.Event()
        self._fault = "mooring's readiness is not known yet"

    def start(self) -> None:
        self._ask()
        threading.Thread(target=self._follow, name="readiness", daemon=True).start()

    def stop(self) -> None:
        self._ended.set()

    def fault(self) -> str:
        """Why the adapter is not ready, as one phrase; "" if it is."""
        return self._fault

    def _follow(self) -> None:
        while not self._ended.wait(READY_SECONDS):
            self._ask()

    def _ask(self) -> None:
        asking = self._mooring.asking_for(READY_SECONDS)
        try:
            synced = asking.call(asking.cluster.GetClusterInfo, GetClusterInfoRequest()).synced
        except grpc.RpcError:
            self._fault = "mooring does not answer"
        else:
            self._fault = "" if synced else "mooring's cluster state is not complete yet"


def _add_check(probes: Probes, server: grpc.Server) -> None:
    """Offer health's Check with the adapter's service. It takes no place."""
    answers = health_pb2.HealthCheckResponse

    def check(request: Any, _context: grpc.ServicerContext) -> Any:
        if request.service not in ("", LIVENESS):
            text = f'no service of that name; ask for "" or "{LIVENESS}"'
            raise NotFoundError(text, reason="REQUEST_INVALID")
        fault = probes.not_alive() if request.service == LIVENESS else probes.not_ready()
        return answers(status=answers.NOT_SERVING if fault else answers.SERVING)

    method = grpc.unary_unary_rpc_method_handler(
        check, health_pb2.HealthCheckRequest.FromString, answers.SerializeToString
    )
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(_HEALTH.full_name, {"Check": method}),)
    )
