"""Keeps pods off cordoned nodes. Mirrors ``plugins/nodeunschedulable/node_unschedulable.go``."""

from __future__ import annotations

from collections.abc import Hashable

from mooring.framework import CycleState, FilterPlugin, NodeView, Pod, Scope, Status, Taint, Verdicts
from mooring.framework.taints import tolerated

REASON = "node(s) were unschedulable"

_CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulable(FilterPlugin[None]):
    """Refuses nodes with ``spec.unschedulable``, unless the pod tolerates the taint of that name."""

    name = "NodeUnschedulable"
    scope = Scope.NODE

    def sign(self, pod: Pod) -> Hashable:
        return tolerated(_CORDON, pod.spec.tolerations)

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        if tolerated(_CORDON, pod.spec.tolerations):
            return Verdicts.passed(len(nodes))
        return Verdicts.reject_where(nodes.take(nodes.table.unschedulable), Status.unresolvable(REASON))
