"""Full nodes with less important pods on them, and disruption budgets that guard some."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.laboratories.conformance.families import (
    affinity,
    nominations,
    pod_affinity,
    ports,
    resources,
    spread,
    taints,
    volumes,
)
from tests.laboratories.conformance.families.draft import Draft, Family, Manifest, pod_manifest

PRIORITIES = [-10, -1, 0, 0, 1, 5, 5, 10, 100, 2000000000]
CROWDING: list[Family] = [resources.requests, resources.pod_level, resources.resize, ports.node_ports]
BESIDES: list[Family] = [
    nominations.nominations,
    nominations.own,
    affinity.node_affinity,
    taints.taint_toleration,
    spread.constraints,
    pod_affinity.own_terms,
    pod_affinity.others_terms,
    volumes.volume_restrictions,
    volumes.node_volume_limits,
]
LEAVING = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}


def preemption(draft: Draft) -> None:
    """Little room, and pods of all priorities, some of which could go."""
    _crowd(draft)
    if draft.chance(0.4):
        draft.rng.choice(CROWDING)(draft)
    if draft.chance(0.35):
        draft.rng.choice(BESIDES)(draft)
    _fill_up(draft)
    _rank(draft)
    draft.objects += [_budget(draft, f"budget-{i}") for i in range(draft.rng.choice([0, 1, 2, 4, 6]))]
    if draft.chance(0.1):
        draft.pod["spec"]["preemptionPolicy"] = draft.rng.choice(["Never", "PreemptLowerPriority"])
    if draft.chance(0.15):
        _waits_already(draft)


def leave_no_room(draft: Draft) -> None:
    """The pod is important, and no node takes one pod more, so that each may be a candidate.

    The oracle looks for all of them; mooring does where it may not stop before.
    """
    draft.pod["spec"]["priority"] = 2000000000
    draft.args["DefaultPreemption"] = {"minCandidateNodesAbsolute": 1000}
    for node in draft.nodes:
        name = node["metadata"]["name"]
        there = sum(pod["spec"].get("nodeName") == name for pod in draft.assigned)
        node["status"]["allocatable"]["pods"] = str(there)


def _crowd(draft: Draft) -> None:
    for i in range(draft.rng.randint(0, 4 * len(draft.nodes))):
        placed = pod_manifest(draft, f"placed-{i:02d}")
        placed["spec"]["nodeName"] = draft.rng.choice(draft.nodes)["metadata"]["name"]
        placed["status"] = {"phase": "Running"}
        draft.assigned.append(placed)


def _fill_up(draft: Draft) -> None:
    """The pod asks for more than is left on most nodes, or no further pod may come."""
    for node in draft.nodes:
        allocatable = node["status"]["allocatable"]
        if draft.chance(0.7):
            allocatable["cpu"] = draft.rng.choice(["500m", "1", "1500m", "2", "3"])
        if draft.chance(0.6):
            name = node["metadata"]["name"]
            there = sum(pod["spec"].get("nodeName") == name for pod in draft.assigned)
            allocatable["pods"] = str(max(0, there - draft.rng.choice([0, 0, 0, 1, 2])))
    if draft.chance(0.8):
        asked = {"cpu": draft.rng.choice(["500m", "900m", "1", "1500m", "2"])}
        draft.pod["spec"]["containers"][0]["resources"] = {"requests": asked}


def _rank(draft: Draft) -> None:
    draft.pod["spec"]["priority"] = draft.rng.choice([0, 5, 10, 100, 1000, 1000, 1000, 2000000000])
    # The order of equals among more than twelve is Go's own.
    common = len(draft.assigned) <= 12 and draft.chance(0.3)
    moments = draft.rng.sample(range(10000), len(draft.assigned))
    for pod, moment in zip(draft.assigned, moments, strict=True):
        if draft.chance(0.9):
            pod["spec"]["priority"] = draft.rng.choice(PRIORITIES)
        seconds = draft.rng.choice(moments[:2]) if common else moment
        if len(draft.assigned) > 12 or draft.chance(0.8):
            started = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
            pod["status"]["startTime"] = f"{started:%Y-%m-%dT%H:%M:%SZ}"
        if draft.chance(0.85):
            labels = {"app": draft.rng.choice(["web", "db", "cache"]), "tier": draft.rng.choice(["a", "b"])}
            given = {key: labels[key] for key in draft.some(list(labels), 1, 2)}
            pod["metadata"]["labels"] = given | pod["metadata"].get("labels", {})


def part_starts(draft: Draft) -> None:
    """Give more than twelve pods on a node different starts: Go's own sort orders equals."""
    for node in draft.nodes:
        name = node["metadata"]["name"]
        crowd = [pod for pod in draft.assigned if pod["spec"].get("nodeName") == name]
        if len(crowd) > 12:
            for second, pod in enumerate(draft.rng.sample(crowd, len(crowd))):
                pod.setdefault("status", {})["startTime"] = (
                    f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z"
                )


def _budget(draft: Draft, name: str) -> Manifest:
    status: Manifest = {
        "disruptionsAllowed": draft.rng.choice([0, 0, 1, 1, 2, 5]),
        "currentHealthy": 1,
        "desiredHealthy": 1,
        "expectedPods": 1,
    }
    if draft.chance(0.3):
        going = draft.some([pod["metadata"]["name"] for pod in draft.assigned], 1, 4)
        status["disruptedPods"] = dict.fromkeys(going, "2026-01-01T00:00:00Z")
    spec: Manifest = {"minAvailable": 1}
    if draft.chance(0.95):
        spec["selector"] = _selector(draft)
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": draft.rng.choice(["default", "team-a"])},
        "spec": spec,
        "status": status,
    }


def _selector(draft: Draft) -> Manifest:
    apps = draft.some(["web", "db", "cache"], 1, 2)
    expressions: list[Manifest] = [
        {"key": "app", "operator": draft.rng.choice(["In", "NotIn"]), "values": apps},
        {"key": "tier", "operator": draft.rng.choice(["Exists", "DoesNotExist"])},
    ]
    choices: list[Manifest] = [
        {},
        {"matchLabels": {"app": apps[0]}},
        {"matchLabels": {"app": apps[0]}},
        {"matchLabels": {"app": apps[0], "tier": "a"}},
        {"matchExpressions": [expressions[0]]},
        {"matchExpressions": expressions},
        {"matchLabels": {"tier": "b"}, "matchExpressions": [expressions[0]]},
    ]
    return draft.rng.choice(choices)


def _waits_already(draft: Draft) -> None:
    """The pod made room before, and the pods that went for it may not be gone yet."""
    name = draft.rng.choice(draft.nodes)["metadata"]["name"]
    draft.pod["status"] = {"nominatedNodeName": draft.rng.choice([name, name, name, nominations.GONE])}
    for pod in draft.assigned:
        if pod["spec"].get("nodeName") == name and draft.chance(0.4):
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z"
            pod["metadata"]["deletionGracePeriodSeconds"] = 30
            changes = draft.rng.choice([{}, {}, {"status": "False"}, {"reason": "EvictionByEvictionAPI"}])
            pod["status"]["conditions"] = [LEAVING | changes]
