"""What Filter knows: how many pods each domain of each hard constraint has.

Mirrors ``plugins/podtopologyspread/filtering.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from mooring.framework import SUCCESS, Bools, Int32s, Int64s, NodeInfo, NodeView, Pod, Status, Verdicts
from mooring.framework.columns import ABSENT
from mooring.plugins.pod_topology_spread.constraints import Constraint
from mooring.plugins.pod_topology_spread.eligibility import Cluster
from mooring.plugins.topology import Topology

REASON = "node(s) didn't match pod topology spread constraints"
REASON_NO_LABEL = f"{REASON} (missing required label)"

_STATUSES = (SUCCESS, Status.unschedulable(REASON), Status.unresolvable(REASON_NO_LABEL))
_SKEWED, _NO_LABEL = 1, 2


@dataclass(frozen=True, slots=True)
class HardConstraint:
    """A constraint with what counts for it.

    Attributes:
        rule: The constraint.
        topology: Its domains.
        eligible: bool[capacity], the rows that count.
        there: bool[size], the domains that have such a row.
        counts: int64[size], the matching pods of each domain.
        own: 1 when the pod itself matches, else 0.
    """

    rule: Constraint
    topology: Topology
    eligible: Bools
    there: Bools
    counts: Int64s
    own: int

    def lowest(self) -> int:
        """The count of the emptiest domain; 0 when there are too few domains."""
        domains = self.counts[self.there]
        return int(domains.min()) if len(domains) and len(domains) >= self.rule.min_domains else 0

    def verdicts(self, rows: Int32s) -> Int32s:
        """int32[K]: per row the number of its status."""
        domains = self.topology.ids[rows]
        skewed = self.counts[domains] + self.own - self.lowest() > self.rule.max_skew
        codes: Int32s = np.where(skewed, _SKEWED, 0).astype(np.int32)
        codes[domains == ABSENT] = _NO_LABEL
        return codes


@dataclass(frozen=True, slots=True)
class FilterNotes:
    """The hard constraints, and the row of each node's name."""

    constraints: tuple[HardConstraint, ...]
    index: Mapping[str, int]

    def clone(self) -> FilterNotes:
        """Notes of which the counts may change."""
        copies = (replace(constraint, counts=constraint.counts.copy()) for constraint in self.constraints)
        return replace(self, constraints=tuple(copies))

    def add(self, other: Pod, node: NodeInfo, amount: int) -> None:
        """``amount`` pods like ``other`` came to ``node``; terminating ones and empty selectors count."""
        row = self.index[node.name]
        for constraint in self.constraints:
            if constraint.eligible[row] and constraint.rule.selector.matches(other.metadata.labels):
                constraint.counts[constraint.topology.ids[row]] += amount

    def verdicts(self, nodes: NodeView) -> Verdicts:
        """What the constraints say of ``nodes``; the first one that refuses a node has the word."""
        codes: Int32s = np.zeros(len(nodes), np.int32)
        for constraint in self.constraints:
            codes = np.where(codes == 0, constraint.verdicts(nodes.rows), codes)
        return Verdicts(codes, _STATUSES)


def filter_notes(
    constraints: tuple[Constraint, ...], cluster: Cluster, pod: Pod, index: Mapping[str, int]
) -> FilterNotes:
    """The notes of a pod with these hard constraints."""
    complete = cluster.with_keys(constraints)
    return FilterNotes(tuple(_hard(rule, cluster, pod, complete) for rule in constraints), index)


def _hard(rule: Constraint, cluster: Cluster, pod: Pod, complete: Bools) -> HardConstraint:
    topology = cluster.topologies[rule.topology_key]
    eligible = complete & cluster.eligible(rule)
    there = np.bincount(np.where(eligible, topology.ids, ABSENT), minlength=topology.size) > 0
    there[ABSENT] = False
    counts = topology.sums(np.where(eligible, cluster.counts(rule), 0))
    own = int(rule.selector.matches(pod.metadata.labels))
    return HardConstraint(rule, topology, eligible, there, counts, own)
