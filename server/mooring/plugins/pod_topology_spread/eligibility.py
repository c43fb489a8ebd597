"""Which nodes and which pods a spread constraint counts.

Mirrors ``matchNodeInclusionPolicies`` and ``countPodsMatchSelector`` in
``plugins/podtopologyspread/common.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from mooring.framework import Bools, NodeView, Pod
from mooring.framework.deadline import timely
from mooring.framework.node_selector import required_matches
from mooring.framework.taints import tolerated
from mooring.kernels.arrays import ABSENT
from mooring.plugins.pod_topology_spread.constraints import SpreadConstraint
from mooring.plugins.topology import DomainCount, Topologies, Topology


class SpreadView:
    """All nodes and pods, as one pod's constraints see them.

    Args:
        nodes: Gives the tables; pods count on other rows, too.
        needed: The constraints whose topology keys a node must have to count for any.
        comparing: Whether tolerations may compare numbers.
    """

    def __init__(
        self, nodes: NodeView, pod: Pod, needed: Sequence[SpreadConstraint], *, comparing: bool
    ) -> None:
        self.topologies = Topologies(nodes.table)
        self._nodes = nodes.subset(nodes.table.rows())
        self._pod = pod
        self._needed = needed
        self._comparing = comparing
        self._classes = nodes.snapshot.pods.classes
        self._eligible: dict[tuple[bool, bool], Bools] = {}

    @cached_property
    def complete(self) -> Bools:
        """bool[capacity]: the row has a node with all topology keys that it needs."""
        found = self.nodes_there
        for constraint in timely(self._needed):
            found = found & (self.topologies[constraint.topology_key].ids != ABSENT)
        return found

    def eligible(self, constraint: SpreadConstraint) -> Bools:
        """bool[capacity]: the ``complete`` rows that the constraint's policies let count.

        Constraints with the same policies share the array: a pod may have thousands of constraints.
        """
        policies = constraint.honors_affinity, constraint.honors_taints
        found = self._eligible.get(policies)
        if found is None:
            found = self.complete
            if constraint.honors_affinity:
                found = found & self._matching
            if constraint.honors_taints:
                found = found & self._bearable
            self._eligible[policies] = found
        return found

    def count(
        self, constraint: SpreadConstraint, topology: Topology, counting: Bools | None = None
    ) -> DomainCount:
        """Count the pods that the constraint selects, on the rows that are ``counting`` (bool[capacity])."""
        if topology.size == 1:
            return DomainCount(topology, np.zeros(1, np.int32), counting)
        namespace = self._pod.metadata.namespace
        pods = constraint.by_row(namespace, self._classes, self.topologies.capacity)
        sums = topology.sums(pods if counting is None else np.where(counting, pods, 0))
        return DomainCount(topology, sums.astype(np.int32), counting)

    @cached_property
    def nodes_there(self) -> Bools:
        """bool[capacity]: the row has a node."""
        return self._by_row(np.ones(len(self._nodes), np.bool_))

    @cached_property
    def _matching(self) -> Bools:
        return self._by_row(required_matches(self._pod, self._nodes))

    @cached_property
    def _bearable(self) -> Bools:
        table = self._nodes.table
        sets = self._nodes.take(table.taint_set)
        bearable = [
            all(
                taint.effect == "PreferNoSchedule"
                or tolerated(taint, self._pod.spec.tolerations, comparing=self._comparing)
                for taint in taints
            )
            for taints in timely(tuple(table.taint_sets))
        ]
        return self._by_row(np.array(bearable, np.bool_)[sets])

    def _by_row(self, values: Bools) -> Bools:
        by_row = np.zeros(self.topologies.capacity, np.bool_)
        by_row[self._nodes.at] = values
        return by_row
