"""Random clusters of at most eight nodes, and a pod that most of them have no node for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from tests.laboratories.conformance.families import affinity, pod_affinity, ports, resources, spread, taints
from tests.laboratories.conformance.families.draft import Draft, Family, Manifest, base
from tests.laboratories.conformance.program import NEWEST

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "rs", "controller": True}
FAMILIES: list[Family] = [
    affinity.node_affinity,
    pod_affinity.own_terms,
    ports.node_ports,
    resources.requests,
    spread.constraints,
    taints.node_unschedulable,
    taints.taint_toleration,
]
WORDS = ["a", "b", "c"]


def scenario(seed: int, index: int, version: str = NEWEST) -> Manifest:
    """Scenario `index` of a seed."""
    rng = Random(f"changes/{seed}/{index}")
    draft = base(rng, version, most_nodes=rng.choice([2, 4, 8]))
    for obstacle in draft.some(OBSTACLES, 1, 3):
        obstacle(draft)
    if draft.chance(0.3):
        rng.choice(FAMILIES)(draft)
    for pod in draft.assigned:
        if draft.chance(0.7):
            pod["metadata"]["ownerReferences"] = [OWNER]
        for spec in (pod["spec"], draft.pod["spec"]):
            # Claims are bound through the API server, and there is none.
            spec.pop("volumes", None)
    others = [*draft.nodes, *draft.assigned, *draft.nominated, *draft.objects]
    return {"id": f"{seed}/{index}", "objects": others, "pod": draft.pod, "feature_gates": draft.gates}


def scenarios(seed: int, count: int, version: str = NEWEST) -> Iterator[Manifest]:
    for index in range(count):
        yield scenario(seed, index, version)


def too_large(draft: Draft) -> None:
    """The pod requests about as much as a node has."""
    asked = {"cpu": draft.rng.choice(["3", "3900m", "8", "17"])}
    if draft.chance(0.5):
        asked["memory"] = draft.rng.choice(["7Gi", "15Gi", "80Gi"])
    if draft.chance(0.2):
        asked["ephemeral-storage"] = "120Gi"
    containers = draft.pod["spec"]["containers"]
    draft.rng.choice(containers)["resources"] = {"requests": asked}


def full(draft: Draft) -> None:
    """Pods take most of some nodes."""
    for pod in draft.assigned:
        if draft.chance(0.6):
            amounts = {
                "cpu": draft.rng.choice(["1", "2", "3500m"]),
                "memory": draft.rng.choice(["1Gi", "4Gi"]),
            }
            pod["spec"]["containers"] = [{"name": "c", "image": "i:1", "resources": {"requests": amounts}}]
    draft.pod["spec"]["containers"][0]["resources"] = {
        "requests": {"cpu": draft.rng.choice(["2", "3500m"]), "memory": "2Gi"}
    }


def few_places(draft: Draft) -> None:
    """Nodes may have few pods."""
    for node in draft.nodes:
        node["status"]["allocatable"]["pods"] = draft.rng.choice(["0", "1", "2", "3"])


def tainted(draft: Draft) -> None:
    """Nodes have taints."""
    for node in draft.nodes:
        if draft.chance(0.8):
            some = draft.some(WORDS, 1, 2)
            effects = ["NoSchedule", "NoSchedule", "NoExecute", "PreferNoSchedule"]
            node["spec"] = {
                "taints": [{"key": key, "value": "v", "effect": draft.rng.choice(effects)} for key in some]
            }


def cordoned(draft: Draft) -> None:
    """Nodes are cordoned, some with the taint that says so."""
    for node in draft.nodes:
        if draft.chance(0.7):
            spec = node.setdefault("spec", {})
            spec["unschedulable"] = True
            if draft.chance(0.5):
                taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
                spec["taints"] = [*spec.get("taints", []), taint]


def selecting(draft: Draft) -> None:
    """The pod selects labels that some nodes have."""
    keys = draft.some(WORDS, 1, 2)
    for node in draft.nodes:
        node["metadata"]["labels"] |= {key: draft.rng.choice(WORDS) for key in WORDS if draft.chance(0.4)}
    draft.pod["spec"]["nodeSelector"] = {key: draft.rng.choice(WORDS) for key in keys}


def requiring(draft: Draft) -> None:
    """The pod requires one of several terms."""
    for node in draft.nodes:
        node["metadata"]["labels"] |= {
            key: draft.rng.choice(["1", "5", "x"]) for key in WORDS if draft.chance(0.4)
        }
    operators: list[Callable[[str], Manifest]] = [
        lambda key: {"key": key, "operator": "In", "values": draft.some(WORDS, 1, 2)},
        lambda key: {"key": key, "operator": "NotIn", "values": ["1", "x"]},
        lambda key: {"key": key, "operator": "Exists"},
        lambda key: {"key": key, "operator": "DoesNotExist"},
        lambda key: {"key": key, "operator": "Gt", "values": ["3"]},
        lambda key: {"key": key, "operator": "Lt", "values": ["3"]},
    ]
    terms = [
        {"matchExpressions": [draft.rng.choice(operators)(key) for key in draft.some(WORDS, 1, 2)]}
        for _ in range(draft.rng.randint(1, 2))
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    draft.pod["spec"]["affinity"] = {"nodeAffinity": required}


def requiring_together(draft: Draft) -> None:
    """The pod requires several things of one label."""
    key, rng = draft.rng.choice(WORDS), draft.rng
    for node in draft.nodes:
        if draft.chance(0.5):
            node["metadata"]["labels"][key] = rng.choice(["1", "4", "true"])
    limit = rng.randint(0, 4)
    others = [str(limit + 1), str(limit - 1), "true", "false"]
    some: list[Manifest] = [
        {"operator": "Exists"},
        {"operator": "Gt", "values": [str(limit)]},
        {"operator": "Lt", "values": [str(limit + rng.choice([0, 2, 3]))]},
        {"operator": "In", "values": [*others, str(limit + 2)]},
    ]
    kept_out = {"operator": "NotIn", "values": draft.some(others, 1, 4)}
    expressions = [{"key": key, **each} for each in (*draft.some(some, 1, 2), kept_out)]
    required = {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": expressions}]
        }
    }
    draft.pod["spec"]["affinity"] = {"nodeAffinity": required}


def apart(draft: Draft) -> None:
    """The pod shares no node with some that are there."""
    for pod in draft.assigned:
        if draft.chance(0.5):
            pod["metadata"]["labels"] = {"app": "web"}
            pod["metadata"]["namespace"] = draft.pod["metadata"]["namespace"]
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
    anti = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    draft.pod["spec"].setdefault("affinity", {})["podAntiAffinity"] = anti


def apart_by_zone(draft: Draft) -> None:
    """The pod shares no zone with some that are there, or they none with it, or it is spread over zones."""
    zone = "topology.kubernetes.io/zone"
    for node in draft.nodes:
        node["metadata"]["labels"] |= {zone: draft.rng.choice(WORDS)}
    selector = {"labelSelector": {"matchLabels": {"app": "web"}}}
    term = {"topologyKey": zone, **selector}
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    how = draft.rng.choice(["it", "they", "spread"])
    for pod in draft.assigned:
        if draft.chance(0.4):
            pod["metadata"]["labels"] = {"app": "web"}
            pod["metadata"]["namespace"] = draft.pod["metadata"]["namespace"]
            if how == "they":
                pod["spec"]["affinity"] = anti
    draft.pod["metadata"]["labels"] = {"app": "web"}
    if how == "it":
        draft.pod["spec"].setdefault("affinity", {}).update(anti)
    if how == "spread":
        rule = {"maxSkew": 1, "topologyKey": zone, "whenUnsatisfiable": "DoNotSchedule", **selector}
        draft.pod["spec"]["topologySpreadConstraints"] = [rule]


def same_port(draft: Draft) -> None:
    """The pod wants a port that pods have."""
    port = {"containerPort": 80, "hostPort": 80, "protocol": "TCP"}
    taken = set[str]()
    for pod in draft.assigned:
        node = pod["spec"]["nodeName"]
        if draft.chance(0.6) and node not in taken:
            taken.add(node)
            pod["spec"]["containers"][0]["ports"] = [port]
    draft.pod["spec"]["containers"][0]["ports"] = [port]


OBSTACLES: list[Family] = [
    too_large,
    full,
    few_places,
    tainted,
    cordoned,
    selecting,
    requiring,
    requiring_together,
    apart,
    apart_by_zone,
    same_port,
]
