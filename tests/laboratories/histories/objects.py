"""Nodes, and the objects that are neither nodes nor pods."""

from __future__ import annotations

from random import Random
from typing import Any

from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import ClusterObject, Remove
from mooring.framework import Node
from mooring.testing import make_node
from tests.laboratories.histories.pods import APPS, EXTENDED, IMAGES, NAMESPACES, ZONE, Manifest, app

DRIVER = "csi.example.com"


def labels_of_node(dice: Random) -> dict[str, str]:
    """Return a zone, and what kinds of pods ask for."""
    labels = {"weight": dice.choice("1234")}
    if dice.random() < 0.9:
        labels[ZONE] = dice.choice(("z1", "z2", "z3"))
    if dice.random() < 0.4:
        labels["disk"] = dice.choice(("ssd", "hdd"))
    return labels


def taints_of_node(dice: Random) -> list[Manifest]:
    """Return mostly none; soft ones are as frequent as hard ones."""
    if dice.random() < 0.6:
        return []
    taint = {"key": dice.choice(("dedicated", "other")), "effect": "PreferNoSchedule"}
    hard = {"key": "dedicated", "effect": dice.choice(("NoSchedule", "NoExecute"))}
    level = {"key": "level", "value": dice.choice("15"), "effect": "NoSchedule"}
    return dice.choices((taint, hard, level), (6, 2, 1), k=dice.choice((1, 1, 2)))


def offer_of_node(dice: Random) -> dict[str, Any]:
    """Allocatable amounts: few pods fill a node."""
    offer: dict[str, Any] = {
        "cpu": dice.choice(("8", "16", "32", "3920m")),
        "memory": dice.choice(("16Gi", "64Gi", "31Gi")),
        "pods": dice.choice((9, 110, 110)),
    }
    if dice.random() < 0.2:
        offer[EXTENDED] = dice.choice((0, 1, 4))
    return offer


def status_of_node(dice: Random) -> Manifest:
    """Return the images on it, each with the one size that it has everywhere."""
    names = [name for name in IMAGES if dice.random() < 0.4]
    status: Manifest = {"images": [{"names": [name], "sizeBytes": IMAGES[name]} for name in names]}
    if dice.random() < 0.1:
        status["declaredFeatures"] = ["GuaranteedQoSPodCPUResize"]
    return status


def draw_node(dice: Random, name: str) -> Node:
    """Return a node of that name, ordinary in most respects."""
    return make_node(
        name,
        labels=labels_of_node(dice),
        taints=taints_of_node(dice),
        allocatable=offer_of_node(dice),
        spec={"unschedulable": dice.random() < 0.05},
        status=status_of_node(dice),
    )


def _object(kind: str, version: str, name: str, namespace: str = "", **fields: Any) -> ClusterObject:
    metadata = {"name": name, "uid": f"uid-{kind}-{name}", **({"namespace": namespace} if namespace else {})}
    item = from_manifest({"apiVersion": version, "kind": kind, "metadata": metadata, **fields})
    assert isinstance(item, ClusterObject)
    return item


def namespace(dice: Random) -> ClusterObject:
    """Return a namespace with labels that a namespaceSelector may ask for."""
    labels = dice.choice(({}, {"team": "x"}, {"team": "y"}))
    name = dice.choice(NAMESPACES)
    return _object("Namespace", "v1", name, metadata={"name": name, "labels": labels})


def selecting(dice: Random) -> ClusterObject:
    """Return an object that gives pods default spread constraints: a Service, or one of the three
    controllers.
    """
    name = dice.choice(APPS)
    match dice.choice(("Service", "ReplicationController", "ReplicaSet", "StatefulSet")):
        case "Service":
            return _object("Service", "v1", "service", "default", spec={"selector": {"app": name}})
        case "ReplicationController":
            return _object(
                "ReplicationController", "v1", "owner", "default", spec={"selector": {"app": name}}
            )
        case kind:
            return _object(kind, "apps/v1", "owner", "default", spec={"selector": app(name)})


def storage(dice: Random, nodes: tuple[str, ...]) -> ClusterObject:
    """Return a class, a volume, a claim, or what is attached to a node."""
    kind = dice.choice(
        ("StorageClass", "PersistentVolume", "PersistentVolumeClaim", "CSINode", "VolumeAttachment")
    )
    version = "v1" if kind.startswith("Persistent") else "storage.k8s.io/v1"
    if kind == "StorageClass":
        mode = dice.choice(("WaitForFirstConsumer", "Immediate"))
        return _object(kind, version, "disk", provisioner=DRIVER, volumeBindingMode=mode)
    if kind == "CSINode":
        drivers = [{"name": DRIVER, "nodeID": "n", "allocatable": {"count": dice.choice((1, 5))}}]
        return _object(kind, version, dice.choice(nodes), spec={"drivers": drivers})
    if kind == "VolumeAttachment":
        spec = {
            "attacher": DRIVER,
            "nodeName": dice.choice(nodes),
            "source": {"persistentVolumeName": "volume"},
        }
        return _object(kind, version, "attachment", spec=spec, status={"attached": True})
    if kind == "PersistentVolume":
        return volume(dice.choice(("volume", "volume-alone")), dice.choice(("z1", "z2", "")))
    name, volume_name = dice.choice((("shared", "volume"), ("waiting", ""), ("alone", "volume-alone")))
    return claim(name, volume_name)


def volume(name: str, zone: str = "") -> ClusterObject:
    """Return a volume, of a zone or of all nodes."""
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
    spec: Manifest = {
        "capacity": {"storage": "5Gi"},
        "accessModes": [_mode(name)],
        "storageClassName": "disk",
        "csi": {"driver": DRIVER, "volumeHandle": name},
        **({"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}} if zone else {}),
    }
    return _object("PersistentVolume", "v1", name, spec=spec, status={"phase": "Bound"})


def claim(name: str, volume_name: str) -> ClusterObject:
    """Return a claim that is bound to a volume, or waits for one."""
    bound = {"pv.kubernetes.io/bind-completed": "yes"} if volume_name else {}
    spec = {
        "accessModes": [_mode(name)],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "disk",
        **({"volumeName": volume_name} if volume_name else {}),
    }
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "annotations": bound}
    return _object(
        "PersistentVolumeClaim",
        "v1",
        name,
        spec=spec,
        metadata=metadata,
        status={"phase": "Bound" if bound else "Pending"},
    )


def _mode(name: str) -> str:
    return "ReadWriteOncePod" if name.endswith("alone") else "ReadWriteMany"


def device(dice: Random, nodes: tuple[str, ...]) -> ClusterObject:
    """Return a class, which may stand for an extended resource, the devices of a node, or a claim."""
    version = "resource.k8s.io/v1"
    match dice.choice(("DeviceClass", "ResourceSlice", "ResourceClaim")):
        case "DeviceClass":
            named = dice.choice(({}, {"extendedResourceName": EXTENDED}))
            return _object("DeviceClass", version, "class", spec=named)
        case "ResourceSlice":
            name = dice.choice(nodes)
            pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
            spec: Manifest = {
                "driver": "dra.example.com",
                "nodeName": name,
                "pool": pool,
                "devices": [{"name": "d0"}, {"name": "d1"}],
            }
            return _object("ResourceSlice", version, f"slice-{name}", spec=spec)
        case _:
            request = {
                "name": "r",
                "exactly": {"deviceClassName": "class", "allocationMode": "ExactCount", "count": 1},
            }
            spec = {"devices": {"requests": [request]}}
            return _object("ResourceClaim", version, "device", "default", spec=spec)


def draw_object(dice: Random, nodes: tuple[str, ...], *, devices: bool = True) -> ClusterObject:
    """Any of them, those that are about ``devices`` only if there are any."""
    match dice.choices(("namespace", "selecting", "storage", "device"), (2, 3, 3, 2 * devices))[0]:
        case "namespace":
            return namespace(dice)
        case "selecting":
            return selecting(dice)
        case "storage":
            return storage(dice, nodes)
        case _:
            return device(dice, nodes)


def removal(item: ClusterObject) -> Remove:
    """That it is gone."""
    return Remove(type(item).__name__, item.metadata.namespace, item.metadata.name)
