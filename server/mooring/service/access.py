"""Who may call what changes the cluster: clients with a certificate whose name is allowed.

A binding passes over every taint and limit, so nobody unknown may ask for one. On a listener that only this
machine reaches everybody may call everything, unless names are given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import grpc

from mooring.framework.errors import PermissionDeniedError
from mooring.service.batch import asks_commit

_SCHEDULING: Final = "/mooring.v1.SchedulingService/"
_CLUSTER: Final = "/mooring.v1.ClusterService/"
_PLUGINS: Final = "/mooring.v1.PluginService/"


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
    _SCHEDULING + "Reserve": _always,
    _SCHEDULING + "Unreserve": _always,
    _SCHEDULING + "Bind": _always,
    _CLUSTER + "GetClusterInfo": _never,
    _CLUSTER + "ListNodes": _never,
    _CLUSTER + "PushObjects": _always,
    _PLUGINS + "ListPlugins": _never,
    _PLUGINS + "ListProfiles": _never,
    _PLUGINS + "GetCapabilities": _never,
}
"""By method, whether a request changes something. A method that is missing here counts as one that does."""


@dataclass(frozen=True, slots=True)
class Access:
    """The rule of one listener. Safe from any thread.

    Attributes:
        guarded: Whether a name is needed at all.
        clients: The names that may change something: a certificate's common name, or one of its
            alternative names.
    """

    guarded: bool = False
    clients: frozenset[str] = frozenset()

    def check(self, method: str, request: Any, context: grpc.ServicerContext) -> None:
        """Let the call pass, or not.

        Raises:
            PermissionDeniedError: It changes something, and the client has no name that is allowed.
        """
        if not self.guarded or not CHANGES.get(method, _always)(request):
            return
        names = client_names(context)
        if not names & self.clients:
            shown = ", ".join(sorted(names)) or "without a certificate"
            raise PermissionDeniedError(
                f"the client ({shown}) may not call {method.rpartition('/')[2]} here; show a certificate "
                "with a name that the server was given by --allow-client"
            )


def client_names(context: grpc.ServicerContext) -> frozenset[str]:
    """The names in the verified certificate of a call's client; none without one."""
    seen = context.auth_context()
    if not seen.get("transport_security_type"):
        return frozenset()
    found = (*seen.get("x509_common_name", ()), *seen.get("x509_subject_alternative_name", ()))
    return frozenset(name.decode("utf-8", "replace") for name in found)
