"""PodTopologySpread: own constraints, and default ones through services and controllers."""

from __future__ import annotations

from tests.laboratories.conformance.families.draft import Draft, Manifest
from tests.laboratories.conformance.families.neighbours import (
    LABELS,
    NAMESPACES,
    TOPOLOGY_KEYS,
    labels_of,
    neighbourhood,
    put,
    selector,
)
from tests.laboratories.conformance.families.taints import COMPARED_SINCE, comparisons, taint_toleration

ACTIONS = ["DoNotSchedule", "ScheduleAnyway"]
POLICIES = ["Honor", "Ignore"]
DISK = "example.com/disk"


def constraints(draft: Draft) -> None:
    neighbourhood(draft)
    _node_choice(draft)
    pairs = list(dict.fromkeys((key, action) for key in TOPOLOGY_KEYS for action in ACTIONS))
    usual = [pair for pair in pairs if pair[0] != TOPOLOGY_KEYS[-1]]
    chosen = draft.some(usual if draft.chance(0.9) else pairs, 1, 3)
    draft.pod["spec"]["topologySpreadConstraints"] = [_constraint(draft, *pair) for pair in chosen]


def defaults(draft: Draft) -> None:
    neighbourhood(draft)
    _node_choice(draft)
    for i in range(draft.rng.randint(0, 3)):
        put(draft, _service(draft, f"service-{i}"))
    if draft.chance(0.6):
        _own(draft)
    if draft.chance(0.6):
        listed = draft.some(
            [(key, action) for key in dict.fromkeys(TOPOLOGY_KEYS) for action in ACTIONS], 0, 3
        )
        rules = [_rule(draft, *pair) for pair in listed]
        draft.args["PodTopologySpread"] = {"defaultingType": "List", "defaultConstraints": rules}


def _node_choice(draft: Draft) -> None:
    """Nodes that the pod's own node selector, affinity or tolerations leave out, in some scenarios."""
    if draft.chance(0.3):
        comparisons(draft) if draft.version >= COMPARED_SINCE and draft.chance(0.4) else taint_toleration(
            draft
        )
    if draft.chance(0.35):
        for node in draft.nodes:
            node["metadata"]["labels"][DISK] = draft.rng.choice(["ssd", "ssd", "hdd"])
        wanted = {"key": DISK, "operator": draft.rng.choice(["In", "NotIn"]), "values": ["ssd"]}
        required = {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}
        spec = draft.pod["spec"]
        if draft.chance(0.5):
            spec["nodeSelector"] = {DISK: "ssd"}
        else:
            spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def _rule(draft: Draft, key: str, action: str) -> Manifest:
    rule: Manifest = {
        "maxSkew": draft.rng.choice([1, 1, 1, 2, 3, 7]),
        "topologyKey": key,
        "whenUnsatisfiable": action,
    }
    if action == "DoNotSchedule" and draft.chance(0.3):
        rule["minDomains"] = draft.rng.randint(1, 5)
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if draft.chance(0.4):
            rule[policy] = draft.rng.choice(POLICIES)
    return rule


def _constraint(draft: Draft, key: str, action: str) -> Manifest:
    rule = _rule(draft, key, action)
    if draft.chance(0.05):
        return rule
    own = draft.pod["metadata"]["labels"]
    chosen = {"matchLabels": dict(own)} if draft.chance(0.4) else selector(draft)
    rule["labelSelector"] = chosen
    used = {*chosen.get("matchLabels", {}), *(e["key"] for e in chosen.get("matchExpressions", []))}
    if draft.chance(0.3) and (keys := [key for key in [*LABELS, "absent"] if key not in used]):
        rule["matchLabelKeys"] = draft.some(keys, 1, 2)
    return rule


def _service(draft: Draft, name: str) -> Manifest:
    matching = {key: value for key, value in draft.pod["metadata"]["labels"].items() if draft.chance(0.7)}
    spec = {"ports": [{"port": 80}], "selector": matching if draft.chance(0.7) else labels_of(draft)}
    if draft.chance(0.1):
        del spec["selector"]
    space = draft.pod["metadata"]["namespace"] if draft.chance(0.8) else draft.rng.choice(NAMESPACES)
    metadata = {"name": name, "namespace": space}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _own(draft: Draft) -> None:
    """Give the pod a controller, which may be gone, or an owner that isn't a controller."""
    kinds = [("v1", "ReplicationController"), ("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet")]
    version, kind = draft.rng.choice([*kinds, *kinds, ("batch/v1", "Job"), ("apps/v1beta1", "StatefulSet")])
    meta = draft.pod["metadata"]
    owner = {"apiVersion": version, "kind": kind, "name": "owner", "uid": "uid-owner"}
    meta["ownerReferences"] = [owner | ({"controller": True} if draft.chance(0.9) else {})]
    if (version, kind) not in kinds or draft.chance(0.1):
        return
    matched = {key: value for key, value in meta["labels"].items() if draft.chance(0.8)} or {"app": "web"}
    chosen: Manifest = {"matchLabels": matched} if draft.chance(0.7) else selector(draft)
    template = {
        "metadata": {"labels": matched},
        "spec": {"containers": [{"name": "c", "image": "registry.example/app:1.0"}]},
    }
    spec: Manifest = {
        "selector": matched if kind == "ReplicationController" else chosen,
        "template": template,
    }
    if draft.chance(0.2):
        del spec["template"]
    if kind == "StatefulSet":
        spec["serviceName"] = "service-0"
    space = meta["namespace"] if draft.chance(0.9) else draft.rng.choice(NAMESPACES)
    metadata = {"name": "owner", "namespace": space}
    put(draft, {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})
