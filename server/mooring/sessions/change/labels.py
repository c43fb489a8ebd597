"""The labels that a node lacks for what a pod requires of nodes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from mooring.framework import Node, Pod
from mooring.framework.node_selector import is_empty, selector_match
from mooring.framework.objects import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from mooring.sessions.change.steps import HOSTNAME

MOST_WAYS = 16
"""Ways that are looked at for each node."""

Labels = Mapping[str, str | None]
"""Labels by key; None = the node doesn't have it."""


class MissingLabels:
    """Says which labels nodes lack for one pod. For one thread.

    Args:
        pod: The pod.
    """

    def __init__(self, pod: Pod) -> None:
        affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
        required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
        self._selector = pod.spec.node_selector
        self._terms = None if required is None else required.node_selector_terms
        terms = self._terms or ()
        self._keys = {*self._selector, *(each.key for term in terms for each in term.match_expressions)}
        self._names_matter = any(term.match_fields for term in terms)
        self._known: dict[object, list[Labels]] = {}

    def ways(self, node: Node) -> list[Labels]:
        """Return the sets of labels of which the node needs one, the smallest first; none = there is no way.

        A node's own name and the label that is its name stay as they are.
        """
        labels = node.metadata.labels
        key = (
            *(labels.get(key) for key in self._keys),
            node.metadata.name if self._names_matter else "",
        )
        if key not in self._known:
            ways = {tuple(sorted(way.items())): way for way in itertools.islice(self._ways(node), MOST_WAYS)}
            self._known[key] = sorted(ways.values(), key=len)
        return self._known[key]

    def _ways(self, node: Node) -> Iterator[Labels]:
        labels = node.metadata.labels
        selected = {key: value for key, value in self._selector.items() if labels.get(key) != value}
        if self._terms is None:
            if HOSTNAME not in selected:
                yield selected
            return
        for term in self._terms:
            for way in _ways_of(term, node):
                clash = any(key in self._selector and self._selector[key] != way[key] for key in way)
                both = {**selected, **way}
                if not clash and HOSTNAME not in both:
                    yield both


def _ways_of(term: NodeSelectorTerm, node: Node) -> Iterator[Labels]:
    """Yield labels with which the node may match ``term``."""
    fields = NodeSelectorTerm(match_fields=term.match_fields)
    if is_empty(term) or (term.match_fields and not selector_match(NodeSelector((fields,)), node)):
        return
    failing = [
        each
        for each in term.match_expressions
        if not selector_match(NodeSelector((NodeSelectorTerm((each,)),)), node)
    ]
    for values in itertools.product(*map(_values, failing)):
        yield {each.key: value for each, value in zip(failing, values, strict=True)}


def _values(requirement: NodeSelectorRequirement) -> tuple[str | None, ...]:
    """Return values of a label with which the condition may hold."""
    match requirement.operator:
        case "In":
            return tuple(sorted(requirement.values))
        case "Exists":
            return ("true",)
        case "Gt" | "Lt":
            step = 1 if requirement.operator == "Gt" else -1
            return tuple(str(int(value) + step) for value in requirement.values if value.isdecimal())
        case _:
            return (None,)
