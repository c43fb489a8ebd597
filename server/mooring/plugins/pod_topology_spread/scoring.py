"""What Score knows: how many pods are in the domains of each soft constraint, and how they count.

Mirrors ``plugins/podtopologyspread/scoring.go``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mooring.framework import MAX_NODE_SCORE, Bools, Int32s, Int64s, NodeView, Pod
from mooring.framework.columns import ABSENT
from mooring.framework.deadline import timely
from mooring.framework.objects.node import HOSTNAME
from mooring.plugins.pod_topology_spread.constraints import SpreadConstraint
from mooring.plugins.pod_topology_spread.counts import ConstraintCounts
from mooring.plugins.pod_topology_spread.eligibility import SpreadView
from mooring.plugins.topology import DomainCount, Topology

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SoftConstraint:
    """A constraint with what counts for it.

    Attributes:
        rule: The constraint.
        pods: The pods that it selects.
        unlabelled: bool[capacity], rows whose node lacks the topology key, which has no part in their score;
            None when there are none.
        sizes: How many nodes have all topology keys, and in how many domains they are.
    """

    rule: SpreadConstraint
    pods: DomainCount
    unlabelled: Bools | None
    sizes: tuple[int, int]

    def penalties(self, nodes: NodeView, counted: NodeView) -> Floats:
        """float64[K]: how crowded it is where each of ``nodes`` is; the ``counted`` ones make up the size."""
        pods = self.pods.counts.astype(np.float64)
        crowding = pods * math.log(self._size(counted) + 2) + (self.rule.max_skew - 1)
        penalties = self.pods.topology.spread(crowding, nodes)
        if self.unlabelled is not None:
            penalties[nodes.take(self.unlabelled)] = 0.0
        return penalties

    def _size(self, counted: NodeView) -> int:
        """Return the number of domains; nodes that share a host name count separately, as there."""
        if self.rule.topology_key == HOSTNAME:
            return len(counted)
        nodes, domains = self.sizes
        # When these are all that could be counted, nothing has to be.
        return (
            domains if len(counted) == nodes else _distinct(counted.take(self.pods.topology.ids, live=True))
        )


@dataclass(frozen=True, slots=True)
class SoftCounts(ConstraintCounts):
    """The soft constraints of a pod in a namespace.

    Attributes:
        constraints: The constraints, at least one.
        namespace: The pod's namespace.
        incomplete: bool[capacity], rows whose node lacks a topology key that it must have; None when there
            are none.
    """

    constraints: tuple[SoftConstraint, ...]
    namespace: str
    incomplete: Bools | None

    def score(self, nodes: NodeView) -> ScoreNotes:
        """Return the state for scoring the feasible ``nodes``."""
        ignored, counted = None, nodes
        if self.incomplete is not None:
            ignored = nodes.take(self.incomplete)
            counted = nodes.subset(nodes.rows[~ignored])
        penalties = np.zeros(len(nodes), np.float64)
        for constraint in timely(self.constraints):
            penalties += constraint.penalties(nodes, counted)
        return ScoreNotes(_half_up(penalties), ignored)


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
        counted = scores if self.ignored is None else scores[~self.ignored]
        highest = int(counted.max(initial=0))
        if highest == 0:
            share = np.full(len(scores), MAX_NODE_SCORE, np.int64)
        else:
            share = MAX_NODE_SCORE * (highest + int(counted.min()) - scores) // highest
        return share if self.ignored is None else np.where(self.ignored, 0, share)


def soft_counts(
    constraints: tuple[SpreadConstraint, ...], view: SpreadView, pod: Pod, *, needs_all_keys: bool
) -> SoftCounts:
    """Return the counts over all nodes for a pod with these soft constraints.

    With ``needs_all_keys`` nodes without all topology keys are left out.
    """
    complete = view.with_keys(constraints if needs_all_keys else ())
    soft = tuple(_soft(rule, view, complete) for rule in timely(constraints))
    return SoftCounts(soft, pod.metadata.namespace, _unless_empty(view.nodes_there & ~complete))


def _soft(rule: SpreadConstraint, view: SpreadView, complete: Bools) -> SoftConstraint:
    labelled = view.topologies[rule.topology_key]
    unlabelled = view.nodes_there & (labelled.ids == ABSENT)
    if rule.topology_key == HOSTNAME:
        pods = view.count(rule, Topology.of_rows(view.topologies.capacity))
    else:
        # As there, a node without the label is in the domain whose name is empty.
        ids = np.where(unlabelled, labelled.nameless, labelled.ids)
        pods = view.count(rule, Topology(ids, labelled.size), view.eligible(rule, complete))
    sizes = int(np.count_nonzero(complete)), _distinct(pods.topology.ids[complete])
    return SoftConstraint(rule, pods, _unless_empty(unlabelled), sizes)


def _distinct(domains: Int32s) -> int:
    return int(np.count_nonzero(np.bincount(domains)))


def _unless_empty(rows: Bools) -> Bools | None:
    return rows if rows.any() else None


def _half_up(values: Floats) -> Int64s:
    """Round half up: Go's math.Round for what is not negative, as no value is that close below one half."""
    return np.floor(values + 0.5).astype(np.int64)
