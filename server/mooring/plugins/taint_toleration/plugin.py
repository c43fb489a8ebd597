"""Keeps pods off tainted nodes. Mirrors ``plugins/tainttoleration/taint_toleration.go``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mooring.framework import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    Finding,
    Handle,
    HintedEvent,
    Int32s,
    Int64s,
    KubeVersion,
    NodeInfo,
    NodeView,
    Normalizer,
    Part,
    Pod,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    Status,
    Taint,
    Toleration,
    Verdicts,
)
from mooring.framework.cacheable import Aspect, CacheablePlugin, Dependencies
from mooring.framework.deadline import timely
from mooring.framework.taints import tolerated, untolerated
from mooring.framework.upstream import Upstream
from mooring.plugins.taint_toleration.findings import taint_finding
from mooring.plugins.taint_toleration.hints import events

REASON = "node(s) had untolerated taint(s)"

_PRE_FILTER_SINCE = KubeVersion(1, 37)

COMPARISON_GATE = "TaintTolerationComparisonOperators"
"""The feature gate, off by default, with which Gt and Lt of tolerations compare numbers."""

_PREFER_NO_SCHEDULE = "PreferNoSchedule"
_PRE_SCORE = "PreScoreTaintToleration"


class TaintToleration(
    PreFilterPlugin[None], FilterPlugin[None], PreScorePlugin[None], ScorePlugin[None], CacheablePlugin
):
    """Rejects nodes with a taint that the pod doesn't tolerate, and prefers those with few soft ones.

    Nodes with equal taints share one number in the table, so tolerations are matched once per distinct
    list of taints.
    """

    name = "TaintToleration"
    upstream = Upstream(weight=3, points_since={"preFilter": _PRE_FILTER_SINCE})
    normalizer = Normalizer.BY_MAX_REVERSED
    aspects = Aspect.NONE

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._comparing = handle.gates.enabled(COMPARISON_GATE)

    def dependencies(self, pod: Pod) -> Dependencies:
        return Dependencies(signature=pod.spec.tolerations, parts=Part.NODES_BUT_IMAGES)

    def events_to_register(self) -> Sequence[HintedEvent]:
        return events(self.handle.kube_version, comparing=self._comparing)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        return SUCCESS

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        statuses = {SUCCESS: 0}

        def verdict(taints: tuple[Taint, ...]) -> int:
            return statuses.setdefault(self._verdict(taints, pod.spec.tolerations), len(statuses))

        codes = _by_taint_set(nodes, verdict)
        return Verdicts(codes, tuple(statuses))

    def explain(
        self, state: CycleState, pod: Pod, node: NodeInfo | None, status: Status
    ) -> Sequence[Finding]:
        tolerations, taints = pod.spec.tolerations, node.taints if node else ()
        hard = (taint for taint in taints if taint.effect != _PREFER_NO_SCHEDULE)
        return [
            taint_finding(taint, tolerations, comparing=self._comparing)
            for taint in hard
            if not self._tolerated(taint, tolerations)
        ]

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        state.write(
            _PRE_SCORE, tuple(t for t in pod.spec.tolerations if t.effect in ("", _PREFER_NO_SCHEDULE))
        )
        return SUCCESS

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        tolerations: tuple[Toleration, ...] = state.read(_PRE_SCORE, tuple)

        def soft_untolerated(taints: tuple[Taint, ...]) -> int:
            soft = (taint for taint in taints if taint.effect == _PREFER_NO_SCHEDULE)
            return sum(not self._tolerated(taint, tolerations) for taint in soft)

        return _by_taint_set(nodes, soft_untolerated).astype(np.int64)

    def _tolerated(self, taint: Taint, tolerations: tuple[Toleration, ...]) -> bool:
        return tolerated(taint, tolerations, comparing=self._comparing)

    def _verdict(self, taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]) -> Status:
        taint = untolerated(taints, tolerations, comparing=self._comparing)
        return SUCCESS if taint is None else Status.unresolvable(REASON)


def _by_taint_set(nodes: NodeView, value: Callable[[tuple[Taint, ...]], int]) -> Int32s:
    """Return int32[K]: ``value`` of each node's taints, called once per distinct list of them."""
    sets = nodes.take(nodes.table.taint_set)
    numbers = np.flatnonzero(np.bincount(sets)).tolist()
    if len(numbers) == 1:
        return np.full(len(sets), value(nodes.table.taint_sets[numbers[0]]), np.int32)
    values = np.zeros(len(nodes.table.taint_sets), np.int32)
    for number in timely(numbers):
        values[number] = value(nodes.table.taint_sets[number])
    return values[sets]
