"""The part of an evaluation that every decision changes: asked again each time, about all open nodes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mooring.framework import ClusterState, Int32s, Int64s, NodeView, Pod
from mooring.runtime.evaluation import begin
from mooring.runtime.filtering import passed
from mooring.runtime.kept.lead import Lead, best
from mooring.runtime.kept.notes import Notes
from mooring.runtime.kept.ranking import OUT
from mooring.runtime.kept.standing import NotKeptError, Standing
from mooring.runtime.pre_filtering import run_pre_filter
from mooring.runtime.progress import PluginCalls
from mooring.runtime.sampling import search
from mooring.runtime.scoring import run_pre_score, run_score, weigh


class Passing:
    """What the plugins say whose answers don't stand.

    Args:
        cluster: The state.
        pod: The pod.
        standing: What stands, and which plugins have to be asked again.
    """

    def __init__(self, cluster: ClusterState, pod: Pod, standing: Standing) -> None:
        self._cluster = cluster
        self._pod = pod
        self._standing = standing
        self._view = NodeView(cluster.snapshot, standing.rows)
        self._notes = Notes(cluster, pod, standing.passing.evaluating)
        self._version = -1
        self._evaluated = 0
        self._rows: Int32s = np.zeros(0, np.int32)
        self._totals: Int64s = np.zeros(0, np.int64)

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays; what plugins note isn't known."""
        return self._rows.nbytes + self._totals.nbytes

    def follow(self, version: int, totals: Int32s, calls: Callable[[], PluginCalls], start: int) -> None:
        """Ask about the rows that have ``totals`` (int32[capacity]) from all other plugins.

        When not all nodes are looked at, the search begins at ``start``.

        Raises:
            NotKeptError: PreFilter now refuses the pod, or some nodes.
            PluginFailureError: A plugin failed.
        """
        standing = self._standing
        if version == self._version and standing.timeless and standing.order is None:
            return
        view, use = self._view, calls()
        evaluation = begin(standing.passing, self._cluster, self._pod, view.rows, view)
        evaluation.state = self._notes.at(version, use)
        allowed = run_pre_filter(evaluation, use)
        if allowed is None or not allowed.all():
            raise NotKeptError
        fits = view.take(totals, live=True) != OUT
        fits &= passed(evaluation, view, use)
        if np.count_nonzero(fits) != len(view):
            view = view.subset(view.rows[fits])
        self._evaluated = standing.evaluated
        if standing.order is not None:
            by_row = np.zeros(len(totals), np.bool_)
            by_row[view.at] = True
            found, looked_at = search(standing.order, by_row, start, standing.wanted)
            view, self._evaluated = view.subset(np.sort(found)), len(looked_at)
        self._rows = view.rows
        # Plugins are never asked to score no nodes.
        if len(view):
            raw = run_score(evaluation, view, run_pre_score(evaluation, view, use), use)
            own = weigh(evaluation, raw, len(view), use).totals
            self._totals = own + view.take(totals, live=True) + standing.scaled_scores(view.at)
        self._version = version
        self._notes.keep(evaluation.state, version)

    def lead(self, seed: int, uid: str) -> Lead | None:
        """The node for the pod with ``uid``; None when none is feasible."""
        rows = self._rows
        if not len(rows):
            return None
        return best(self._totals, seed, uid, feasible=len(rows), evaluated=self._evaluated, rows=rows)
