"""kubectl's context: its namespace, and the scheduler of mooring's chart in its cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mooring.cluster.api import RESOURCES, ApiServer, decoded
from mooring.cluster.api.configuration import namespace_of
from mooring.framework.errors import MooringError

__all__ = ["namespace_of", "scheduler_pod"]

_LABELS = "app.kubernetes.io/name=mooring,app.kubernetes.io/component=scheduler"


def scheduler_pod(api: ApiServer) -> tuple[str, str] | None:
    """Return namespace and name of the pod of mooring's scheduler, the leading one if that is known; None if
    no pod is ready, or if the API server does not list pods.
    """
    try:
        pods = [
            (str(pod["metadata"]["namespace"]), str(pod["metadata"]["name"]))
            for pod in _items(api, RESOURCES["Pod"].collection(), _LABELS)
            if _ready(pod)
        ]
        holders = [holder for namespace in {pod[0] for pod in pods} for holder in _holders(api, namespace)]
    except MooringError:
        return None
    # The identity of a holder begins with its host's name, which is the pod's.
    return min(pods, key=lambda pod: not any(one.startswith(f"{pod[1]}_") for one in holders), default=None)


def _holders(api: ApiServer, namespace: str) -> Iterator[str]:
    for lease in _items(api, RESOURCES["Lease"].collection(namespace)):
        yield str((lease.get("spec") or {}).get("holderIdentity") or "")


def _items(api: ApiServer, path: str, labels: str = "") -> list[dict[str, Any]]:
    response = api.request("GET", path, query={"labelSelector": labels} if labels else {})
    found: list[dict[str, Any]] = decoded(response, f"list {path}").get("items") or []
    return found


def _ready(pod: dict[str, Any]) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
