"""TaintToleration, NodeUnschedulable, NodeName and SchedulingGates."""

from __future__ import annotations

from tests.laboratories.conformance.families.draft import Draft, Manifest

KEYS = ["dedicated", "gpu", "example.com/maintenance", "node.kubernetes.io/unschedulable"]
VALUES = ["", "a", "b", "5"]
# No taint's value is negative: it must be a valid label value.
NUMBERS = ["0", "5", "6", "10", "9223372036854775807"]
NEARLY_NUMBERS = ["05", "00", "5.5", "6a", "9223372036854775808"]
COMPARED_SINCE = "1.35"
COMPARING = {"TaintTolerationComparisonOperators": True}
NOT_COMPARING = {"TaintTolerationComparisonOperators": False}
EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"]


def taint_toleration(draft: Draft) -> None:
    for node in draft.nodes:
        # Hard effects are made rarer, else hardly a node is ever left to score.
        effects = [effect for effect in EFFECTS if effect == "PreferNoSchedule" or draft.chance(0.3)]
        pairs = draft.some([(key, effect) for key in KEYS for effect in effects], 0, 4)
        node.setdefault("spec", {})["taints"] = [_taint(draft, key, effect) for key, effect in pairs]
    draft.pod["spec"]["tolerations"] = [_toleration(draft) for _ in range(draft.rng.randint(0, 4))]


def _taint(draft: Draft, key: str, effect: str) -> Manifest:
    taint = {"key": key, "effect": effect}
    if value := draft.rng.choice(VALUES):
        taint["value"] = value
    return taint


def _toleration(draft: Draft) -> Manifest:
    toleration: Manifest = {}
    if draft.chance(0.1):
        toleration["operator"] = "Exists"
    else:
        toleration["key"] = draft.rng.choice(KEYS)
        if draft.chance(0.5):
            toleration["operator"] = draft.rng.choice(["Exists", "Equal"])
        if toleration.get("operator") != "Exists" and draft.chance(0.8):
            toleration["value"] = draft.rng.choice(VALUES)
    if draft.chance(0.7):
        toleration["effect"] = draft.rng.choice(EFFECTS)
        if toleration["effect"] == "NoExecute" and draft.chance(0.5):
            toleration["tolerationSeconds"] = draft.rng.choice([0, 300])
    return toleration


def comparisons(draft: Draft) -> None:
    """Tolerations that compare numbers, with their feature gate on, off or unset."""
    taint_toleration(draft)
    draft.gates |= draft.rng.choice([COMPARING, COMPARING, COMPARING, NOT_COMPARING, {}])
    for node in draft.nodes:
        for taint in node["spec"]["taints"]:
            if draft.chance(0.8):
                taint["value"] = draft.rng.choice([*NUMBERS, *NUMBERS, *NEARLY_NUMBERS])
    for toleration in draft.pod["spec"]["tolerations"]:
        if "key" in toleration and draft.chance(0.8):
            # The API server rejects a toleration whose value is not a number.
            limit = draft.rng.choice([*NUMBERS, "-7", "-9223372036854775808"])
            toleration |= {"operator": draft.rng.choice(["Gt", "Lt"]), "value": limit}


def node_unschedulable(draft: Draft) -> None:
    for node in draft.nodes:
        node.setdefault("spec", {})["unschedulable"] = draft.chance(0.5)
    if draft.chance(0.5):
        keys = ["node.kubernetes.io/unschedulable", "other"]
        toleration = {"key": draft.rng.choice(keys), "operator": draft.rng.choice(["Exists", "Equal"])}
        if draft.chance(0.5):
            toleration["effect"] = draft.rng.choice(EFFECTS)
        if draft.version >= COMPARED_SINCE and draft.chance(0.2):
            toleration |= {"operator": draft.rng.choice(["Gt", "Lt"]), "value": draft.rng.choice(NUMBERS)}
            draft.gates |= COMPARING
        draft.pod["spec"]["tolerations"] = [toleration]


def node_name(draft: Draft) -> None:
    names = [node["metadata"]["name"] for node in draft.nodes]
    draft.pod["spec"]["nodeName"] = draft.rng.choice([*names, "node-that-is-gone"])


def scheduling_gates(draft: Draft) -> None:
    gates = draft.some(["example.com/quota", "example.com/wait", "first"], 0, 3)
    draft.pod["spec"]["schedulingGates"] = [{"name": gate} for gate in gates]
