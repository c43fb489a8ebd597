"""What Filter knows: in which domains there are pods that the pod wants near, or that won't have it near.

Mirrors ``plugins/interpodaffinity/filtering.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from mooring.framework import SUCCESS, Bools, Int32s, NodeInfo, NodeView, Pod, Snapshot, Status, Verdicts
from mooring.framework.columns import ABSENT
from mooring.framework.pod_affinity import affinity_terms
from mooring.plugins.inter_pod_affinity.terms import OwnTerm, matching_all
from mooring.plugins.topology import DomainCounts, Topologies, pods_by_row

REASON_AFFINITY = "node(s) didn't match pod affinity rules"
REASON_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
REASON_EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"

_STATUSES = (
    SUCCESS,
    Status.unresolvable(REASON_AFFINITY),
    Status.unschedulable(REASON_ANTI_AFFINITY),
    Status.unschedulable(REASON_EXISTING),
)


@dataclass(frozen=True, slots=True)
class FilterNotes:
    """The pod's required terms, and how many pods each domain has for each kind of term.

    Attributes:
        topologies: The domains.
        labels: Those of the pod's namespace.
        near: The pod's required affinity.
        apart: The pod's required anti-affinity.
        wanted: Pods that all of ``near`` are about.
        unwanted: Pods that a term of ``apart`` is about.
        opposed: Pods whose own anti-affinity is about the pod.
    """

    topologies: Topologies
    labels: Mapping[str, str]
    near: tuple[OwnTerm, ...]
    apart: tuple[OwnTerm, ...]
    wanted: DomainCounts
    unwanted: DomainCounts
    opposed: DomainCounts

    @property
    def idle(self) -> bool:
        """Whether no node can be refused."""
        return not self.near and not self.apart and not self.opposed

    def clone(self) -> FilterNotes:
        """Notes of which the counts may change."""
        return replace(
            self,
            wanted=self.wanted.clone(),
            unwanted=self.unwanted.clone(),
            opposed=self.opposed.clone(),
        )

    def add(self, pod: Pod, other: Pod, node: NodeInfo, amount: int) -> None:
        """``amount`` pods like ``other`` came to ``node``; ``pod`` is the one to place."""
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        for theirs in affinity_terms(other).required_anti:
            if theirs.matches(namespace, labels, self.labels):
                self.opposed.add_on(theirs.topology_key, node.labels, amount)
        namespace, labels = other.metadata.namespace, other.metadata.labels
        if all(term.matches(namespace, labels) for term in self.near):
            for term in self.near:
                self.wanted.add_on(term.topology_key, node.labels, amount)
        for term in self.apart:
            if term.matches(namespace, labels):
                self.unwanted.add_on(term.topology_key, node.labels, amount)

    def verdicts(self, pod: Pod, nodes: NodeView) -> Verdicts:
        """What the terms say of ``nodes`` for ``pod``."""
        codes: Int32s = np.zeros(len(nodes), np.int32)
        for key in self.opposed.keys:
            codes[self.opposed.at(key, nodes.rows) > 0] = 3
        for term in self.apart:
            codes[self.unwanted.at(term.topology_key, nodes.rows) > 0] = 2
        if self.near:
            codes[~self._near_wanted(pod, nodes.rows)] = 1
        return Verdicts(codes, _STATUSES)

    def _near_wanted(self, pod: Pod, rows: Int32s) -> Bools:
        """bool[K]: the node is near the wanted pods, or could be the first of such a group."""
        labelled = np.ones(len(rows), np.bool_)
        near = labelled.copy()
        for term in self.near:
            labelled &= self.topologies[term.topology_key].ids[rows] != ABSENT
            near &= self.wanted.at(term.topology_key, rows) > 0
        meta = pod.metadata
        first = not self.wanted and all(term.matches(meta.namespace, meta.labels) for term in self.near)
        return labelled if first else labelled & near


def filter_notes(
    pod: Pod,
    snapshot: Snapshot,
    near: tuple[OwnTerm, ...],
    apart: tuple[OwnTerm, ...],
    labels: Mapping[str, str],
) -> FilterNotes:
    """The notes for ``pod``, whose namespace has ``labels``."""
    topologies = Topologies(snapshot.nodes)
    classes = tuple(snapshot.pods.classes.values()) if near or apart else ()
    wanted, unwanted = DomainCounts(topologies), DomainCounts(topologies)
    pods = pods_by_row(matching_all(near, classes) if near else (), topologies.capacity)
    for term in near:
        wanted.add(term.topology_key, pods)
    for term in apart:
        unwanted.add(term.topology_key, pods_by_row(matching_all((term,), classes), topologies.capacity))
    opposed = _opposed(pod, snapshot, labels, topologies)
    return FilterNotes(topologies, labels, near, apart, wanted, unwanted, opposed)


def _opposed(pod: Pod, snapshot: Snapshot, labels: Mapping[str, str], topologies: Topologies) -> DomainCounts:
    meta = pod.metadata
    opposed = DomainCounts(topologies)
    for affinity in tuple(snapshot.pods.affinities.values()):
        for term in affinity.terms.required_anti:
            if term.matches(meta.namespace, meta.labels, labels):
                opposed.add_class(term.topology_key, affinity)
    return opposed
