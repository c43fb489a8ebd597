"""Room that preemption made for other pods: a node must also do when they have come.

Mirrors ``RunFilterPluginsWithNominatedPods`` in ``framework/runtime/framework.go``.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from mooring.framework import Int32s, Pod
from mooring.runtime.evaluation import Evaluation, begin
from mooring.runtime.filtering import run_filters
from mooring.runtime.pre_filtering import run_pre_filter
from mooring.runtime.progress import PluginCalls


def refuse_for_nominated(evaluation: Evaluation, positions: Int32s, calls: PluginCalls) -> None:
    """Refuse the candidates at ``positions`` that don't do once the pods nominated for them have come.

    Only pods of the same or a higher priority count. They are placed on a private copy of the state,
    and the filters run again there, for their nodes alone.
    """
    guests = _guests(evaluation, positions)
    if not guests:
        return
    fork = evaluation.cluster.fork(pods=guests)
    index = fork.snapshot.nodes.index
    concerned = np.array([index[guest.spec.node_name] for guest in guests], np.int32)
    again = positions[np.isin(evaluation.rows[positions], concerned)]
    crowded = begin(evaluation.profile, fork, evaluation.pod, evaluation.rows[again])
    if run_pre_filter(crowded, calls) is not None:
        crowded.codes[:] = 0
        run_filters(crowded, np.arange(len(again), dtype=np.int32), calls)
    _take_over(evaluation, again, crowded)


def _take_over(evaluation: Evaluation, positions: Int32s, crowded: Evaluation) -> None:
    """The refusals of ``crowded`` win over what was said of the same nodes without the other pods."""
    numbers = {status: number for number, status in enumerate(evaluation.statuses)}
    for position, code in zip(positions.tolist(), crowded.codes.tolist(), strict=True):
        if code == 0:
            continue
        status = crowded.statuses[code]
        evaluation.codes[position] = numbers.setdefault(status, len(numbers))
        if evaluation.rejections is not None and status not in evaluation.rejections[position]:
            evaluation.rejections[position].append(status)
    evaluation.statuses = list(numbers)


def _guests(evaluation: Evaluation, positions: Int32s) -> list[Pod]:
    """The nominated pods that count, each with its node."""
    pods, nodes = evaluation.snapshot.pods, evaluation.snapshot.nodes
    candidates = set(evaluation.rows[positions].tolist()) if pods.nominated else set()
    return [
        replace(record.pod, spec=replace(record.pod.spec, node_name=name))
        for name, uids in tuple(pods.nominated.items())
        if nodes.index.get(name) in candidates
        for record in map(pods.get, tuple(uids))
        if record is not None and _counts(record.pod, evaluation.pod)
    ]


def _counts(guest: Pod, pod: Pod) -> bool:
    same = guest.metadata.uid == pod.metadata.uid
    return not same and (guest.spec.priority or 0) >= (pod.spec.priority or 0)
