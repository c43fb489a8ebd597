"""Rules as a newcomer writes them by the tutorial, with the one word that they are pure."""

from __future__ import annotations

from mooring.framework import (
    MAX_NODE_SCORE,
    SUCCESS,
    CycleState,
    FilterPlugin,
    NodeInfo,
    Plugin,
    Pod,
    Pure,
    ScorePlugin,
    Status,
    pods_by,
)
from tests.laboratories.bench.cluster import RACK

MAINTENANCE = "example.com/maintenance"


class FilterLabel(FilterPlugin[None], Pure):
    name = "FilterLabel"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return Status.unschedulable("node(s) in maintenance") if node.labels.get(MAINTENANCE) else SUCCESS


class ScoreFree(ScorePlugin[None], Pure):
    name = "ScoreFree"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        offered = node.allocatable.get("memory", 1)
        return int(MAX_NODE_SCORE * (offered - node.requested.get("memory", 0)) / offered)


class Rack(FilterPlugin[None], ScorePlugin[None], Pure):
    name = "Rack"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return Status.unschedulable("node(s) in maintenance") if node.labels.get(MAINTENANCE) else SUCCESS

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        wanted = pod.metadata.annotations.get(RACK)
        return MAX_NODE_SCORE if wanted and node.labels.get(RACK) == wanted else 0


class CountPerRack(FilterPlugin[None], Pure):
    name = "CountPerRack"
    in_rack = pods_by(label="app", topology=RACK)
    most = 100_000

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        full = self.in_rack(pod, node) >= self.most
        return Status.unschedulable("rack(s) had enough pods of the app") if full else SUCCESS


RULES: tuple[type[Plugin[None]], ...] = (FilterLabel, ScoreFree, Rack, CountPerRack)
