"""What whole schedulers are given: nodes and pods, made or from a trace."""

from __future__ import annotations

import csv
import gzip
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.cluster import POD_NAME
from tests.bench.shapes import ZONE
from tests.e2e import objects

Manifest = dict[str, Any]

OPENB_NODES = "openb_node_list_all_node.csv.gz"
OPENB_PODS = "openb_pod_list_default.csv.gz"
GPU = "example.com/gpu-milli"
"""Thousandths of GPUs: pods of the trace share them, and no resource of Kubernetes tells which one."""

SURE = 0.99
"""The share of a trace's pods that get a node wherever the others went."""


@dataclass(frozen=True, slots=True)
class LiveWorkload:
    """Nodes and the pods that are to be bound to them.

    Attributes:
        name: Of the row: what pods, how many of them, on how many nodes.
        nodes: Their manifests.
        pods: Theirs, in the order of their arrival.
        enough: How many of them any scheduler finds nodes for.
    """

    name: str
    nodes: list[Manifest]
    pods: list[Manifest]
    enough: int


def like_pods(nodes: int, pods: int) -> LiveWorkload:
    """Pods of one Deployment."""
    return LiveWorkload(
        f"{nodes}Nodes{pods}LikePods", _nodes(nodes), [_replica(number) for number in range(pods)], pods
    )


def mixed_pods(nodes: int, pods: int) -> LiveWorkload:
    """Pods of StatefulSets of 20; of ten sets one is spread over zones, and one keeps its pods apart."""
    return LiveWorkload(
        f"{nodes}Nodes{pods}MixedPods", _nodes(nodes), [_member(number) for number in range(pods)], pods
    )


def openb(traces: Path, pods: int) -> LiveWorkload:
    """Nodes of a production cluster with GPUs, and the first of its pods; all that it had fit, just about.

    A pod that asks for all GPUs of a node, or for more memory than any has, may find none.
    """
    nodes = [
        _node(
            row["sn"],
            {
                "cpu": f"{row['cpu_milli']}m",
                "memory": f"{row['memory_mib']}Mi",
                GPU: str(1000 * int(row["gpu"])),
            },
        )
        for row in _rows(traces / OPENB_NODES)
    ]
    first = list(itertools.islice(_rows(traces / OPENB_PODS), pods))
    name, traced = f"OpenB{len(nodes)}Nodes{len(first)}Pods", [_traced(row) for row in first]
    return LiveWorkload(name, nodes, traced, int(SURE * len(first)))


def node_name(number: int) -> str:
    """The name of a node that is not from a trace."""
    return f"node-{number:05}"


def bystander(number: int, workload: LiveWorkload) -> Manifest:
    """A pod that runs already."""
    node: str = workload.nodes[number % len(workload.nodes)]["metadata"]["name"]
    return objects.pod(f"bystander-{number:05}", nodeName=node)


def _nodes(count: int) -> list[Manifest]:
    return [objects.node(node_name(number), {ZONE: f"zone-{number % 3}"}) for number in range(count)]


def _node(name: str, offers: dict[str, str]) -> Manifest:
    node = objects.node(name)
    node["status"] |= {"capacity": {"pods": "110", **offers}, "allocatable": {"pods": "110", **offers}}
    return node


def _replica(number: int) -> Manifest:
    pod = objects.pod(f"pod-{number:05}")
    pod["metadata"]["labels"] = {"app": "bench"}
    return pod


def _member(number: int) -> Manifest:
    pod = objects.pod(f"pod-{number:05}")
    app = f"set-{number // 20}"
    pod["metadata"]["labels"] = {"app": app, POD_NAME: pod["metadata"]["name"]}
    selector = {"labelSelector": {"matchLabels": {"app": app}}}
    rules = {
        3: {
            "topologySpreadConstraints": [
                {"maxSkew": 5, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **selector}
            ]
        },
        7: {
            "affinity": {
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {"topologyKey": objects.HOSTNAME, **selector}
                    ]
                }
            }
        },
    }
    pod["spec"] |= rules.get(number // 20 % 10, {})
    return pod


def _traced(row: dict[str, str]) -> Manifest:
    asks = {"cpu": f"{row['cpu_milli']}m", "memory": f"{row['memory_mib']}Mi"}
    gpus = int(row["num_gpu"]) * int(row["gpu_milli"] or 0)
    if gpus:
        asks[GPU] = str(gpus)
    pod = objects.pod(row["name"])
    resources = {"requests": asks, **({"limits": {GPU: asks[GPU]}} if gpus else {})}
    pod["spec"]["containers"][0]["resources"] = resources
    return pod


def _rows(file: Path) -> Iterator[dict[str, str]]:
    with gzip.open(file, "rt", encoding="utf-8") as text:
        yield from csv.DictReader(text)
