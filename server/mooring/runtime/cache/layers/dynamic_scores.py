"""The part of an evaluation that every decision changes: computed each time, for all open nodes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from mooring.framework import Bools, CycleState, Int32s, NodeView, Plugin, Pod, PodChange
from mooring.framework.cacheable import as_cacheable, dependencies_of
from mooring.framework.pod_counter import RunningCounts
from mooring.framework.pod_table import UNPLACED, PodKind
from mooring.framework.state import ClusterState
from mooring.kernels.arrays import REJECTED
from mooring.runtime.cache.layers.pod_counts import IncrementalPodCounts
from mooring.runtime.cache.layers.ranking import Selected, best
from mooring.runtime.cache.layers.row_answers import RowAnswers
from mooring.runtime.cache.layers.static_scores import StaticScores
from mooring.runtime.cache.outcome import Bypass, NotCachedError
from mooring.runtime.cache.tracking.change_tracker import ChangeTracker, ObjectsRead
from mooring.runtime.cycle.evaluation import Evaluation, begin
from mooring.runtime.cycle.filter import passed
from mooring.runtime.cycle.plugin_calls import PluginCalls
from mooring.runtime.cycle.pre_filter import run_pre_filter
from mooring.runtime.cycle.sampling import search
from mooring.runtime.cycle.score import run_pre_score, run_score, weigh
from mooring.runtime.tuning import DEFAULT_TUNING, CacheTuning

_NONE: Int32s = np.zeros(0, np.int32)


class CycleStates:
    """The CycleState of the plugins that are called for each decision.

    Args:
        plugins: Those plugins. While this is used, no node object changes.
        tuning: With how many changes PreFilter is faster than an update.

    Attributes:
        objects: The objects that the plugins read, as of the state that is kept; None when they may be any.
    """

    def __init__(
        self,
        cluster: ClusterState,
        pod: Pod,
        plugins: Sequence[Plugin[Any]],
        tuning: CacheTuning = DEFAULT_TUNING,
    ) -> None:
        self._cluster = cluster
        self._tuning = tuning
        self._pod = pod
        self._plugins = [(plugin.name, as_cacheable(plugin)) for plugin in plugins]
        declared = [plugin.dependencies(pod) for _, plugin in self._plugins]
        self.objects = ObjectsRead.of(declared, cluster.snapshot.objects, {})
        self._state: CycleState | None = None
        self._version = -1

    def at(self, version: int, calls: PluginCalls) -> CycleState:
        """Return the state as of ``version``; an empty one when PreFilter has to write it. Raises
        PluginFailureError if a plugin failed.
        """
        state, self._state = self._state, None
        changes = self._pods_since(version) if state is not None else None
        if state is None or changes is None:
            return CycleState()
        for name, plugin in self._plugins if changes else ():
            if not calls.call(name, "PreFilter.update", plugin.update, state, self._pod, changes):
                return CycleState()
        return state

    def keep(self, state: CycleState, version: int) -> None:
        """Keep ``state``, if the cluster still has the ``version`` that it is true for."""
        with self._cluster.lock:
            if self._cluster.version == version:
                self._state, self._version = state, version
                self.objects = self.objects and self.objects.now()

    def _pods_since(self, version: int) -> list[PodChange] | None:
        """Return the pods that came and went up to ``version``; None when plugins can't be updated."""
        changes = self._cluster.changes_since(self._version)
        if changes is None or len(changes) > self._tuning.updated_pods:
            return None
        others = self.objects is not None and self.objects.unchanged()
        moved: list[PodChange] = []
        kinds: set[int] = set()
        for row, record, amount in changes[: version - self._version]:
            if record is None:
                if row == UNPLACED and not amount and not others:
                    return None
            elif amount and row != UNPLACED:
                moved.append((row, record, 1 if amount > 0 else -1))
                kinds.add(id(record.kind))
        return moved if len(kinds) <= self._tuning.changed_kinds else None


class DynamicScores:
    """The scores of the plugins that depend on where pods are, computed for each decision.

    The first decision calls the plugins' points. From then on counts of pods follow by themselves, and the
    engine asks plugins that read one node at a time about rows that changed. If a plugin does more, each
    decision calls all points.

    Args:
        static: The static scores, and which plugins have to be called again.
    """

    def __init__(
        self,
        cluster: ClusterState,
        pod: Pod,
        static: StaticScores,
        tracker: ChangeTracker,
        tuning: CacheTuning,
    ) -> None:
        self._cluster = cluster
        self._tuning = tuning
        self._pod = pod
        self._static = static
        self._tracker = tracker
        self._view = NodeView(cluster.snapshot, static.rows)
        self._cycle_states = CycleStates(cluster, pod, static.dynamic.every.evaluating, tuning)
        # The notes for the static scores need not be found out again.
        self._cycle_states.keep(static.cycle_state.clone(), static.version)
        self._counts: IncrementalPodCounts | None = None
        self._answers: RowAnswers | None = None
        self._version = -1
        self._evaluated = 0
        self._totals = _NONE

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays; what plugins wrote isn't known."""
        return self._totals.nbytes + (0 if self._answers is None else self._answers.nbytes)

    def update(self, version: int, totals: Int32s, calls: PluginCalls, start: int) -> None:
        """Ask about the rows that have ``totals`` (int32[capacity]) from all other plugins.

        When not all nodes are evaluated, the search begins at ``start``. Raises NotCachedError if PreFilter
        now rejects the pod, or some nodes, and PluginFailureError if a plugin failed.
        """
        static = self._static
        if not (version == self._version and static.timeless and static.order is None):
            self._rate(version, totals.copy(), calls, start)

    def among(
        self, version: int, totals: Int32s, calls: PluginCalls, passing: Bools
    ) -> tuple[Int32s, Int32s]:
        """As ``update``, of the rows in ``passing`` (bool[capacity]) alone, as if there were no others.
        Returns int32[F] twice: the feasible rows, and their totals.
        """
        some = totals.copy()
        some[~passing[: len(some)]] = REJECTED
        self._rate_some(version, some, calls)
        rows = np.flatnonzero(some != REJECTED).astype(np.int32)
        return rows, some[rows]

    def totals(self, version: int, totals: Int32s, calls: PluginCalls, rows: Int32s) -> Int32s:
        """int32[K]: the totals of ``rows`` (int32[K]) as in ``among``; ``REJECTED`` for rejected nodes."""
        # Rows that are new by now are out of bounds.
        rows = np.minimum(rows, len(totals) - 1)
        some = np.full_like(totals, REJECTED)
        some[rows] = totals[rows]
        self._rate_some(version, some, calls)
        return some[rows]

    def _rate_some(self, version: int, totals: Int32s, calls: PluginCalls) -> None:
        """As ``_rate``, of a part of the rows: the next ``update`` rates all of them."""
        self._rate(version, totals, calls, 0)
        self._version = -1

    def _rate(self, version: int, totals: Int32s, calls: PluginCalls, start: int) -> None:
        """Apply the plugins' answers about the rows that have ``totals`` (int32[capacity])."""
        self._version = -1
        counts = self._counts
        if counts is not None and counts.follow(version, self._tracker):
            self._rate_by(counts, totals, calls, start)
        else:
            self._call_points(version, totals, calls, start)
        self._totals, self._version = totals, version

    def _rate_by(self, counts: IncrementalPodCounts, totals: Int32s, calls: PluginCalls, start: int) -> None:
        answers = self._answers
        counts.reject_in(totals)
        if answers is not None:
            answers.reject_in(totals, calls)
        self._search(totals, start)
        if self._static.scaled:
            rows = np.flatnonzero(totals != REJECTED).astype(np.int32)
            totals[rows] += self._static.scaled_scores(rows)
        counts.add_to(totals)
        if answers is not None:
            answers.add_to(totals, calls)

    def _call_points(self, version: int, totals: Int32s, calls: PluginCalls, start: int) -> None:
        calls.require_plugins()
        static, view = self._static, self._view
        self._counts = self._answers = None
        state = self._cycle_states.at(version, calls)
        evaluation = begin(static.dynamic.every, self._cluster, self._pod, view.rows, view, state=state)
        allowed = run_pre_filter(evaluation, calls)
        if allowed is None or not allowed.all():
            raise NotCachedError(Bypass.PRE_FILTER)
        totals[view.rows[~passed(evaluation, view, calls)]] = REJECTED
        self._search(totals, start)
        rows = np.flatnonzero(totals != REJECTED).astype(np.int32)
        # Plugins never get no nodes to score.
        if len(rows):
            view = evaluation.view(rows)
            skipped = run_pre_score(evaluation, view, calls)
            raw = run_score(evaluation, view, skipped, calls)
            totals[view.at] += weigh(evaluation, raw, len(view), calls).totals
            totals[view.at] += static.scaled_scores(view.at)
            self._keep(evaluation, skipped, version)
        if self._counts is None:
            self._cycle_states.keep(evaluation.state, version)

    def _keep(self, evaluation: Evaluation, skipped: Collection[str], version: int) -> None:
        """Keep what the points wrote, if no plugin does more than count pods or read one node at a time."""
        static, objects = self._static, self._cycle_states.objects
        by_row = static.dynamic.by_row
        if any(
            plugin.name in skipped or plugin.name in evaluation.written.skipped
            for plugin in by_row.evaluating
        ):
            return
        counters = self._running_counts()
        self._counts = IncrementalPodCounts.of(
            static.dynamic.counting, self._cluster, evaluation.state, version, counters, objects, self._tuning
        )
        self._answers = RowAnswers(evaluation.by(by_row), skipped, counters) if by_row.evaluating else None

    def _running_counts(self) -> list[RunningCounts]:
        """Return what the counters count now that plugins read besides one node."""
        declared = [dependencies_of(plugin, self._pod) for plugin in self._static.dynamic.by_row.evaluating]
        counters = dict.fromkeys(counter for each in declared for counter in each.counters)
        return [RunningCounts(counter, self._cluster.snapshot, self._pod) for counter in counters]

    def _search(self, totals: Int32s, start: int) -> None:
        """Reject the rows that the search, which begins at ``start``, leaves out."""
        static = self._static
        self._evaluated = static.evaluated
        if static.order is not None:
            found, looked_at = search(static.order, totals != REJECTED, start, static.wanted)
            left_out = np.ones(len(totals), np.bool_)
            left_out[found] = False
            totals[left_out] = REJECTED
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
        return row < len(self._totals) and self._totals.item(row) != REJECTED

    def select(self, seed: int, uid: str) -> Selected | None:
        """Select the node for the pod with ``uid``; None when none is feasible."""
        return best(self._totals, seed, uid, self._evaluated)
