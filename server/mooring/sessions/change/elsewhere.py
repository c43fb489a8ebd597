"""Pods of other nodes that may keep a pod off a node: those whose topology domain matters to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mooring.framework import Bools, Int32s, Pod
from mooring.framework.label_selector import LabelMatcher, compiled
from mooring.framework.node_table import NodeTable
from mooring.framework.objects.node import HOSTNAME
from mooring.framework.pod_affinity import AffinityTerm, affinity_terms
from mooring.framework.pod_table import PodKind, PodRecord, PodTable

MOST_NEAR = 256
"""Nodes in the same topology domains whose pods are considered,"""
MOST_ALIKE = 8
"""and of these nodes those with pods of one kind."""


class PodsElsewhere:
    """Knows which pods count for one pod beyond their own node. For one thread.

    It may name some that don't count: namespaces' labels and matchLabelKeys are not checked.
    """

    def __init__(self, pod: Pod, nodes: NodeTable, pods: PodTable) -> None:
        self._nodes = nodes
        self._pods = pods
        self._pod = pod
        self._apart = affinity_terms(pod).required_anti
        self._spread: list[tuple[str, LabelMatcher]] = [
            (each.topology_key, compiled(each.label_selector))
            for each in pod.spec.topology_spread_constraints
            if each.when_unsatisfiable == "DoNotSchedule"
        ]
        self._rows = self._concerned_rows()
        self._known: dict[int, tuple[str, ...]] = {}
        self._near: dict[tuple[str | None, ...], tuple[list[list[PodRecord]], bool]] = {}

    def spread_among(self, kind: PodKind) -> bool:
        """Return whether the pod is spread among pods of a kind, or may be."""
        return any(self._spread_over(kind))

    def _spread_over(self, kind: PodKind) -> Iterator[str]:
        """Yield the topology keys over whose domains the pod is spread with pods of a kind."""
        if kind.namespace == self._pod.metadata.namespace:
            labels = kind.labels
            yield from (key for key, selector in self._spread if selector.matches(labels))

    def _concerned_rows(self) -> dict[str, Int32s]:
        """Return by topology key int32[K]: the nodes with pods that may count over its domains."""
        capacity, classes = self._nodes.capacity, self._pods.classes
        rows: dict[str, Bools] = {}
        for term in self._apart:
            namespaces = term.namespaces if term.namespace_selector.nothing else None
            there = classes.by_row(term.selector, namespaces, capacity) > 0
            rows[term.topology_key] = rows.get(term.topology_key, False) | there
        for pods in self._pods.affinities.values():
            for term in pods.terms.required_anti:
                if _means(term, self._pod):
                    there = rows.setdefault(term.topology_key, np.zeros(capacity, np.bool_))
                    there[list(pods.counts)] = True
        rows.pop(HOSTNAME, None)
        for key, selector in self._spread:
            there = classes.by_row(selector, (self._pod.metadata.namespace,), capacity) > 0
            rows[key] = rows.get(key, False) | there
        return {key: np.flatnonzero(there).astype(np.int32) for key, there in rows.items()}

    def _concerned(self, kind: PodKind) -> tuple[str, ...]:
        """Return over which keys' domains pods of a kind count: fewer in other ones never help the pod."""
        known = self._known.get(id(kind))
        if known is None:
            other = kind.template
            terms = [term for term in self._apart if _means(term, other)]
            if kind.affinity_key is not None:
                terms += (term for term in kind.terms.required_anti if _means(term, self._pod))
            keys = {term.topology_key for term in terms} - {HOSTNAME}
            known = self._known[id(kind)] = tuple(sorted({*keys, *self._spread_over(kind)}))
        return known

    def counting_for(self, row: int) -> tuple[list[list[PodRecord]], bool]:
        """Return the pods of other nodes that may keep the pod off a row, and whether these are all.

        Pods of one kind and node are in one list. A few nodes stand for all others of the same domains.
        """
        node = self._nodes.nodes[row]
        labels = node.metadata.labels if node is not None else {}
        domains = tuple(labels.get(key) for key in self._rows)
        if domains not in self._near:
            self._near[domains] = self._grouped(domains)
        groups, whole = self._near[domains]
        return [records for records in groups if records[0].row != row], whole

    def _grouped(self, domains: Sequence[str | None]) -> tuple[list[list[PodRecord]], bool]:
        near: dict[int, list[str]] = {}
        for (key, rows), domain in zip(self._rows.items(), domains, strict=True):
            inside = self._nodes.label(key).is_in(rows, [domain] if domain is not None else ())
            for row in rows[inside].tolist():
                near.setdefault(row, []).append(key)
        alike: dict[tuple[int, tuple[str, ...]], dict[int, list[PodRecord]]] = {}
        for row in sorted(near, key=self._nodes.names.__getitem__)[:MOST_NEAR]:
            for record in self._pods.records_on(row):
                if shared := tuple(key for key in self._concerned(record.kind) if key in near[row]):
                    nodes = alike.setdefault((id(record.kind), shared), {})
                    nodes.setdefault(row, []).append(record)
        groups = [records for nodes in alike.values() for records in list(nodes.values())[:MOST_ALIKE]]
        for records in groups:
            records.sort(key=lambda record: (record.name, record.uid))
        return groups, len(near) <= MOST_NEAR and all(len(nodes) <= MOST_ALIKE for nodes in alike.values())


def _means(term: AffinityTerm, other: Pod) -> bool:
    """Return whether a term is about ``other``, or may be."""
    inside = other.metadata.namespace in term.namespaces or not term.namespace_selector.nothing
    return inside and term.selector.matches(other.metadata.labels)
