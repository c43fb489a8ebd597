"""Every set of changes of one node, made to manifests: written apart from the search that it judges."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mooring.framework.quantity import parse_quantity
from tests.laboratories.conformance.families.draft import Manifest

HOSTNAME = "kubernetes.io/hostname"
NEW = "one-more"
CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}

Label = tuple[str, str | None]


@dataclass(frozen=True)
class Plan:
    """A set of changes.

    Attributes:
        node: The node that is to take the pod, or the one that a new one is like.
        new: There is one more node.
        taints: The taints that the pod tolerates, by number among `taints_of`.
        labels: The labels that the node gets, None = loses.
        requests: The requests of the pod, CPU in thousandths.
        moved: The UIDs of the pods that go.
    """

    node: str
    new: bool = False
    taints: tuple[int, ...] = ()
    labels: tuple[Label, ...] = ()
    requests: tuple[tuple[str, int], ...] = ()
    moved: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        """The node that is to take the pod."""
        return NEW if self.new else self.node


def made(scenario: Manifest, plan: Plan) -> Manifest:
    """Return the scenario with these changes, the pods that go aside."""
    changed = copy.deepcopy(scenario)
    changed["objects"] = [each for each in changed["objects"] if uid_of(each) not in plan.moved]
    node = node_of(changed, plan.node)
    for number in plan.taints:
        taint = taints_of(node)[number]
        toleration = {"key": taint["key"], "operator": "Equal", "effect": taint["effect"]}
        changed["pod"]["spec"].setdefault("tolerations", []).append(
            {**toleration, "value": taint.get("value", "")}
        )
    if plan.new:
        node = renamed(node)
        spec = node.setdefault("spec", {})
        spec.pop("unschedulable", None)
        kept = [each for each in spec.get("taints", []) if not each["key"].startswith("node.kubernetes.io/")]
        spec["taints"] = kept
        changed["objects"].append(node)
    for key, value in plan.labels:
        node["metadata"]["labels"].pop(key, None)
        if value is not None:
            node["metadata"]["labels"][key] = value
    for resource, amount in plan.requests:
        request(changed["pod"], resource, amount)
    return changed


def renamed(node: Manifest) -> Manifest:
    """Return the node as a new one is called."""
    node = copy.deepcopy(node)
    node["metadata"] |= {"name": NEW, "uid": NEW}
    if HOSTNAME in node["metadata"]["labels"]:
        node["metadata"]["labels"][HOSTNAME] = NEW
    return node


def request(pod: Manifest, resource: str, amount: int) -> None:
    """The pod as a whole requests so much: its first container does, and no other one."""
    spec = pod["spec"]
    amount = max(0, amount - counted(spec.get("overhead", {}).get(resource, "0"), resource))
    quantity = f"{amount}m" if resource == "cpu" else str(amount)
    for container in (*spec["containers"], *spec.get("initContainers", [])):
        for name, part in container.get("resources", {}).items():
            there = isinstance(part, dict) and part.pop(resource, None) is not None
            if there and name == "requests" and resource in ("cpu", "memory"):
                # Without any of these a container may have no huge pages.
                part[resource] = "0"
    parts = spec["containers"][0].setdefault("resources", {})
    parts.setdefault("requests", {})[resource] = quantity
    if resource.startswith("hugepages-") and not {"cpu", "memory"} & parts["requests"].keys():
        parts["requests"]["cpu"] = "0"
    if "/" in resource or resource.startswith("hugepages-"):
        parts.setdefault("limits", {})[resource] = quantity


def counted(quantity: str | int, resource: str) -> int:
    """Return an amount as the scheduler counts it."""
    return -(-parse_quantity(quantity) // (1_000_000 if resource == "cpu" else 1_000_000_000))


def uid_of(item: Manifest) -> str:
    return str(item["metadata"].get("uid", ""))


def nodes_of(scenario: Manifest) -> list[Manifest]:
    return [each for each in scenario["objects"] if each["kind"] == "Node"]


def node_of(scenario: Manifest, name: str) -> Manifest:
    return next(each for each in nodes_of(scenario) if each["metadata"]["name"] == name)


def taints_of(node: Manifest) -> list[Manifest]:
    """Return the taints that keep pods away, that of a cordoned node included."""
    spec = node.get("spec", {})
    taints = [each for each in spec.get("taints", []) if each["effect"] != "PreferNoSchedule"]
    if spec.get("unschedulable") and not any(
        {"value": "", **each} == {"value": "", **CORDON} for each in taints
    ):
        taints.append(CORDON)
    return taints


def labels_of(pod: Manifest) -> list[Label]:
    """Return labels that could matter to the pod's node constraints."""
    found: dict[Label, None] = dict.fromkeys(pod["spec"].get("nodeSelector", {}).items())
    expressions = [each for term in _terms(pod) or () for each in term.get("matchExpressions", [])]
    for each in expressions:
        key, values = each["key"], [*each.get("values", []), "true", "none-of-these", None]
        if each["operator"] in ("Gt", "Lt"):
            # As many numbers as there may be others that the same label must not have.
            named = sum(len(other.get("values", [])) for other in expressions if other["key"] == key)
            step = 1 if each["operator"] == "Gt" else -1
            limits = [int(value) for value in each["values"] if value.isdecimal()]
            values += [str(limit + step * more) for limit in limits for more in range(1, named + 1)]
        found |= dict.fromkeys((key, value) for value in values)
    return [label for label in found if label[0] != HOSTNAME]


def lacked(pod: Manifest, node: Manifest) -> list[set[str]]:
    """Return the keys of the labels that a node lacks, for each of the terms that the pod requires one of;
    nothing is lacked for a term that holds.
    """
    labels, name = node["metadata"]["labels"], node["metadata"]["name"]
    selected = {key for key, value in pod["spec"].get("nodeSelector", {}).items() if labels.get(key) != value}
    terms = _terms(pod)
    if terms is None:
        return [selected]
    return [
        selected | {each["key"] for each in term.get("matchExpressions", []) if not _holds(each, labels)}
        for term in terms
        if all(_holds(each, {each["key"]: name}) for each in term.get("matchFields", []))
    ]


def _terms(pod: Manifest) -> list[Manifest] | None:
    required = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    required = required.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return None
    terms: list[Manifest] = required.get("nodeSelectorTerms", [])
    return [term for term in terms if term.get("matchExpressions") or term.get("matchFields")]


def _holds(expression: Manifest, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(expression["key"]), expression.get("values", [])
    match expression["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case operator:
            try:
                number, limit = int(value or ""), int(values[0])
            except ValueError:
                return False
            return number > limit if operator == "Gt" else number < limit


def movable(scenario: Manifest) -> list[str]:
    """Return the placed pods that a controller would create again."""
    return [
        uid_of(each)
        for each in scenario["objects"]
        if each["kind"] == "Pod"
        and each["spec"].get("nodeName")
        and any(owner.get("controller") for owner in each["metadata"].get("ownerReferences", []))
        and each.get("status", {}).get("phase") not in ("Succeeded", "Failed")
    ]


def plans(
    scenario: Manifest, resources: Sequence[str], counts: tuple[int, int, int, int, int]
) -> Iterator[Plan]:
    """Yield all sets with these counts of nodes, moves, requests for nothing, labels and tolerations."""
    more, moves, requests, labels, tolerations = counts
    if more > 1 or (more and moves):
        return
    for node in nodes_of(scenario):
        name = node["metadata"]["name"]
        for chosen in itertools.product(
            itertools.combinations(range(len(taints_of(node))), tolerations),
            _label_sets(scenario["pod"], renamed(node) if more else node, labels),
            itertools.combinations([(resource, 0) for resource in resources], requests),
            itertools.combinations(movable(scenario), moves),
        ):
            yield Plan(name, bool(more), *chosen)


def _label_sets(pod: Manifest, node: Manifest, count: int) -> list[tuple[Label, ...]]:
    """Return the sets of as many labels that a node may get: what it lacks for one term, and no
    other label.
    """
    if not count:
        return [()]
    allowed = lacked(pod, node)
    if set() in allowed:
        return []
    some = itertools.combinations(labels_of(pod), count)
    return [labels for labels in some if len(keys := dict(labels).keys()) == count and set(keys) in allowed]
