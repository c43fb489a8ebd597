"""Which nodes and which pods a spread constraint counts.

Mirrors ``matchNodeInclusionPolicies`` and ``countPodsMatchSelector`` in
``plugins/podtopologyspread/common.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from mooring.framework import Bools, Int64s, NodeView, Pod
from mooring.framework.columns import ABSENT
from mooring.framework.node_selector import required_matches
from mooring.framework.taints import tolerated
from mooring.plugins.pod_topology_spread.constraints import Constraint
from mooring.plugins.topology import Topologies, pods_by_row


class Cluster:
    """All nodes and pods, as one pod's constraints see them.

    Args:
        nodes: Gives the tables; its rows don't limit what is counted.
        pod: The pod to place.
        comparing: Whether tolerations may compare numbers.
    """

    def __init__(self, nodes: NodeView, pod: Pod, *, comparing: bool) -> None:
        self.topologies = Topologies(nodes.table)
        self._nodes = nodes.subset(nodes.table.rows())
        self._pod = pod
        self._comparing = comparing
        namespace = pod.metadata.namespace
        self._classes = [
            pod_class
            for pod_class in tuple(nodes.snapshot.pods.classes.values())
            if pod_class.namespace == namespace and not pod_class.terminating
        ]

    def with_keys(self, constraints: Sequence[Constraint]) -> Bools:
        """bool[capacity]: the row has a node with the topology keys of all ``constraints``."""
        found = self._nodes_there
        for constraint in constraints:
            found = found & (self.topologies[constraint.topology_key].ids != ABSENT)
        return found

    def eligible(self, constraint: Constraint) -> Bools:
        """bool[capacity]: the row has a node that the constraint's policies let count."""
        found = self._nodes_there
        if constraint.honors_affinity:
            found = found & self._matching
        if constraint.honors_taints:
            found = found & self._bearable
        return found

    def counts(self, constraint: Constraint) -> Int64s:
        """int64[capacity]: how many pods of each row the constraint is about.

        Pods that are being deleted don't count, nor does any pod for an empty selector.
        """
        selector = constraint.selector
        matching = [] if selector.empty else [c for c in self._classes if selector.matches(c.labels)]
        return pods_by_row(matching, self.topologies.capacity)

    @cached_property
    def _nodes_there(self) -> Bools:
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
            for taints in tuple(table.taint_sets)
        ]
        return self._by_row(np.array(bearable, np.bool_)[sets])

    def _by_row(self, values: Bools) -> Bools:
        by_row = np.zeros(self.topologies.capacity, np.bool_)
        by_row[self._nodes.at] = values
        return by_row
