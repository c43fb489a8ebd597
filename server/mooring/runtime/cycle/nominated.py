"""Room that preemption made for other pods: a node must also do when they have come.

Mirrors ``RunFilterPluginsWithNominatedPods`` in ``framework/runtime/framework.go``.
"""

from __future__ import annotations

from mooring.framework import Int32s
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.cycle.plugin_calls import PluginCalls
from mooring.runtime.cycle.what_if import NodesWhatIf, guests_of, pods_to_try


def reject_for_nominated(evaluation: Evaluation, positions: Int32s, calls: PluginCalls) -> None:
    """Reject the candidates at ``positions`` that don't do once the pods nominated for them have come.

    Only pods of the same or a higher priority count. For each node they are tried there, and the
    filters read that node. This comes first: a node that is rejected so is not
    tried without the other pods.
    """
    crowded = _with_guests(evaluation, positions)
    if not crowded:
        return
    numbers = {status: number for number, status in enumerate(evaluation.statuses)}
    nodes = NodesWhatIf(evaluation, pods_to_try(evaluation), calls)
    names = evaluation.names
    for position in crowded:
        status = nodes.crowded(names[evaluation.rows[position]])
        if status.ok:
            continue
        evaluation.codes[position] = numbers.setdefault(status, len(numbers))
        if evaluation.rejections is not None:
            evaluation.rejections[position].append(status)
    evaluation.statuses = list(numbers)


def _with_guests(evaluation: Evaluation, positions: Int32s) -> list[int]:
    """Return the positions of the candidates that pods which count are nominated for."""
    snapshot = evaluation.snapshot
    if not snapshot.pods.nominated:
        return []
    by_row = dict(zip(evaluation.rows[positions].tolist(), positions.tolist(), strict=True))
    names = [name for name in tuple(snapshot.pods.nominated) if snapshot.nodes.index.get(name) in by_row]
    return [by_row[snapshot.nodes.index[name]] for name in names if guests_of(snapshot, name, evaluation.pod)]
