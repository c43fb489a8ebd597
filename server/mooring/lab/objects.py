"""Nodes, pods and a cluster to begin with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mooring.app.options import EngineOptions
from mooring.cluster.sources import sample_objects
from mooring.lab.cluster import Cluster

Manifest = dict[str, Any]

ROOM = {"cpu": "8", "memory": "32Gi", "pods": "110"}
"""The allocatable amounts of a node unless others are given."""


def sample() -> Cluster:
    """Return the cluster of ``mooring run``: six nodes in three zones, some pods placed, three pending."""
    return Cluster(sample_objects(), EngineOptions())


def node(
    name: str, labels: Mapping[str, str] | None = None, taints: tuple[str, ...] = (), **amounts: str
) -> Manifest:
    """Return the manifest of a node, for ``lab.load(objects=...)``.

    Args:
        name: Its name, which is its hostname label too.
        labels: Further labels.
        taints: Its taints, as with kubectl: ``key=value:NoSchedule`` or ``key:NoSchedule``.
        amounts: Its allocatable amounts, such as ``cpu="8"``, or ``**{"example.com/gpu": "4"}``.
    """
    offered = {**ROOM, **amounts}
    marks = []
    for taint in taints:
        key, _, effect = taint.rpartition(":")
        mark = dict(zip(("key", "value"), key.split("=", 1), strict=False))
        marks.append({**mark, "effect": effect})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {"taints": marks} if marks else {},
        "status": {"allocatable": offered, "capacity": offered},
    }


def pod(
    name: str,
    labels: Mapping[str, str] | None = None,
    *,
    on: str = "",
    namespace: str = "default",
    spec: Mapping[str, Any] | None = None,
    **requests: str,
) -> Manifest:
    """Return the manifest of a pod with one container, for ``lab.load(objects=...)``.

    Args:
        name: Its name.
        labels: Its labels.
        on: Its node; "" = it is pending.
        namespace: Its namespace.
        spec: Further fields of ``spec``, such as ``{"nodeSelector": {"disk": "ssd"}}``.
        requests: The requests of its container, such as ``cpu="2"``.
    """
    container = {"name": "main", "image": "main", "resources": {"requests": requests}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels or {})},
        "spec": {"containers": [container], **({"nodeName": on} if on else {}), **(spec or {})},
    }
