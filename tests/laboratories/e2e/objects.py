"""Manifests of the nodes and pods that the tests create."""

from collections.abc import Mapping
from typing import Any

RACK = "example.com/rack"
HOSTNAME = "kubernetes.io/hostname"


def node(name: str, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return a ready node of 4 CPUs, 32 GiB and 110 pods."""
    capacity = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, **(labels or {})}},
        "status": {"capacity": capacity, "allocatable": capacity, "conditions": [ready]},
    }


def container(**requests: str) -> dict[str, Any]:
    """Return a container that asks for this much."""
    return {"name": "main", "image": "registry.example/app:1", "resources": {"requests": requests}}


def pod(name: str, **spec: Any) -> dict[str, Any]:
    """Return a pod with one small container; `spec` adds fields of the pod's spec."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": {"containers": [container(cpu="100m", memory="64Mi")], **spec},
    }


def node_affinity(
    required: Mapping[str, str] | None = None, preferred: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return a pod's affinity: only to nodes with the labels `required`, the more so to those with
    `preferred`.
    """
    affinity: dict[str, Any] = {}
    if required:
        terms = [{"matchExpressions": _expressions(required)}]
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if preferred:
        preference = {"weight": 100, "preference": {"matchExpressions": _expressions(preferred)}}
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [preference]
    return {"nodeAffinity": affinity}


def _expressions(labels: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()]


def required_pod_affinity(labels: Mapping[str, str]) -> dict[str, Any]:
    """Return a pod's affinity: only to nodes on which a pod with these labels runs."""
    term = {"labelSelector": {"matchLabels": dict(labels)}, "topologyKey": HOSTNAME}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
