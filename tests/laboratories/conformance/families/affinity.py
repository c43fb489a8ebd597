"""NodeAffinity: node selector, required and preferred terms, fields, the affinity that the profile adds."""

from __future__ import annotations

from typing import Any

from tests.laboratories.conformance.families.draft import Draft, Manifest

LABELS: dict[str, list[str]] = {
    "disk": ["ssd", "hdd", ""],
    "rack": ["1", "2", "10", "007", "x7"],
    "topology.kubernetes.io/zone": ["zone-a", "zone-b"],
    "example.com/generation": ["7", "8", "9223372036854775807"],
}


def node_affinity(draft: Draft) -> None:
    _label(draft)
    spec = draft.pod["spec"]
    if draft.chance(0.25):
        key = draft.rng.choice(list(LABELS))
        spec["nodeSelector"] = {key: draft.rng.choice(LABELS[key])}
    if affinity := _affinity(draft, by_name=0.25):
        spec["affinity"] = {"nodeAffinity": affinity}
    if draft.chance(0.3) and (added := _affinity(draft, by_name=0.1)):
        draft.args["NodeAffinity"] = {"addedAffinity": added}


def name_terms(draft: Draft) -> None:
    """Terms that all name nodes, so that PreFilter narrows the nodes, contradictions included."""
    _label(draft)
    terms: list[Manifest] = []
    for _ in range(draft.rng.choice([1, 1, 2, 3])):
        term: Manifest = {"matchFields": [_field(draft, "In") for _ in range(draft.rng.choice([1, 1, 1, 2]))]}
        if draft.chance(0.3):
            term["matchExpressions"] = _expressions(draft, 1, 1)
        terms.append(term)
    if draft.chance(0.1):
        terms.append({"matchExpressions": _expressions(draft, 1, 1)})
    draft.pod["spec"]["affinity"] = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    }


def _label(draft: Draft) -> None:
    for node in draft.nodes:
        for key in draft.some(list(LABELS), 0, 4):
            node["metadata"].setdefault("labels", {})[key] = draft.rng.choice(LABELS[key])


def _affinity(draft: Draft, by_name: float) -> Manifest:
    affinity: Manifest = {}
    if draft.chance(0.3):
        terms = [_term(draft, by_name) for _ in range(draft.rng.randint(1, 3))]
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if draft.chance(0.8):
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": draft.rng.choice([1, 2, 10, 33, 100]), "preference": _term(draft, by_name)}
            for _ in range(draft.rng.randint(1, 4))
        ]
    return affinity


def _term(draft: Draft, by_name: float) -> Manifest:
    term: Manifest = {}
    if draft.chance(0.05):
        return term
    if draft.chance(by_name):
        term["matchFields"] = [_field(draft, draft.rng.choice(["In", "NotIn"]))]
    if not term or draft.chance(0.3):
        term["matchExpressions"] = _expressions(draft, 1, 3)
    return term


def _field(draft: Draft, operator: str) -> Manifest:
    names = [node["metadata"]["name"] for node in draft.nodes]
    return {
        "key": "metadata.name",
        "operator": operator,
        "values": [draft.rng.choice([*names, "node-that-is-gone"])],
    }


def _expressions(draft: Draft, least: int, most: int) -> list[Manifest]:
    return [_expression(draft) for _ in range(draft.rng.randint(least, most))]


OPERATORS = {"In": 6, "NotIn": 3, "Exists": 3, "DoesNotExist": 2, "Gt": 2, "Lt": 2}
BOUNDS = ["0", "1", "7", "9", "08", "9223372036854775806"]
# No integers, or no label values: the API server stores them all the same.
BAD_BOUNDS = ["-5", "+8", "abc", "1.5", "99999999999999999999"]


def _expression(draft: Draft) -> Manifest:
    key = draft.rng.choice([*LABELS, "kubernetes.io/hostname", "absent"])
    expression: dict[str, Any] = {
        "key": key,
        "operator": draft.rng.choices(list(OPERATORS), list(OPERATORS.values()))[0],
    }
    known = LABELS.get(key, [node["metadata"]["name"] for node in draft.nodes])
    if expression["operator"] in ("In", "NotIn"):
        expression["values"] = draft.some([*known, "other"], 1, 3)
    elif expression["operator"] in ("Gt", "Lt"):
        expression["values"] = [draft.rng.choice(BAD_BOUNDS if draft.chance(0.1) else BOUNDS)]
    return expression
