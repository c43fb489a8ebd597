"""Pods of other nodes that may keep a pod off a node: those whose topology domain matters to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from mooring.framework import Pod
from mooring.framework.label_selector import LabelMatcher, compiled
from mooring.framework.node_table import NodeTable
from mooring.framework.objects.node import HOSTNAME
from mooring.framework.pod_affinity import AffinityTerm, affinity_terms
from mooring.framework.pod_table import PodKind, PodRecord

MOST_ALIKE = 8
"""Nodes in the same topology domains of which the pods of one kind are looked at."""


class PodsElsewhere:
    """Knows which pods count for one pod beyond their own node. For one thread.

    It may name some that don't count: namespaces' labels and matchLabelKeys are not looked at.

    Args:
        pod: The pod.
        nodes: All nodes.
        kinds: The kinds of all pods.
        records: The pods.
    """

    def __init__(
        self, pod: Pod, nodes: NodeTable, kinds: Iterable[PodKind], records: Iterable[PodRecord]
    ) -> None:
        self._nodes = nodes
        self._pod = pod
        self._apart = affinity_terms(pod).required_anti
        self._spread: list[tuple[str, LabelMatcher]] = [
            (each.topology_key, compiled(each.label_selector))
            for each in pod.spec.topology_spread_constraints
            if each.when_unsatisfiable == "DoNotSchedule"
        ]
        self._concerns: dict[str, dict[str, PodRecord]] = {}
        self._near: dict[tuple[str | None, ...], tuple[list[list[PodRecord]], bool]] = {}
        known = {id(kind): concerned for kind in kinds if (concerned := list(self._concerned(kind)))}
        for record in [each for each in records if id(each.kind) in known] if known else ():
            for concern in known[id(record.kind)] if record.node_name else ():
                concern[record.uid] = record

    def spread_among(self, kind: PodKind) -> bool:
        """Return whether the pod is spread among pods of a kind, or may be."""
        return any(self._spread_over(kind))

    def _spread_over(self, kind: PodKind) -> Iterator[str]:
        """Yield the topology keys over whose domains the pod is spread with pods of a kind."""
        if kind.namespace == self._pod.metadata.namespace:
            labels = kind.labels
            yield from (key for key, selector in self._spread if selector.matches(labels))

    def _concerned(self, kind: PodKind) -> Iterator[dict[str, PodRecord]]:
        """Yield where pods of a kind count: fewer in other domains never help the pod."""
        other = kind.template
        terms = [term for term in self._apart if _means(term, other)]
        if kind.affinity_key is not None:
            terms += (term for term in affinity_terms(other).required_anti if _means(term, self._pod))
        keys = {term.topology_key for term in terms} - {HOSTNAME}
        for key in dict.fromkeys((*sorted(keys), *self._spread_over(kind))):
            yield self._concerns.setdefault(key, {})

    def counting_for(self, row: int) -> tuple[list[list[PodRecord]], bool]:
        """Return the pods of other nodes that may keep the pod off the node of a row, those of one kind and
        node together; and whether these are all, as of nodes in the same domains a few stand for the others.
        """
        labels = self._labels(row)
        domains = tuple(labels.get(key) for key in self._concerns)
        if domains not in self._near:
            self._near[domains] = self._grouped(domains)
        groups, whole = self._near[domains]
        return [records for records in groups if records[0].row != row], whole

    def _grouped(self, domains: Sequence[str | None]) -> tuple[list[list[PodRecord]], bool]:
        shared: dict[str, list[str]] = {}
        near: dict[str, PodRecord] = {}
        for (key, concern), domain in zip(self._concerns.items(), domains, strict=True):
            for uid, record in concern.items() if domain is not None else ():
                if self._labels(record.row).get(key) == domain:
                    near[uid] = record
                    shared.setdefault(uid, []).append(key)
        alike: dict[tuple[int, tuple[str, ...]], dict[int, list[PodRecord]]] = {}
        for record in sorted(near.values(), key=lambda record: (record.name, record.uid)):
            nodes = alike.setdefault((id(record.kind), tuple(shared[record.uid])), {})
            nodes.setdefault(record.row, []).append(record)
        groups = [records for nodes in alike.values() for records in list(nodes.values())[:MOST_ALIKE]]
        return groups, all(len(nodes) <= MOST_ALIKE for nodes in alike.values())

    def _labels(self, row: int) -> Mapping[str, str]:
        node = self._nodes.nodes[row]
        return node.metadata.labels if node is not None else {}


def _means(term: AffinityTerm, other: Pod) -> bool:
    """Return whether a term is about ``other``, or may be."""
    inside = other.metadata.namespace in term.namespaces or not term.namespace_selector.nothing
    return inside and term.selector.matches(other.metadata.labels)
