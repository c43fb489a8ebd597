"""The scheduling cycle's rules: PreFilter and Filter for many nodes at once.

Mirrors ``schedule_one.go`` and ``framework/runtime/framework.go``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mooring.framework import (
    SUCCESS,
    Bools,
    Code,
    CycleState,
    Int32s,
    NodeView,
    Pod,
    PreFilterResult,
    Snapshot,
    Status,
    Verdicts,
)
from mooring.runtime.evaluation import NO_NODES, NOT_LOOKED_AT, Evaluation, PreFilterOutcome
from mooring.runtime.profile import Profile
from mooring.runtime.progress import PluginCalls, plugin_failure
from mooring.runtime.sampling import nodes_to_find
from mooring.runtime.scoring import score

NO_ROW = -1
"""No node's row."""


@dataclass(frozen=True, slots=True)
class CycleOptions:
    """How to evaluate.

    Attributes:
        start: Where the search begins when only some nodes are looked at; any int >= 0.
        always_score: Score a single feasible node too.
        all_rejections: Ask every Filter plugin about every node and keep what each said.
        pre_enqueue: Refuse pods that may not be scheduled yet (gates).
    """

    start: int = 0
    always_score: bool = False
    all_rejections: bool = False
    pre_enqueue: bool = True


def evaluate(
    profile: Profile,
    snapshot: Snapshot,
    pod: Pod,
    rows: Int32s,
    calls: PluginCalls,
    options: CycleOptions,
) -> Evaluation:
    """Run the cycle for ``pod`` up to the scores.

    ``rows`` (int32[N]) are the candidates.

    Raises:
        PluginFailureError: A plugin raised or broke its contract; the decision fails.
        NodesChangedError: A candidate was deleted meanwhile.
    """
    evaluation = begin(profile, snapshot, pod, rows)
    if options.pre_enqueue and not _enqueued(evaluation, calls):
        return evaluation
    if not len(rows):
        evaluation.rejection = NO_NODES
        return evaluation
    allowed = run_pre_filter(evaluation, calls)
    if allowed is None:
        return evaluation
    _find_feasible(evaluation, allowed, calls, options)
    feasible = evaluation.feasible
    nominated = evaluation.evaluated == 1 and bool(pod.status.nominated_node_name)
    if len(feasible) > 1 or (len(feasible) == 1 and options.always_score and not nominated):
        evaluation.scores = score(evaluation, rows[feasible], calls)
    return evaluation


def evaluate_filters(
    profile: Profile,
    snapshot: Snapshot,
    pod: Pod,
    rows: Int32s,
    calls: PluginCalls,
    options: CycleOptions,
) -> Evaluation:
    """PreFilter and Filter for each of ``rows``, every one looked at; no scores."""
    evaluation = begin(profile, snapshot, pod, rows)
    allowed = run_pre_filter(evaluation, calls)
    if allowed is not None:
        positions = np.flatnonzero(allowed).astype(np.int32)
        with calls.point("Filter") as point:
            run_filters(evaluation, positions, calls, options)
            point.status = Code.SUCCESS if (evaluation.codes == 0).any() else Code.UNSCHEDULABLE
        evaluation.evaluated = len(positions)
    return evaluation


def evaluate_scores(
    profile: Profile,
    snapshot: Snapshot,
    pod: Pod,
    rows: Int32s,
    calls: PluginCalls,
    options: CycleOptions,
) -> Evaluation:
    """The scores of ``rows``, all taken as feasible; PreFilter runs for the notes that it leaves."""
    evaluation = prepared(profile, snapshot, pod, rows, calls)
    evaluation.scores = score(evaluation, rows, calls)
    return evaluation


def prepared(profile: Profile, snapshot: Snapshot, pod: Pod, rows: Int32s, calls: PluginCalls) -> Evaluation:
    """An evaluation that takes ``rows`` as feasible, after PreFilter, whatever that said."""
    evaluation = begin(profile, snapshot, pod, rows)
    run_pre_filter(evaluation, calls)
    evaluation.rejection = SUCCESS
    evaluation.codes = np.zeros(len(rows), np.int32)
    return evaluation


def begin(profile: Profile, snapshot: Snapshot, pod: Pod, rows: Int32s) -> Evaluation:
    """An evaluation in which nothing has run yet and every candidate counts as feasible."""
    return Evaluation(
        pod=pod,
        profile=profile,
        snapshot=snapshot,
        state=CycleState(),
        rows=rows,
        codes=np.zeros(len(rows), np.int32),
        statuses=[SUCCESS],
    )


def _enqueued(evaluation: Evaluation, calls: PluginCalls) -> bool:
    for enabled in evaluation.profile.pre_enqueue:
        status = calls.call(enabled.name, "PreEnqueue", enabled.plugin.pre_enqueue, evaluation.pod)
        if not status.ok:
            evaluation.rejection = status.by(enabled.name)
            evaluation.rows = evaluation.codes = np.zeros(0, np.int32)
            return False
    return True


def _refuse_all(evaluation: Evaluation, status: Status) -> None:
    evaluation.statuses = [SUCCESS, status]
    evaluation.codes = np.ones(len(evaluation.rows), np.int32)


def run_pre_filter(evaluation: Evaluation, calls: PluginCalls) -> Bools | None:
    """Run the PreFilter plugins.

    Returns:
        bool[N], the candidates that they allow; None when the pod is refused.
    """
    view = NodeView(evaluation.snapshot, evaluation.rows)
    names: frozenset[str] | None = None
    limiting: list[str] = []
    late = SUCCESS
    with calls.point("PreFilter") as point:
        for enabled in evaluation.profile.pre_filter:
            outcome = _pre_filter_outcome(
                enabled.name,
                calls.call(
                    enabled.name,
                    "PreFilter",
                    enabled.plugin.pre_filter,
                    evaluation.state,
                    evaluation.pod,
                    view,
                ),
            )
            if outcome.status.code is Code.SKIP:
                evaluation.skipped.add(enabled.name)
                continue
            evaluation.prefilter[enabled.name] = outcome
            if outcome.status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                late = outcome.status
                break
            if not outcome.status.ok:
                late = outcome.status
                continue
            if outcome.nodes is not None:
                limiting.append(enabled.name)
                names = outcome.nodes if names is None else names & outcome.nodes
                if not names:
                    late = _nowhere(limiting)
                    break
        point.status = late.code
    if not late.ok:
        evaluation.rejection = late
        _refuse_all(evaluation, late)
        return None
    return _allowed(evaluation, names, limiting)


def _pre_filter_outcome(plugin: str, answer: object) -> PreFilterOutcome:
    if isinstance(answer, PreFilterResult):
        return PreFilterOutcome(SUCCESS, answer.nodes)
    if not isinstance(answer, Status):
        raise plugin_failure(
            plugin, "PreFilter", f"returned {type(answer).__name__}, not Status or PreFilterResult"
        )
    allowed = (Code.SUCCESS, Code.SKIP, Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
    if answer.code not in allowed:
        raise plugin_failure(plugin, "PreFilter", answer.message or answer.code.label)
    return PreFilterOutcome(answer.by(plugin))


def _nowhere(limiting: list[str]) -> Status:
    if len(limiting) == 1:
        return Status.unresolvable(f"node(s) didn't satisfy plugin {limiting[0]}")
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) {_go_list(limiting)} simultaneously")


def _go_list(names: list[str]) -> str:
    return f"[{' '.join(sorted(names))}]"


def _allowed(evaluation: Evaluation, names: frozenset[str] | None, limiting: list[str]) -> Bools:
    allowed = np.ones(len(evaluation.rows), np.bool_)
    if names is None:
        return allowed
    index = evaluation.snapshot.nodes.index
    wanted = [index[name] for name in names if name in index]
    allowed = np.isin(evaluation.rows, np.array(wanted, np.int32))
    outside = Status.unresolvable(f"node(s) didn't satisfy plugin(s) {_go_list(limiting)}")
    evaluation.statuses.append(outside)
    evaluation.codes[~allowed] = len(evaluation.statuses) - 1
    return allowed


def _find_feasible(evaluation: Evaluation, allowed: Bools, calls: PluginCalls, options: CycleOptions) -> None:
    """Fill in codes and evaluated: the nominated node alone first, then all allowed candidates."""
    positions = np.flatnonzero(allowed).astype(np.int32)
    with calls.point("Filter") as point:
        if not _nominated_fits(evaluation, calls, options):
            _search(evaluation, positions, calls, options)
        point.status = Code.SUCCESS if (evaluation.codes == 0).any() else Code.UNSCHEDULABLE


def _nominated_fits(evaluation: Evaluation, calls: PluginCalls, options: CycleOptions) -> bool:
    row = evaluation.snapshot.nodes.index.get(evaluation.pod.status.nominated_node_name)
    found = np.flatnonzero(evaluation.rows == (NO_ROW if row is None else row)).astype(np.int32)
    if not len(found) or options.all_rejections:
        return False
    before = evaluation.codes.copy()
    evaluation.codes[found] = 0
    run_filters(evaluation, found, calls, options)
    if evaluation.codes[found[0]] != 0:
        evaluation.codes = before
        return False
    evaluation.statuses.append(NOT_LOOKED_AT)
    others = np.arange(len(evaluation.rows)) != found[0]
    evaluation.codes[others] = len(evaluation.statuses) - 1
    evaluation.evaluated = 1
    return True


def _search(evaluation: Evaluation, positions: Int32s, calls: PluginCalls, options: CycleOptions) -> None:
    profile = evaluation.profile
    wanted = nodes_to_find(profile.percentage_of_nodes_to_score, len(positions), bool(profile.score))
    run_filters(evaluation, positions, calls, options)
    evaluation.evaluated = len(positions)
    if wanted >= len(positions):
        return
    order = np.roll(positions, -(options.start % len(positions)))
    passed = np.flatnonzero(evaluation.codes[order] == 0)
    if len(passed) > wanted:
        evaluation.evaluated = int(passed[wanted - 1]) + 1
        evaluation.statuses.append(NOT_LOOKED_AT)
        evaluation.codes[order[evaluation.evaluated :]] = len(evaluation.statuses) - 1


def run_filters(evaluation: Evaluation, positions: Int32s, calls: PluginCalls, options: CycleOptions) -> None:
    """Run the Filter plugins on the candidates at ``positions``; the first failure of a node stands."""
    numbers = {status: number for number, status in enumerate(evaluation.statuses)}
    if options.all_rejections:
        evaluation.rejections = [[] for _ in evaluation.rows]
    remaining = positions
    for enabled in evaluation.profile.filter:
        if enabled.name in evaluation.skipped or not len(remaining):
            continue
        view = NodeView(evaluation.snapshot, evaluation.rows[remaining])
        verdicts = calls.call(
            enabled.name, "Filter", enabled.plugin.filter_nodes, evaluation.state, evaluation.pod, view
        )
        _check_verdicts(enabled.name, verdicts, view)
        refused = verdicts.codes != 0
        if not refused.any():
            continue
        statuses = [status.by(enabled.name) for status in verdicts.statuses]
        lookup = np.array([numbers.setdefault(status, len(numbers)) for status in statuses], np.int32)
        where = remaining[refused]
        if evaluation.rejections is None:
            evaluation.codes[where] = lookup[verdicts.codes[refused]]
            remaining = remaining[~refused]
        else:
            first = evaluation.codes[where] == 0
            evaluation.codes[where[first]] = lookup[verdicts.codes[refused]][first]
            for position, code in zip(where.tolist(), verdicts.codes[refused].tolist(), strict=True):
                evaluation.rejections[position].append(statuses[code])
    evaluation.statuses = list(numbers)


def _check_verdicts(plugin: str, verdicts: object, view: NodeView) -> None:
    if not isinstance(verdicts, Verdicts):
        raise plugin_failure(plugin, "Filter", f"returned {type(verdicts).__name__}, not Verdicts")
    codes = verdicts.codes
    if codes.dtype != np.int32 or codes.shape != (len(view),):
        raise plugin_failure(
            plugin, "Filter", f"returned {codes.dtype}{list(codes.shape)} codes, not int32[{len(view)}]"
        )
    if len(codes) and not 0 <= int(codes.min()) <= int(codes.max()) < len(verdicts.statuses):
        raise plugin_failure(plugin, "Filter", "returned a code outside its table of statuses")
    if not verdicts.statuses or not verdicts.statuses[0].ok:
        raise plugin_failure(plugin, "Filter", "status number 0 must be Success")
    for number, status in enumerate(verdicts.statuses):
        if number and not status.rejected and (codes == number).any():
            raise plugin_failure(plugin, "Filter", f"{status.code.label}: {status.message}")
