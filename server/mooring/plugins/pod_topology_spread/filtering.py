"""Filter's state: how many pods each domain of each hard constraint has.

Mirrors ``plugins/podtopologyspread/filtering.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from mooring.framework import (
    SUCCESS,
    Int32s,
    Int64s,
    NodeInfo,
    NodeView,
    Pod,
    Status,
    Verdicts,
)
from mooring.framework.batch import FilterCounts
from mooring.framework.deadline import timely
from mooring.kernels.arrays import ABSENT
from mooring.kernels.domains import limit
from mooring.plugins.pod_topology_spread.constraints import SpreadConstraint
from mooring.plugins.pod_topology_spread.counts import ConstraintCounts
from mooring.plugins.pod_topology_spread.eligibility import SpreadView
from mooring.plugins.topology import DomainCount

REASON = "node(s) didn't match pod topology spread constraints"
REASON_NO_LABEL = f"{REASON} (missing required label)"

_STATUSES = (SUCCESS, Status.unschedulable(REASON), Status.unresolvable(REASON_NO_LABEL))
_SKEWED, _NO_LABEL = 1, 2


@dataclass(frozen=True, slots=True)
class HardConstraint:
    """A constraint with its counts.

    Attributes:
        pods: The pods that it selects.
        domains: int64[D], the domains with a row that counts, or the slice that they are.
        own: 1 when the pod itself matches, else 0.
    """

    rule: SpreadConstraint
    pods: DomainCount
    domains: Int64s | slice
    own: int

    def verdicts(self, nodes: NodeView) -> Int32s:
        """int32[K]: per node the number of its status."""
        by_domain = (self.pods.counts > self.most()).astype(np.int32)
        by_domain[ABSENT] = _NO_LABEL
        return self.pods.topology.spread(by_domain, nodes)

    def most(self) -> int:
        """Return the most that a domain may have before the pod comes to it."""
        # The count of the emptiest domain; 0 when there are too few domains.
        counts = self.pods.counts[self.domains]
        # Finds the lowest in half the time of min, which goes through Python.
        lowest = counts.item(counts.argmin()) if len(counts) and len(counts) >= self.rule.min_domains else 0
        return self.rule.max_skew + lowest - self.own

    def emptiest(self) -> list[int]:
        """Return a row of each domain with the fewest pods: no other may have many more."""
        counts, ids = self.pods.counts, self.pods.topology.ids
        domains = np.arange(len(counts))[self.domains]
        fewest = domains[counts[domains] == counts[domains].min()] if len(domains) else domains
        return [int((ids == domain).argmax()) for domain in fewest]


@dataclass(frozen=True, slots=True)
class HardCounts(ConstraintCounts, FilterCounts):
    """The hard constraints of a pod in a namespace, and the row of each node's name."""

    constraints: tuple[HardConstraint, ...]
    namespace: str
    index: Mapping[str, int]

    def clone(self) -> HardCounts:
        """Return a copy whose counts may change."""
        copies = (replace(constraint, pods=constraint.pods.clone()) for constraint in self.constraints)
        return replace(self, constraints=tuple(copies))

    def add(self, other: Pod, node: NodeInfo, amount: int) -> None:
        """``amount`` pods like ``other`` came to ``node``; terminating ones and empty selectors count."""
        if other.metadata.namespace != self.namespace:
            return
        row = self.index[node.name]
        for constraint in self.constraints:
            if constraint.rule.selector.matches(other.metadata.labels):
                constraint.pods.move(row, amount)

    def verdicts(self, nodes: NodeView) -> Verdicts:
        """Return the verdicts on ``nodes``; the first constraint that rejects a node gives the reason."""
        first, *others = self.constraints
        codes = first.verdicts(nodes)
        for constraint in timely(others):
            codes = np.where(codes == 0, constraint.verdicts(nodes), codes)
        return Verdicts(codes, _STATUSES)

    def excess(self, nodes: NodeView) -> Int64s:
        """int64[K]: how many pods that count have to leave a node's domain at least, for the pod to come."""
        most = np.zeros(len(nodes), np.int64)
        for constraint in timely(self.constraints):
            by_domain = constraint.pods.counts.astype(np.int64) - constraint.most()
            by_domain[ABSENT] = 0
            most = np.maximum(most, constraint.pods.topology.spread(by_domain, nodes))
        return most

    def reject_in(self, totals: Int32s) -> None:
        for constraint in timely(self.constraints):
            pods = constraint.pods
            limit(pods.topology.ids, pods.counts, totals, most=constraint.most(), outside=False)


def hard_counts(
    constraints: tuple[SpreadConstraint, ...], view: SpreadView, pod: Pod, index: Mapping[str, int]
) -> HardCounts:
    """Return the counts for a pod with these hard constraints, at least one; ``view`` needs their keys."""
    hard = tuple(_hard(rule, view, pod) for rule in timely(constraints))
    return HardCounts(hard, pod.metadata.namespace, index)


def _hard(rule: SpreadConstraint, view: SpreadView, pod: Pod) -> HardConstraint:
    topology, eligible = view.topologies[rule.topology_key], view.eligible(rule)
    there = np.bincount(topology.ids[eligible], minlength=topology.size) > 0
    there[ABSENT] = False
    domains = slice(ABSENT + 1, None) if there[ABSENT + 1 :].all() else np.flatnonzero(there)
    own = int(rule.selector.matches(pod.metadata.labels))
    return HardConstraint(rule, view.count(rule, topology, eligible), domains, own)
