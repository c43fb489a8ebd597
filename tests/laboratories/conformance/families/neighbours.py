"""Labels of nodes, pods and namespaces, and selectors over them, for the families about other pods."""

from __future__ import annotations

from tests.laboratories.conformance.families.draft import Draft, Manifest, pod_manifest

ZONE, HOSTNAME, RACK = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "example.com/rack"
TOPOLOGY_KEYS = [ZONE, ZONE, HOSTNAME, HOSTNAME, RACK, "example.com/nowhere"]
LABELS = {"app": ["web", "db", "cache"], "tier": ["front", "back"], "pod-template-hash": ["a1", "b2"]}
NAMESPACES = ["default", "team-a", "team-b"]


def neighbourhood(draft: Draft) -> None:
    """Labels for nodes, some of which lack some, and labelled pods, some of them terminating."""
    for node in draft.nodes:
        labels = node["metadata"]["labels"]
        if draft.chance(0.85):
            labels[ZONE] = draft.rng.choice(["zone-a", "zone-a", "zone-b", "zone-c"])
        if draft.chance(0.7):
            labels[RACK] = draft.rng.choice(["1", "2", ""])
        if draft.chance(0.1):
            labels.pop(HOSTNAME, None)
    if draft.chance(0.7):
        for _ in range(draft.rng.randint(1, 16) if draft.nodes else 0):
            extra = pod_manifest(draft, f"neighbour-{len(draft.assigned):02d}")
            extra["spec"]["nodeName"] = draft.rng.choice(draft.nodes)["metadata"]["name"]
            extra["status"] = {"phase": "Running"}
            draft.assigned.append(extra)
    for pod in draft.pods():
        if "labels" in pod["metadata"]:
            continue  # Terms that were merged with the pod's labels before stay true.
        pod["metadata"]["labels"] = labels_of(draft)
        pod["metadata"]["namespace"] = draft.rng.choice(["default", "default", "default", "team-a", "team-b"])
    for pod in draft.assigned:
        if draft.chance(0.1):
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            pod["metadata"]["deletionGracePeriodSeconds"] = 30


def labels_of(draft: Draft) -> Manifest:
    keys = draft.rng.choice([["app"], ["app"], ["app", "tier"], list(LABELS), draft.some(list(LABELS), 0, 3)])
    return {key: draft.rng.choice(LABELS[key][:2]) for key in keys}


def selector(draft: Draft, labels: dict[str, list[str]] = LABELS) -> Manifest:
    found: Manifest = {}
    if draft.chance(0.75):
        key = draft.rng.choice([next(iter(labels)), *labels])
        found["matchLabels"] = {key: draft.rng.choice(labels[key][:2])}
    if draft.chance(0.35):
        found["matchExpressions"] = [_expression(draft, labels) for _ in range(draft.rng.choice([1, 1, 2]))]
    return found


def _expression(draft: Draft, labels: dict[str, list[str]]) -> Manifest:
    key = draft.rng.choice([*labels, "absent"])
    operator = draft.rng.choice(["In", "In", "NotIn", "Exists", "DoesNotExist"])
    expression: Manifest = {"key": key, "operator": operator}
    if operator in ("In", "NotIn"):
        expression["values"] = draft.some(labels.get(key, ["x", "y"]), 1, 2)
    return expression


def put(draft: Draft, item: Manifest) -> None:
    """Replace the object of that name, which another family may have made."""

    def identity(other: Manifest) -> tuple[str, str, str]:
        return other["kind"], other["metadata"].get("namespace", ""), other["metadata"]["name"]

    draft.objects = [*(other for other in draft.objects if identity(other) != identity(item)), item]
