"""Pods that preemption made room for: others' that wait for their nodes, and the pod's own nomination."""

from __future__ import annotations

import copy

from tests.laboratories.conformance.families import affinity, ports, resources
from tests.laboratories.conformance.families.draft import Draft, Family, Manifest, pod_manifest

PRIORITIES = [-1, 0, 0, 5, 10]
GONE = "node-that-is-gone"
CROWDING: list[Family] = [resources.requests, resources.requests, resources.pod_level, ports.node_ports]


def nominations(draft: Draft) -> None:
    """Pods of lower, equal and higher priority wait for nodes that are nearly full."""
    draft.nominated = [
        _waiting(draft, f"waiting-{i:02d}") for i in range(draft.rng.randint(1, 2 * len(draft.nodes)))
    ]
    for pod in [draft.pod, *draft.nominated]:
        if draft.chance(0.8):
            pod["spec"]["priority"] = draft.rng.choice(PRIORITIES)
    draft.rng.choice(CROWDING)(draft)
    for node in draft.nodes:
        if draft.chance(0.4):
            name = node["metadata"]["name"]
            there = sum(pod["spec"].get("nodeName") == name for pod in draft.assigned)
            places = str(there + draft.rng.randint(0, 3))
            node["status"]["allocatable"]["pods"] = node["status"]["capacity"]["pods"] = places


def own(draft: Draft) -> None:
    """The pod has a nomination too; its node comes first, whatever the others offer."""
    nominations(draft)
    if draft.chance(0.3):
        affinity.name_terms(draft)
    draft.pod["status"] = {"nominatedNodeName": _node(draft)}
    if draft.chance(0.5):
        # The pod never waits for itself.
        draft.nominated.append(copy.deepcopy(draft.pod))


def _waiting(draft: Draft, name: str) -> Manifest:
    waiting = pod_manifest(draft, name)
    waiting["status"] = {"nominatedNodeName": _node(draft)}
    if draft.chance(0.05):
        waiting["status"]["phase"] = draft.rng.choice(["Succeeded", "Failed"])
    elif draft.chance(0.05):
        waiting["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    elif draft.chance(0.05):
        waiting["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        waiting["metadata"]["deletionGracePeriodSeconds"] = 30
    return waiting


def _node(draft: Draft) -> str:
    names = [node["metadata"]["name"] for node in draft.nodes]
    return str(draft.rng.choice([*names, *names, GONE]))
