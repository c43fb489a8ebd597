"""Storage objects for the tests of the volume plugins: what a test is about is given, the rest is usual."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mooring.cluster.manifests import objects_from
from mooring.cluster.state import State
from mooring.framework import NodeView, Pod
from mooring.testing.builders import Manifest, make_pod, node_manifest, pod_manifest

ZONE = "topology.kubernetes.io/zone"
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
DRIVER = "csi.example.com"
WAIT = "WaitForFirstConsumer"
NODES = (node_manifest("a", labels={ZONE: "x"}), node_manifest("b", labels={ZONE: "y"}))


def view(*manifests: Manifest) -> NodeView:
    """Return all nodes of the cluster that the manifests describe."""
    state = State()
    state.replace("test", objects_from(manifests).objects)
    return NodeView(state.snapshot, state.snapshot.nodes.rows()[::-1].copy())


def using(*volumes: str | Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """Return the fields of a pod with these volumes; a text stands for the claim of that name."""
    named = [
        {"name": f"v{at}", **({"persistentVolumeClaim": {"claimName": v}} if isinstance(v, str) else v)}
        for at, v in enumerate(volumes)
    ]
    return {"spec": {"volumes": named}, **fields}


def pod_using(*volumes: Any, name: str = "pod", **fields: Any) -> Pod:
    return make_pod(name, **using(*volumes, **fields))


def placed_pod(name: str, node: str, *volumes: Any, **fields: Any) -> Manifest:
    return pod_manifest(name, node=node, **using(*volumes, **fields))


def claim(
    name: str = "c",
    *,
    volume: str = "",
    storage_class: str | None = "wait",
    size: str = "1Gi",
    metadata: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Manifest:
    """Return a claim; one with a volume is bound."""
    annotations = {"annotations": BOUND} if volume else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", **annotations}
        | dict(metadata or {}),
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            **({"volumeName": volume} if volume else {}),
            **({} if storage_class is None else {"storageClassName": storage_class}),
            **spec,
        },
        "status": {"phase": "Bound" if volume else "Pending"},
    }


def volume(
    name: str = "pv",
    *,
    size: str = "1Gi",
    zone: str = "",
    phase: str = "Available",
    metadata: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Manifest:
    """Return a volume of a CSI driver; ``zone`` is the only one that it is reached from."""
    condition = {"key": ZONE, "operator": "In", "values": [zone]}
    terms = {"required": {"nodeSelectorTerms": [{"matchExpressions": [condition]}]}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, **(metadata or {})},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": size},
            "storageClassName": "wait",
            "csi": {"driver": DRIVER, "volumeHandle": f"handle-{name}"},
            **({"nodeAffinity": terms} if zone else {}),
            **spec,
        },
        "status": {"phase": phase},
    }


def storage_class(
    name: str = "wait", provisioner: str = DRIVER, mode: str | None = WAIT, **fields: Any
) -> Manifest:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        **({} if mode is None else {"volumeBindingMode": mode}),
        **fields,
    }


def csi_node(name: str, migrated: str = "", **limits: int | None) -> Manifest:
    """Return the drivers of a node with their limits; the underscores of a name stand for dots."""
    drivers = [
        {"name": driver.replace("_", "."), "nodeID": "id"}
        | ({} if count is None else {"allocatable": {"count": count}})
        for driver, count in limits.items()
    ]
    annotations = (
        {"annotations": {"storage.alpha.kubernetes.io/migrated-plugins": migrated}} if migrated else {}
    )
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name, **annotations},
        "spec": {"drivers": drivers},
    }


def csi_driver(name: str = DRIVER, **spec: Any) -> Manifest:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": name},
        "spec": spec,
    }
