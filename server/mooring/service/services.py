"""The services of one backend, ready to be added to a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from mooring.service.backend import Backend
from mooring.service.cluster import ClusterServicer
from mooring.service.decisions import DecisionServicer
from mooring.service.plugins import PluginServicer
from mooring.service.scheduling.servicer import SchedulingServicer
from mooring.service.simulation import SimulationServicer
from mooring.serving.calls.listener import OfferedService
from mooring.serving.shares import Shares
from mooring.telemetry.decision_metrics import measure_cache, measure_reservations, measure_state
from mooring_client.v1 import (
    cluster_service_pb2,
    cluster_service_pb2_grpc,
    decision_service_pb2,
    decision_service_pb2_grpc,
    plugin_service_pb2,
    plugin_service_pb2_grpc,
    scheduling_service_pb2,
    scheduling_service_pb2_grpc,
    simulation_service_pb2,
    simulation_service_pb2_grpc,
)


@dataclass(frozen=True, slots=True)
class Servicers:
    """The servicers of one backend."""

    scheduling: SchedulingServicer
    cluster: ClusterServicer
    plugins: PluginServicer
    simulation: SimulationServicer
    decisions: DecisionServicer
    end_streams: Callable[[], None]
    shares: Sequence[Shares]

    @classmethod
    def of(cls, backend: Backend, *, measured: bool = False) -> Servicers:
        """All of them over ``backend``, whose state is measured from now on, unless it is already."""
        if not measured:
            measure_state(backend.metrics, backend.engine.state)
            measure_cache(backend.metrics, backend.engine)
            measure_reservations(backend.metrics, backend.committer.reservations)
        backend.metrics.sessions.set_function(lambda: len(backend.sessions))
        backend.metrics.session_bytes.set_function(lambda: backend.sessions.size)
        return cls(
            SchedulingServicer(backend),
            ClusterServicer(backend),
            PluginServicer(backend),
            SimulationServicer(backend),
            DecisionServicer(backend),
            backend.streams.end,
            backend.shares,
        )

    def services(self) -> tuple[OfferedService, ...]:
        """Each with its descriptor, ready to be added to a server."""
        return (
            OfferedService(
                scheduling_service_pb2.DESCRIPTOR.services_by_name["SchedulingService"],
                partial(scheduling_service_pb2_grpc.add_SchedulingServiceServicer_to_server, self.scheduling),
            ),
            OfferedService(
                cluster_service_pb2.DESCRIPTOR.services_by_name["ClusterService"],
                partial(cluster_service_pb2_grpc.add_ClusterServiceServicer_to_server, self.cluster),
                self.end_streams,
            ),
            OfferedService(
                plugin_service_pb2.DESCRIPTOR.services_by_name["PluginService"],
                partial(plugin_service_pb2_grpc.add_PluginServiceServicer_to_server, self.plugins),
            ),
            OfferedService(
                simulation_service_pb2.DESCRIPTOR.services_by_name["SimulationService"],
                partial(simulation_service_pb2_grpc.add_SimulationServiceServicer_to_server, self.simulation),
            ),
            OfferedService(
                decision_service_pb2.DESCRIPTOR.services_by_name["DecisionService"],
                partial(decision_service_pb2_grpc.add_DecisionServiceServicer_to_server, self.decisions),
                self.end_streams,
            ),
        )
