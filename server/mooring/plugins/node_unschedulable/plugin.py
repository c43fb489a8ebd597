"""Keeps pods off cordoned nodes. Mirrors ``plugins/nodeunschedulable/node_unschedulable.go``."""

from __future__ import annotations

from collections.abc import Sequence

from mooring.framework import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    Finding,
    HintedEvent,
    KubeVersion,
    NodeInfo,
    NodeView,
    Part,
    Pod,
    PreFilterPlugin,
    ReasonCode,
    Status,
    Verdicts,
)
from mooring.framework.cacheable import Aspect, CacheablePlugin, Dependencies
from mooring.framework.taints import tolerated
from mooring.framework.upstream import Upstream
from mooring.plugins.node_unschedulable.hints import CORDON, events

REASON = "node(s) were unschedulable"


_PRE_FILTER_SINCE = KubeVersion(1, 37)


class NodeUnschedulable(PreFilterPlugin[None], FilterPlugin[None], CacheablePlugin):
    """Rejects nodes with ``spec.unschedulable``, unless the pod tolerates the taint of that name."""

    name = "NodeUnschedulable"
    upstream = Upstream(points_since={"preFilter": _PRE_FILTER_SINCE})
    aspects = Aspect.NONE

    def dependencies(self, pod: Pod) -> Dependencies:
        return Dependencies(signature=tolerated(CORDON, pod.spec.tolerations), parts=Part.NODES_BUT_IMAGES)

    def events_to_register(self) -> Sequence[HintedEvent]:
        return events(self.handle.kube_version)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        return SUCCESS

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        if tolerated(CORDON, pod.spec.tolerations):
            return Verdicts.passed(len(nodes))
        return Verdicts.reject_where(nodes.take(nodes.table.unschedulable), Status.unresolvable(REASON))

    def explain(
        self, state: CycleState, pod: Pod, node: NodeInfo | None, status: Status
    ) -> Sequence[Finding]:
        if node is None:
            return ()
        return [
            Finding(
                ReasonCode.NODE_CORDONED,
                node.name,
                "the node is cordoned",
                present="spec.unschedulable: true",
                node_change=f"kubectl uncordon {node.name}",
            )
        ]
