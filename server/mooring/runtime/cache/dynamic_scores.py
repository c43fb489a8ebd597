"""The part of an evaluation that every decision changes: computed each time, for all open nodes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mooring.framework import Bools, Int32s, Int64s, NodeView, Pod
from mooring.framework.state import ClusterState
from mooring.runtime.cache.cycle_states import CycleStates
from mooring.runtime.cache.outcome import Bypass, NotCachedError
from mooring.runtime.cache.ranking import OUT
from mooring.runtime.cache.selected import Selected, best
from mooring.runtime.cache.static_scores import StaticScores
from mooring.runtime.cycle.evaluation import begin
from mooring.runtime.cycle.filter import passed
from mooring.runtime.cycle.plugin_calls import PluginCalls
from mooring.runtime.cycle.pre_filter import run_pre_filter
from mooring.runtime.cycle.sampling import search
from mooring.runtime.cycle.score import run_pre_score, run_score, weigh


class DynamicScores:
    """The scores of the plugins that depend on where pods are, computed for each decision.

    Args:
        cluster: The state.
        pod: The pod.
        static: The static scores, and which plugins have to be called again.
    """

    def __init__(self, cluster: ClusterState, pod: Pod, static: StaticScores) -> None:
        self._cluster = cluster
        self._pod = pod
        self._static = static
        self._view = NodeView(cluster.snapshot, static.rows)
        self._cycle_states = CycleStates(cluster, pod, static.dynamic.evaluating)
        self._version = -1
        self._evaluated = 0
        self._rows: Int32s = np.zeros(0, np.int32)
        self._totals: Int64s = np.zeros(0, np.int64)

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays; what plugins wrote isn't known."""
        return self._rows.nbytes + self._totals.nbytes

    def update(self, version: int, totals: Int32s, calls: Callable[[], PluginCalls], start: int) -> None:
        """Ask about the rows that have ``totals`` (int32[capacity]) from all other plugins.

        When not all nodes are evaluated, the search begins at ``start``.

        Raises:
            NotCachedError: PreFilter now rejects the pod, or some nodes.
            PluginFailureError: A plugin failed.
        """
        static = self._static
        if not (version == self._version and static.timeless and static.order is None):
            self._rate(version, totals, calls, start, None)

    def among(
        self, version: int, totals: Int32s, calls: Callable[[], PluginCalls], passing: Bools
    ) -> tuple[Int32s, Int64s]:
        """As ``update``, of the rows in ``passing`` (bool[capacity]) alone, as if there were no others.

        Returns:
            int32[F], int64[F]: the feasible rows, and their totals.
        """
        self._version = -1
        self._rate(version, totals, calls, 0, passing)
        self._version = -1
        return self._rows, self._totals

    def _rate(
        self,
        version: int,
        totals: Int32s,
        calls: Callable[[], PluginCalls],
        start: int,
        passing: Bools | None,
    ) -> None:
        static, view, use = self._static, self._view, calls()
        evaluation = begin(static.dynamic, self._cluster, self._pod, view.rows, view)
        evaluation.state = self._cycle_states.at(version, use)
        allowed = run_pre_filter(evaluation, use)
        if allowed is None or not allowed.all():
            raise NotCachedError(Bypass.PRE_FILTER)
        fits = view.take(totals, live=True) != OUT
        fits &= passed(evaluation, view, use)
        if passing is not None:
            fits &= view.take(passing, live=True)
        if np.count_nonzero(fits) != len(view):
            view = view.subset(view.rows[fits])
        self._evaluated = static.evaluated
        if static.order is not None:
            by_row = np.zeros(len(totals), np.bool_)
            by_row[view.at] = True
            found, looked_at = search(static.order, by_row, start, static.wanted)
            view, self._evaluated = view.subset(np.sort(found)), len(looked_at)
        self._rows, self._totals = view.rows, np.zeros(0, np.int64)
        # Plugins are never asked to score no nodes.
        if len(view):
            raw = run_score(evaluation, view, run_pre_score(evaluation, view, use), use)
            own = weigh(evaluation, raw, len(view), use).totals
            self._totals = own + view.take(totals, live=True) + static.scaled_scores(view.at)
        self._version = version
        self._cycle_states.keep(evaluation.state, version)

    def is_feasible(self, row: int) -> bool:
        """Return whether the node of ``row`` is feasible."""
        at = int(np.searchsorted(self._rows, row))
        return at < len(self._rows) and self._rows.item(at) == row

    def select(self, seed: int, uid: str) -> Selected | None:
        """Select the node for the pod with ``uid``; None when none is feasible."""
        rows = self._rows
        if not len(rows):
            return None
        return best(self._totals, seed, uid, feasible=len(rows), evaluated=self._evaluated, rows=rows)
