"""Groups: complete, waiting for more pods, or not there yet; and groups that are in the way of a pod."""

from __future__ import annotations

from tests.laboratories.conformance.families import nominations, preemption
from tests.laboratories.conformance.families.draft import Draft, Manifest, pod_manifest
from tests.laboratories.conformance.families.neighbours import put

GATES = {"GenericWorkload": True}
GROUPS = ["gang-0", "gang-1"]
BOUND = [f"bound-{i}" for i in range(5)]


def gangs(draft: Draft) -> None:
    if draft.chance(0.93):
        draft.gates = draft.gates | GATES
    for i in range(draft.rng.randint(0, 4)):
        draft.nominated.append(pod_manifest(draft, f"member-{i}"))
    for namespace in draft.some(["default", "team-a", "team-b"], 1, 3):
        for name in draft.some(GROUPS, 1, 2):
            put(draft, _group(draft, name, namespace))
    for pod in draft.pods():
        if draft.chance(0.9 if pod is draft.pod else 0.6):
            pod["spec"]["schedulingGroup"] = {"podGroupName": draft.rng.choice(GROUPS)}


def bound(draft: Draft) -> None:
    """Room is made for a pod among the pods of groups, which go one by one or as a whole, and lone ones."""
    preemption.preemption(draft)
    if draft.chance(0.6):
        preemption.leave_no_room(draft)
    if draft.chance(0.9):
        draft.gates = draft.gates | GATES
    for name in BOUND[: draft.rng.choice([1, 2, 2, 3, 5])]:
        namespace = draft.rng.choice(["default", "team-a"])
        own = draft.rng.choice(preemption.PRIORITIES)
        there = [pod for pod in draft.assigned if pod["metadata"]["namespace"] == namespace]
        for pod in draft.some(there, 1, 5):
            pod["spec"]["schedulingGroup"] = {"podGroupName": name}
            if draft.chance(0.95):
                pod["spec"]["priority"] = own
            if draft.chance(0.02):
                pod["spec"]["nodeName"] = nominations.GONE
        if draft.chance(0.95):
            put(draft, _victim(draft, name, namespace, own))


def _victim(draft: Draft, name: str, namespace: str, own: int) -> Manifest:
    """Return a group whose pods are in the way; as a rule its priority is theirs."""
    group = _group(draft, name, namespace)
    if draft.chance(0.9):
        group["spec"]["disruptionMode"] = draft.rng.choice([{"single": {}}, {"all": {}}, {"all": {}}])
    if draft.chance(0.9):
        group["spec"]["priority"] = own if draft.chance(0.6) else draft.rng.choice(preemption.PRIORITIES)
    return group


def _group(draft: Draft, name: str, namespace: str) -> Manifest:
    gang = {"gang": {"minCount": draft.rng.choice([1, 2, 2, 3, 5])}}
    policy = {"basic": {}} if draft.chance(0.15) else gang
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"schedulingPolicy": policy},
    }
