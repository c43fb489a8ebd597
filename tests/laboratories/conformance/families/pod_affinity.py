"""InterPodAffinity: required and preferred terms of the pod and of the pods that are there already."""

from __future__ import annotations

from tests.laboratories.conformance.families.draft import Draft, Manifest
from tests.laboratories.conformance.families.neighbours import (
    LABELS,
    NAMESPACES,
    TOPOLOGY_KEYS,
    neighbourhood,
    put,
    selector,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NAMESPACE_LABELS = {"env": ["prod", "dev"], "team": ["a", "b"]}


def own_terms(draft: Draft) -> None:
    """Draft the pod's own terms, among pods that mostly have none."""
    _begin(draft)
    draft.pod["spec"]["affinity"] = _affinity(draft, draft.pod)
    _give_some(draft, 0.1)


def others_terms(draft: Draft) -> None:
    """The terms of the other pods, and at times of the pod as well."""
    _begin(draft)
    _give_some(draft, 0.5)
    if draft.chance(0.3):
        draft.pod["spec"]["affinity"] = _affinity(draft, draft.pod)
    if draft.chance(0.5):
        args: Manifest = {"ignorePreferredTermsOfExistingPods": draft.chance(0.4)}
        if draft.chance(0.7):
            args["hardPodAffinityWeight"] = draft.rng.choice([0, 1, 10, 100])
        draft.args["InterPodAffinity"] = args


def _begin(draft: Draft) -> None:
    neighbourhood(draft)
    for name in draft.some(NAMESPACES, 0, 3):
        labels = {
            key: draft.rng.choice(NAMESPACE_LABELS[key]) for key in draft.some(list(NAMESPACE_LABELS), 0, 2)
        }
        metadata = {"name": name, "labels": labels}
        put(draft, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})


def _give_some(draft: Draft, share: float) -> None:
    for pod in draft.assigned:
        if draft.chance(share):
            pod["spec"]["affinity"] = _affinity(draft, pod)


def _affinity(draft: Draft, owner: Manifest) -> Manifest:
    """Return one to three of the four kinds of terms for ``owner``; many of them match the pod to place."""
    kinds = [(side, kind) for side in ("podAffinity", "podAntiAffinity") for kind in (REQUIRED, PREFERRED)]
    affinity: Manifest = {}
    for side, kind in draft.some(kinds, 1, 3):
        terms = [_term(draft, owner) for _ in range(draft.rng.choice([1, 1, 1, 2]))]
        if kind == PREFERRED:
            terms = [{"weight": draft.rng.choice([1, 5, 50, 100]), "podAffinityTerm": term} for term in terms]
        affinity.setdefault(side, {})[kind] = terms
    return affinity


def _term(draft: Draft, owner: Manifest) -> Manifest:
    term: Manifest = {"topologyKey": draft.rng.choice(TOPOLOGY_KEYS)}
    if draft.chance(0.95):
        own = draft.pod["metadata"]["labels"]
        term["labelSelector"] = {"matchLabels": dict(own)} if draft.chance(0.4) else selector(draft)
    if draft.chance(0.25):
        term["namespaces"] = draft.some([*NAMESPACES, "gone"], 1, 2)
    if draft.chance(0.3):
        term["namespaceSelector"] = selector(draft, NAMESPACE_LABELS) if draft.chance(0.7) else {}
    chosen = term.get("labelSelector")
    if chosen is not None and draft.chance(0.1):
        used = {*chosen.get("matchLabels", {}), *(e["key"] for e in chosen.get("matchExpressions", []))}
        if free := [key for key in LABELS if key not in used]:
            _merge(term, owner, draft.rng.choice(free))
    return term


def _merge(term: Manifest, owner: Manifest, key: str) -> None:
    """A ``matchLabelKeys`` entry as the API server stores it: merged into the selector."""
    own = owner["metadata"]["labels"]
    if key in own:
        term["matchLabelKeys"] = [key]
        expressions = term["labelSelector"].setdefault("matchExpressions", [])
        expressions.append({"key": key, "operator": "In", "values": [own[key]]})
