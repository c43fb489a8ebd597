"""Score's state: how many pods are in the domains of each soft constraint, and their weights.

Mirrors ``plugins/podtopologyspread/scoring.go``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from mooring.framework import Bools, Int32s, Int64s, NodeView, Pod
from mooring.framework.batch import ScoreCounts
from mooring.framework.deadline import timely
from mooring.framework.objects.node import HOSTNAME
from mooring.kernels.arrays import ABSENT, REJECTED, Float64s
from mooring.kernels.domains import add_crowding, add_emptier, count, distinct, emptier, half_up
from mooring.plugins.pod_topology_spread.constraints import SpreadConstraint
from mooring.plugins.pod_topology_spread.counts import ConstraintCounts
from mooring.plugins.pod_topology_spread.eligibility import SpreadView
from mooring.plugins.topology import DomainCount, Topology


@dataclass(frozen=True, slots=True)
class SoftConstraint:
    """A constraint with its counts.

    Attributes:
        pods: The pods that it selects.
        ids: int32[capacity], the domain of each row in the topology, none if the node lacks its key:
            there the constraint has no part in the score.
        sizes: How many nodes have all topology keys, and in how many domains they are.
    """

    rule: SpreadConstraint
    pods: DomainCount
    ids: Int32s
    sizes: tuple[int, int]

    def crowd(self, size: int, crowding: Float64s) -> None:
        """Add to ``crowding`` (float64[N]) the pods of each row's domain, weighted by ``size`` domains."""
        add_crowding(self.ids, self.pods.counts, math.log(size + 2), self.rule.max_skew - 1, crowding)

    def size(self, totals: Int32s, ignored: Bools, counted: int) -> int:
        """Return in how many domains the rows are that count; there are ``counted`` of them.

        Nodes that share a host name count separately, as in ``domain_totals.count``.
        """
        if self.rule.topology_key == HOSTNAME:
            return counted
        nodes, domains = self.sizes
        # When these are all that could be counted, nothing has to be.
        if counted == nodes:
            return domains
        return distinct(self.pods.topology.ids, self.pods.topology.size, totals, ignored)


@dataclass(frozen=True, slots=True)
class SoftCounts(ConstraintCounts, ScoreCounts):
    """The soft constraints of a pod in a namespace.

    Attributes:
        constraints: The constraints, at least one.
        namespace: The pod's namespace.
        ignored: bool[capacity], rows whose node lacks a topology key that it must have.
    """

    constraints: tuple[SoftConstraint, ...]
    namespace: str
    ignored: Bools

    def clone(self) -> SoftCounts:
        """Return a copy whose counts may change."""
        copies = (replace(constraint, pods=constraint.pods.clone()) for constraint in self.constraints)
        return replace(self, constraints=tuple(copies))

    def score(self, nodes: NodeView) -> ScoreNotes:
        """Return the state for scoring the feasible ``nodes``."""
        totals = np.full(len(self.ignored), REJECTED, np.int32)
        totals[nodes.at] = 0
        crowding = nodes.take(self._crowding(totals))
        ignored = nodes.take(self.ignored)
        return ScoreNotes(half_up(crowding).astype(np.int64), ignored if ignored.any() else None)

    def add_to(self, totals: Int32s, weight: int) -> None:
        add_emptier(self._crowding(totals), self.ignored, weight, totals)

    def _crowding(self, totals: Int32s) -> Float64s:
        """float64[N]: how crowded it is where each row is; those that are not ``REJECTED`` count."""
        counted, crowding = count(totals, self.ignored), np.zeros(len(totals), np.float64)
        for constraint in timely(self.constraints):
            constraint.crowd(constraint.size(totals, self.ignored, counted), crowding)
        return crowding


@dataclass(frozen=True, slots=True)
class ScoreNotes:
    """The state for scoring the feasible nodes.

    Attributes:
        penalties: int64[K], how crowded each node's domains are.
        ignored: bool[K], nodes that lack a topology key that they must have; None when none does.
    """

    penalties: Int64s
    ignored: Bools | None

    def scores(self) -> Int64s:
        """int64[K]: the raw scores; less is better."""
        return self.penalties if self.ignored is None else np.where(self.ignored, 0, self.penalties)

    def normalized(self, scores: Int64s) -> Int64s:
        """int64[K]: the emptiest domain gets most, ignored nodes 0."""
        if self.ignored is None:
            return emptier(scores)
        share = np.zeros(len(scores), np.int64)
        share[~self.ignored] = emptier(scores[~self.ignored])
        return share


def soft_counts(constraints: tuple[SpreadConstraint, ...], view: SpreadView, pod: Pod) -> SoftCounts:
    """Return the counts over all nodes for a pod with these soft constraints.

    Nodes without the topology keys that ``view`` needs are left out.
    """
    domains = _ScoredDomains(view)
    soft = tuple(_soft(rule, view, domains) for rule in timely(constraints))
    return SoftCounts(soft, pod.metadata.namespace, view.nodes_there & ~view.complete)


class _ScoredDomains:
    """The domains of each topology key as PreScore counts them, made once for a pod.

    Keys that no node has share theirs: a pod may name thousands.
    """

    def __init__(self, view: SpreadView) -> None:
        self._view = view
        self._complete = int(np.count_nonzero(view.complete))
        self._known: dict[tuple[int, bool], tuple[Topology, Int32s, tuple[int, int]]] = {}

    def of_key(self, key: str) -> tuple[Topology, Int32s, tuple[int, int]]:
        """Return the topology in which pods are counted, and ``SoftConstraint``'s ids and sizes."""
        labelled = self._view.topologies[key]
        known = id(labelled), key == HOSTNAME
        if known not in self._known:
            self._known[known] = self._made(key, labelled)
        return self._known[known]

    def _made(self, key: str, labelled: Topology) -> tuple[Topology, Int32s, tuple[int, int]]:
        unlabelled = self._view.nodes_there & (labelled.ids == ABSENT)
        if key == HOSTNAME:
            topology = Topology.of_rows(self._view.topologies.capacity)
        else:
            # A node without the label is in the domain whose name is empty (podtopologyspread/scoring.go).
            ids = np.where(unlabelled, labelled.nameless, labelled.ids)
            topology = Topology(ids, labelled.size)
        counted: Int32s = np.where(unlabelled, np.int32(ABSENT), topology.ids)
        return topology, counted, (self._complete, _distinct(topology.ids[self._view.complete]))


def _soft(rule: SpreadConstraint, view: SpreadView, domains: _ScoredDomains) -> SoftConstraint:
    topology, counted, sizes = domains.of_key(rule.topology_key)
    counting = None if rule.topology_key == HOSTNAME else view.eligible(rule)
    return SoftConstraint(rule, view.count(rule, topology, counting), counted, sizes)


def _distinct(domains: Int32s) -> int:
    return int(np.count_nonzero(np.bincount(domains)))
