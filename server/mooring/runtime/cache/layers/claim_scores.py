"""The answers of the plugins that read a pod's claims, added to the evaluation of pods without claims.

No two pods have the same claims, so these plugins are called for each pod. All else is the same for pods that
are alike but for their claims, and cached.
"""

from __future__ import annotations

import msgspec
import numpy as np

from mooring.framework import Bools, CycleState, Int32s, Int64s, NodeView, Pod
from mooring.framework.state import ClusterState
from mooring.runtime.cache.outcome import Bypass, NotCachedError
from mooring.runtime.cycle.cycle import enqueued
from mooring.runtime.cycle.evaluation import Evaluation, begin
from mooring.runtime.cycle.filter import passed
from mooring.runtime.cycle.plugin_calls import PluginCalls
from mooring.runtime.cycle.pre_filter import run_pre_filter
from mooring.runtime.cycle.score import run_pre_score, run_score, weigh
from mooring.runtime.profiles.profile_split import ClaimSplit


class ClaimScores(msgspec.Struct, frozen=True):
    """The nodes for one pod.

    Attributes:
        nodes: int32[F], int64[F]: the feasible rows and their totals; None when they are all that are
            feasible for pods without claims, and have the same totals.
    """

    nodes: tuple[Int32s, Int64s | Int32s] | None
    cycle_state: CycleState


class ClaimReaders:
    """The plugins that read claims, called for one pod. For one thread.

    Args:
        split: The profile.
        nodes: All nodes.
        written: The notes of the other plugins.

    Raises:
        NotCachedError: PreEnqueue or PreFilter rejects the pod, or some nodes.
        PluginFailureError: A plugin failed.

    Attributes:
        state: The plugins' notes.
        passing: bool[capacity], the rows that they don't reject; None = all.
    """

    def __init__(
        self,
        split: ClaimSplit,
        pod: Pod,
        cluster: ClusterState,
        nodes: NodeView,
        written: CycleState,
        calls: PluginCalls,
    ) -> None:
        self._split = split
        self._nodes = nodes
        self._calls = calls
        self._evaluation: Evaluation | None = None
        self.state = written.shared()
        self.passing: Bools | None = None
        if not (split.quick and self._reject_in_one_step(pod)):
            self.state = written.shared()
            self.passing = self._filter(pod, cluster)

    def _reject_in_one_step(self, pod: Pod) -> bool:
        """Find the rows that each plugin rejects in one call; return whether each can."""
        self.passing = None
        for name, plugin in self._split.quick:
            rows = self._calls.call(name, "Filter", plugin.rejected_rows, self.state, pod, self._nodes)
            if rows is None:
                return False
            if len(rows):
                if self.passing is None:
                    self.passing = np.ones(self._nodes.table.capacity, np.bool_)
                self.passing[rows] = False
        return True

    def _filter(self, pod: Pod, cluster: ClusterState) -> Bools:
        nodes, calls = self._nodes, self._calls
        evaluation = begin(self._split.readers, cluster, pod, nodes.rows, nodes, state=self.state)
        allowed = run_pre_filter(evaluation, calls) if enqueued(evaluation, calls) else None
        if allowed is None or not allowed.all():
            raise NotCachedError(Bypass.PRE_FILTER)
        passing = np.zeros(nodes.table.capacity, np.bool_)
        # All nodes, as other plugins after them may reject those on which one of these fails.
        passing[nodes.at] = passed(evaluation, nodes, calls)
        self._evaluation = evaluation.by(self._split.last)
        return passing

    @property
    def filters_last(self) -> bool:
        """Whether Filter plugins are left that come after those of all other plugins."""
        return self._evaluation is not None and bool(self._split.last.filter)

    def filter_last(self, rows: Int32s) -> Bools:
        """bool[K]: which of ``rows`` (int32[K]), that all others leave, these plugins leave."""
        assert self._evaluation is not None  # noqa: S101 - filters_last says so
        return passed(self._evaluation, self._nodes.subset(rows), self._calls)

    def own_scores(self, rows: Int32s) -> Int64s | None:
        """int64[F]: what the plugins add to the totals of the feasible ``rows``; None = nothing."""
        evaluation, calls = self._evaluation, self._calls
        if evaluation is None or not evaluation.profile.score or len(rows) < 2:
            return None
        nodes = self._nodes.subset(rows)
        raw = run_score(evaluation, nodes, run_pre_score(evaluation, nodes, calls), calls)
        own = weigh(evaluation, raw, len(nodes), calls).totals
        return own if own.any() else None
