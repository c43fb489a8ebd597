"""The extenders' part in a decision: after the profile's Filter and Score plugins, in preemption, at Bind.

Mirrors ``findNodesThatPassExtenders``, ``prioritizeNodes`` and ``extendersBinding`` in ``schedule_one.go``,
and ``callExtenders`` in ``framework/preemption/preemption.go``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from mooring.framework import MAX_NODE_SCORE, Int32s, Int64s, Pod, Snapshot, Status
from mooring.framework.errors import MooringError, PluginFailureError
from mooring.framework.preemption import Candidate
from mooring.runtime.cycle.evaluation import Evaluation, PluginScores, Scores
from mooring.runtime.profiles.extender import Extender, FilterAnswer, MetaVictims, extender_failure
from mooring.runtime.profiles.profile import Profile

MAX_EXTENDER_PRIORITY = 10
"""The highest score of an extender's scale."""

SCALE = MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY
"""The value of one point of an extender in points of the plugins."""

log = logging.getLogger(__name__)


def run_extender_filters(evaluation: Evaluation, positions: Int32s) -> None:
    """Ask the extenders that are interested, one after the other, about the candidates that are left.

    ``positions`` (int32[M]) are the candidates of the plugins. The first extender gets the feasible ones
    among them, each other one those that the ones before it leave. Raises PluginFailureError if an extender
    that can't be ignored failed.
    """
    extenders = evaluation.profile.extenders_for(evaluation.pod)
    if not extenders:
        return
    names, rows = evaluation.names, evaluation.rows
    feasible = positions[evaluation.codes[positions] == 0].tolist()
    left = {names[rows[position]]: position for position in feasible}
    for extender in extenders:
        if not left:
            return
        if extender.filters:
            left = _filtered(evaluation, extender, left)


def _filtered(evaluation: Evaluation, extender: Extender, asked: Mapping[str, int]) -> dict[str, int]:
    """Return the nodes that ``extender`` leaves, with their positions, and note those that it rejects."""
    try:
        answer = extender.filter(evaluation.pod, list(asked))
    except MooringError as error:
        if not extender.ignorable:
            raise
        _skipped(extender, evaluation.pod, "Filter", error)
        return dict(asked)
    left = {name: asked[name] for name in answer.node_names}
    numbers = {status: number for number, status in enumerate(evaluation.statuses)}
    for name in asked:
        if name in left:
            continue
        status = _rejection(extender, answer, name)
        evaluation.codes[asked[name]] = numbers.setdefault(status, len(numbers))
        # As in kube-scheduler, a node that the extender says nothing about does not count as evaluated.
        evaluation.evaluated -= not status.reasons
        if evaluation.rejections is not None:
            evaluation.rejections[asked[name]].append(status)
    evaluation.statuses = list(numbers)
    evaluation.extenders_reject |= len(left) < len(asked)
    return left


def _rejection(extender: Extender, answer: FilterAnswer, name: str) -> Status:
    if name in answer.failed_and_unresolvable:
        return Status.unresolvable(answer.failed_and_unresolvable[name]).by(extender.name)
    if name in answer.failed:
        return Status.unschedulable(answer.failed[name]).by(extender.name)
    return Status.unresolvable().by(extender.name)


def add_extender_scores(evaluation: Evaluation, rows: Int32s, scores: Scores) -> Scores:
    """Return ``scores`` of ``rows`` (int32[F]) with those of the interested extenders, called concurrently.

    An extender that fails has no part in them, whether it can be ignored or not.
    """
    pod = evaluation.pod
    extenders = [one for one in evaluation.profile.extenders_for(pod) if one.prioritizes]
    if not extenders:
        return scores
    names = [evaluation.names[row] for row in rows.tolist()]

    def ask(extender: Extender) -> PluginScores | None:
        try:
            answer = extender.prioritize(pod, names)
        except MooringError as error:
            said = "no score of extender %s for pod %s: %s"
            log.log(logging.INFO - 5, said, extender.name, pod.key, error)
            return None
        points = _points(names, answer)
        return PluginScores(extender.name, extender.weight * SCALE, points, points)

    if len(extenders) == 1:
        answers = [ask(extenders[0])]
    else:
        with ThreadPoolExecutor(len(extenders), thread_name_prefix="prioritizing-extender") as threads:
            answers = list(threads.map(ask, extenders))
    columns = tuple(column for column in answers if column is not None)
    totals = scores.totals.copy()
    for column in columns:
        totals += column.raw * np.int64(column.weight)
    return Scores((*scores.plugins, *columns), totals)


def _points(names: Sequence[str], answer: Sequence[tuple[str, int]]) -> Int64s:
    """int64[F]: the points of each of ``names``; those of other nodes are dropped."""
    position = {name: at for at, name in enumerate(names)}
    known = [(position[host], score) for host, score in answer if host in position]
    points: Int64s = np.zeros(len(names), np.int64)
    where, scores = np.array(known, np.int64).reshape(-1, 2).T
    np.add.at(points, where, scores)
    return points


def bind_by_extender(profile: Profile, pod: Pod, node_name: str) -> Status | None:
    """Return the status of the extender that binds ``pod`` instead of the Bind plugins; None when they do.
    Raises PluginFailureError if it gave no answer that can be used; the pod may be bound.
    """
    for extender in profile.extenders_for(pod):
        if not extender.binds:
            continue
        try:
            status = extender.bind(pod, node_name)
        except PluginFailureError as error:
            if not extender.ignorable:
                raise
            _skipped(extender, pod, "Bind", error)
            continue
        if status.ok or not extender.ignorable:
            return status
        _skipped(extender, pod, "Bind", status.message)
    return None


def process_preemption(
    profile: Profile, pod: Pod, candidates: Sequence[Candidate], snapshot: Snapshot
) -> Sequence[Candidate]:
    """Return what the extenders that take part in preemption leave of ``candidates``, which are not empty.
    Raises PluginFailureError if an extender that can't be ignored failed, or named a node or a pod that is
    not there, or a node without victims.
    """
    for extender in profile.extenders_for(pod):
        if not extender.preempts:
            continue
        try:
            answer = extender.process_preemption(pod, candidates)
            found = [_candidate(extender, node, answer[node], snapshot) for node in answer]
        except MooringError as error:
            if not extender.ignorable:
                raise
            _skipped(extender, pod, "PostFilter", error)
            continue
        if not extender.ignorable and (bare := [entry for entry in found if not entry.victims]):
            said = f'expected at least one victim pod on node "{bare[0].node_name}"'
            raise extender_failure(extender.name, "PostFilter", said)
        candidates = [entry for entry in found if entry.victims]
        if not candidates:
            break
    return candidates


def _candidate(extender: Extender, node_name: str, victims: MetaVictims, snapshot: Snapshot) -> Candidate:
    if node_name not in snapshot.nodes.index:
        raise extender_failure(extender.name, "PostFilter", f'nodeinfo not found for node name "{node_name}"')
    pods = []
    for uid in victims.uids:
        record = snapshot.pods.get(uid)
        if record is None or record.node_name != node_name:
            raise extender_failure(
                extender.name,
                "PostFilter",
                f"extender: {extender.name} claims to preempt pod (UID: {uid}) on node: {node_name}, "
                "but the pod is not found on that node",
            )
        pods.append(record.pod)
    return Candidate(node_name, tuple(pods), victims.violations)


def _skipped(extender: Extender, pod: Pod, point: str, why: object) -> None:
    said = "skipping extender %s at %s of pod %s, as it failed and is ignorable: %s"
    log.info(said, extender.name, point, pod.key, why)
