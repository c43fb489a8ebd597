"""A rule that kube-scheduler does not have: nodes that are about to be serviced."""

from __future__ import annotations

from mooring.framework import (
    MAX_NODE_SCORE,
    MIN_NODE_SCORE,
    SUCCESS,
    CycleState,
    FilterPlugin,
    NodeInfo,
    Pod,
    ScorePlugin,
    Status,
)

LABEL = "example.com/maintenance"


class Maintenance(FilterPlugin[None], ScorePlugin[None]):
    """Rejects nodes whose label says ``now``, and prefers every other node to one that says ``soon``."""

    name = "Maintenance"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        if node.labels.get(LABEL) == "now":
            return Status.unresolvable("node(s) were under maintenance")
        return SUCCESS

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return MIN_NODE_SCORE if node.labels.get(LABEL) == "soon" else MAX_NODE_SCORE
