"""Random sequences: a cluster, and pods that are scheduled there one after the other."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random

from tests.laboratories.conformance.families import (
    affinity,
    gangs,
    gates,
    images,
    nominations,
    pod_affinity,
    ports,
    preemption,
    resources,
    spread,
    taints,
)
from tests.laboratories.conformance.families.draft import Draft, Family, Manifest, base
from tests.laboratories.conformance.families.neighbours import HOSTNAME
from tests.laboratories.conformance.families.profile import configuration
from tests.laboratories.conformance.program import NEWEST

ANYWHERE: list[Family] = [
    resources.requests,
    resources.least_allocated,
    taints.taint_toleration,
    taints.node_unschedulable,
    affinity.node_affinity,
    ports.node_ports,
    images.image_locality,
    spread.constraints,
    spread.defaults,
    pod_affinity.own_terms,
    pod_affinity.others_terms,
    nominations.nominations,
    nominations.own,
]


def out_of_reach(draft: Draft) -> None:
    """Draft a pod with more unavailable requests than fit into an event's message."""
    wanted = {f"example.com/{'far-' * draft.rng.randint(3, 13)}away-{i}": "1" for i in range(15)}
    container = draft.rng.choice(draft.pod["spec"]["containers"])
    for part in ("requests", "limits"):
        container.setdefault("resources", {}).setdefault(part, {}).update(wanted)


IN_SMALL_CLUSTERS: list[Family] = [out_of_reach, affinity.name_terms, preemption.preemption]
REGIONS = {
    "topology.kubernetes.io/region": ["region-1", "region-2"],
    "failure-domain.beta.kubernetes.io/region": ["region-1", ""],
    "topology.kubernetes.io/zone": ["zone-a", "zone-b", "zone-c", ""],
    "failure-domain.beta.kubernetes.io/zone": ["zone-a", "zone-d", ""],
}
GROUPS_SINCE = "1.37"
"""Since this release the pods of a group are one victim."""
PERCENTAGES = [0, 0, 1, 5, 30, 50, 80, 100]


def sequence(seed: int, index: int, version: str = NEWEST) -> Manifest:
    """Return sequence `index` of a seed. A fifth of them have more nodes than kube-scheduler evaluates."""
    rng = Random(f"sequence/{seed}/{index}")
    draft = base(rng, version, most_nodes=rng.choice([3, 5, 10]))
    large = index % 5 == 0
    families = ANYWHERE if large else ANYWHERE + IN_SMALL_CLUSTERS
    for family in rng.sample(families, rng.choice([1, 1, 2, 3])):
        family(draft)
    if version >= GROUPS_SINCE and not large and draft.chance(0.2):
        gangs.bound(draft)
    _switch(draft)
    for pod in draft.pods():
        # Claims are bound through the API server, and there is none.
        pod["spec"].pop("volumes", None)
    itself = draft.pod["metadata"]["uid"]
    # Later families changed the pod, not its twin that waits already.
    draft.nominated = [
        copy.deepcopy(draft.pod) if pod["metadata"]["uid"] == itself else pod for pod in draft.nominated
    ]
    for pod in draft.nominated:
        # Whether a gated pod's nomination counts depends in kube-scheduler on the order of the pod and the
        # nomination.
        pod["spec"].pop("schedulingGates", None)
    _spread_over_zones(draft)
    if large:
        _enlarge(draft, rng.randint(100, 240))
    config = configuration(draft)
    others = [*draft.nodes, *draft.assigned, *draft.nominated, *draft.objects]
    rng.shuffle(others)
    return {
        "id": f"{'large' if large else 'small'}/{seed}/{index}",
        "objects": others,
        "config": _sampling(draft, config),
        "feature_gates": draft.gates,
        "steps": list(_steps(draft)),
    }


def sequences(seed: int, count: int, version: str = NEWEST) -> Iterator[Manifest]:
    for index in range(count):
        yield sequence(seed, index, version)


def _switch(draft: Draft) -> None:
    """Gates set otherwise, those that act on the whole scheduler among them."""
    usual = gates.usual_gates(draft.version)
    for name in ("SchedulerAsyncPreemption", "NominatedNodeNameForExpectation"):
        if name in usual and draft.chance(0.15):
            draft.gates[name] = not usual[name]
    if draft.chance(0.15):
        gates.switch(draft)


def _spread_over_zones(draft: Draft) -> None:
    """Zones and regions, by the labels of today or the older ones, or by none."""
    keys = draft.some(list(REGIONS), 0, 4)
    for node in draft.nodes:
        for key in keys:
            if draft.chance(0.7):
                node["metadata"]["labels"][key] = draft.rng.choice(REGIONS[key])


def _enlarge(draft: Draft, count: int) -> None:
    """More nodes like those that there are, some with pods like those that there are."""
    patterns, pods = list(draft.nodes), list(draft.assigned)
    for i in range(count - len(patterns)):
        name = f"more-{draft.rng.randint(0, 9)}-{i:03d}"
        node = draft.rng.choice(patterns)
        there = [pod for pod in pods if pod["spec"].get("nodeName") == node["metadata"]["name"]]
        draft.nodes.append(_like(node, name))
        if there and draft.chance(0.3):
            pod = _like(draft.rng.choice(there), f"on-{name}")
            pod["spec"]["nodeName"] = name
            draft.assigned.append(pod)


def _like(pattern: Manifest, name: str) -> Manifest:
    twin = copy.deepcopy(pattern)
    twin["metadata"]["name"] = name
    if "uid" in twin["metadata"]:
        twin["metadata"]["uid"] = f"uid-{name}"
    if HOSTNAME in twin["metadata"].get("labels", {}):
        twin["metadata"]["labels"][HOSTNAME] = name
    return twin


def _sampling(draft: Draft, config: Manifest | None) -> Manifest:
    """kube-scheduler takes an absent percentage for 0, mooring for all nodes: so it is always there."""
    config = config or {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    config["percentageOfNodesToScore"] = draft.rng.choice(PERCENTAGES)
    for profile in config.get("profiles", []):
        if draft.chance(0.3):
            profile["percentageOfNodesToScore"] = draft.rng.choice(PERCENTAGES)
    return config


def _steps(draft: Draft) -> Iterator[Manifest]:
    yield {"pod": draft.pod}
    # How many nodes have an image is there as old as the last change of the node that is scored.
    steady = any("images" in node["status"] for node in draft.nodes)
    for i in range(draft.rng.randint(0, 5)):
        if steady:
            pass
        elif draft.chance(0.2):
            yield {"add_node": _like(draft.rng.choice(draft.nodes), f"late-{i}")}
        elif draft.chance(0.1) and (names := _younger(draft.nodes)):
            name = draft.rng.choice(names)
            draft.nodes = [node for node in draft.nodes if node["metadata"]["name"] != name]
            yield {"remove_node": name}
        pod = _like(draft.rng.choice([draft.pod, draft.pod, *draft.assigned]), f"next-{i}")
        pod["spec"].pop("nodeName", None)
        # One of a gang would wait for the others for good.
        pod["spec"].pop("schedulingGroup", None)
        pod["metadata"].pop("deletionTimestamp", None)
        pod["metadata"].pop("deletionGracePeriodSeconds", None)
        pod.pop("status", None)
        yield {"pod": pod}


def _younger(nodes: list[Manifest]) -> list[str]:
    """Return the nodes that are not the oldest of their zone: there a zone keeps its turn without
    that one.
    """
    seen: set[tuple[str, ...]] = set()
    found = []
    for node in sorted(nodes, key=lambda node: str(node["metadata"]["name"])):
        zone = tuple(node["metadata"]["labels"].get(key, "-") for key in REGIONS)
        if zone in seen:
            found.append(node["metadata"]["name"])
        seen.add(zone)
    return found
