"""A pod that names its node goes nowhere else. Mirrors ``plugins/nodename/node_name.go``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mooring.framework import (
    SUCCESS,
    ActionType,
    CycleState,
    EventResource,
    FilterPlugin,
    Finding,
    HintedEvent,
    KubeVersion,
    NodeInfo,
    NodeView,
    Part,
    Pod,
    PreFilterPlugin,
    PreFilterResult,
    ReasonCode,
    Status,
    Verdicts,
)
from mooring.framework.cacheable import Aspect, CacheablePlugin, Dependencies
from mooring.framework.upstream import Upstream

REASON = "node(s) didn't match the requested node name"


_NARROWS_SINCE = KubeVersion(1, 37)
"""Since this release PreFilter leaves the other nodes out; before, Filter rejects each of them."""


class NodeName(PreFilterPlugin[None], FilterPlugin[None], CacheablePlugin):
    """Rejects every node but the one that ``spec.nodeName`` names, when it names one."""

    name = "NodeName"
    upstream = Upstream(
        points_since={"preFilter": _NARROWS_SINCE}, before=("NodeUnschedulable", _NARROWS_SINCE)
    )
    aspects = Aspect.NONE

    def dependencies(self, pod: Pod) -> Dependencies:
        return Dependencies(signature=pod.spec.node_name, parts=Part.NODES_BUT_IMAGES)

    def events_to_register(self) -> Sequence[HintedEvent]:
        return (HintedEvent.of(EventResource.NODE, ActionType.ADD),)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> PreFilterResult | Status:
        return PreFilterResult(frozenset({pod.spec.node_name})) if pod.spec.node_name else SUCCESS

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        wanted = pod.spec.node_name
        if not wanted:
            return Verdicts.passed(len(nodes))
        others = np.not_equal(nodes.rows, nodes.table.index.get(wanted, -1))
        return Verdicts.reject_where(others, Status.unresolvable(REASON))

    def explain(
        self, state: CycleState, pod: Pod, node: NodeInfo | None, status: Status
    ) -> Sequence[Finding]:
        wanted = pod.spec.node_name
        unknown = node is not None and wanted not in node.snapshot.nodes.index
        said = f"the pod names the node {wanted}{', which does not exist' if unknown else ''}"
        return [
            Finding(
                ReasonCode.NODE_NAME_MISMATCH,
                wanted,
                said,
                asked=wanted,
                present=node.name if node is not None else "",
                pod_change="leave spec.nodeName empty",
            )
        ]
