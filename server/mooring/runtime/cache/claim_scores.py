"""What the plugins that read a pod's claims say of it, on top of the evaluation of pods without any.

No two pods have the same claims, so what these plugins say is asked for each pod. All else is the same for
pods that are alike but for their claims, and cached.
"""

from __future__ import annotations

import msgspec
import numpy as np

from mooring.framework import Bools, CycleState, Int32s, Int64s, NodeView, Pod
from mooring.runtime.cache.cached_evaluation import CachedEvaluation
from mooring.runtime.cache.outcome import Bypass, NotCachedError
from mooring.runtime.cache.pod_signature import Apart
from mooring.runtime.cache.selected import Selected, best
from mooring.runtime.cycle.cycle import enqueued
from mooring.runtime.cycle.evaluation import Evaluation, begin
from mooring.runtime.cycle.filter import passed
from mooring.runtime.cycle.plugin_calls import Calls, PluginCalls
from mooring.runtime.cycle.pre_filter import run_pre_filter
from mooring.runtime.cycle.score import run_pre_score, run_score, weigh


class ClaimScores(msgspec.Struct, frozen=True):
    """The nodes for one pod.

    Attributes:
        rows: int32[F], the feasible nodes; None when they are all that are feasible for pods without claims,
            and have the same totals.
        totals: int64[F], theirs.
        cycle_state: What the plugins wrote.
    """

    rows: Int32s | None
    totals: Int64s | Int32s | None
    cycle_state: CycleState

    def select(self, cached: CachedEvaluation, seed: int, uid: str) -> Selected | None:
        """Select the node for the pod, which has this ``uid``; None when none is feasible."""
        if self.rows is None or self.totals is None:
            return cached.select(seed, uid)
        if not len(self.rows):
            return None
        count, evaluated = len(self.rows), cached.static.evaluated
        return best(self.totals, seed, uid, feasible=count, evaluated=evaluated, rows=self.rows)


def ask_about_claims(cached: CachedEvaluation, apart: Apart, pod: Pod, calls: Calls) -> ClaimScores:
    """Ask the plugins that read claims about ``pod``.

    ``cached``, of pods like it without claims, is up to date but for its dynamic scores.

    Raises:
        NotCachedError: PreEnqueue or PreFilter rejects the pod, or some nodes.
        PluginFailureError: A plugin failed.
    """
    nodes, use = cached.nodes, calls()
    quick = _in_one_step(cached, apart, pod, calls, use) if apart.quick else None
    if quick is not None:
        return quick
    evaluation = begin(apart.readers, cached.cluster, pod, nodes.rows, nodes)
    evaluation.state = cached.static.cycle_state.shared()
    allowed = run_pre_filter(evaluation, use) if enqueued(evaluation, use) else None
    if allowed is None or not allowed.all():
        raise NotCachedError(Bypass.PRE_FILTER)
    passing = np.zeros(nodes.table.capacity, np.bool_)
    # All nodes, as other plugins after them may reject those on which one of these fails.
    passing[nodes.at] = passed(evaluation, nodes, use)
    feasible = cached.feasible(passing)
    evaluation.profile = apart.last
    if apart.last.filter and len(feasible):
        passing[feasible] = passed(evaluation, nodes.subset(feasible), use)
    rows, totals = cached.among(passing, calls)
    own = _own_scores(evaluation, nodes.subset(rows), use)
    if own is None and cached.ranks(rows):
        return ClaimScores(None, None, evaluation.state)
    return ClaimScores(rows, totals if own is None else totals + own, evaluation.state)


def _in_one_step(
    cached: CachedEvaluation, apart: Apart, pod: Pod, calls: Calls, use: PluginCalls
) -> ClaimScores | None:
    """``ask_about_claims`` where every plugin just turns away nodes; else None."""
    state, nodes = cached.static.cycle_state.shared(), cached.nodes
    passing: Bools | None = None
    for name, plugin in apart.quick:
        rows = use.call(name, "Filter", plugin.turned_away, state, pod, nodes)
        if rows is None:
            return None
        if len(rows):
            if passing is None:
                passing = np.ones(nodes.table.capacity, np.bool_)
            passing[rows] = False
    if passing is None:
        if cached.ranks_all:
            return ClaimScores(None, None, state)
        passing = np.ones(nodes.table.capacity, np.bool_)
    feasible, totals = cached.among(passing, calls)
    return ClaimScores(None, None, state) if cached.ranks(feasible) else ClaimScores(feasible, totals, state)


def _own_scores(evaluation: Evaluation, nodes: NodeView, use: PluginCalls) -> Int64s | None:
    """int64[F]: what the plugins add to the totals of ``nodes``, the feasible ones; None = nothing."""
    if not evaluation.profile.score or len(nodes) < 2:
        return None
    raw = run_score(evaluation, nodes, run_pre_score(evaluation, nodes, use), use)
    own = weigh(evaluation, raw, len(nodes), use).totals
    return own if own.any() else None
