"""The level of change of each call, and its client's names, for the rule of a listener."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

import grpc
from cryptography import x509

from mooring.framework.errors import PermissionDeniedError, UnimplementedError
from mooring.serving.access import Access, Change
from mooring.serving.calls.layers import Behavior
from mooring.serving.clients import certified_names
from mooring_client.v1 import scheduling_service_pb2 as pb

_SCHEDULING: Final = "/mooring.v1.SchedulingService/"
_CLUSTER: Final = "/mooring.v1.ClusterService/"
_PLUGINS: Final = "/mooring.v1.PluginService/"
_SIMULATION: Final = "/mooring.v1.SimulationService/"
_DECISIONS: Final = "/mooring.v1.DecisionService/"

COMMIT_MODES: Final[Mapping[pb.CommitMode.ValueType, Change]] = {
    pb.COMMIT_MODE_DRY_RUN: Change.NOTHING,
    pb.COMMIT_MODE_RESERVE: Change.STATE,
    pb.COMMIT_MODE_BIND: Change.CLUSTER,
    pb.COMMIT_MODE_OBSERVE: Change.NOTHING,
}
"""The offered uses of the selected nodes, each with its change outside of sessions."""

_Schedules = pb.ScheduleRequest | pb.ScheduleGroupsRequest


def commit_mode(request: _Schedules) -> pb.CommitMode.ValueType:
    """Return the request's commit mode.

    Raises:
        UnimplementedError: It is not offered.
    """
    mode = request.commit_mode or pb.COMMIT_MODE_DRY_RUN
    if mode not in COMMIT_MODES:
        raise UnimplementedError(f"commit mode {mode} is not offered by this server; see GetCapabilities")
    return mode


def mode_change(request: _Schedules) -> Change:
    """Return the change of the request's mode outside of sessions; an unknown mode counts as a binding."""
    return COMMIT_MODES.get(request.commit_mode or pb.COMMIT_MODE_DRY_RUN, Change.CLUSTER)


def asks_place(request: _Schedules) -> bool:
    """Return whether ``request`` wants its pods placed, in the live state or in a session."""
    return mode_change(request) is not Change.NOTHING


def _commits(request: _Schedules) -> Change:
    # A placement in a session has no effect elsewhere.
    return Change.NOTHING if request.session else mode_change(request)


def _reads(_request: Any) -> Change:
    return Change.NOTHING


def _reserves(_request: Any) -> Change:
    return Change.STATE


def _binds(_request: Any) -> Change:
    return Change.CLUSTER


CHANGES: Final[Mapping[str, Callable[[Any], Change]]] = {
    _SCHEDULING + "Filter": _reads,
    _SCHEDULING + "Score": _reads,
    _SCHEDULING + "NormalizeScore": _reads,
    _SCHEDULING + "Preempt": _reads,
    _SCHEDULING + "Explain": _reads,
    _SCHEDULING + "Schedule": _commits,
    _SCHEDULING + "ScheduleGroups": _commits,
    _SCHEDULING + "Reserve": _reserves,
    _SCHEDULING + "Unreserve": _reserves,
    _SCHEDULING + "UnreserveMany": _reserves,
    _SCHEDULING + "ListReservations": _reads,
    _SCHEDULING + "FilterStream": _reads,
    _SCHEDULING + "ScoreStream": _reads,
    _SCHEDULING + "ExplainStream": _reads,
    _SCHEDULING + "Bind": _binds,
    _CLUSTER + "GetClusterInfo": _reads,
    _CLUSTER + "ListNodes": _reads,
    _CLUSTER + "WatchNodes": _reads,
    _CLUSTER + "ListPendingPods": _reads,
    _CLUSTER + "ListPods": _reads,
    _CLUSTER + "GetObject": _reads,
    _CLUSTER + "PushObjects": _reserves,
    _CLUSTER + "RemoveSource": _reserves,
    _PLUGINS + "ListPlugins": _reads,
    _PLUGINS + "ListProfiles": _reads,
    _PLUGINS + "GetCapabilities": _reads,
    _SIMULATION + "OpenSession": _reads,
    _SIMULATION + "CloseSession": _reads,
    _SIMULATION + "GetSession": _reads,
    _SIMULATION + "ChangeSession": _reads,
    _SIMULATION + "MarkSession": _reads,
    _SIMULATION + "RevertSession": _reads,
    _SIMULATION + "CommitSession": _reads,
    _SIMULATION + "EstimateCapacity": _reads,
    _SIMULATION + "PlanRemoval": _reads,
    _SIMULATION + "PlanNodeGroups": _reads,
    _SIMULATION + "SuggestChanges": _reads,
    _SIMULATION + "AssignBlame": _reads,
    _DECISIONS + "ListDecisions": _reads,
    _DECISIONS + "WatchDecisions": _reads,
    _DECISIONS + "GetDecision": _reads,
    _DECISIONS + "ExplainAt": _reads,
    _DECISIONS + "ExplainAtStream": _reads,
    _DECISIONS + "SummarizeReasons": _reads,
    _DECISIONS + "CompareDecisions": _reads,
    _DECISIONS + "GetPodHistory": _reads,
    _DECISIONS + "GetTimeLine": _reads,
    _DECISIONS + "ListQueue": _reads,
}
"""By method, what a request changes. A method that is missing here counts as one that binds."""


def check_access(access: Access, method: str, request: Any, context: grpc.ServicerContext) -> None:
    """Let a call pass, or not.

    Raises:
        PermissionDeniedError: It changes more than its client may.
    """
    change = CHANGES.get(method, _binds)(request)
    if change is not Change.NOTHING:
        call = method.rpartition("/")[2]
        if wrong := access.rejection(call, change, client_names(context)):
            raise PermissionDeniedError(wrong)


def permitted(behavior: Behavior, method: str, access: Access) -> Behavior:
    """Rejects calls that change more than their clients may."""

    def call(request: Any, context: grpc.ServicerContext) -> Any:
        check_access(access, method, request, context)
        return behavior(request, context)

    return call


def client_name(context: grpc.ServicerContext) -> str:
    """Return the first name of a call's client, which owns what it creates; "" without one."""
    return next(iter(client_names(context)), "")


def client_names(context: grpc.ServicerContext) -> tuple[str, ...]:
    """Return the names in the verified certificate of a call's client, with their types; none without one."""
    # gRPC's own properties end at a NUL, so that kube-scheduler\0.evil would be kube-scheduler.
    shown = context.auth_context().get("x509_pem_cert", ())
    return _names_of(shown[0]) if shown else ()


@lru_cache(256)
def _names_of(certificate: bytes) -> tuple[str, ...]:
    """Return the names in a certificate, the common name first; none if one of them could mislead."""
    try:
        read = x509.load_pem_x509_certificate(certificate)
        common = [str(name.value) for name in read.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)]
        others = _alternative_names(read)
    except ValueError:
        return ()
    dns = others.get_values_for_type(x509.DNSName)
    return certified_names(common, dns, others.get_values_for_type(x509.UniformResourceIdentifier))


def _alternative_names(certificate: x509.Certificate) -> x509.SubjectAlternativeName:
    try:
        return certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return x509.SubjectAlternativeName([])
