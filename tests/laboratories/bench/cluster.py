"""The cluster of every workload: scheduler_perf's default nodes and pods."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from mooring.framework.objects import Pod
from mooring.framework.quantity import Quantity
from mooring.testing.builders import Manifest, make_pod, node_manifest, pod_manifest

ZONES = 3
RACK = "example.com/rack"
POD_NAME = "statefulset.kubernetes.io/pod-name"
"""The label that each pod of a StatefulSet has for itself."""

NODE_OFFERS: Mapping[str, Quantity] = {"cpu": "4", "memory": "32Gi", "pods": 110}
POD_ASKS: Mapping[str, Quantity] = {"cpu": "100m", "memory": "500Mi"}
PODS_A_NODE = 40
"""How many of these pods a node has room for: by its processors."""


def node_name(number: int) -> str:
    """Return names as long as those of a cloud provider."""
    return f"pool-a-{number:06d}.internal.example"


def node_manifests(count: int, *, extra_labels: int = 0, images: int = 0, racks: int = 0) -> list[Manifest]:
    """Return equal nodes spread over zones and ``racks``, with the given numbers of more labels
    and images.
    """
    return [
        node(
            number,
            labels={
                **{f"example.com/label-{at}": f"value-{(number + at) % 7}" for at in range(extra_labels)},
                **({RACK: f"rack-{number % racks}"} if racks else {}),
            },
            status={
                "images": [
                    {"names": [f"registry.example/team/app-{at}:1.{at}"], "sizeBytes": 50_000_000 + at}
                    for at in range(images)
                ]
            },
        )
        for number in range(count)
    ]


def uneven_node(number: int) -> Manifest:
    """Return a node that offers a little less memory than any before it: what systems keep for themselves
    varies.
    """
    return node(number, offers={**NODE_OFFERS, "memory": f"{32 * 2**20 - number}Ki"})


def node(
    number: int,
    *,
    offers: Mapping[str, Quantity] = NODE_OFFERS,
    labels: Mapping[str, str] | None = None,
    status: Manifest | None = None,
) -> Manifest:
    """Return one of the nodes, in the zone whose turn it is."""
    return node_manifest(
        node_name(number),
        labels={"topology.kubernetes.io/zone": f"zone-{number % ZONES}", **(labels or {})},
        allocatable=offers,
        metadata={"uid": f"node-uid-{number}"},
        status=status,
    )


def own_request(number: int) -> Mapping[str, Quantity]:
    """Return requests that differ from those of all other pods below 100,000."""
    return {"cpu": f"{100 + number % 100}m", "memory": f"{500 + number // 100}Mi"}


def pending_pod(number: int, requests: Mapping[str, Quantity] = POD_ASKS) -> Pod:
    """Return a pod to place; its UID depends on ``number``."""
    return make_pod(f"pod-{number}", requests=requests, metadata={"uid": f"pod-uid-{number}"})


def pending_json(number: int) -> bytes:
    """Return the same pod as bytes."""
    manifest = pod_manifest(f"pod-{number}", requests=POD_ASKS, metadata={"uid": f"pod-uid-{number}"})
    return json.dumps(manifest, separators=(",", ":")).encode()


def write_manifests(folder: Path, nodes: list[Manifest]) -> Path:
    """Return a file for ``--source files:`` with ``nodes``."""
    path = folder / "cluster.json"
    items = {"apiVersion": "v1", "kind": "List", "items": nodes}
    path.write_text(json.dumps(items), encoding="utf-8")
    return path
