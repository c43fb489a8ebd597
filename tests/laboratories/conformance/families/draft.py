"""A scenario in the making, and the pieces that every family uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

Manifest = dict[str, Any]
T = TypeVar("T")


@dataclass
class Draft:
    """Nodes, other pods, the pod to place, args and feature gates: families change what their plugins read.

    `assigned` pods are on nodes; `nominated` ones wait for theirs. `version` is the release to compare with.
    """

    rng: Random
    version: str
    nodes: list[Manifest] = field(default_factory=list)
    assigned: list[Manifest] = field(default_factory=list)
    nominated: list[Manifest] = field(default_factory=list)
    objects: list[Manifest] = field(default_factory=list)
    pod: Manifest = field(default_factory=dict)
    args: dict[str, Manifest] = field(default_factory=dict)
    gates: dict[str, bool] = field(default_factory=dict)
    profile: str | None = None

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def some(self, choices: Sequence[T], least: int, most: int) -> list[T]:
        return self.rng.sample(choices, min(len(choices), self.rng.randint(least, most)))

    def pods(self) -> list[Manifest]:
        return [self.pod, *self.assigned, *self.nominated]

    def containers(self, pod: Manifest) -> list[Manifest]:
        return [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]


Family = Callable[[Draft], None]


def base(rng: Random, version: str, most_nodes: int) -> Draft:
    """Roomy nodes with a few small pods on them: nothing is rejected until a family says so."""
    draft = Draft(rng, version)
    style = rng.choice(["node-{:02d}", "node-{:02d}", "n{}", "ip-10-0-{}-7.ec2.internal", "{}"])
    for i in range(rng.choice([1, most_nodes, rng.randint(2, most_nodes), rng.randint(2, most_nodes)])):
        cpu, memory = rng.choice([("4", "8Gi"), ("8", "16Gi"), ("16", "64Gi"), ("3920m", "15Gi")])
        room = {"cpu": cpu, "memory": memory, "pods": "110", "ephemeral-storage": "100Gi"}
        name = style.format(i)
        draft.nodes.append(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
                "status": {"capacity": dict(room), "allocatable": room},
            }
        )
    for i in range(rng.randint(0, 3 * len(draft.nodes))):
        assigned = pod_manifest(draft, f"assigned-{i:02d}")
        assigned["spec"]["nodeName"] = rng.choice(draft.nodes)["metadata"]["name"]
        assigned["status"] = {"phase": "Running"}
        draft.assigned.append(assigned)
    draft.pod = pod_manifest(draft, "pending")
    return draft


def pod_manifest(draft: Draft, name: str) -> Manifest:
    containers = []
    for i in range(draft.rng.choice([1, 1, 1, 2, 3])):
        container: Manifest = {"name": f"c{i}", "image": "registry.example/app:1.0"}
        if draft.chance(0.6):
            requests = {
                "cpu": draft.rng.choice(["50m", "100m", "250m", "1"]),
                "memory": draft.rng.choice(["64Mi", "200Mi", "1Gi"]),
            }
            container["resources"] = {"requests": requests}
        containers.append(container)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": draft.rng.choice(["default", "team-a"]),
            "uid": f"uid-{name}",
        },
        "spec": {"containers": containers},
    }
