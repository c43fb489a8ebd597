"""Pods of other nodes that may keep a pod off a node: those whose topology domain matters to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from mooring.framework import Pod
from mooring.framework.label_selector import LabelMatcher, compiled
from mooring.framework.node_table import NodeTable
from mooring.framework.objects.node import HOSTNAME
from mooring.framework.pod_affinity import AffinityTerm, affinity_terms
from mooring.framework.pod_table import PodKind, PodRecord

Matches = Callable[[Pod], bool]


class PodsElsewhere:
    """Knows which pods count for one pod beyond their own node. For one thread.

    It may name some that don't count: namespaces' labels and matchLabelKeys are not looked at.

    Args:
        pod: The pod.
        nodes: All nodes.
        records: All placed pods.
    """

    def __init__(self, pod: Pod, nodes: NodeTable, records: Iterable[PodRecord]) -> None:
        self._nodes = nodes
        self._pod = pod
        self._apart = affinity_terms(pod).required_anti
        self._spread: list[tuple[str, LabelMatcher]] = [
            (each.topology_key, compiled(each.label_selector))
            for each in pod.spec.topology_spread_constraints
            if each.when_unsatisfiable == "DoNotSchedule"
        ]
        self._concerns: dict[str, dict[str, PodRecord]] = {}
        known: dict[int, list[dict[str, PodRecord]]] = {}
        for record in records:
            key = id(record.kind)
            if key not in known:
                known[key] = list(self._concerned(record.kind))
            for concern in known[key]:
                concern[record.uid] = record

    def spread_among(self, kind: PodKind) -> bool:
        """Return whether the pod is spread among pods of a kind, or may be."""
        return any(self._spread_over(kind))

    def _spread_over(self, kind: PodKind) -> Iterator[str]:
        """Yield the topology keys over whose domains the pod is spread with pods of a kind."""
        other = kind.template.metadata
        if other.namespace == self._pod.metadata.namespace:
            yield from (key for key, selector in self._spread if selector.matches(other.labels))

    def _concerned(self, kind: PodKind) -> Iterator[dict[str, PodRecord]]:
        """Yield where pods of a kind count: fewer in other domains never help the pod."""
        other = kind.template
        terms = [term for term in self._apart if _means(term, other)]
        if kind.affinity_key is not None:
            terms += (term for term in affinity_terms(other).required_anti if _means(term, self._pod))
        keys = {term.topology_key for term in terms} - {HOSTNAME}
        for key in dict.fromkeys((*sorted(keys), *self._spread_over(kind))):
            yield self._concerns.setdefault(key, {})

    def counting_for(self, row: int) -> Iterator[PodRecord]:
        """Yield the pods of other nodes that may keep the pod off the node of a row, each once."""
        seen: set[str] = set()
        labels = self._labels(row)
        for key, concern in self._concerns.items():
            for uid, record in concern.items() if key in labels else ():
                near = self._labels(record.row).get(key) == labels[key]
                if near and record.row != row and uid not in seen:
                    seen.add(uid)
                    yield record

    def _labels(self, row: int) -> Mapping[str, str]:
        node = self._nodes.nodes[row]
        return node.metadata.labels if node is not None else {}


def _means(term: AffinityTerm, other: Pod) -> bool:
    """Return whether a term is about ``other``, or may be."""
    inside = other.metadata.namespace in term.namespaces or not term.namespace_selector.nothing
    return inside and term.selector.matches(other.metadata.labels)
