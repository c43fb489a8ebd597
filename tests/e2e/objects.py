"""Manifests of the nodes and pods that the tests create."""

from collections.abc import Mapping
from typing import Any

RACK = "example.com/rack"
ZONE = "topology.kubernetes.io/zone"


def node(name: str, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A ready node of 4 CPUs, 32 GiB and 110 pods."""
    capacity = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "status": {"capacity": capacity, "allocatable": capacity, "conditions": [ready]},
    }


def pod(name: str, **spec: Any) -> dict[str, Any]:
    """A pod with one small container; `spec` adds fields of the pod's spec."""
    container = {
        "name": "main",
        "image": "registry.example/app:1",
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": {"containers": [container], **spec},
    }


def rack_affinity(required: str | None = None, preferred: str | None = None) -> dict[str, Any]:
    """Node affinity by the rack label: only nodes of `required`, the more so the one of `preferred`."""
    affinity: dict[str, Any] = {}
    if required is not None:
        terms = [{"matchExpressions": [_in_rack(required)]}]
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if preferred is not None:
        preference = {"weight": 100, "preference": {"matchExpressions": [_in_rack(preferred)]}}
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [preference]
    return {"nodeAffinity": affinity}


def _in_rack(rack: str) -> dict[str, Any]:
    return {"key": RACK, "operator": "In", "values": [rack]}
