"""Who may call what changes the cluster: clients with a certificate whose name is allowed.

A binding bypasses every taint and limit, so unknown clients may not request one. On a listener that only this
machine reaches all calls are allowed, unless names are given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import grpc
from cryptography import x509

from mooring.framework.errors import PermissionDeniedError
from mooring.serving.calls.pipeline import Behavior
from mooring.serving.clients import certified_names, shown_names
from mooring.v1 import scheduling_service_pb2 as pb

_SCHEDULING: Final = "/mooring.v1.SchedulingService/"
_CLUSTER: Final = "/mooring.v1.ClusterService/"
_PLUGINS: Final = "/mooring.v1.PluginService/"
_SIMULATION: Final = "/mooring.v1.SimulationService/"
_DECISIONS: Final = "/mooring.v1.DecisionService/"


def asks_commit(request: pb.ScheduleRequest | pb.ScheduleGroupsRequest) -> bool:
    """Return whether ``request`` wants more than to know the nodes: pods reserved or bound.

    What is placed in a session counts nowhere else.
    """
    return not request.session and asks_place(request)


def asks_place(request: pb.ScheduleRequest | pb.ScheduleGroupsRequest) -> bool:
    """Return whether ``request`` wants its pods placed, in the live state or in a session."""
    return request.commit_mode not in (pb.COMMIT_MODE_UNSPECIFIED, pb.COMMIT_MODE_DRY_RUN)


def _always(_request: Any) -> bool:
    return True


def _never(_request: Any) -> bool:
    return False


CHANGES: Final[Mapping[str, Callable[[Any], bool]]] = {
    _SCHEDULING + "Filter": _never,
    _SCHEDULING + "Score": _never,
    _SCHEDULING + "NormalizeScore": _never,
    _SCHEDULING + "Preempt": _never,
    _SCHEDULING + "Explain": _never,
    _SCHEDULING + "Schedule": asks_commit,
    _SCHEDULING + "ScheduleGroups": asks_commit,
    _SCHEDULING + "Reserve": _always,
    _SCHEDULING + "Unreserve": _always,
    _SCHEDULING + "Bind": _always,
    _CLUSTER + "GetClusterInfo": _never,
    _CLUSTER + "ListNodes": _never,
    _CLUSTER + "ListPendingPods": _never,
    _CLUSTER + "GetObject": _never,
    _CLUSTER + "PushObjects": _always,
    _CLUSTER + "RemoveSource": _always,
    _PLUGINS + "ListPlugins": _never,
    _PLUGINS + "ListProfiles": _never,
    _PLUGINS + "GetCapabilities": _never,
    _SIMULATION + "OpenSession": _never,
    _SIMULATION + "CloseSession": _never,
    _SIMULATION + "GetSession": _never,
    _SIMULATION + "ChangeSession": _never,
    _SIMULATION + "MarkSession": _never,
    _SIMULATION + "RevertSession": _never,
    _SIMULATION + "CommitSession": _never,
    _SIMULATION + "Capacity": _never,
    _SIMULATION + "Removal": _never,
    _SIMULATION + "NodeGroups": _never,
    _SIMULATION + "Change": _never,
    _DECISIONS + "ListDecisions": _never,
    _DECISIONS + "GetDecision": _never,
    _DECISIONS + "ExplainAt": _never,
    _DECISIONS + "SummarizeReasons": _never,
    _DECISIONS + "CompareDecisions": _never,
    _DECISIONS + "ListQueue": _never,
}
"""By method, whether a request changes something. A method that is missing here counts as one that does."""


@dataclass(frozen=True, slots=True)
class Access:
    """The rule of one listener. Safe from any thread.

    Attributes:
        guarded: Whether a name is needed at all.
        clients: The names that may change something, with their types; see ``typed_names``.
        read_only: No call may change anything.
    """

    guarded: bool = False
    clients: frozenset[str] = frozenset()
    read_only: bool = False

    @property
    def unrestricted(self) -> bool:
        """Whether any call may change anything, whoever makes it."""
        return not (self.guarded or self.read_only)

    def knows(self, context: grpc.ServicerContext) -> bool:
        """Return whether a name is allowed, or none is needed: such a client decides what is traced, too."""
        return not self.guarded or not self.clients.isdisjoint(client_names(context))

    def check(self, method: str, request: Any, context: grpc.ServicerContext) -> None:
        """Let the call pass, or not.

        Raises:
            PermissionDeniedError: It changes something, and the client has no name that is allowed.
        """
        if self.unrestricted or not CHANGES.get(method, _always)(request):
            return
        if self.read_only:
            raise PermissionDeniedError(
                f"{method.rpartition('/')[2]} changes something, and this process only answers questions; "
                "call a server of mooring serve"
            )
        names = client_names(context)
        if self.clients.isdisjoint(names):
            shown = shown_names(names)
            raise PermissionDeniedError(
                f"the client ({shown}) may not call {method.rpartition('/')[2]} here; show a certificate "
                "with a name that the server was given by --allow-client"
            )


def permitted(behavior: Behavior, method: str, access: Access) -> Behavior:
    """Rejects calls that change something, from clients that may not."""
    if access.unrestricted:
        return behavior

    def call(request: Any, context: grpc.ServicerContext) -> Any:
        access.check(method, request, context)
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
    """Return the names in a certificate, the common name first; none where one of them could mislead."""
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
