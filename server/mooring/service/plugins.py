"""PluginService: what the server is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import grpc

from mooring.framework.errors import NotFoundError
from mooring.framework.points import POINTS as EXTENSION_POINTS
from mooring.runtime.commit.asked_group import GROUPS_GATE
from mooring.runtime.profiles.profile import Profile
from mooring.service.backend import Backend, PluginEntry
from mooring.service.calls.access import COMMIT_MODES
from mooring.service.wire.decision_messages import timestamp
from mooring_client.v1 import (
    cluster_service_pb2,
    decision_service_pb2,
    nodes_pb2,
    plugin_service_pb2,
    scheduling_service_pb2,
    simulation_service_pb2,
)
from mooring_client.v1 import plugin_service_pb2 as pb
from mooring_client.v1.plugin_service_pb2_grpc import PluginServiceServicer

POINTS = {
    name: pb.ExtensionPoint.Value(f"EXTENSION_POINT_{point.attribute.upper()}")
    for name, point in EXTENSION_POINTS.items()
}
"""The wire's word for each extension point, in the order of the cycle."""

_FILES = (
    scheduling_service_pb2,
    cluster_service_pb2,
    plugin_service_pb2,
    simulation_service_pb2,
    decision_service_pb2,
)

IMPLEMENTED = tuple(
    f"{service.full_name}/{method.name}"
    for file in _FILES
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
)
"""The calls that a server can answer; a test compares them with the servicers."""

CONTRACT_REVISION = 3
"""Raised with each compatible change of protos/mooring/v1."""

_DECISIONS = "mooring.v1.DecisionService/"
_QUEUE = _DECISIONS + "ListQueue"

OBJECT_KINDS = (
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "DaemonSet",
    "DeviceClass",
    "DeviceTaintRule",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "PodGroup",
    "PriorityClass",
    "ReplicaSet",
    "ReplicationController",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceSlice",
    "Service",
    "StatefulSet",
    "StorageClass",
    "VolumeAttachment",
    "Workload",
)
"""The objects that PushObjects stores."""


class PluginServicer(PluginServiceServicer):
    """Answers from one backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def ListPlugins(
        self, request: pb.ListPluginsRequest, context: grpc.ServicerContext
    ) -> pb.ListPluginsResponse:
        entries = sorted(self._backend.plugins, key=lambda entry: entry.name)
        return pb.ListPluginsResponse(plugins=[self._plugin(entry) for entry in entries])

    def ListProfiles(
        self, request: pb.ListProfilesRequest, context: grpc.ServicerContext
    ) -> pb.ListProfilesResponse:
        periods = self._backend.configurations()
        wanted = request.configuration_hash or periods[-1].hash
        period = next((each for each in reversed(periods) if each.hash == wanted), None)
        if period is None:
            raise NotFoundError(
                f"no configuration {wanted!r} has been in force since the start, or it is forgotten",
                reason="CONFIGURATION_NOT_FOUND",
            )
        documents = period.documents()
        if period is periods[-1]:
            profiles = [self._profile(each, documents) for each in self._backend.engine.profiles.values()]
        else:
            profiles = [pb.Profile(name=name, configuration_json=text) for name, text in documents.items()]
        return pb.ListProfilesResponse(
            profiles=profiles,
            configuration_hash=wanted,
            configurations=[
                pb.ConfigurationPeriod(hash=each.hash, begin_time=timestamp(each.begin)) for each in periods
            ],
        )

    def GetCapabilities(
        self, request: pb.GetCapabilitiesRequest, context: grpc.ServicerContext
    ) -> pb.GetCapabilitiesResponse:
        backend = self._backend
        limits = backend.limits
        return pb.GetCapabilitiesResponse(
            rpcs=offered(backend),
            commit_modes=COMMIT_MODES,
            encodings=[pb.OBJECT_ENCODING_JSON, pb.OBJECT_ENCODING_PROTOBUF],
            node_forms=[
                nodes_pb2.NODE_FORM_NAMES,
                nodes_pb2.NODE_FORM_JOINED_NAMES,
                nodes_pb2.NODE_FORM_INDICES,
            ],
            limits=pb.Limits(
                max_message_bytes=limits.max_message_bytes,
                max_selected_nodes=limits.max_selected_nodes,
                max_batch_pods=limits.max_batch_pods,
                max_concurrent_calls=limits.max_concurrent_calls,
            ),
            kube_version=backend.kube_version,
            server_version=backend.server_version,
            object_kinds=OBJECT_KINDS,
            feature_gates=backend.feature_gates,
            contract_classes=_classes(backend),
            contract_revision=CONTRACT_REVISION,
        )

    def _plugin(self, entry: PluginEntry) -> pb.PluginInfo:
        state = pb.PLUGIN_STATE_AVAILABLE if entry.supported else pb.PLUGIN_STATE_UNSUPPORTED
        return pb.PluginInfo(
            name=entry.name,
            extension_points=[number for point, number in POINTS.items() if point in entry.points],
            source=entry.source,
            state=pb.PLUGIN_STATE_FAILED if entry.load_error else state,
            load_error=entry.load_error,
            profiles=[
                profile.name
                for profile in self._backend.engine.profiles.values()
                if entry.name in enabled_names(profile)
            ],
        )

    def _profile(self, profile: Profile, documents: Mapping[str, str]) -> pb.Profile:
        return pb.Profile(
            name=profile.name,
            extension_points=[
                pb.EnabledPlugins(
                    extension_point=number,
                    plugins=[
                        pb.EnabledPlugin(name=each.name, weight=each.weight if point == "score" else 0)
                        for each in enabled
                    ],
                )
                for point, number in POINTS.items()
                if (enabled := profile.at(point))
            ],
            configuration_json=documents.get(profile.name, ""),
            weight_sum=profile.weight_sum,
            unsupported_plugins=profile.unsupported,
        )


def offered(backend: Backend) -> list[str]:
    """Return the calls that this process answers: not all have a queue, or remember decisions."""

    def is_offered(rpc: str) -> bool:
        if rpc == _QUEUE:
            return backend.queue is not None
        return backend.decisions is not None or not rpc.startswith(_DECISIONS)

    return [rpc for rpc in IMPLEMENTED if is_offered(rpc)]


def _classes(backend: Backend) -> Iterator[pb.ContractClass.ValueType]:
    """Yield the parts of the contract that this process offers as it was started."""
    yield pb.CONTRACT_CLASS_CORE
    yield pb.CONTRACT_CLASS_COMMIT
    if any(profile.gates.enabled(GROUPS_GATE) for profile in backend.engine.profiles.values()):
        yield pb.CONTRACT_CLASS_GROUPS
    yield pb.CONTRACT_CLASS_FUTURES
    if backend.decisions is not None:
        yield pb.CONTRACT_CLASS_JOURNAL
    if backend.pushes is not None:
        yield pb.CONTRACT_CLASS_PUSH


def enabled_names(profile: Profile) -> set[str]:
    """Return the plugins that ``profile`` enables at any point."""
    return profile.plugins.keys() | set(profile.unsupported)
