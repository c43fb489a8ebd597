"""The scheduling cycle's rules: PreFilter and Filter for many nodes at once.

Mirrors ``schedule_one.go`` and ``framework/runtime/framework.go``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mooring.framework import SUCCESS, Bools, Code, Int32s, Int64s, NodeView, Pod, PodGroupInfo
from mooring.framework.errors import PluginFailureError
from mooring.framework.preemption import Candidate
from mooring.framework.row_versions import as_of_now
from mooring.framework.state import ClusterState
from mooring.runtime.cycle.evaluation import NO_NODES, NOT_EVALUATED, Evaluation, begin
from mooring.runtime.cycle.extenders import run_extender_filters
from mooring.runtime.cycle.filter import run_filters
from mooring.runtime.cycle.plugin_calls import PluginCalls
from mooring.runtime.cycle.post_filter import preempt, run_post_filter, seek_room
from mooring.runtime.cycle.pre_filter import reject_left_out, run_pre_filter
from mooring.runtime.cycle.sampling import nodes_to_find, search, search_order
from mooring.runtime.cycle.score import run_pre_score, score, weigh
from mooring.runtime.cycle.tie_break import mix64
from mooring.runtime.cycle.what_if import reject_for_nominated
from mooring.runtime.profiles.profile import Profile

log = logging.getLogger(__name__)


Run = Callable[[Profile, ClusterState, Pod, Int32s, PluginCalls], Evaluation]
"""Evaluates the candidates: the whole cycle, or a part of it."""


@dataclass(frozen=True, slots=True)
class CycleOptions:
    """How to evaluate.

    Attributes:
        start: Where the search begins when only some nodes are evaluated; any int >= 0.
        always_score: Score a single feasible node too.
        all_rejections: Ask every Filter plugin about every node and keep what each said.
        group: The group in whose cycle the pod is tried: the queue let it in with its group.
        post_filter: Ask what could be done when no node takes the pod.
        preempt: If no node is feasible, find the victims that the scheduler would preempt.
        reuse: Use Filter's verdicts about earlier pods like it that are still true.
        beyond_nominated: Evaluate the other nodes too where the nominated one takes the pod, and is selected.
    """

    start: int = 0
    always_score: bool = False
    all_rejections: bool = False
    group: PodGroupInfo | None = None
    post_filter: bool = True
    preempt: bool = False
    reuse: bool = False
    beyond_nominated: bool = False


def evaluate(
    profile: Profile,
    cluster: ClusterState,
    pod: Pod,
    rows: Int32s,
    calls: PluginCalls,
    options: CycleOptions,
) -> Evaluation:
    """Run the cycle for ``pod`` up to the scores, or to PostFilter when no node takes it.

    ``rows`` (int32[N]) are the candidates. Raises PluginFailureError if a plugin raised or broke its
    contract, or an extender failed, and NodesChangedError if a candidate was deleted meanwhile.
    """
    evaluation = begin(profile, cluster, pod, rows, as_of=as_of_now(pod, cluster.snapshot))
    if options.group is not None:
        evaluation.state.write(PodGroupInfo, options.group)
    elif not enqueued(evaluation, calls):
        return evaluation
    if not len(rows):
        evaluation.rejection = NO_NODES
        return evaluation
    allowed = run_pre_filter(evaluation, calls)
    nominated = allowed is not None and _find_feasible(evaluation, allowed, calls, options)
    if allowed is not None and (not nominated or options.beyond_nominated):
        run_extender_filters(evaluation, np.arange(len(rows), dtype=np.int32))
    feasible = evaluation.feasible
    if not len(feasible):
        if options.post_filter:
            evaluation.post_filter = run_post_filter(evaluation, calls, options.start)
        if options.preempt:
            seek_room(evaluation, calls, options.start)
    elif len(feasible) > 1 or (len(feasible) == 1 and options.always_score and not nominated):
        evaluation.scores = score(evaluation, rows[feasible], calls)
    return evaluation


def evaluate_filters(
    profile: Profile,
    cluster: ClusterState,
    pod: Pod,
    rows: Int32s,
    calls: PluginCalls,
    *,
    reuse: bool = False,
) -> Evaluation:
    """PreFilter and Filter for each of ``rows``, all of them evaluated; no scores."""
    evaluation = begin(profile, cluster, pod, rows, as_of=as_of_now(pod, cluster.snapshot))
    if not len(rows):
        evaluation.rejection = NO_NODES
        return evaluation
    allowed = run_pre_filter(evaluation, calls)
    if allowed is not None:
        positions = np.flatnonzero(allowed).astype(np.int32)
        with calls.point("Filter") as point:
            _filter(evaluation, positions, calls, reuse=reuse)
            point.status = Code.SUCCESS if (evaluation.codes == 0).any() else Code.UNSCHEDULABLE
        evaluation.evaluated = len(positions)
    return evaluation


def evaluate_preemption(
    profile: Profile,
    cluster: ClusterState,
    pod: Pod,
    rows: Int32s,
    calls: PluginCalls,
    *,
    given: Sequence[Candidate] | None,
    seed: int,
) -> Evaluation:
    """Return what could be done so that one of ``rows`` takes ``pod``, or which of the ``given`` candidates
    do. Raises NotFoundError if the profile has no plugin that makes room (PLUGIN_NOT_FOUND).
    """
    evaluation = evaluate_filters(profile, cluster, pod, rows, calls, reuse=True)
    if len(rows):
        evaluation.preemption = preempt(evaluation, calls, given, mix64(seed, pod.metadata.uid))
    return evaluation


def evaluate_scores(
    profile: Profile, cluster: ClusterState, pod: Pod, rows: Int32s, calls: PluginCalls
) -> Evaluation:
    """Return the scores of ``rows``, all taken as feasible; PreFilter runs for its cycle state."""
    evaluation = prepared(profile, cluster, pod, rows, calls)
    evaluation.scores = score(evaluation, rows, calls)
    return evaluation


def prepared(
    profile: Profile, cluster: ClusterState, pod: Pod, rows: Int32s, calls: PluginCalls
) -> Evaluation:
    """Return an evaluation that takes ``rows`` as feasible, after PreFilter, whatever that said."""
    evaluation = begin(profile, cluster, pod, rows)
    run_pre_filter(evaluation, calls)
    evaluation.rejection = SUCCESS
    evaluation.codes = np.zeros(len(rows), np.int32)
    return evaluation


def enqueued(evaluation: Evaluation, calls: PluginCalls) -> bool:
    """Return whether the PreEnqueue plugins let the pod be scheduled; else the evaluation says why not."""
    for enabled in evaluation.profile.pre_enqueue:
        status = calls.call(enabled.name, "PreEnqueue", enabled.plugin.pre_enqueue, evaluation.pod)
        if not status.ok:
            evaluation.reject_before_nodes(status.by(enabled.name))
            return False
    return True


def _find_feasible(evaluation: Evaluation, allowed: Bools, calls: PluginCalls, options: CycleOptions) -> bool:
    """Fill in codes and evaluated: the nominated node alone first, then all allowed candidates. Returns
    whether the nominated node takes the pod: then no other one was evaluated, unless that is an option.
    """
    positions = np.flatnonzero(allowed).astype(np.int32)
    with calls.point("Filter") as point:
        nominated = _nominated(evaluation, options)
        before = evaluation.codes.copy() if options.beyond_nominated else evaluation.codes
        fits = _fits(evaluation, nominated, allowed, calls) if len(nominated) else None
        if not fits:
            rejected = nominated if fits is False else nominated[:0]
            _search(evaluation, positions, rejected, calls, options)
        elif options.beyond_nominated:
            evaluation.codes, evaluation.nominated = before, int(nominated[0])
            evaluation.codes[nominated] = 0
            _search(evaluation, np.union1d(positions, nominated), nominated, calls, options)
        point.status = Code.SUCCESS if (evaluation.codes == 0).any() else Code.UNSCHEDULABLE
    return bool(fits)


def _nominated(evaluation: Evaluation, options: CycleOptions) -> Int32s:
    """Return the position of the node that is nominated for the pod, if it is a candidate."""
    row = evaluation.snapshot.nodes.index.get(evaluation.pod.status.nominated_node_name)
    if row is None or (options.all_rejections and not options.beyond_nominated):
        return np.zeros(0, np.int32)
    return np.flatnonzero(evaluation.rows == row).astype(np.int32)


def _fits(evaluation: Evaluation, nominated: Int32s, allowed: Bools, calls: PluginCalls) -> bool | None:
    """Return whether the nominated node does; then no other one is evaluated.

    None when it is looked at once more among the others: a plugin or an extender failed on it, or an extender
    rejected it.
    """
    before = evaluation.codes[nominated]
    # As in ``evaluateNominatedNode``, PreFilter's verdict on this node does not count, nor does a failure.
    evaluation.codes[nominated] = 0
    try:
        _filter(evaluation, nominated, calls)
        if evaluation.codes[nominated[0]] != 0:
            _blame(evaluation, nominated[0], allowed)
            return False
        run_extender_filters(evaluation, nominated)
    except PluginFailureError as failure:
        log.warning("nominated node of pod %s: %s", evaluation.pod.key, failure)
        evaluation.codes[nominated] = before
        return None
    if evaluation.codes[nominated[0]] != 0:
        evaluation.codes[nominated] = before
        return None
    _leave_out(evaluation, np.setdiff1d(np.arange(len(evaluation.rows), dtype=np.int32), nominated))
    evaluation.evaluated = 1
    return True


def _blame(evaluation: Evaluation, nominated: int, allowed: Bools) -> None:
    """Name the plugin that rejects the nominated node, as ``evaluateNominatedNode`` does."""
    if evaluation.written.limiting:
        evaluation.written.limiting.add(evaluation.statuses[evaluation.codes[nominated]].plugin)
        left_out = ~allowed
        left_out[nominated] = False
        reject_left_out(evaluation, left_out)


def _search(
    evaluation: Evaluation, positions: Int32s, rejected: Int32s, calls: PluginCalls, options: CycleOptions
) -> None:
    """Look for enough feasible nodes; ``rejected`` (int32[0 or 1]) was evaluated before."""
    profile = evaluation.profile
    wanted = nodes_to_find(profile.percentage_of_nodes_to_score, len(positions), profile.compares_nodes)
    _filter(evaluation, positions, calls, all_rejections=options.all_rejections, reuse=options.reuse)
    looked_at = _and(positions, rejected)
    if wanted < len(positions):
        order = search_order(evaluation.snapshot.nodes, evaluation.rows)
        order = order[np.isin(order, positions)]
        _, looked_at = search(order, evaluation.codes == 0, options.start, wanted)
        looked_at = _and(looked_at, rejected)
        _leave_out(evaluation, np.setdiff1d(positions, looked_at))
    evaluation.evaluated = evaluation.advance = len(looked_at)


def _and(positions: Int32s, rejected: Int32s) -> Int32s:
    """Both, each once; there is seldom anything to add, and finding out sorts all of them."""
    return np.union1d(positions, rejected) if len(rejected) else positions


def _leave_out(evaluation: Evaluation, positions: Int32s) -> None:
    evaluation.codes[positions] = evaluation.number_of(NOT_EVALUATED)


def _filter(
    evaluation: Evaluation,
    positions: Int32s,
    calls: PluginCalls,
    *,
    all_rejections: bool = False,
    reuse: bool = False,
) -> None:
    if all_rejections:
        evaluation.rejections = [[] for _ in evaluation.rows]
    recalled, as_of = None, evaluation.asked.as_of
    if reuse and len(positions) == len(evaluation.rows) and not evaluation.codes.any() and as_of is not None:
        recalled = calls.known.recall(evaluation, as_of)
    asked = positions if recalled is None else recalled.unknown
    reject_for_nominated(evaluation, asked, calls)
    if not all_rejections:
        asked = asked[evaluation.codes[asked] == 0]
    run_filters(evaluation, asked, calls)
    if recalled is not None:
        recalled.keep(evaluation)


def evaluate_normalized(raw: Callable[[], Mapping[str, Int64s]]) -> Run:
    """Return an evaluation that takes the raw scores (int64[N] by plugin) from ``raw`` instead of Score.

    PreFilter and PreScore run for the cycle state that they write; plugins that skip add nothing.
    """

    def run(
        profile: Profile,
        cluster: ClusterState,
        pod: Pod,
        rows: Int32s,
        calls: PluginCalls,
    ) -> Evaluation:
        evaluation = prepared(profile, cluster, pod, rows, calls)
        skipped = run_pre_score(evaluation, NodeView(cluster.snapshot, rows), calls)
        wanted = {name: scores for name, scores in raw().items() if name not in skipped}
        evaluation.scores = weigh(evaluation, wanted, len(rows), calls)
        return evaluation

    return run
