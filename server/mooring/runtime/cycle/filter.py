"""Filter: which nodes each plugin rejects; the first failure of a node stands.

Mirrors ``RunFilterPlugins`` in ``framework/runtime/framework.go``.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mooring.framework import Bools, Int32s, NodeView, Status, Verdicts
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.cycle.plugin_calls import PluginCalls, plugin_failure


def run_filters(evaluation: Evaluation, positions: Int32s, calls: PluginCalls) -> None:
    """Run the Filter plugins on the candidates at ``positions``; the first failure of a node stands."""
    numbers = {status: number for number, status in enumerate(evaluation.statuses)}
    remaining = positions
    everyone = len(remaining) == len(evaluation.rows)
    view = evaluation.view(evaluation.rows if everyone else evaluation.rows[remaining])
    for enabled in evaluation.profile.filter:
        if enabled.name in evaluation.written.skipped or not len(remaining):
            continue
        verdicts = calls.call(
            enabled.name, "Filter", enabled.plugin.filter_nodes, evaluation.state, evaluation.pod, view
        )
        if not _rejects_any(enabled.name, verdicts, view):
            continue
        rejected = verdicts.codes != 0
        statuses = [status.by(enabled.name) for status in verdicts.statuses]
        lookup = np.array([numbers.setdefault(status, len(numbers)) for status in statuses], np.int32)
        where = remaining[rejected]
        if evaluation.rejections is None:
            evaluation.codes[where] = lookup[verdicts.codes[rejected]]
            remaining = remaining[~rejected]
            view = view.subset(evaluation.rows[remaining])
        else:
            first = evaluation.codes[where] == 0
            evaluation.codes[where[first]] = lookup[verdicts.codes[rejected]][first]
            for position, code in zip(where.tolist(), verdicts.codes[rejected].tolist(), strict=True):
                if statuses[code] not in evaluation.rejections[position]:
                    evaluation.rejections[position].append(statuses[code])
    evaluation.statuses = list(numbers)


def passed(evaluation: Evaluation, view: NodeView, calls: PluginCalls) -> Bools:
    """bool[K]: the nodes of ``view`` that pass all Filter plugins; why others don't is not noted."""
    passing = np.ones(len(view), np.bool_)
    for enabled in evaluation.profile.filter:
        if enabled.name not in evaluation.written.skipped:
            verdicts = calls.call(
                enabled.name, "Filter", enabled.plugin.filter_nodes, evaluation.state, evaluation.pod, view
            )
            if _rejects_any(enabled.name, verdicts, view):
                passing &= verdicts.codes == 0
    return passing


def _rejects_any(plugin: str, verdicts: object, view: NodeView) -> bool:
    """Return whether ``plugin`` rejects a node; its answer is checked on the way."""
    if not isinstance(verdicts, Verdicts):
        raise plugin_failure(plugin, "Filter", f"returned {type(verdicts).__name__}, not Verdicts")
    statuses: Iterable[object] = verdicts.statuses
    odd = [type(status).__name__ for status in statuses if not isinstance(status, Status)]
    if odd:
        raise plugin_failure(plugin, "Filter", f"returned {odd[0]}, not Status")
    codes = verdicts.codes
    if codes.dtype != np.int32 or codes.shape != (len(view),):
        raise plugin_failure(
            plugin, "Filter", f"returned {codes.dtype}{list(codes.shape)} codes, not int32[{len(view)}]"
        )
    if not verdicts.statuses or not verdicts.statuses[0].ok:
        raise plugin_failure(plugin, "Filter", "status number 0 must be Success")
    if not codes.any():
        return False
    if not 0 <= int(codes.min()) <= int(codes.max()) < len(verdicts.statuses):
        raise plugin_failure(plugin, "Filter", "returned a code outside its table of statuses")
    for number, status in enumerate(verdicts.statuses):
        if number and not status.rejected and (codes == number).any():
            raise plugin_failure(plugin, "Filter", f"{status.code.label}: {status.message}")
    return True
