"""What Score knows: how many pods are in the domains of each soft constraint, and how they count.

Mirrors ``plugins/podtopologyspread/scoring.go``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mooring.framework import MAX_NODE_SCORE, Bools, Int32s, Int64s, NodeView
from mooring.framework.columns import ABSENT
from mooring.plugins.pod_topology_spread.constraints import HOSTNAME, Constraint
from mooring.plugins.pod_topology_spread.eligibility import Cluster
from mooring.plugins.topology import sum_by

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ScoreNotes:
    """What was found out about the feasible nodes.

    Attributes:
        penalties: float64[K], how crowded each node's domains are.
        ignored: bool[K], nodes that lack a topology key that they must have.
    """

    penalties: Floats
    ignored: Bools

    def scores(self) -> Int64s:
        """int64[K]: the raw scores; less is better."""
        rounded = _half_up(self.penalties).astype(np.int64)
        rounded[self.ignored] = 0
        return rounded

    def normalized(self, scores: Int64s) -> Int64s:
        """int64[K]: the emptiest domain gets most, ignored nodes 0."""
        counted = scores[~self.ignored]
        highest = int(counted.max(initial=0))
        if highest == 0:
            return np.where(self.ignored, 0, MAX_NODE_SCORE)
        share = MAX_NODE_SCORE * (highest + int(counted.min()) - scores) // highest
        return np.where(self.ignored, 0, share)


def score_notes(
    constraints: tuple[Constraint, ...], cluster: Cluster, nodes: NodeView, *, needs_all_keys: bool
) -> ScoreNotes:
    """The notes for the feasible ``nodes``.

    Args:
        constraints: The soft constraints, at least one.
        cluster: All nodes and pods.
        nodes: The feasible nodes.
        needs_all_keys: Whether nodes without all topology keys are left out.
    """
    complete = cluster.with_keys(constraints if needs_all_keys else ())
    counted = nodes.rows[complete[nodes.rows]]
    penalties: Floats = np.zeros(len(nodes), np.float64)
    for constraint in constraints:
        penalties += _penalties(constraint, cluster, complete, nodes.rows, counted)
    return ScoreNotes(penalties, ~complete[nodes.rows])


def _penalties(rule: Constraint, cluster: Cluster, complete: Bools, rows: Int32s, counted: Int32s) -> Floats:
    """float64[K]: what ``rule`` adds for each of ``rows``; ``counted`` ones make up the topology's size."""
    counts = cluster.counts(rule)
    topology = cluster.topologies[rule.topology_key]
    if rule.topology_key == HOSTNAME:
        size, pods = len(counted), counts[rows]
    else:
        # As there, a node without the label is in the domain whose name is empty.
        domains = np.where(topology.ids == ABSENT, topology.domain_of(""), topology.ids)
        size = int(np.count_nonzero(np.bincount(domains[counted])))
        eligible = complete & cluster.eligible(rule)
        pods = sum_by(domains, np.where(eligible, counts, 0), topology.size)[domains[rows]]
    crowding = pods * math.log(size + 2) + (rule.max_skew - 1)
    return np.where(topology.ids[rows] == ABSENT, 0.0, crowding)


def _half_up(values: Floats) -> Floats:
    """Rounded as Go's math.Round does for what is not negative: halves go up."""
    whole = np.floor(values)
    return whole + (values - whole >= 0.5)
