"""PreFilter: the plugins read the pod once, and may narrow the nodes or reject the pod.

Mirrors ``RunPreFilterPlugins`` in ``framework/runtime/framework.go``.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mooring.framework import SUCCESS, Bools, Code, NodeView, PreFilterResult, Status
from mooring.runtime.cycle.evaluation import Evaluation, PreFilterOutcome
from mooring.runtime.cycle.plugin_calls import PluginCalls, plugin_failure


def _reject_all(evaluation: Evaluation, status: Status) -> None:
    evaluation.statuses = [SUCCESS, status]
    evaluation.codes = np.ones(len(evaluation.rows), np.int32)


def run_pre_filter(evaluation: Evaluation, calls: PluginCalls) -> Bools | None:
    """Run the PreFilter plugins, which get all nodes of the snapshot, whichever are the candidates. Returns
    bool[N], the candidates that they allow; None when the pod is rejected.
    """
    view = _every_node(evaluation)
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
                evaluation.written.skipped.add(enabled.name)
                continue
            evaluation.written.prefilter[enabled.name] = outcome
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
        _reject_all(evaluation, late)
        return None
    return _allowed(evaluation, names, limiting)


def _every_node(evaluation: Evaluation) -> NodeView:
    """Return all nodes, in the same order whatever the candidates and their order are."""
    rows = evaluation.snapshot.nodes.rows()
    return evaluation.view(rows) if evaluation.rows is rows else NodeView(evaluation.snapshot, rows)


def _pre_filter_outcome(plugin: str, answer: object) -> PreFilterOutcome:
    if isinstance(answer, PreFilterResult):
        return PreFilterOutcome(SUCCESS, answer.nodes)
    if not isinstance(answer, Status):
        raise plugin_failure(
            plugin, "PreFilter", f"returned {type(answer).__name__}, not Status or PreFilterResult"
        )
    if answer.code is Code.SKIP:
        return PreFilterOutcome(answer)
    allowed = (Code.SUCCESS, Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
    if answer.code not in allowed:
        raise plugin_failure(plugin, "PreFilter", answer.message or answer.code.label)
    return PreFilterOutcome(answer.by(plugin))


def _nowhere(limiting: list[str]) -> Status:
    if len(limiting) == 1:
        return Status.unresolvable(f"node(s) didn't satisfy plugin {limiting[0]}")
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) {_go_list(limiting)} simultaneously")


def _go_list(names: Iterable[str]) -> str:
    return f"[{' '.join(sorted(names))}]"


def _allowed(evaluation: Evaluation, names: frozenset[str] | None, limiting: list[str]) -> Bools:
    allowed = np.ones(len(evaluation.rows), np.bool_)
    if names is None:
        return allowed
    index = evaluation.snapshot.nodes.index
    wanted = [index[name] for name in names if name in index]
    allowed = np.isin(evaluation.rows, np.array(wanted, np.int32))
    evaluation.written.limiting.update(limiting)
    reject_left_out(evaluation, ~allowed)
    return allowed


def reject_left_out(evaluation: Evaluation, left_out: Bools) -> None:
    """Name the plugins that leave out the candidates in ``left_out`` (bool[N])."""
    outside = Status.unresolvable(f"node(s) didn't satisfy plugin(s) {_go_list(evaluation.written.limiting)}")
    evaluation.codes[left_out] = evaluation.number_of(outside)
