"""The part of an evaluation that every decision changes: computed each time, for all open nodes."""

from __future__ import annotations

import numpy as np

from mooring.framework import Bools, Int32s, NodeView, Pod
from mooring.framework.pod_table import PodKind
from mooring.framework.state import ClusterState
from mooring.runtime.cache.change_tracker import ChangeTracker
from mooring.runtime.cache.cycle_states import CycleStates
from mooring.runtime.cache.kept_counts import KeptCounts
from mooring.runtime.cache.outcome import Bypass, NotCachedError
from mooring.runtime.cache.ranking import OUT
from mooring.runtime.cache.selected import Selected, best_of_rows
from mooring.runtime.cache.static_scores import StaticScores
from mooring.runtime.cycle.evaluation import begin
from mooring.runtime.cycle.filter import passed
from mooring.runtime.cycle.plugin_calls import Calls, PluginCalls
from mooring.runtime.cycle.pre_filter import run_pre_filter
from mooring.runtime.cycle.sampling import search
from mooring.runtime.cycle.score import run_pre_score, run_score, weigh

_NONE: Int32s = np.zeros(0, np.int32)


class DynamicScores:
    """The scores of the plugins that depend on where pods are, computed for each decision.

    The plugins' points are called at first. Where all that they do is to count pods, the counts follow
    from then on, and say of all rows what the points would say.

    Args:
        cluster: The state.
        pod: The pod.
        static: The static scores, and which plugins have to be called again.
        tracker: What changed.
    """

    def __init__(self, cluster: ClusterState, pod: Pod, static: StaticScores, tracker: ChangeTracker) -> None:
        self._cluster = cluster
        self._pod = pod
        self._static = static
        self._tracker = tracker
        self._view = NodeView(cluster.snapshot, static.rows)
        self._cycle_states = CycleStates(cluster, pod, static.dynamic.evaluating)
        # What was written for the static scores need not be found out again.
        self._cycle_states.keep(static.cycle_state.clone(), static.version)
        self._counts: KeptCounts | None = None
        self._version = -1
        self._evaluated = 0
        self._totals = _NONE

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays; what plugins wrote isn't known."""
        return self._totals.nbytes

    def update(self, version: int, totals: Int32s, calls: Calls, start: int) -> None:
        """Ask about the rows that have ``totals`` (int32[capacity]) from all other plugins.

        When not all nodes are evaluated, the search begins at ``start``.

        Raises:
            NotCachedError: PreFilter now rejects the pod, or some nodes.
            PluginFailureError: A plugin failed.
        """
        static = self._static
        if not (version == self._version and static.timeless and static.order is None):
            self._rate(version, totals.copy(), calls, start)

    def among(self, version: int, totals: Int32s, calls: Calls, passing: Bools) -> tuple[Int32s, Int32s]:
        """As ``update``, of the rows in ``passing`` (bool[capacity]) alone, as if there were no others.

        Returns:
            int32[F] twice: the feasible rows, and their totals.
        """
        some = totals.copy()
        some[~passing[: len(some)]] = OUT
        self._rate(version, some, calls, 0)
        self._version = -1
        rows = np.flatnonzero(self._totals != OUT).astype(np.int32)
        return rows, self._totals[rows]

    def _rate(self, version: int, totals: Int32s, calls: Calls, start: int) -> None:
        """Take in what the plugins say of the rows that have ``totals`` (int32[capacity])."""
        self._version = -1
        counts = self._counts
        if counts is not None and counts.follow(version, self._tracker):
            self._rate_by(counts, totals, start)
        else:
            self._call_points(version, totals, calls(), start)
        self._totals, self._version = totals, version

    def _rate_by(self, counts: KeptCounts, totals: Int32s, start: int) -> None:
        counts.reject_in(totals)
        self._search(totals, start)
        if self._static.scaled:
            rows = np.flatnonzero(totals != OUT).astype(np.int32)
            totals[rows] += self._static.scaled_scores(rows)
        counts.add_to(totals)

    def _call_points(self, version: int, totals: Int32s, use: PluginCalls, start: int) -> None:
        static, view = self._static, self._view
        self._counts = None
        evaluation = begin(static.dynamic, self._cluster, self._pod, view.rows, view)
        evaluation.state = self._cycle_states.at(version, use)
        allowed = run_pre_filter(evaluation, use)
        if allowed is None or not allowed.all():
            raise NotCachedError(Bypass.PRE_FILTER)
        totals[view.rows[~passed(evaluation, view, use)]] = OUT
        self._search(totals, start)
        rows = np.flatnonzero(totals != OUT).astype(np.int32)
        # Plugins are never asked to score no nodes.
        if len(rows):
            view = evaluation.view(rows)
            raw = run_score(evaluation, view, run_pre_score(evaluation, view, use), use)
            totals[view.at] += weigh(evaluation, raw, len(view), use).totals
            totals[view.at] += static.scaled_scores(view.at)
            self._counts = KeptCounts.of(static.dynamic, self._cluster, self._pod, evaluation.state, version)
        if self._counts is None:
            self._cycle_states.keep(evaluation.state, version)

    def _search(self, totals: Int32s, start: int) -> None:
        """Reject the rows that the search, which begins at ``start``, leaves out."""
        static = self._static
        self._evaluated = static.evaluated
        if static.order is not None:
            found, looked_at = search(static.order, totals != OUT, start, static.wanted)
            left_out = np.ones(len(totals), np.bool_)
            left_out[found] = False
            totals[left_out] = OUT
            self._evaluated = len(looked_at)

    def forget(self) -> None:
        """Forget the totals, which the pod that was selected by them changes."""
        self._version, self._totals = -1, _NONE

    def follow(self, row: int, kind: PodKind) -> None:
        """Take in that a pod of ``kind`` comes to ``row``; ``placed`` says with which version it has."""
        if self._counts is not None:
            self._counts.move(row, 1, kind)

    def placed(self, version: int) -> None:
        """Take it that what ``follow`` took in is all that changed up to ``version``; -1 = not even that."""
        if self._counts is not None:
            self._counts.version = version

    def is_feasible(self, row: int) -> bool:
        """Return whether the node of ``row`` is feasible."""
        return row < len(self._totals) and self._totals.item(row) != OUT

    def select(self, seed: int, uid: str) -> Selected | None:
        """Select the node for the pod with ``uid``; None when none is feasible."""
        return best_of_rows(self._totals, seed, uid, self._evaluated)
