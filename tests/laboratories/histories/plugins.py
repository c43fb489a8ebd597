"""Plugins of other authors, one for each way in which answers may be cached."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mooring.framework import (
    SUCCESS,
    CacheablePlugin,
    CycleState,
    Dependencies,
    FilterPlugin,
    Int64s,
    NodeInfo,
    NodeView,
    Part,
    Plugin,
    Pod,
    ScorePlugin,
    Status,
)
from mooring.framework.normalize import Normalizer


class _Alike(CacheablePlugin):
    """All pods of an app are alike."""

    parts = Part.NODES

    def dependencies(self, pod: Pod) -> Dependencies:
        return Dependencies(signature=pod.metadata.labels.get("app", ""), parts=self.parts)


def _weight(node: NodeInfo) -> int:
    return int(node.labels.get("weight", "0"))


class Stretched(ScorePlugin[None], _Alike):
    """Scores that a declared normaliser stretches over those of the feasible nodes."""

    name = "Stretched"
    normalizer = Normalizer.BY_MIN_MAX

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 7 * _weight(node) + len(node.taints) - 3


class StretchedDown(Stretched):
    """The same the other way round."""

    name = "StretchedDown"
    normalizer = Normalizer.BY_MAX_REVERSED

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return _weight(node) ** 2


class OwnNormalizer(ScorePlugin[None], _Alike):
    """Scores that the plugin brings to 0..100 itself, in view of the feasible nodes."""

    name = "OwnNormalizer"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return _weight(node)

    def normalize_score(self, state: CycleState, pod: Pod, scores: Int64s) -> Int64s:
        return np.where(scores == scores.min(initial=100), 0, 100 // (1 + len(scores)))


class Measured(FilterPlugin[None], ScorePlugin[None], _Alike):
    """Reads data that is not part of the cluster, and changes by itself."""

    name = "Measured"
    level: ClassVar[int] = 0
    parts = Part.NODES | Part.OUTSIDE

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        busy = self.level % 5 == 4 and _weight(node) == 4
        return Status.unschedulable("node(s) were busy") if busy else SUCCESS

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 10 * ((_weight(node) + self.level) % 4)


class Crowded(FilterPlugin[None], ScorePlugin[None], _Alike):
    """Depends on where pods are, and follows nothing."""

    name = "Crowded"
    parts = Part.NODES | Part.PODS

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return Status.unschedulable("node(s) were crowded") if len(node.records) > 6 else SUCCESS

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        alike = sum(record.pod.metadata.labels == pod.metadata.labels for record in node.records)
        return max(100 - 9 * alike, 0)


class Amounts(FilterPlugin[None], ScorePlugin[None], _Alike):
    """Reads amounts alone, point by point."""

    name = "Amounts"
    parts = Part.RESOURCES

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return Status.unschedulable("node(s) were odd") if node.requested.get("cpu", 0) % 7 == 3 else SUCCESS

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        free: Int64s = (nodes.allocatable("cpu") - nodes.requested("cpu")) // 100
        return np.clip(free, 0, 100)


OWN: tuple[type[Plugin[Any]], ...] = (
    Stretched,
    StretchedDown,
    OwnNormalizer,
    Measured,
    Crowded,
    Amounts,
)
"""All of them."""
