"""Backends over small clusters, and two ways to their servicers: grpcio-testing, and a server on a port."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, ClassVar

import grpc
import grpc_testing

from mooring import config
from mooring.app.bridge import Decoder, PushBridge, plugin_entries, read_changes
from mooring.app.decisions import DecisionMemory
from mooring.app.engine import Core
from mooring.app.options import DecisionOptions, EngineOptions, ProcessOptions
from mooring.cluster.binding import LocalBinder
from mooring.cluster.kinds import ClusterObject
from mooring.cluster.sources import PushSource
from mooring.cluster.state import State
from mooring.decisions.listed_pod import ListedPod
from mooring.framework import (
    Binder,
    Node,
    Pod,
)
from mooring.framework.releases import DEFAULT_KUBE_VERSION
from mooring.framework.sources import SourceStatus
from mooring.runtime.assembly import ProfileBuilder
from mooring.runtime.commit.binding_cycle import BindingCycle
from mooring.runtime.commit.committer import Committer
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.registry import Registry, new_in_tree_registry
from mooring.service.backend import Backend, ConfigurationPeriod, Limits
from mooring.service.calls.slots import Slots
from mooring.service.server import build
from mooring.service.services import Servicers
from mooring.serving.calls.errors import DETAILS_KEY, failure_of
from mooring.sessions.sessions import Quota, Sessions
from mooring.telemetry.decision_metrics import MetricsObserver
from mooring.telemetry.metrics import Metrics
from mooring.testing.builders import to_json
from mooring_client.v1 import (
    cluster_service_pb2,
    decision_service_pb2,
    plugin_service_pb2,
    scheduling_service_pb2,
    simulation_service_pb2,
)
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from mooring_client.v1.decision_service_pb2_grpc import DecisionServiceStub
from mooring_client.v1.objects_pb2 import KubernetesObject, PodReference, PodSource
from mooring_client.v1.plugin_service_pb2_grpc import PluginServiceStub
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from mooring_client.v1.simulation_service_pb2_grpc import SimulationServiceStub
from tests.service.fakes import Kind
from tests.service.harness import LONG, QUIET, Failed, decode

SYNCED = SourceStatus("test", synced=True)


def profile(
    *plugins: str | tuple[str, int], name: str = "default-scheduler", **fields: Any
) -> dict[str, Any]:
    """Return a profile that runs these plugins, by name or with a weight, and nothing else that decides."""
    enabled = [{"name": "PrioritySort"}, {"name": "DefaultBinder"}]
    for plugin in plugins:
        kind, weight = (plugin, 1) if isinstance(plugin, str) else plugin
        enabled.append({"name": kind, "weight": weight})  # type: ignore[dict-item]
    points = {"multiPoint": {"disabled": [{"name": "*"}], "enabled": enabled}}
    return {"schedulerName": name, "plugins": points, **fields}


def configuration(*profiles: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": list(profiles),
    }


@dataclass
class World:
    """A backend and its state."""

    backend: Backend
    state: State

    @property
    def slots(self) -> Slots:
        return self.backend.slots

    def put(self, *objects: ClusterObject) -> None:
        """Replace all objects."""
        self.state.replace("test", objects)


@contextmanager
def world(
    *objects: ClusterObject,
    plugins: Sequence[Kind] = (),
    document: dict[str, Any] | None = None,
    binder: Binder | None = None,
    api: Any = None,
    settling_seconds: float = 0.0,
    push: bool = False,
    limits: Limits | None = None,
    max_abandoned: int = 32,
    sources: Callable[[], Sequence[SourceStatus]] = lambda: [SYNCED],
    gates: dict[str, bool] | None = None,
    version: str = DEFAULT_KUBE_VERSION,
    remembering: DecisionOptions | None = None,
    queue: Callable[[], Sequence[ListedPod]] | None = list,
    quota: Quota | None = None,
) -> Iterator[World]:
    """Yield a backend over ``objects``: the default profile, or ``plugins`` alone, or a configuration."""
    registry, loaded = _configured(plugins, document, gates, version)
    state = State(first_epoch=1_000)
    state.replace("test", objects)
    metrics = Metrics()
    builder = ProfileBuilder.over(
        registry,
        state,
        binder or LocalBinder(state),
        observer=MetricsObserver(metrics),
        cluster=api,
        kube_version=version,
        feature_gates=gates,
    )
    engine = Engine(state, builder.build(loaded), MetricsObserver(metrics))
    source = PushSource(state)
    slots, commit_slots, session_slots = Slots(2, max_abandoned), Slots(8, 256), Slots(2)
    options = EngineOptions(kube_version=version, feature_gates=gates or {})
    given = source.describe if push else sources
    cycle = BindingCycle(engine, api=api, settling_seconds=settling_seconds)
    core = Core(registry, loaded, state, engine, builder)
    remembered = DecisionMemory.of(
        ProcessOptions(options, decisions=remembering or DecisionOptions()), core, metrics
    )
    backend = Backend(
        engine=engine,
        committer=Committer(cycle),
        slots=slots,
        commit_slots=commit_slots,
        sessions=Sessions(remembered.live, quota),
        session_slots=session_slots,
        decoder=Decoder(),
        read_changes=read_changes,
        kube_version=version,
        server_version="0.0.0",
        start_time=datetime(2026, 1, 1, tzinfo=UTC),
        sources=given,
        synced=lambda: source.synced if push else bool(given()) and all(each.synced for each in given()),
        plugins=tuple(plugin_entries(registry)),
        configurations=lambda: [ConfigurationPeriod(loaded.hash, 0.0)],
        pushes=PushBridge(source) if push else None,
        api_server_connected=binder is not None,
        read_pod=api.read_pod if api else None,
        metrics=metrics,
        decisions=remembered.decisions,
        repeater=remembered.repeater,
        queue=queue,
        server_id="test",  # so that the answers of two worlds can be compared
    )
    try:
        yield World(replace(backend, limits=limits) if limits else backend, state)
    finally:
        slots.stop()
        commit_slots.stop()
        session_slots.stop()
        cycle.stop()


def _configured(
    plugins: Sequence[Kind], document: dict[str, Any] | None, gates: dict[str, bool] | None, version: str
) -> tuple[Registry, config.Configuration]:
    registry = new_in_tree_registry()
    for kind in plugins:
        registry.register(kind.name, kind)
    if document is None and plugins:
        document = configuration(profile(*(kind.name for kind in plugins)))
    catalog = registry.catalog()
    if document is None:
        return registry, config.default(catalog, kube_version=version, feature_gates=gates)
    return registry, config.from_document(document, catalog, kube_version=version, feature_gates=gates)


class Direct:
    """Stubs of all services that call the servicers through grpcio-testing's server.

    That server has no interceptors, so errors are translated around each method here.
    """

    DESCRIPTORS: ClassVar[dict[str, Any]] = {
        "scheduling": scheduling_service_pb2.DESCRIPTOR.services_by_name["SchedulingService"],
        "cluster": cluster_service_pb2.DESCRIPTOR.services_by_name["ClusterService"],
        "plugins": plugin_service_pb2.DESCRIPTOR.services_by_name["PluginService"],
        "simulation": simulation_service_pb2.DESCRIPTOR.services_by_name["SimulationService"],
        "decisions": decision_service_pb2.DESCRIPTOR.services_by_name["DecisionService"],
    }

    def __init__(self, backend: Backend) -> None:
        servicers = Servicers.of(backend)
        self._server = grpc_testing.server_from_dictionary(
            {self.DESCRIPTORS[key]: Mapped(getattr(servicers, key)) for key in self.DESCRIPTORS},
            grpc_testing.strict_real_time(),
        )
        self.scheduling, self.cluster, self.plugins, self.simulation, self.decisions = (
            DirectStub(self._server, descriptor) for descriptor in self.DESCRIPTORS.values()
        )


class Mapped:
    """A servicer whose errors end the call as they do behind the server's layers."""

    def __init__(self, servicer: Any) -> None:
        self._servicer = servicer

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._servicer, name)

        def call(request: Any, context: grpc.ServicerContext) -> Any:
            try:
                return method(request, context)
            except Exception as error:  # noqa: BLE001 - as the server does
                # Its own abort loses the trailing metadata.
                failure = failure_of(error)
                context.set_trailing_metadata(((DETAILS_KEY, failure.details),))
                context.set_code(failure.code)
                context.set_details(failure.text)

        return call


class DirectError(grpc.RpcError):
    """The error of a real channel."""

    def __init__(self, code: grpc.StatusCode, details: str, trailers: Any) -> None:
        super().__init__(details)
        self._code, self._details, self._trailers = code, details, trailers

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self._details

    def trailing_metadata(self) -> Any:
        return self._trailers


class DirectStub:
    """A stub's methods over grpcio-testing's server."""

    def __init__(self, server: Any, descriptor: Any) -> None:
        self._server = server
        self._methods = descriptor.methods_by_name

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = self._methods[name]

        def call(request: Any, timeout: float = LONG) -> Any:
            rpc = self._server.invoke_unary_unary(method, (), request, timeout)
            response, trailers, code, details = rpc.termination()
            if code is not grpc.StatusCode.OK:
                raise DirectError(code, details, trailers)
            return response

        return call


@dataclass
class Stubs:
    """Every service of one server."""

    scheduling: Any
    cluster: Any
    plugins: Any
    simulation: Any
    decisions: Any
    channel: Any = None


@contextmanager
def served(backend: Backend, **changes: Any) -> Iterator[Stubs]:
    """Yield the backend behind a real server on a port, with other options where ``changes`` says so."""
    options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    with listening(backend, **changes) as address, grpc.insecure_channel(address, options) as channel:
        yield Stubs(
            SchedulingServiceStub(channel),
            ClusterServiceStub(channel),
            PluginServiceStub(channel),
            SimulationServiceStub(channel),
            DecisionServiceStub(channel),
            channel,
        )


@contextmanager
def listening(backend: Backend, **changes: Any) -> Iterator[str]:
    """Yield the address of a real server over the backend, with other options where ``changes`` says so."""
    services, options = Servicers.of(backend).services(), replace(QUIET, **changes)
    server = build(services, options, metrics=backend.metrics, slots=backend.slots, ready=lambda: "")
    server.start()
    try:
        yield server.address
    finally:
        server.stop()


@contextmanager
def direct(backend: Backend) -> Iterator[Stubs]:
    """Yield the backend behind grpcio-testing."""
    stubs = Direct(backend)
    yield Stubs(stubs.scheduling, stubs.cluster, stubs.plugins, stubs.simulation, stubs.decisions)


WAYS = (direct, served)
"""Both ways to a servicer."""


def rejected(call: Callable[[], object]) -> Failed:
    """Return the error of a call, by whichever way it went."""
    try:
        call()
    except grpc.RpcError as error:
        return decode(error)
    raise AssertionError("the call succeeded")


def sent(item: Pod) -> PodSource:
    return PodSource(object=as_json(item))


def as_json(item: Pod | Node) -> KubernetesObject:
    return KubernetesObject(json=to_json(item))


def named(name: str, uid: str | None = None, namespace: str = "default") -> PodSource:
    """Return a reference, by default with the UID of a pod whose manifest has none."""
    uid = f"pod/{namespace}/{name}" if uid is None else uid
    return PodSource(reference=PodReference(namespace=namespace, name=name, uid=uid))


def codes(verdicts: Any, count: int) -> list[str]:
    """Return the short name of the code of each node."""
    numbers = list(verdicts.node_verdicts) or [0] * count
    return [statuses_code(verdicts.distinct[number]) for number in numbers]


def statuses_code(status: Any) -> str:
    from mooring_client.v1 import verdicts_pb2

    return verdicts_pb2.VerdictCode.Name(status.code).removeprefix("VERDICT_CODE_")


def scores_of(plugin: Any) -> tuple[str, list[int], list[int], list[int]]:
    return plugin.plugin, list(plugin.raw), list(plugin.normalized), list(plugin.weighted)
