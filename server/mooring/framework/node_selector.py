"""Node selectors over the node columns: which nodes do required terms match, how much do preferred ones give?

Mirrors ``k8s.io/component-helpers/scheduling/corev1/nodeaffinity`` (nodeaffinity.go). A term without
conditions matches nothing. A term with a malformed condition matches nothing either; whether it is an
error besides is for the caller, which calls ``selector_errors`` or ``preferred_errors``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping

import numpy as np

from mooring.framework.args import FieldError
from mooring.framework.deadline import timely
from mooring.framework.names import is_label_value, is_qualified_name
from mooring.framework.node_table import NodeTable
from mooring.framework.objects import (
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PreferredSchedulingTerm,
)
from mooring.framework.pod_table import PodTable
from mooring.framework.remembering import ByIdentity
from mooring.framework.view import NodeView, Snapshot
from mooring.kernels.arrays import Bools, Int64s

NAME_FIELD = "metadata.name"
"""The one field of a node that ``matchFields`` can name."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,400}")


def labels_match(wanted: Mapping[str, str], nodes: NodeView) -> Bools:
    """bool[K]: the node has all of these labels (``spec.nodeSelector``)."""
    matched = np.ones(len(nodes), np.bool_)
    for key, value in timely(wanted.items()):
        if not matched.any():
            break
        matched &= nodes.label(key).is_in(nodes.rows, (value,))
    return matched


def required_matches(pod: Pod, nodes: NodeView) -> Bools:
    """bool[K]: the node has the labels of the pod's node selector, and one of its required terms holds."""
    matched = labels_match(pod.spec.node_selector, nodes)
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    return matched if required is None else matched & selector_matches(required, nodes)


def required_match(pod: Pod, node: Node) -> bool:
    """``required_matches`` of one node.

    Raises:
        ValueError: No term matches, and one of them is malformed.
    """
    alone = _alone(node)
    if required_matches(pod, alone)[0]:
        return True
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    if required is not None and labels_match(pod.spec.node_selector, alone)[0]:
        for error in selector_errors(required, "requiredDuringSchedulingIgnoredDuringExecution"):
            raise ValueError(str(error))
    return False


def selector_match(selector: NodeSelector, node: Node) -> bool:
    """``selector_matches`` of one node."""
    return bool(selector_matches(selector, _alone(node))[0])


def selector_matches(selector: NodeSelector, nodes: NodeView) -> Bools:
    """bool[K]: one of the selector's terms matches the node."""
    matched = np.zeros(len(nodes), np.bool_)
    for term in timely(selector.node_selector_terms):
        matched |= term_matches(term, nodes)
    return matched


def term_matches(term: NodeSelectorTerm, nodes: NodeView) -> Bools:
    """bool[K]: all conditions of the term hold on the node; never for an empty or malformed term."""
    if is_empty(term) or any(term_errors(term, "")):
        return np.zeros(len(nodes), np.bool_)
    matched = np.ones(len(nodes), np.bool_)
    for requirement in timely(term.match_expressions):
        matched &= _label_matches(requirement, nodes)
    for requirement in timely(term.match_fields):
        matched &= _field_matches(requirement, nodes)
    return matched


def unmet(term: NodeSelectorTerm, node: Node) -> list[NodeSelectorRequirement]:
    """Return the conditions of ``term`` that don't hold on ``node``; all of them if one is malformed."""
    conditions = [*term.match_expressions, *term.match_fields]
    if any(term_errors(term, "")):
        return conditions
    labels, fields = node.metadata.labels, {NAME_FIELD: node.metadata.name}
    count = len(term.match_expressions)
    return [
        each
        for at, each in enumerate(conditions)
        if not _holds(each, (labels if at < count else fields).get(each.key))
    ]


def preferred_scores(terms: Collection[PreferredSchedulingTerm], nodes: NodeView) -> Int64s:
    """int64[K]: the sum of the weights of the terms that match the node."""
    scores = np.zeros(len(nodes), np.int64)
    for term in timely(terms):
        if term.weight and (matched := term_matches(term.preference, nodes)).any():
            scores += term.weight * matched
    return scores


def is_empty(term: NodeSelectorTerm) -> bool:
    """Return whether the term has no conditions."""
    return not term.match_expressions and not term.match_fields


def selector_errors(selector: NodeSelector, path: str) -> Iterator[FieldError]:
    """Yield what is malformed in the selector at ``path``."""
    for index, term in enumerate(timely(selector.node_selector_terms)):
        yield from term_errors(term, f"{path}.nodeSelectorTerms[{index}]")


def preferred_errors(terms: Collection[PreferredSchedulingTerm], path: str) -> Iterator[FieldError]:
    """Yield what is malformed in the preferred terms at ``path``; those of weight 0 are not checked."""
    for index, term in enumerate(timely(terms)):
        if term.weight:
            yield from term_errors(term.preference, f"{path}[{index}].preference")


def term_errors(term: NodeSelectorTerm, path: str) -> Iterator[FieldError]:
    """Yield what is malformed in the term at ``path``."""
    for index, requirement in enumerate(timely(term.match_expressions)):
        yield from _label_errors(requirement, f"{path}.matchExpressions[{index}]")
    for index, requirement in enumerate(timely(term.match_fields)):
        yield from _field_errors(requirement, f"{path}.matchFields[{index}]")


def _view(node: Node) -> NodeView:
    """Return a view of this node with its name and its labels alone: all that node selectors read."""
    name = node.metadata.name
    table = NodeTable(
        names=[name],
        index={name: 0},
        nodes=[node],
        alive=np.ones(1, np.bool_),
        label_keys=frozenset(node.metadata.labels),
    )
    return NodeView(Snapshot(table, PodTable()), np.zeros(1, np.int32))


_alone = ByIdentity(_view, most=16)
"""Compiled terms are cached: a pod is evaluated on one node after the other."""


def _label_errors(requirement: NodeSelectorRequirement, path: str) -> Iterator[FieldError]:
    if not is_qualified_name(requirement.key):
        yield FieldError(f"{path}.key", f"{requirement.key!r} is not a label key")
    rule = _VALUE_RULES.get(requirement.operator)
    if rule is None:
        known = ", ".join(_VALUE_RULES)
        yield FieldError(f"{path}.operator", f"{requirement.operator!r} is unknown; use one of {known}")
        return
    holds, demand = rule
    if not holds(requirement.values):
        yield FieldError(f"{path}.values", f"{requirement.operator} takes {demand}")
    for index, value in enumerate(timely(requirement.values)):
        if not is_label_value(value):
            yield FieldError(f"{path}.values[{index}]", f"{value!r} is not a label value")


def _field_errors(requirement: NodeSelectorRequirement, path: str) -> Iterator[FieldError]:
    if requirement.operator not in ("In", "NotIn"):
        yield FieldError(f"{path}.operator", f"{requirement.operator!r} is unknown here; use In or NotIn")
    elif len(requirement.values) != 1:
        yield FieldError(f"{path}.values", "a field takes exactly one value")


def _one_integer(values: tuple[str, ...]) -> bool:
    return len(values) == 1 and _integer(values[0]) is not None


_VALUE_RULES: dict[str, tuple[Callable[[tuple[str, ...]], bool], str]] = {
    "In": (bool, "at least one value"),
    "NotIn": (bool, "at least one value"),
    "Exists": (lambda values: not values, "no values"),
    "DoesNotExist": (lambda values: not values, "no values"),
    "Gt": (_one_integer, "exactly one value, an integer"),
    "Lt": (_one_integer, "exactly one value, an integer"),
}
"""The requirement of each operator on its values, as a test and in words."""


def _holds(requirement: NodeSelectorRequirement, value: str | None) -> bool:
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    number, bound = _integer(value or ""), int(requirement.values[0])
    return number is not None and (number > bound if requirement.operator == "Gt" else number < bound)


def _label_matches(requirement: NodeSelectorRequirement, nodes: NodeView) -> Bools:
    column = nodes.label(requirement.key)
    match requirement.operator:
        case "In":
            return column.is_in(nodes.rows, requirement.values)
        case "NotIn":
            return ~column.is_in(nodes.rows, requirement.values)
        case "Exists":
            return column.exists(nodes.rows)
        case "DoesNotExist":
            return ~column.exists(nodes.rows)
    bound, above = int(requirement.values[0]), requirement.operator == "Gt"

    def beyond(value: str) -> bool:
        number = _integer(value)
        return number is not None and (number > bound if above else number < bound)

    return column.holds(nodes.rows, beyond)


def _field_matches(requirement: NodeSelectorRequirement, nodes: NodeView) -> Bools:
    value = requirement.values[0]
    if requirement.key == NAME_FIELD:
        equal = np.equal(nodes.rows, nodes.table.index.get(value, -1))
    else:
        equal = np.full(len(nodes), not value)
    return equal if requirement.operator == "In" else ~equal


def _integer(text: str) -> int | None:
    """Return the value of a decimal int64, None for anything else."""
    number = int(text) if _INTEGER.fullmatch(text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None
