"""Calls that a ServiceAccount of ours must not be able to make, and a check that they are rejected."""

import json
from pathlib import Path

from .api import Api, ApiError
from .control_plane import ControlPlane


def client_of(guarded: ControlPlane, kubeconfig: Path) -> Api:
    """Return a client with the token of a kubeconfig."""
    token = json.loads(kubeconfig.read_text())["users"][0]["user"]["token"]
    return Api(guarded.address, guarded.directory / "apiserver" / "apiserver.crt", token)


_CORE, _KUBE = "/api/v1", "/api/v1/namespaces/kube-system"
_POD = f"{_CORE}/namespaces/default/pods/p"
_NODE = f"{_CORE}/nodes/node-00"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
_LEASES = "/apis/coordination.k8s.io/v1/namespaces"
FORBIDDEN = [
    ("GET", f"{_CORE}/secrets"),
    ("GET", f"{_KUBE}/secrets/s"),
    ("POST", f"{_KUBE}/secrets"),
    ("GET", f"{_CORE}/configmaps"),
    ("GET", f"{_CORE}/namespaces/mooring-system/configmaps/mooring-config"),
    ("PUT", f"{_CORE}/namespaces/mooring-system/configmaps/mooring-config"),
    ("GET", f"{_CORE}/serviceaccounts"),
    ("POST", f"{_CORE}/namespaces/mooring-system/serviceaccounts/mooring/token"),
    ("POST", f"{_KUBE}/serviceaccounts"),
    ("POST", f"{_CORE}/namespaces/default/pods"),
    ("PUT", _POD),
    ("PATCH", _POD),
    ("PUT", f"{_POD}/status"),
    ("POST", f"{_POD}/eviction"),
    ("GET", f"{_POD}/log"),
    ("POST", f"{_POD}/exec"),
    ("PATCH", f"{_POD}/ephemeralcontainers"),
    ("DELETE", f"{_CORE}/namespaces/default/pods"),
    ("POST", f"{_CORE}/nodes"),
    ("PUT", _NODE),
    ("PATCH", _NODE),
    ("PATCH", f"{_NODE}/status"),
    ("DELETE", _NODE),
    ("GET", f"{_NODE}/proxy/"),
    ("POST", f"{_CORE}/namespaces"),
    ("DELETE", f"{_CORE}/namespaces/default"),
    ("POST", f"{_CORE}/namespaces/default/services"),
    ("DELETE", f"{_CORE}/persistentvolumes/v"),
    ("POST", f"{_CORE}/persistentvolumes"),
    ("DELETE", f"{_CORE}/namespaces/default/persistentvolumeclaims/c"),
    ("POST", f"{_CORE}/namespaces/default/persistentvolumeclaims"),
    ("GET", "/apis/apps/v1/deployments"),
    ("POST", "/apis/apps/v1/namespaces/default/deployments"),
    ("PATCH", "/apis/apps/v1/namespaces/default/replicasets/r"),
    ("DELETE", "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b"),
    ("GET", f"{RBAC}/clusterroles"),
    ("POST", f"{RBAC}/clusterrolebindings"),
    ("PATCH", f"{RBAC}/clusterroles/mooring-binder"),
    ("GET", f"{_LEASES}/kube-system/leases/kube-scheduler"),
    ("PUT", f"{_LEASES}/kube-system/leases/kube-scheduler"),
    ("DELETE", f"{_LEASES}/mooring-system/leases/mooring"),
    ("POST", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"),
    ("POST", "/apis/authentication.k8s.io/v1/tokenreviews"),
    ("PATCH", f"{_POD}/resize"),
    ("GET", "/apis/batch/v1/jobs"),
    ("POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests"),
    ("PUT", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/w"),
]
"""Calls that mooring never needs."""
SCHEDULERS = [
    ("POST", "/apis/authentication.k8s.io/v1/tokenreviews"),
    ("POST", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"),
]
"""The ones among them that `mooring scheduler` may make: review access to its metrics, and claim devices for
a pod.
"""
KUBE_SCHEDULERS = [
    *SCHEDULERS,
    ("PUT", f"{_POD}/status"),
    ("GET", f"{_LEASES}/kube-system/leases/kube-scheduler"),
    ("PUT", f"{_LEASES}/kube-system/leases/kube-scheduler"),
]
"""The ones among them that kube-scheduler may make."""


def rejected(client: Api, requests: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return those of the requests that the API server answers with 403."""
    found = []
    for method, path in requests:
        try:
            client.call(method, path, {} if method in ("POST", "PUT", "PATCH") else None)
        except ApiError as error:
            if error.status == 403:
                found.append((method, path))
    return found
