"""The same answers, node by node, in plain Python: what the plugins' columns are compared with.

Integers are Python's own, so nothing can overflow here; nothing is shared with the plugins but the sums
of requests, which have tests of their own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from mooring.framework import NodeInfo, Pod, Status
from mooring.framework.host_ports import host_ports
from mooring.framework.objects import NodeSelectorRequirement, NodeSelectorTerm, Taint, Toleration
from mooring.framework.pod_requests import pod_usage

Weights = Mapping[str, int]


def bears(toleration: Toleration, taint: Taint) -> bool:
    right_effect = toleration.effect in ("", taint.effect)
    right_key = toleration.key in ("", taint.key)
    right_value = toleration.operator == "Exists" or (
        toleration.operator in ("", "Equal") and toleration.value == taint.value
    )
    return right_effect and right_key and right_value


def unschedulable(pod: Pod, node: NodeInfo) -> Status:
    cordon = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
    if not node.node.spec.unschedulable or any(bears(t, cordon) for t in pod.spec.tolerations):
        return Status()
    return Status.unresolvable("node(s) were unschedulable")


def node_name(pod: Pod, node: NodeInfo) -> Status:
    if pod.spec.node_name in ("", node.name):
        return Status()
    return Status.unresolvable("node(s) didn't match the requested node name")


def taints(pod: Pod, node: NodeInfo) -> Status:
    for taint in node.taints:
        hard = taint.effect in ("NoSchedule", "NoExecute")
        if hard and not any(bears(toleration, taint) for toleration in pod.spec.tolerations):
            return Status.unresolvable("node(s) had untolerated taint(s)")
    return Status()


def soft_taints(pod: Pod, node: NodeInfo) -> int:
    soft = [taint for taint in node.taints if taint.effect == "PreferNoSchedule"]
    return sum(not any(bears(toleration, taint) for toleration in pod.spec.tolerations) for taint in soft)


def ports(pod: Pod, node: NodeInfo) -> Status:
    taken = [port for other in node.pods for port in host_ports(other.spec)]
    for mine in host_ports(pod.spec):
        for theirs in taken:
            same = (mine.protocol, mine.port) == (theirs.protocol, theirs.port)
            if same and (mine.host_ip == theirs.host_ip or "0.0.0.0" in (mine.host_ip, theirs.host_ip)):
                return Status.unschedulable("node(s) didn't have free ports for the requested pod ports")
    return Status()


def expression_holds(labels: Mapping[str, str], expression: NodeSelectorRequirement) -> bool:
    value = labels.get(expression.key)
    match expression.operator:
        case "In":
            return value is not None and value in expression.values
        case "NotIn":
            return value is None or value not in expression.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    try:
        number = int(value or "no number")
    except ValueError:
        return False
    bound = int(expression.values[0])
    return number > bound if expression.operator == "Gt" else number < bound


def term_holds(term: NodeSelectorTerm, node: NodeInfo) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    return all(expression_holds(node.labels, e) for e in term.match_expressions) and all(
        (node.name in f.values) == (f.operator == "In") for f in term.match_fields
    )


def affinity(pod: Pod, node: NodeInfo) -> Status:
    rejected = Status.unresolvable("node(s) didn't match Pod's node affinity/selector")
    if not pod.spec.node_selector.items() <= node.labels.items():
        return rejected
    own = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = own.required_during_scheduling_ignored_during_execution if own else None
    if required is None or any(term_holds(term, node) for term in required.node_selector_terms):
        return Status()
    return rejected


def preference(pod: Pod, node: NodeInfo) -> int:
    own = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    terms = own.preferred_during_scheduling_ignored_during_execution if own else ()
    return sum(term.weight for term in terms if term_holds(term.preference, node))


def fit(pod: Pod, node: NodeInfo) -> Status:
    found: list[str] = []
    never = False
    if len(node.pods) + 1 > node.allocatable["pods"]:
        found.append("Too many pods")
    requests = dict(pod_usage(pod).requests)
    first = ["cpu", "memory", "ephemeral-storage"]
    for name in first + sorted(requests.keys() - set(first)):
        wanted, offered = requests.get(name, 0), node.allocatable.get(name, 0)
        if wanted > 0 and wanted > offered - node.requested.get(name, 0):
            found.append(f"Insufficient {name}")
            never |= wanted > offered
    if not found:
        return Status()
    return Status.unresolvable(*found) if never else Status.unschedulable(*found)


def non_zero_use(pod: Pod, node: NodeInfo, name: str) -> int:
    """Return the requests of ``pod`` and the node's pods, with the defaults for containers without a
    request.
    """
    usages = [pod_usage(other) for other in (*node.pods, pod)]
    if name == "cpu":
        return sum(usage.non_zero_cpu for usage in usages)
    if name == "memory":
        return sum(usage.non_zero_memory for usage in usages)
    return sum(usage.request(name) for usage in usages)


def fullness(pod: Pod, node: NodeInfo, weights: Weights) -> list[tuple[int, int, int]]:
    """Use, capacity and weight of each resource that counts."""
    extended = {name for name in weights if "/" in name}
    asked = {name for name, amount in pod_usage(pod).requests if amount}
    return [
        (non_zero_use(pod, node, name), node.allocatable[name], weight)
        for name, weight in weights.items()
        if node.allocatable.get(name) and (name not in extended or name in asked)
    ]


def least_allocated(pod: Pod, node: NodeInfo, weights: Weights) -> int:
    counted = fullness(pod, node, weights)
    total = sum(max(capacity - use, 0) * 100 // capacity * weight for use, capacity, weight in counted)
    return total // max(sum(weight for *_, weight in counted), 1)


def most_allocated(pod: Pod, node: NodeInfo, weights: Weights) -> int:
    counted = fullness(pod, node, weights)
    total = sum(min(use, capacity) * 100 // capacity * weight for use, capacity, weight in counted)
    return total // max(sum(weight for *_, weight in counted), 1)


def on_shape(shape: Sequence[tuple[int, int]], percent: int) -> int:
    """Return the broken line through the points (utilization, score 0..10), cut towards zero from the left
    point.
    """
    if percent <= shape[0][0]:
        return shape[0][1] * 10
    for (left, low), (right, high) in itertools.pairwise(shape):
        if percent <= right:
            return low * 10 + math.trunc(Fraction((high - low) * 10 * (percent - left), right - left))
    return shape[-1][1] * 10


def capacity_ratio(pod: Pod, node: NodeInfo, weights: Weights, shape: Sequence[tuple[int, int]]) -> int:
    total = divisor = 0
    for use, capacity, weight in fullness(pod, node, weights):
        score = on_shape(shape, min(use, capacity) * 100 // capacity)
        if score > 0:
            total += score * weight
            divisor += weight
    return math.floor(Fraction(total, divisor) + Fraction(1, 2)) if divisor else 0


def balance(shares: Sequence[float]) -> int:
    if len(shares) < 2:
        return 100
    if len(shares) == 2:
        return int((1 - abs((shares[0] - shares[1]) / 2)) * 100)
    total = 0.0
    for share in shares:
        total += share
    mean, squares = total / len(shares), 0.0
    for share in shares:
        squares += (share - mean) * (share - mean)
    return int((1 - math.sqrt(squares / len(shares))) * 100)


def balanced_allocation(pod: Pod, node: NodeInfo, names: Sequence[str]) -> int:
    asked = dict(pod_usage(pod).requests)
    counted = [name for name in names if node.allocatable.get(name) and ("/" not in name or asked.get(name))]

    def shares(extra: Mapping[str, int]) -> list[float]:
        return [
            min((node.requested.get(name, 0) + extra.get(name, 0)) / float(node.allocatable[name]), 1.0)
            for name in counted
        ]

    return 50 + (50 + balance(shares(asked)) - balance(shares({}))) // 2


def image_locality(pod: Pod, node: NodeInfo, everyone: Sequence[NodeInfo]) -> int:
    containers = [*pod.spec.init_containers, *pod.spec.containers]
    names = [container.image for container in containers]
    names += [volume.image.reference for volume in pod.spec.volumes if volume.image]
    total = 0
    for name in names:
        full = name if ":" in name.rpartition("/")[2] else f"{name}:latest"
        holders = [info for info in everyone if any(full in i.names for i in info.node.status.images)]
        if node in holders:
            size = next(i.size_bytes for i in holders[0].node.status.images if full in i.names)
            total += int(size * (len(holders) / len(everyone)))
    low, high = 23 << 20, len(containers) * (1000 << 20)
    return 100 * (min(max(total, low), high) - low) // (high - low)
