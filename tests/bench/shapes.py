"""The shapes of scheduler_perf's pods, volumes and nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mooring.testing.builders import Fields, Manifest, pod_manifest
from tests.bench.cluster import POD_ASKS

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
BEFORE, MEASURED = "sched-0", "sched-1"
"""The namespaces of the pods that are there before, and of the measured ones."""

DRIVER, VOLUMES_PER_NODE = "ebs.csi.aws.com", 39

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
    """Pods that (anti-)affinity draws to, or from, their like: those before, and the measured ones."""
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
    """The claim of a pod of ``claiming``, and the volume that it is bound to."""
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
