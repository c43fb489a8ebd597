"""Nodes and pods for whole schedulers, made or from a trace."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.laboratories.bench.cluster import POD_NAME
from tests.laboratories.bench.shapes import ZONE
from tests.laboratories.bench.traces import GPU, SURE, Traced, openb_nodes, openb_pods
from tests.laboratories.e2e import objects

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LiveWorkload:
    """Nodes and the pods that are to be bound to them.

    Attributes:
        name: The name of the row: the pods, their number, the number of nodes.
        nodes: Their manifests.
        pods: Theirs, in the order of their arrival.
        enough: How many of them any scheduler finds nodes for.
    """

    name: str
    nodes: list[Manifest]
    pods: list[Manifest]
    enough: int


def like_pods(nodes: int, pods: int) -> LiveWorkload:
    """Return pods of one Deployment."""
    return LiveWorkload(
        f"{nodes}Nodes{pods}LikePods", _nodes(nodes), [_replica(number) for number in range(pods)], pods
    )


def mixed_pods(nodes: int, pods: int) -> LiveWorkload:
    """Return pods of StatefulSets of 20; of ten sets one is spread over zones, and one keeps its
    pods apart.
    """
    return LiveWorkload(
        f"{nodes}Nodes{pods}MixedPods", _nodes(nodes), [_member(number) for number in range(pods)], pods
    )


def openb(traces: Path, pods: int) -> LiveWorkload:
    """Return nodes of a production cluster with GPUs, and the first of its pods; all that it had fit, just
    about.

    A pod that asks for all GPUs of a node, or for more memory than any has, may find none.
    """
    nodes = [_node(node.name, node.resources) for node in openb_nodes(traces)]
    first = [_traced(pod) for pod in itertools.islice(openb_pods(traces), pods)]
    return LiveWorkload(f"OpenB{len(nodes)}Nodes{len(first)}Pods", nodes, first, int(SURE * len(first)))


def node_name(number: int) -> str:
    """Return the name of a node that is not from a trace."""
    return f"node-{number:05}"


def bystander(number: int, workload: LiveWorkload) -> Manifest:
    """Return a pod that runs already."""
    node: str = workload.nodes[number % len(workload.nodes)]["metadata"]["name"]
    return objects.pod(f"bystander-{number:05}", nodeName=node)


def _nodes(count: int) -> list[Manifest]:
    return [objects.node(node_name(number), {ZONE: f"zone-{number % 3}"}) for number in range(count)]


def _node(name: str, offers: Mapping[str, str]) -> Manifest:
    node = objects.node(name)
    node["status"] |= {"capacity": dict(offers), "allocatable": dict(offers)}
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


def _traced(traced: Traced) -> Manifest:
    pod = objects.pod(traced.name)
    pod["metadata"]["labels"] = dict(traced.labels)
    # The API server wants a limit where an extended resource is requested, and both to be equal.
    limits = {GPU: traced.resources[GPU]} if GPU in traced.resources else {}
    resources = {"requests": dict(traced.resources), **({"limits": limits} if limits else {})}
    pod["spec"]["containers"][0]["resources"] = resources
    return pod
