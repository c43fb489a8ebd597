"""Pods and nodes for tests: what a test is about is given, the rest is ordinary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from mooring.cluster.decoding import from_manifest
from mooring.framework.objects import Node, Object, Pod
from mooring.framework.quantity import Quantity

Manifest = dict[str, Any]
"""An object as YAML and JSON have it."""

Fields = Mapping[str, Any]
"""Fields of a manifest, in the API's own spelling."""

ROOMY: Mapping[str, Quantity] = {"cpu": "4", "memory": "16Gi", "ephemeral-storage": "100Gi", "pods": 110}
"""The default allocatable of a built node."""


def pod_manifest(
    name: str = "pod",
    *,
    namespace: str = "default",
    labels: Mapping[str, str] | None = None,
    node: str = "",
    requests: Mapping[str, Quantity] | None = None,
    metadata: Fields | None = None,
    spec: Fields | None = None,
    status: Fields | None = None,
) -> Manifest:
    """Return the manifest of a pod with one container.

    Args:
        name: Its name.
        namespace: Its namespace.
        labels: Its labels.
        node: The node that it is on; "" = pending.
        requests: The requests of its container; none by default.
        metadata: More fields of ``metadata``, such as ``uid``; they win.
        spec: More fields of ``spec``; they win, ``containers`` too.
        status: Fields of ``status``.
    """
    container = {"name": "main", "image": "registry.example/app:1"}
    resources = {"resources": {"requests": dict(requests)}} if requests else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            **({"labels": dict(labels)} if labels else {}),
            **(metadata or {}),
        },
        "spec": {
            "containers": [{**container, **resources}],
            **({"nodeName": node} if node else {}),
            **(spec or {}),
        },
        **({"status": dict(status)} if status else {}),
    }


def node_manifest(
    name: str = "node",
    *,
    labels: Mapping[str, str] | None = None,
    allocatable: Mapping[str, Quantity] | None = None,
    taints: Iterable[Fields] = (),
    metadata: Fields | None = None,
    spec: Fields | None = None,
    status: Fields | None = None,
) -> Manifest:
    """Return the manifest of a node; its hostname label is its name.

    Args:
        name: Its name.
        labels: More labels.
        allocatable: Its allocatable amounts, over ``ROOMY``.
        taints: Its taints, such as ``{"key": "gpu", "effect": "NoSchedule"}``.
        metadata: More fields of ``metadata``, such as ``uid``; they win.
        spec: More fields of ``spec``; they win.
        status: More fields of ``status``; they win.
    """
    offered = {**ROOMY, **(allocatable or {})}
    marks = [dict(taint) for taint in taints]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, **(labels or {})},
            **(metadata or {}),
        },
        "spec": {**({"taints": marks} if marks else {}), **(spec or {})},
        "status": {"capacity": offered, "allocatable": offered, **(status or {})},
    }


def make_pod(name: str = "pod", **fields: Any) -> Pod:
    """Return a pod; takes what ``pod_manifest`` takes. Its UID is made of namespace and name unless given.

    Raises:
        InvalidArgumentError: A field can't be used; has its path.
    """
    pod = from_manifest(pod_manifest(name, **fields))
    if not isinstance(pod, Pod):
        raise TypeError("metadata, spec and status can't change the kind")
    return pod


def make_node(name: str = "node", **fields: Any) -> Node:
    """Return a node; takes what ``node_manifest`` takes.

    Raises:
        InvalidArgumentError: A field can't be used; has its path.
    """
    node = from_manifest(node_manifest(name, **fields))
    if not isinstance(node, Node):
        raise TypeError("metadata, spec and status can't change the kind")
    return node


def to_json(item: Object) -> bytes:
    """Return an object as JSON, as the API server would send it."""
    return msgspec.json.encode(item, enc_hook=dict)
