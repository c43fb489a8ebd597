"""Pods of other nodes that may keep a pod off a node: those whose topology domain matters to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from mooring.framework import Pod
from mooring.framework.label_selector import LabelMatcher, compiled
from mooring.framework.node_table import NodeTable
from mooring.framework.objects.node import HOSTNAME
from mooring.framework.pod_affinity import AffinityTerm, affinity_terms
from mooring.framework.pod_table import PodKind, PodRecord

Matches = Callable[[Pod], bool]


@dataclass(slots=True)
class _Concern:
    """Pods that count in the domains of a topology key.

    Attributes:
        everywhere: How many there are in other domains counts as well.
        records: The pods.
    """

    everywhere: bool = False
    records: dict[str, PodRecord] = field(default_factory=dict)


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
        self._concerns: dict[str, _Concern] = {}
        known: dict[int, list[_Concern]] = {}
        for record in records:
            key = id(record.kind)
            if key not in known:
                known[key] = list(self._concerned(record.kind))
            for concern in known[key]:
                concern.records[record.uid] = record

    def _concerned(self, kind: PodKind) -> Iterator[_Concern]:
        """Yield where pods of a kind count."""
        other = kind.template
        terms = [term for term in self._apart if _means(term, other)]
        if kind.affinity_key is not None:
            terms += (term for term in affinity_terms(other).required_anti if _means(term, self._pod))
        for key in {term.topology_key for term in terms} - {HOSTNAME}:
            yield self._concerns.setdefault(key, _Concern())
        if other.metadata.namespace == self._pod.metadata.namespace:
            for key, selector in self._spread:
                if selector.matches(other.metadata.labels):
                    concern = self._concerns.setdefault(key, _Concern())
                    concern.everywhere = True
                    yield concern

    def counting_for(self, row: int) -> Iterator[PodRecord]:
        """Yield the pods of other nodes that may keep the pod off the node of a row, each once."""
        seen: set[str] = set()
        labels = self._labels(row)
        for key, concern in self._concerns.items():
            for uid, record in concern.records.items() if key in labels else ():
                near = concern.everywhere or self._labels(record.row).get(key) == labels[key]
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
