"""The shapes of scheduler_perf's pods, volumes and nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mooring.testing.builders import Fields, Manifest, pod_manifest
from tests.laboratories.bench.cluster import POD_ASKS

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
BEFORE, MEASURED = "sched-0", "sched-1"
"""The namespaces of the pods that are there before, and of the measured ones."""

DRIVER, VOLUMES_PER_NODE = "ebs.csi.aws.com", 39
WAITING_CLASS = "csi-waiting"

Make = Callable[[int], Manifest]
"""The pod with this number."""


def pod(
    prefix: str,
    *,
    namespace: str = MEASURED,
    labels: Mapping[str, str] | None = None,
    requests: Mapping[str, Any] = POD_ASKS,
    spec: Fields | None = None,
) -> Make:
    return lambda number: pod_manifest(
        f"{prefix}-{number}", namespace=namespace, labels=labels, requests=requests, spec=spec
    )


def near(kind: str, color: str, key: str, *, preferred: bool = False) -> tuple[Make, Make]:
    """Return pods that (anti-)affinity draws to, or from, their like: those before, and the measured ones."""
    term: Manifest = {
        "labelSelector": {"matchLabels": {"color": color}},
        "topologyKey": key,
        "namespaces": [MEASURED, BEFORE],
    }
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    if preferred:
        rule = {"preferredDuringSchedulingIgnoredDuringExecution": [{"podAffinityTerm": term, "weight": 1}]}
    labels, spec = {"color": color}, {"affinity": {kind: rule}}
    prefix = f"{kind}-{'preferred' if preferred else 'required'}".lower()
    before = pod(f"{prefix}-before", namespace=BEFORE, labels=labels, spec=spec)
    return before, pod(prefix, labels=labels, spec=spec)


def spreading(labels: Mapping[str, str], **constraint: Any) -> Make:
    whole = {"labelSelector": {"matchLabels": labels}, **constraint}
    return pod("spreading", labels=labels, spec={"topologySpreadConstraints": [whole]})


def claiming(prefix: str, namespace: str) -> Make:
    return lambda number: pod_manifest(
        f"{prefix}-{number}",
        namespace=namespace,
        requests=POD_ASKS,
        spec={
            "volumes": [
                {"name": "data", "persistentVolumeClaim": {"claimName": f"claim-{prefix}-{number}"}},
            ]
        },
    )


def bound_claim(pod: Manifest) -> list[Manifest]:
    """Return the claim of a pod of ``claiming``, and the volume that it is bound to."""
    claim = pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"]
    shape: Manifest = {"accessModes": ["ReadOnlyMany"]}
    size = {"storage": "1Gi"}
    reference = {"kind": "PersistentVolumeClaim", "namespace": pod["metadata"]["namespace"], "name": claim}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"volume-{claim}"},
            "spec": {
                **shape,
                "capacity": size,
                "claimRef": reference,
                "csi": {"driver": DRIVER, "volumeHandle": f"volume-{claim}"},
            },
            "status": {"phase": "Bound"},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": claim,
                "namespace": pod["metadata"]["namespace"],
                "annotations": {"pv.kubernetes.io/bind-completed": "true"},
            },
            "spec": {**shape, "resources": {"requests": size}, "volumeName": f"volume-{claim}"},
            "status": {"phase": "Bound"},
        },
    ]


def waiting_claim(pod: Manifest) -> list[Manifest]:
    """Return the claim of a pod of ``claiming``, which gets its volume where the pod goes."""
    claim = pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"]
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": WAITING_CLASS,
    }
    metadata = {"name": claim, "namespace": pod["metadata"]["namespace"], "uid": f"uid-{claim}"}
    kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return [{**kind, "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}]


def waiting_class() -> Manifest:
    """Return the class of these claims."""
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": WAITING_CLASS}}
    return {**kind, "provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer"}


def csi_node(node: str) -> list[Manifest]:
    driver = {"name": DRIVER, "nodeID": node, "allocatable": {"count": VOLUMES_PER_NODE}}
    return [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": node},
            "spec": {"drivers": [driver]},
        }
    ]


DEVICE_DRIVER, DEVICE_CLASS, EXTENDED = "test-driver.cdi.k8s.io", "test-class", "example.com/gpu"
DEVICES_PER_NODE = 10
DEVICE_API = "resource.k8s.io/v1"


def device_class(resource: str = "") -> Manifest:
    """Return the class of all devices, which may stand for a resource."""
    selector = {"cel": {"expression": f'device.driver == "{DEVICE_DRIVER}"'}}
    named = {"extendedResourceName": resource} if resource else {}
    metadata = {"name": DEVICE_CLASS}
    return {
        "apiVersion": DEVICE_API,
        "kind": "DeviceClass",
        "metadata": metadata,
        "spec": {"selectors": [selector], **named},
    }


def device_slice(node: str) -> list[Manifest]:
    """Return the devices of a node."""
    devices = [
        {
            "name": f"instance-{at}",
            "attributes": {
                "model": {"string": "A100"},
                "family": {"string": "GRID"},
                "driverVersion": {"version": "1.2.3"},
                "dra.example.com/numa": {"int": at},
            },
            "capacity": {"memory": {"value": "1Gi"}},
        }
        for at in range(DEVICES_PER_NODE)
    ]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DEVICE_DRIVER, "nodeName": node, "pool": pool, "devices": devices}
    metadata = {"name": f"slice-{node}", "uid": f"uid-slice-{node}"}
    return [{"apiVersion": DEVICE_API, "kind": "ResourceSlice", "metadata": metadata, "spec": spec}]


def with_device_claim(prefix: str, namespace: str = MEASURED) -> Make:
    """Return pods with a claim for one device, made from a template."""

    def make(number: int) -> Manifest:
        name = f"{prefix}-{number}"
        spec = {"resourceClaims": [{"name": "device", "resourceClaimTemplateName": "device"}]}
        made = {"name": "device", "resourceClaimName": f"{name}-device"}
        status = {"resourceClaimStatuses": [made]}
        metadata = {"uid": f"uid-{name}"}
        return pod_manifest(name, namespace=namespace, metadata=metadata, spec=spec, status=status)

    return make


def device_claim(pod: Manifest) -> list[Manifest]:
    """Return the claim that was made for a pod of ``with_device_claim``."""
    meta = pod["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"], "controller": True}
    name = f"{meta['name']}-device"
    metadata = {
        "name": name,
        "namespace": meta["namespace"],
        "uid": f"uid-{name}",
        "ownerReferences": [owner],
    }
    request = {
        "name": "req-0",
        "exactly": {"deviceClassName": DEVICE_CLASS, "allocationMode": "ExactCount", "count": 1},
    }
    return [
        {
            "apiVersion": DEVICE_API,
            "kind": "ResourceClaim",
            "metadata": metadata,
            "spec": {"devices": {"requests": [request]}},
        }
    ]
