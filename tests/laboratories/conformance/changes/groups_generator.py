"""Random clusters of at most five nodes, and a gang that most of them have no place for."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.laboratories.conformance.changes.domain import HOSTNAME, request
from tests.laboratories.conformance.families.draft import Manifest

GATES = {
    "GenericWorkload": True,
    "TopologyAwareWorkloadScheduling": True,
    "SchedulerAsyncPreemption": False,
}
ZONE = "topology.kubernetes.io/zone"


@dataclass
class Draft:
    """A scenario in the making: nodes, the group's pods, and the group's spec."""

    rng: Random
    nodes: list[Manifest]
    pods: list[Manifest]
    spec: Manifest


def scenario(seed: int, index: int) -> Manifest:
    """Return two to five nodes, and a gang of two to four pods that are mostly alike."""
    rng = Random(f"changes/groups/{seed}/{index}")
    nodes = [_node(rng, f"n{at}") for at in range(rng.choice([2, 2, 3, 3, 4, 5]))]
    size = rng.choice([2, 2, 3, 4])
    obstacles = rng.sample(
        [_tainted, _cordoned, _selecting, _large, _full, _together, _apart], rng.choice([1, 2, 2, 3])
    )
    spec: Manifest = {"schedulingPolicy": {"gang": {"minCount": rng.choice([size, size, size - 1])}}}
    pods = [_pod(f"p{at}", "", {"cpu": "500m", "memory": "256Mi"}) for at in range(size)]
    placed = [
        _pod(f"there-{at}", rng.choice(nodes)["metadata"]["name"], {"cpu": "500m"})
        for at in range(rng.randint(0, 3))
    ]
    draft = Draft(rng, nodes, pods, spec)
    for obstacle in obstacles:
        obstacle(draft)
    for pod in pods:
        pod["spec"]["schedulingGroup"] = {"podGroupName": "g"}
    if rng.random() < 0.2:
        # A pod with smaller requests, such as a launcher among workers.
        request(pods[0], "cpu", 100)
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default", "uid": "g"},
        "spec": spec,
    }
    return {
        "id": f"{seed}/{index}",
        "objects": [*nodes, *placed],
        "config": {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "percentageOfNodesToScore": 100,
        },
        "feature_gates": GATES,
        "rounds": [[*pods, group]],
    }


def _node(rng: Random, name: str) -> Manifest:
    amounts = {
        "cpu": rng.choice(["1", "2", "4"]),
        "memory": rng.choice(["2Gi", "8Gi"]),
        "pods": rng.choice(["2", "10", "10"]),
    }
    labels = {HOSTNAME: name, ZONE: rng.choice(["a", "b"])}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": name, "labels": labels},
        "spec": {},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


def _pod(name: str, node: str, requests: dict[str, str]) -> Manifest:
    container = {"name": "c", "image": "i:1", "resources": {"requests": requests}}
    spec: Manifest = {"containers": [container], "schedulerName": "default-scheduler", "priority": 0}
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": name,
        "labels": {"app": "other" if node else "gang"},
    }
    pod: Manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
    }
    if node:
        spec["nodeName"] = node
        pod["status"] = {"phase": "Running"}
    return pod


def _tainted(draft: Draft) -> None:
    for node in draft.nodes:
        keys = draft.rng.sample(["x", "y"], draft.rng.choice([0, 1, 1, 2]))
        node["spec"]["taints"] = [{"key": key, "value": "v", "effect": "NoSchedule"} for key in keys]


def _cordoned(draft: Draft) -> None:
    for node in draft.nodes:
        if draft.rng.random() < 0.6:
            node["spec"]["unschedulable"] = True


def _selecting(draft: Draft) -> None:
    for node in draft.nodes:
        if draft.rng.random() < 0.3:
            node["metadata"]["labels"]["disk"] = draft.rng.choice(["ssd", "hdd"])
    for pod in draft.pods:
        pod["spec"]["nodeSelector"] = {"disk": "ssd"}


def _large(draft: Draft) -> None:
    cpu, memory = draft.rng.choice(["900m", "1500m", "3", "5"]), draft.rng.choice(["256Mi", "256Mi", "3Gi"])
    for pod in draft.pods:
        pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu, "memory": memory}}


def _full(draft: Draft) -> None:
    for node in draft.nodes:
        node["status"]["allocatable"]["pods"] = draft.rng.choice(["1", "2", "3"])


def _together(draft: Draft) -> None:
    draft.spec["schedulingConstraints"] = {"topology": [{"key": draft.rng.choice([ZONE, ZONE, HOSTNAME])}]}


def _apart(draft: Draft) -> None:
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "gang"}}}
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    for pod in draft.pods:
        pod["spec"]["affinity"] = anti
