"""A pod that names its node goes nowhere else. Mirrors ``plugins/nodename/node_name.go``."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from mooring.framework import (
    ActionType,
    CycleState,
    EventResource,
    FilterPlugin,
    HintedEvent,
    NodeView,
    Part,
    Pod,
    Status,
    Verdicts,
)
from mooring.framework.internal import SignedByShape
from mooring.framework.upstream import Upstream

REASON = "node(s) didn't match the requested node name"


class NodeName(FilterPlugin[None], SignedByShape):
    """Rejects every node but the one that ``spec.nodeName`` names, when it names one."""

    name = "NodeName"
    upstream = Upstream()

    def signature(self, pod: Pod) -> Hashable:
        return pod.spec.node_name

    def depends_on(self, pod: Pod) -> Part:
        return Part.NODES

    def events_to_register(self) -> Sequence[HintedEvent]:
        return (HintedEvent.of(EventResource.NODE, ActionType.ADD),)

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        wanted = pod.spec.node_name
        if not wanted:
            return Verdicts.passed(len(nodes))
        others = np.not_equal(nodes.rows, nodes.table.index.get(wanted, -1))
        return Verdicts.reject_where(others, Status.unresolvable(REASON))
