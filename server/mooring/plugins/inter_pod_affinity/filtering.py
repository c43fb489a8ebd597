"""Filter's state: the domains with pods that the pod's terms select, or whose terms select the pod.

Mirrors ``plugins/interpodaffinity/filtering.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mooring.framework import (
    SUCCESS,
    Bools,
    Int32s,
    NodeInfo,
    NodeView,
    Pod,
    Snapshot,
    Status,
    Verdicts,
)
from mooring.framework.batch import FilterCounts, Move
from mooring.framework.deadline import at_others_expense, timely
from mooring.framework.pod_affinity import AffinityTerms, affinity_terms, labelled
from mooring.framework.pod_table import PodKind
from mooring.kernels.arrays import ABSENT, REJECTED
from mooring.kernels.domains import limit
from mooring.plugins.inter_pod_affinity.terms import OwnTerm, pods_by_row
from mooring.plugins.topology import DomainCounts, Topologies

REASON_AFFINITY = "node(s) didn't match pod affinity rules"
REASON_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
REASON_EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"

_STATUSES = (
    SUCCESS,
    Status.unresolvable(REASON_AFFINITY),
    Status.unschedulable(REASON_ANTI_AFFINITY),
    Status.unschedulable(REASON_EXISTING),
)

_NEAR, _APART, _OPPOSED = 1, 2, 3


@dataclass(frozen=True, slots=True)
class AffinityCounts(FilterCounts):
    """The pod's required terms, and how many pods each domain has for each kind of term.

    Attributes:
        index: The row of each node's name.
        labels: Those of its namespace.
        near: The pod's required affinity.
        apart: The pod's required anti-affinity.
        wanted: Pods that all of ``near`` are about.
        unwanted: Pods that a term of ``apart`` is about.
        opposed: Pods whose own anti-affinity is about the pod.
    """

    topologies: Topologies
    index: Mapping[str, int]
    pod: Pod
    labels: Mapping[str, str]
    near: tuple[OwnTerm, ...]
    apart: tuple[OwnTerm, ...]
    wanted: DomainCounts
    unwanted: DomainCounts
    opposed: DomainCounts

    @property
    def idle(self) -> bool:
        """Whether no node can be rejected."""
        return not self.near and not self.apart and not self.opposed

    def clone(self) -> AffinityCounts:
        """Return a copy whose counts may change."""
        return replace(
            self,
            wanted=self.wanted.clone(),
            unwanted=self.unwanted.clone(),
            opposed=self.opposed.clone(),
        )

    def add(self, other: Pod, node: NodeInfo, amount: int) -> None:
        """``amount`` pods like ``other`` came to ``node``."""
        row = self.index[node.name]
        for move, each in self._moves(other, affinity_terms(other)):
            move(row, amount * each)

    def adds(self, kind: PodKind) -> Sequence[tuple[Move, int]]:
        return tuple(self._moves(kind.template, kind.terms))

    def _moves(self, other: Pod, terms: AffinityTerms) -> Iterator[tuple[Move, int]]:
        """Yield what a pod like ``other``, which has ``terms``, adds."""
        theirs, pod = other.metadata, labelled(self.pod, self.labels)
        for key, number in terms.required_anti.weights_about(pod, self.topologies.keys):
            yield self.opposed[key].move, number
        if all(term.matches(theirs.namespace, theirs.labels) for term in self.near):
            for own in timely(self.near):
                yield self.wanted[own.topology_key].move, 1
        for own in timely(self.apart):
            if own.matches(theirs.namespace, theirs.labels):
                yield self.unwanted[own.topology_key].move, 1

    def verdicts(self, nodes: NodeView) -> Verdicts:
        """Return the terms' statuses for ``nodes``."""
        codes: Int32s = np.zeros(len(nodes), np.int32)
        for count in self.opposed:
            codes[count.any_at(nodes)] = _OPPOSED
        for count in self.unwanted:
            codes[count.any_at(nodes)] = _APART
        if self.near:
            codes[~self._near_wanted(nodes)] = _NEAR
        return Verdicts(codes, _STATUSES)

    def reject_in(self, totals: Int32s) -> None:
        for key in timely(dict.fromkeys((*self.opposed.keys(), *self.unwanted.keys()))):
            ids, others = self.topologies[key].ids, self.opposed[key].counts + self.unwanted[key].counts
            limit(ids, others, totals, most=0)
        if not self.near:
            return
        least = int(bool(self.wanted))
        if not least and not self.may_be_first:
            totals[:] = REJECTED
            return
        for key in dict.fromkeys([term.topology_key for term in self.near]):
            wanted = self.wanted[key]
            limit(wanted.topology.ids, wanted.counts, totals, least=least, outside=False)

    @property
    def may_be_first(self) -> bool:
        """Whether the pod is one of those that it wants near."""
        meta = self.pod.metadata
        return all(term.matches(meta.namespace, meta.labels) for term in self.near)

    def _near_wanted(self, nodes: NodeView) -> Bools:
        """bool[K]: the node is near the wanted pods, or could be the first of such a group."""
        topologies = {term.topology_key: self.topologies[term.topology_key] for term in self.near}
        if self.wanted:
            found = [self.wanted[key].any_at(nodes) for key in topologies]
        else:
            if not self.may_be_first:
                return np.zeros(len(nodes), np.bool_)
            found = [nodes.take(topology.ids) != ABSENT for topology in topologies.values()]
        near: Bools = np.logical_and.reduce(found)
        return near


def affinity_counts(
    pod: Pod,
    snapshot: Snapshot,
    near: tuple[OwnTerm, ...],
    apart: tuple[OwnTerm, ...],
    labels: Mapping[str, str],
) -> AffinityCounts:
    """Return the counts for ``pod``, whose namespace has ``labels``."""
    table = snapshot.nodes
    topologies = Topologies(table)
    placed, capacity = snapshot.pods, topologies.capacity
    wanted, unwanted = DomainCounts(topologies), DomainCounts(topologies)
    if near:
        pods = pods_by_row(near, placed.classes, capacity)
        for term in timely(near):
            wanted.add(term.topology_key, pods)
    for term in timely(apart):
        unwanted.add(term.topology_key, pods_by_row((term,), placed.classes, capacity))
    opposed = _opposed(pod, snapshot, labels, topologies)
    return AffinityCounts(topologies, table.index, pod, labels, near, apart, wanted, unwanted, opposed)


def _opposed(pod: Pod, snapshot: Snapshot, labels: Mapping[str, str], topologies: Topologies) -> DomainCounts:
    subject, keys = labelled(pod, labels), topologies.keys
    opposed = DomainCounts(topologies)
    with at_others_expense(snapshot.pods.with_most_terms):
        for affinity in timely(tuple(snapshot.pods.affinities.values())):
            if terms := affinity.terms.required_anti:
                for key, number in terms.weights_about(subject, keys):
                    opposed.add_class(key, affinity, number)
    return opposed
