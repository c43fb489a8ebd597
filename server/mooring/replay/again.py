"""The decisions of a recording, each made again in its state, and why one comes out differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from pathlib import Path

import numpy as np

from mooring.cluster.journal import PodEntry
from mooring.cluster.state import State
from mooring.framework import Pod, Status
from mooring.framework.errors import MooringError
from mooring.plugin_hosts.noted import answer_notes
from mooring.recordings.decoding import Advance, Changed, Decided, Missing, read_recording
from mooring.recordings.playback import follow, in_order, in_order_of_arrival, play
from mooring.runtime.answers import (
    ALL_NODES,
    Choice,
    CycleOptions,
    Evaluation,
    ForkReserve,
    PluginCalls,
    evaluate,
    select,
)
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Profile
from mooring_client.recording.v1.recording_pb2 import DecisionEntry
from mooring_client.v1 import decision_service_pb2 as pb
from mooring_client.v1.objects_pb2 import PodReference

_DRY = (pb.DECISION_KIND_DRY_RUN, pb.DECISION_KIND_OBSERVE)
_SELECTING = (pb.DECISION_KIND_SCHEDULE, *_DRY)
_DECIDED = (pb.DECISION_RESULT_SCHEDULED, pb.DECISION_RESULT_UNSCHEDULABLE)


class Ending(Enum):
    """The result when a decision is made again."""

    SAME = "same"
    """The same node, or none again."""
    TIE = "tie"
    """Another node with the same, highest total."""
    MOVED = "moved"
    """Another node, which is better now."""
    PLACED = "placed"
    """A node instead of none."""
    UNPLACED = "unplaced"
    """No node instead of one."""
    FAILED = "failed"
    """A plugin failed, or the profile is gone."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A decision, and what comes out now.

    Attributes:
        message: The decision as it was.
        time: When it was made, in microseconds since 1970.
        ending: The outcome now.
        node: The node now, "" for none.
        total: Its total now.
        because: The plugin that causes the difference; "" if there is none, or none is known.
        reason: The same in words.
    """

    message: pb.Decision
    time: int
    ending: Ending
    node: str = ""
    total: int = 0
    because: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A decision that can't be made again, or something that is missing in the recording.

    Attributes:
        why: Why, in words; the same for all that are alike.
        count: How many.
    """

    why: str
    count: int = 1


_Placed = tuple[str, ForkReserve, PluginCalls]
"""The UID of a pod of a dry run, and what it reserved."""

Step = Compared | Skipped | None
"""The result of a step of a recording; None = only a change of the cluster."""


@dataclass(slots=True)
class Again:
    """Makes decisions again over the state into which their recording is played. For one thread.

    Attributes:
        engine: Decides, over ``state``.
        state: The state; empty at first.
        then: Decides like the recorded process, over the same state; None if ``engine`` does.
        seed: Decides between nodes of equal totals; None = each decision's own seed.
        observed: Another scheduler decided; only its nodes are known.
        answering: How many answers of hosts are not those that were recorded, by plugin.
    """

    engine: Engine
    state: State
    then: Engine | None = None
    seed: int | None = None
    observed: bool = False
    answering: Counter[str] = field(default_factory=Counter)
    _recorded: dict[int, int] = field(default_factory=dict, repr=False)
    _answered: dict[int, tuple[str, int]] = field(default_factory=dict, repr=False)

    def decisions(self, directory: Path, advance: Advance = lambda _: None) -> Iterator[Step]:
        """Yield what each step of the recording brings; ``advance`` as of ``read_recording``. Raises
        RecordingError if it can't be read from some place on; all before that was yielded.
        """
        if self.observed:
            yield from self._observed(directory, advance)
            return
        placed: list[_Placed] = []
        for happening in play(directory, self.state, advance):
            if isinstance(happening, Decided):
                if happening.message.earlier_count < len(placed) or not happening.message.earlier_count:
                    self._forget(placed)
                step, pod = self._decide(happening, placed)
                self._compare_answers(happening.message.host_answers)
                if pod is not None and happening.message.decision.kind in _DRY:
                    self._place(pod, happening.message.decision, placed)
                yield step
            elif isinstance(happening, Changed):
                self._forget(placed)
                yield None
            elif isinstance(happening, Missing):
                gap = happening.gap
                if gap.decision_count:
                    yield Skipped("it is missing in the recording", gap.decision_count)

    def _compare_answers(self, recorded: Mapping[int, int]) -> None:
        """Count the answers of hosts that differ from the recorded ones, each once."""
        before, now = self._recorded, self._answered
        new = {question: said for question, said in answer_notes.take().items() if question not in now}
        now.update(new)
        for question in {**recorded, **new}:
            plugin, answer = now.get(question, ("", 0))
            then = recorded.get(question, before.get(question))
            if plugin and then not in (None, answer) and (question in new or question not in before):
                self.answering[plugin] += 1
        before.update(recorded)

    def _observed(self, directory: Path, advance: Advance) -> Iterator[Step]:
        """Yield what each binding of another scheduler brings.

        Bindings are seen in the order in which they were written, and were decided in that of the queue.
        """
        happenings = read_recording(directory, self.state.kind_of, advance)
        for happening in in_order_of_arrival(in_order(happenings)):
            if isinstance(happening, Changed):
                decided = self._binding(happening)
                yield None if decided is None else self._decide(decided, [])[0]
            follow(self.state, happening)

    def _binding(self, change: Changed) -> Decided | None:
        """Return the decision that a change shows: a pod that waited has a node now."""
        record = change.entry.new if isinstance(change.entry, PodEntry) else None
        pod = None if record is None else self._pending(record.uid)
        if record is None or pod is None or not record.node_name:
            return None
        decision = pb.Decision(
            pod=PodReference(namespace=record.namespace, name=record.name, uid=record.uid),
            kind=pb.DECISION_KIND_SCHEDULE,
            result=pb.DECISION_RESULT_SCHEDULED,
            node=record.node_name,
        )
        decision.provenance.profile = pod.spec.scheduler_name
        message = DecisionEntry(decision=decision, repeatable=True)
        return Decided(change.time, change.version, message, pod)

    def _decide(self, decided: Decided, placed: Sequence[_Placed]) -> tuple[Step, Pod | None]:
        message = decided.message.decision
        if message.kind not in _SELECTING or message.result not in _DECIDED:
            return None, None
        if not decided.message.repeatable:
            return Skipped("it was not about all nodes, or not about the state alone"), None
        if decided.message.earlier_count != len(placed):
            return Skipped("the pods are not known that the same call had placed before"), None
        pod = decided.pod or self._pending(message.pod.uid)
        if pod is None:
            return Skipped("its pod is not known"), None
        try:
            choice = self._choose(self.engine, pod, decided)
            return self._compared(decided, pod, choice), pod
        except MooringError as error:
            return Compared(message, decided.time, Ending.FAILED, reason=str(error)), pod

    def _pending(self, uid: str) -> Pod | None:
        record = self.state.snapshot.pods.get(uid)
        return None if record is None or record.node_name else record.pod

    def _compared(self, decided: Decided, pod: Pod, choice: Choice) -> Compared:
        message, node = decided.message.decision, choice.node_name or ""
        if node == message.node:
            return Compared(message, decided.time, Ending.SAME, node, choice.total)
        now = self._choose(self.engine, pod, decided, explained=True)
        if message.node and node:
            best = {now.evaluation.names[row] for row in now.ties.tolist()}
            ending = Ending.TIE if message.node in best else Ending.MOVED
        else:
            ending = Ending.PLACED if node else Ending.UNPLACED
        cause = None
        if ending is not Ending.TIE:
            then = None if self.then is None else self._choose(self.then, pod, decided, explained=True)
            cause = cause_of(then, now, message.node, node)
        because, reason = (f"{cause.plugin}'s {cause.what}", cause.sentence) if cause else ("", "")
        return Compared(message, decided.time, ending, node, choice.total, because, reason)

    def _choose(self, engine: Engine, pod: Pod, decided: Decided, *, explained: bool = False) -> Choice:
        """Decide for ``pod`` as ``decided`` was, in full if it is to be ``explained``. Raises MooringError if
        there is no such profile, or a plugin failed.
        """
        message = decided.message.decision
        profile, seed = self._profile(engine, message, pod), message.seed if self.seed is None else self.seed
        if not explained and not profile.samples:
            return engine.decide(pod, profile, ALL_NODES, seed=seed)
        options = CycleOptions(start=decided.message.start, always_score=explained)
        run = partial(evaluate, options=options)
        return select(*engine.evaluate(pod, profile, ALL_NODES, run), seed)

    def _profile(self, engine: Engine, message: pb.Decision, pod: Pod) -> Profile:
        name = message.provenance.profile
        profile = engine.profile(name if name in engine.profiles else "", pod)
        # Pods in a queue have passed PreEnqueue.
        return replace(profile, pre_enqueue=()) if message.attempt or self.observed else profile

    def _place(self, pod: Pod, message: pb.Decision, placed: list[_Placed]) -> None:
        """Place a pod of a dry run, for the later pods."""
        known, engine = self.state.snapshot.pods.get(pod.metadata.uid), self.engine
        if message.node in self.state.snapshot.nodes.index and (known is None or not known.node_name):
            profiles, name = engine.profiles, message.provenance.profile
            # If the profile no longer exists, another one's plugins reserve the same.
            profile = profiles[name if name in profiles else next(iter(profiles))]
            reserve, calls = ForkReserve(profile, self.state), engine.calls(profile)
            # A plugin that fails here also fails in the decision, which reports it.
            with suppress(MooringError):
                reserve.place(pod, message.node, calls)
            placed.append((pod.metadata.uid, reserve, calls))

    def _forget(self, placed: list[_Placed]) -> None:
        while placed:
            uid, reserve, calls = placed.pop()
            reserve.give_back(calls)
            self.state.forget(uid)


@dataclass(frozen=True, slots=True)
class Cause:
    """A plugin, and what it did.

    Attributes:
        plugin: Its name; "" for mooring itself.
        what: ``verdict``, or ``score``.
        sentence: Both in words, about the nodes in question.
    """

    plugin: str
    what: str
    sentence: str


def cause_of(then: Choice | None, now: Choice, before: str, after: str) -> Cause | None:
    """Return why a pod goes to ``after`` now, and not to ``before``; either may be "", no node.

    Args:
        then: The recorded decision in full; None if that isn't known, or equals ``now``.
        now: As it is decided, in full.
        before: The node then.
        after: The node now.

    Returns:
        None when neither a verdict nor a score says why.
    """
    return (
        _rejected(now, before, "rejects")
        or (_rejected(then, after, "rejected") if then is not None else None)
        or (_scored(then, now, before, after) if before and after else None)
    )


def _rejected(choice: Choice, node: str, verb: str) -> Cause | None:
    """Return which plugin says no to the node; without one, which says no to the pod, or to most nodes."""
    evaluation = choice.evaluation
    status = _verdict(evaluation, node) if node else None
    if status is None and not evaluation.rejection.ok:
        status = evaluation.rejection
    if status is None or status.ok:
        return None
    said = "; ".join(status.reasons)
    return Cause(status.plugin, "verdict", f"{status.plugin or 'mooring'} {verb} {node or 'the pod'}: {said}")


def _verdict(evaluation: Evaluation, node: str) -> Status | None:
    at = _position(evaluation, node)
    return None if at is None else evaluation.statuses[int(evaluation.codes[at])]


def _position(evaluation: Evaluation, node: str) -> int | None:
    for at, row in enumerate(evaluation.rows.tolist()):
        if evaluation.names[row] == node:
            return at
    return None


def _scored(then: Choice | None, now: Choice, before: str, after: str) -> Cause | None:
    """Return the plugin whose score favours ``after`` most, compared with its score then."""
    margins = _margins(now.evaluation, before, after)
    old = _margins(then.evaluation, before, after) if then is not None else {}
    gains = {name: margins.get(name, 0) - old.get(name, 0) for name in {**margins, **old}}
    if not gains:
        return None
    plugin = max(gains, key=lambda name: gains[name])
    gain = gains[plugin]
    if gain <= 0:
        return None
    ahead = f"{margins.get(plugin, 0):+d}"
    compared = f", {old.get(plugin, 0):+d} before" if then is not None else ""
    return Cause(plugin, "score", f"{plugin} scores {after} {ahead} against {before}{compared}")


def _margins(evaluation: Evaluation, before: str, after: str) -> dict[str, int]:
    """Return by plugin by how much its weighted score of ``after`` is above that of ``before``."""
    places = [_position(evaluation, node) for node in (before, after)]
    if evaluation.scores is None or None in places:
        return {}
    feasible = evaluation.feasible
    at = [np.flatnonzero(feasible == place) for place in places]
    if not all(map(len, at)):
        return {}
    first, second = (int(found[0]) for found in at)
    return {
        column.plugin: int((column.normalized[second] - column.normalized[first]) * column.weight)
        for column in evaluation.scores.plugins
    }
