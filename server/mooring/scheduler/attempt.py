"""One attempt to schedule a pod or a group, and how it is remembered as a decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from mooring.decisions.decisions import Decisions, write_choice, write_why
from mooring.decisions.records import DecisionKind, DecisionResult, Details, NodeRejections, Record, Why
from mooring.framework import Clock, Code, Pod, PodGroupInfo
from mooring.framework.preemption import Candidate
from mooring.runtime.answers import Choice, candidates_of
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Profile
from mooring.scheduler.budget import AttemptBudget
from mooring.scheduler.queue import QueuedPod
from mooring.scheduler.scheduling_failure import SchedulingFailure


class DecidedGroup(msgspec.Struct, frozen=True):
    """A group that was decided about.

    Attributes:
        info: The group, with its pods that were tried.
        state_version: The version of the state that was evaluated.
        room: The pods that it preempts; None = it preempts none.
    """

    info: PodGroupInfo
    state_version: int
    room: Candidate | None = None


class Attempt(msgspec.Struct, frozen=True):
    """One pod's attempt.

    Attributes:
        began: Since when, on the monotonic clock.
        start: The first row of a search that ends before all nodes are evaluated; None = the pod is tried
            with its group.
        group: That group; None also if nothing was decided about it.
    """

    item: QueuedPod
    profile: Profile
    began: float
    budget: AttemptBudget
    start: int | None = None
    group: DecidedGroup | None = None

    @property
    def pod(self) -> Pod:
        """The pod as it was when the attempt began, or ended."""
        return self.item.pod


class Deciding(msgspec.Struct, frozen=True):
    """The current work of the deciding thread. ``subject`` names the pod or group for people."""

    subject: str
    budget: AttemptBudget


@dataclass(frozen=True, slots=True)
class AttemptLog:
    """Notes attempts. Safe from any thread."""

    decisions: Decisions | None
    engine: Engine
    clock: Clock

    def selected(self, attempt: Attempt, choice: Choice) -> Record | None:
        """Note that the pod of ``attempt`` has got a node, to which it is being bound."""
        if self.decisions is None:
            return None
        record = self._about(attempt, DecisionKind.SCHEDULE)
        record.state_version = _version(attempt, choice)
        write_choice(record, choice)
        self.decisions.add(record, choice)
        return record

    def failed(self, attempt: Attempt, failure: SchedulingFailure) -> None:
        """Note that the pod of ``attempt`` has got no node, or that it could not be bound to it."""
        if self.decisions is None:
            return
        record = self._about(attempt, DecisionKind.BIND if failure.node else DecisionKind.SCHEDULE)
        record.state_version = _version(attempt, failure.choice)
        if failure.choice is not None:
            write_choice(record, failure.choice)
        else:
            write_why(record, _why(failure))
        details = record.own_details()
        if not failure.rejected:
            details.result = DecisionResult.FAILED if failure.plugin else DecisionResult.ERROR
        details.nominated = failure.nominated or ""
        for room in _rooms(attempt, failure) if details.nominated else ():
            details.victims, details.budgets = tuple(pod.key for pod in room.victims), room.budgets
        record.node = failure.node or record.node
        self.decisions.add(record, failure.choice)

    def skipped(self, item: QueuedPod, note: str) -> None:
        """Note that a pod is not tried."""
        if self.decisions is not None:
            key = f"{self.engine.profiles.configuration}/{item.pod.spec.scheduler_name}"
            now, metadata = self.clock.now(), item.pod.metadata
            record = Record(now, now, DecisionKind.SCHEDULE, 0, item.pod, key, metadata.name, metadata.uid)
            write_why(record, Why(Code.ERROR, reasons=(note,), message=note))
            details = record.own_details()
            details.repeatable, details.attempt = False, item.attempts
            self.decisions.add(record)

    def _about(self, attempt: Attempt, kind: DecisionKind) -> Record:
        item, profile = attempt.item, attempt.profile
        pod, metadata = item.pod, item.pod.metadata
        now = self.clock.now()
        record = Record(
            now,
            now - (self.clock.monotonic() - attempt.began),
            kind,
            0,
            pod,
            profile.key,
            metadata.name,
            metadata.uid,
            self.engine.state.snapshot.nodes.epoch,
        )
        group = attempt.group
        known = attempt.start is not None or group is not None
        record.written = Details(
            repeatable=known and not profile.extenders_for(pod),
            start=attempt.start or 0,
            attempt=item.attempts,
            queue_wait=max(0.0, now - item.queued_at),
            woken=item.woken,
            gated=item.gated,
            group=None if group is None else group.info,
        )
        return record


def _version(attempt: Attempt, choice: Choice | None) -> int:
    """Return the version of the state that was evaluated; 0 without one."""
    if attempt.group is not None:
        return attempt.group.state_version
    return 0 if choice is None else choice.state_version


def _rooms(attempt: Attempt, failure: SchedulingFailure) -> Sequence[Candidate]:
    """Return what the pod, or its group, preempts on the node for which the pod is nominated."""
    if attempt.group is not None:
        return () if attempt.group.room is None else (attempt.group.room,)
    return () if failure.choice is None else candidates_of(failure.choice.evaluation, failure.nominated or "")


def _why(failure: SchedulingFailure) -> Why:
    plugins = tuple(sorted(failure.rejection.rejectors | ({failure.plugin} if failure.plugin else set())))
    plugin = plugins[0] if len(plugins) == 1 else ""
    return Why(
        Code.UNSCHEDULABLE if failure.rejected else Code.ERROR,
        plugin,
        (failure.message,),
        failure.message,
        plugins,
        NodeRejections(plugin, failure.message, 0),
    )
