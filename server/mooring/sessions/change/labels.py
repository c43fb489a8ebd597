"""The labels that a node lacks for a pod's requirements on nodes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from mooring.framework import Node, Pod
from mooring.framework.names import is_label_value
from mooring.framework.node_selector import is_empty, selector_match
from mooring.framework.objects import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from mooring.framework.objects.node import HOSTNAME
from mooring.sessions.change.steps import Relabel, changed_node

MOST_WAYS = 16
"""The most ways that are considered for each node; there may be more."""

_INTEGER = re.compile(r"[0-9]{1,19}")

_WORDS = ("true", "false")
"""The values of a label, any of which will do."""

_UNNAMED = "*"
"""Stands for any value that the pod doesn't name; no label has it."""

Labels = Mapping[str, str | None]
"""Labels by key; None = the node doesn't have it."""


class MissingLabels:
    """Says which labels nodes lack for one pod. For one thread. ``names_matter`` says whether the pod
    may require something of a node's name, or of the label that is its name.
    """

    def __init__(self, pod: Pod) -> None:
        affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
        required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
        self._selector = pod.spec.node_selector
        self._terms = None if required is None else required.node_selector_terms
        terms = self._terms or ()
        expressions = [each for term in terms for each in term.match_expressions]
        fields = [each for term in terms for each in term.match_fields]
        self._keys = {*self._selector, *(each.key for each in expressions)}
        self._compared = {each.key for each in expressions if each.operator in ("Gt", "Lt")}
        named = (each.values for each in (*expressions, *fields))
        self._named = {*self._selector.values(), *itertools.chain.from_iterable(named)}
        self.names_matter = HOSTNAME in self._keys or bool(fields)
        self._known: dict[object, list[Labels]] = {}

    def ways(self, node: Node) -> list[Labels]:
        """Return the sets of labels, one of which the node needs, the smallest first; none = there is no way.

        Each has what the node lacks for one of the pod's terms: no other label is changed. A node's own name
        and the label that is its name stay as they are.
        """
        labels = node.metadata.labels
        key = (
            *(self._seen(labels.get(key), compared=key in self._compared) for key in self._keys),
            self._seen(node.metadata.name),
        )
        if key not in self._known:
            ways: dict[tuple[tuple[str, str | None], ...], Labels] = {}
            for way in self._ways(node):
                ways.setdefault(tuple(sorted(way.items())), way)
                if len(ways) == MOST_WAYS:
                    break
            self._known[key] = sorted(ways.values(), key=len)
        return self._known[key]

    def _seen(self, value: str | None, *, compared: bool = False) -> str | None:
        """Return the same for values with which the same holds, as they are of most nodes' names."""
        return value if value is None or compared or value in self._named else _UNNAMED

    def _ways(self, node: Node) -> Iterator[Labels]:
        for term in (NodeSelectorTerm(),) if self._terms is None else self._terms:
            if self._terms is not None and not _may_match(term, node):
                continue
            labels = node.metadata.labels
            keys = {key for key, value in self._selector.items() if labels.get(key) != value}
            keys |= {each.key for each in term.match_expressions if not _holds((each,), node)}
            if HOSTNAME not in keys:
                values = [self._values(key, term, node) for key in sorted(keys)]
                for chosen in itertools.product(*values):
                    yield dict(zip(sorted(keys), chosen, strict=True))

    def _values(self, key: str, term: NodeSelectorTerm, node: Node) -> list[str | None]:
        """Return the values of a label with which all holds that the pod requires of it."""
        about = tuple(each for each in term.match_expressions if each.key == key)
        offered = [self._selector[key]] if key in self._selector else _values_of(about)
        possible = (value for value in offered if value is None or is_label_value(value))
        return [value for value in possible if not about or _holds(about, _with_label(node, key, value))]


def _may_match(term: NodeSelectorTerm, node: Node) -> bool:
    """Return whether labels are all that the node may lack for ``term``."""
    fields = NodeSelectorTerm(match_fields=term.match_fields)
    return not is_empty(term) and (not term.match_fields or selector_match(NodeSelector((fields,)), node))


def _holds(expressions: tuple[NodeSelectorRequirement, ...], node: Node) -> bool:
    return selector_match(NodeSelector((NodeSelectorTerm(expressions),)), node)


def _with_label(node: Node, key: str, value: str | None) -> Node:
    return changed_node(node, [Relabel(node.metadata.name, key, value)])


def _values_of(about: Sequence[NodeSelectorRequirement]) -> list[str | None]:
    """Return values worth trying for a label: none, those that are named, and the first other one."""
    named = {value for each in about for value in each.values}
    return [None, *sorted({*named, next(value for value in _others(about) if value not in named)})]


def _others(about: Sequence[NodeSelectorRequirement]) -> Iterator[str]:
    """Yield values that may do where those that are named don't: numbers from a limit on, or words."""
    least = [number for each in about if each.operator == "Gt" for number in _numbers(each)]
    most = [number for each in about if each.operator == "Lt" for number in _numbers(each)]
    if least:
        yield from map(str, itertools.count(max(least) + 1))
    if most:
        yield from map(str, range(min(most) - 1, -1, -1))
    yield from _WORDS
    yield from (f"{_WORDS[0]}-{number}" for number in itertools.count(1))


def _numbers(requirement: NodeSelectorRequirement) -> Iterator[int]:
    return (int(value) for value in requirement.values if _INTEGER.fullmatch(value))
