"""PostFilter: what could be done for a pod that no node takes.

Mirrors ``RunPostFilterPlugins`` in ``framework/runtime/framework.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mooring.framework import Code, Int32s, Pod, Status
from mooring.framework.disruption_budgets import DisruptionBudgets
from mooring.framework.errors import NotFoundError
from mooring.framework.interface import PreemptingPlugin
from mooring.framework.objects import PodDisruptionBudget
from mooring.framework.preemption import Candidate, Preemption
from mooring.framework.row_versions import as_of_now
from mooring.runtime.cycle.evaluation import Document, Evaluation
from mooring.runtime.cycle.extenders import process_preemption
from mooring.runtime.cycle.filters_read import independent, lasting
from mooring.runtime.cycle.plugin_calls import PluginCalls, plugin_failure
from mooring.runtime.cycle.tie_break import choose
from mooring.runtime.cycle.tried_pods import PodsAsSums, TriedPods
from mooring.runtime.cycle.what_if import NodesWhatIf, SummedNodes, pods_to_try, what_if
from mooring.runtime.profiles.profile import Enabled, Profile

NOT_ASKED = Status.unresolvable()
"""The status of a node that was not evaluated."""


@dataclass(frozen=True, slots=True)
class Room:
    """The way to make room for a pod that no node takes.

    Attributes:
        candidate: The node, and who has to go.
        plugin: Who says so.
    """

    candidate: Candidate
    plugin: str


@dataclass(frozen=True, slots=True)
class Sought:
    """The result of seeking room.

    Attributes:
        room: The room; None if there is none.
        nominated: The node that is nominated for the pod from now on; "" = none, None = as it was.
    """

    room: Room | None
    nominated: str | None


class EvaluatedNodes:
    """Implements ``mooring.framework.preemption.RejectedNodes`` for one evaluation."""

    def __init__(self, evaluation: Evaluation, calls: PluginCalls, start: int) -> None:
        self.snapshot = evaluation.snapshot
        self.rows: Int32s = evaluation.rows
        self.start = start
        self.independent = independent(evaluation)
        self.lasting = lasting(evaluation)
        self.as_of = evaluation.asked.as_of or as_of_now(evaluation.pod, evaluation.snapshot)
        self._evaluation = evaluation
        self._calls = calls
        self._pods: TriedPods | None = None

    def status(self, node_name: str) -> Status:
        row = self.snapshot.nodes.index.get(node_name, -1)
        found = self._evaluation.codes[self.rows == row].tolist()
        return self._evaluation.statuses[found[0]] if found else NOT_ASKED

    def resolvable(self) -> Int32s:
        helps = np.array([status.code is Code.UNSCHEDULABLE for status in self._evaluation.statuses])
        rows = self.rows[helps.take(self._evaluation.codes)]
        return rows if (rows[1:] > rows[:-1]).all() else np.sort(rows)

    def what_if(self, node_names: Sequence[str]) -> AbstractContextManager[NodesWhatIf]:
        if len(node_names) > 1 and not self.independent:
            raise ValueError(f"{len(node_names)} nodes tried at once, but they are not independent")
        if self._pods is None:
            self._pods = pods_to_try(self._evaluation)
        return what_if(self._evaluation, self._pods, self._calls)

    def sums(self) -> SummedNodes | None:
        if not self.independent:
            return None
        if self._pods is None:
            self._pods = pods_to_try(self._evaluation)
        pods = self._pods
        return SummedNodes(self._evaluation, pods, self._calls) if isinstance(pods, PodsAsSums) else None

    def after_extenders(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        asked = self._evaluation
        return process_preemption(asked.profile, asked.pod, candidates, self.snapshot)


def run_post_filter(evaluation: Evaluation, calls: PluginCalls, start: int) -> Status:
    """Return what the PostFilter plugins say: the first that neither rejects nor leaves it to the next
    decides. Returns Success when the pod will fit soon, with the messages of the plugins before that one, or
    when there is no such plugin; else the reason.
    """
    plugins = evaluation.profile.post_filter
    nodes = EvaluatedNodes(evaluation, calls, start)
    reasons: list[str] = []
    with calls.point("PostFilter") as point:
        for enabled in plugins:
            status = calls.call(
                enabled.name,
                "PostFilter",
                enabled.plugin.post_filter,
                evaluation.state,
                evaluation.pod,
                nodes,
            )
            if not isinstance(status, Status):
                raise plugin_failure(
                    enabled.name, "PostFilter", f"returned {type(status).__name__}, not Status"
                )
            if status.code not in (Code.UNSCHEDULABLE, Code.PENDING):
                point.status = status.code
                said = (*reasons, *status.reasons) if status.ok else status.reasons
                return replace(status.by(enabled.name), reasons=said)
            reasons.extend(status.reasons)
        point.status = Code.UNSCHEDULABLE if plugins else Code.SUCCESS
    return Status(Code.UNSCHEDULABLE, tuple(reasons)) if plugins else Status()


def seek_room(
    evaluation: Evaluation,
    calls: PluginCalls,
    start: int,
    pick: Callable[[Sequence[str]], str] | None = None,
) -> Sought:
    """Return the room that PostFilter says there could be; ``evaluation`` says in the end what came of it.

    ``pick`` decides between nodes that are equally good; by default it is ``pick_node``.
    """
    pod, verdict = evaluation.pod, evaluation.post_filter
    if verdict.code is Code.ERROR:
        return Sought(None, None)
    preempting = preempting_plugin(evaluation.profile)
    helps = verdict.ok or pod.status.nominated_node_name
    if preempting is None or not len(evaluation.rows) or not helps:
        return Sought(None, "")
    found = evaluation.preemption = preempt(evaluation, calls, None, start)
    if not found.best:
        evaluation.post_filter = _in_the_end(verdict, found.status)
        return Sought(None, "" if found.eligible else None)
    name = pick(found.best) if pick is not None else pick_node(pod, found.best)
    candidate = next(entry for entry in found.candidates if entry.node_name == name)
    evaluation.room_on, evaluation.room_is_made = name, preempting.plugin.announce(candidate)
    return Sought(Room(candidate, preempting.name), name)


def pick_node(pod: Pod, names: Sequence[str]) -> str:
    """Return one of some nodes that are equally good to make room on, the same for the same pod."""
    return names[choose(0, pod.metadata.uid, len(names))]


def _in_the_end(verdict: Status, preemption: Status) -> Status:
    """Return PostFilter's message once the extenders were called, too; an error stands alone."""
    if not verdict.ok or preemption.ok:
        return verdict
    before = () if preemption.code is Code.ERROR else verdict.reasons
    return replace(preemption, reasons=(*before, *preemption.reasons))


def preempt(
    evaluation: Evaluation, calls: PluginCalls, given: Sequence[Candidate] | None, start: int
) -> Preemption:
    """Return the answer of the profile's first preempting plugin; ``evaluation`` has Filter's verdicts.
    Raises NotFoundError if it has none (PLUGIN_NOT_FOUND).
    """
    preempting = preempting_plugin(evaluation.profile)
    if preempting is None:
        raise NotFoundError(
            f"profile {evaluation.profile.name!r} has no plugin that makes room for a pod; "
            "enable DefaultPreemption",
            reason="PLUGIN_NOT_FOUND",
            plugin="DefaultPreemption",
            profile=evaluation.profile.name,
        )
    name, plugin = preempting.name, preempting.plugin
    nodes = EvaluatedNodes(evaluation, calls, start)
    found = calls.call(name, "PostFilter", plugin.preempt, evaluation.state, evaluation.pod, nodes, given)
    if not isinstance(found, Preemption):
        raise plugin_failure(name, "PostFilter", f"returned {type(found).__name__}, not Preemption")
    return replace(found, status=found.status.by(name))


def preempting_plugin(profile: Profile) -> Enabled[PreemptingPlugin[Any]] | None:
    """Return the profile's first plugin that preempts; None without one."""
    for entry in profile.post_filter:
        if isinstance(entry.plugin, PreemptingPlugin):
            return Enabled(entry.name, entry.plugin)
    return None


def candidates_of(evaluation: Evaluation, node_name: str = "") -> tuple[Candidate, ...]:
    """Return where preemption could make room, or only on one node; with the budgets that this violates."""
    found = evaluation.preemption.candidates if evaluation.preemption is not None else ()
    wanted = [each for each in found if node_name in ("", each.node_name)]
    if not any(each.violations for each in wanted):
        return tuple(wanted)
    budgets = DisruptionBudgets(evaluation.snapshot.objects.all(PodDisruptionBudget))
    return tuple(
        Candidate(each.node_name, each.victims, each.violations, budgets.violated_by(each.victims))
        for each in wanted
    )


def preemption_document(node: str, candidates: Sequence[Candidate]) -> Document | None:
    """Return as JSON where preemption could make room for a pod; None = nowhere.

    Keys: ``node``, the one that the scheduler would nominate the pod for, or null; and ``candidates``, each
    with its ``node``, its ``victims``, the most important first, its number of ``violations`` of disruption
    budgets, and these ``budgets``.
    """
    if not candidates:
        return None
    return {
        "node": node or None,
        "candidates": [
            {
                "node": each.node_name,
                "victims": [{"pod": one.key, "priority": one.priority} for one in each.victims],
                "violations": each.violations,
                "budgets": list(each.budgets),
            }
            for each in candidates
        ],
    }
