"""The scheduler: takes the next pod or group, finds its nodes, has it bound. Mirrors ``schedule_one.go``."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace

from mooring.framework import Pod
from mooring.framework.deadline import RUNNING
from mooring.framework.errors import DeadlineExceededError, InvalidArgumentError
from mooring.runtime.answers import ALL_NODES, Choice, mix64, seek_room
from mooring.runtime.commit.reservations import Reservation
from mooring.runtime.profiles.profiles import Profiles
from mooring.scheduler.attempt import Attempt, Deciding
from mooring.scheduler.binding import Binders
from mooring.scheduler.budget import OTHERS, AttemptBudget, Overruns, group_seconds
from mooring.scheduler.components import Components, deciding
from mooring.scheduler.group_attempts import GroupAttempts
from mooring.scheduler.head_batch import HeadBatch
from mooring.scheduler.preemption import Preemptor, carry_out
from mooring.scheduler.queue import QueuedGroup, QueueingRules
from mooring.scheduler.recorder import EventNote
from mooring.scheduler.scheduling_failure import (
    SchedulingFailure,
    failed,
    overran,
    rejected_by_nodes,
    rejected_by_plugin,
)
from mooring.tracing.spans import Entered

log = logging.getLogger(__name__)

STANDBY_SECONDS = 0.1
"""Seconds between two checks of a replica that doesn't lead whether it does."""

LONGEST_DECISION_SECONDS = 60.0
"""When a turn of the thread that decides lasts longer, only a restart helps: a plugin ignores the clock."""

LAST_CONDITIONS_SECONDS, LAST_EVENTS_SECONDS = 2.0, 2.0
"""Seconds that the last conditions of groups, and the last Events, may take to be written."""


class Wake:
    """Wakes the thread that decides. Safe from any thread, never blocks for long."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """There may be something to do."""
        if not self._event.is_set():
            self._event.set()

    def clear(self) -> None:
        """All waiting work is about to be done."""
        self._event.clear()

    def wait(self, seconds: float) -> None:
        """Until there is something to do, or the time is over."""
        self._event.wait(seconds)


class Scheduler:
    """One thread decides, pod by pod and group by group; others bind.

    Args:
        binders: How many pods are bound at a time.
        rules: Makes the queue's rules of profiles.
    """

    def __init__(
        self,
        components: Components,
        wake: Wake,
        binders: int,
        rules: Callable[[Profiles], Mapping[str, QueueingRules]],
    ) -> None:
        self.queue = components.queue
        self._rules = rules
        self._components = components
        self._wake = wake
        self._stopping = threading.Event()
        self._binders = Binders(components, binders, self._stopping)
        self._groups = GroupAttempts(components, self._binders)
        self._head_batch = HeadBatch(components, self._binders)
        self._overruns = Overruns(components.observer, components.recorder)
        # Behind a pod that got no node others like it often wait, which are better tried one by one.
        self._placed_last = True
        self._leads = False
        self._turn_began: float | None = None
        self._deciding: Deciding | None = None

    def schedule_until_stopped(self) -> None:
        """Schedule until ``stop``; the calling thread decides."""
        self._components.recorder.start(self._binders.are_busy)
        while not self._stopping.is_set():
            self._wake.clear()
            if (pause := self.try_next()) > 0:
                self._wake.wait(pause)

    def stop(self) -> None:
        """Take no more pods. Any thread."""
        self._stopping.set()
        self._wake.set()

    def finish_bindings(self) -> None:
        """Give back what is not sent, finish the rest, write the Events. After ``schedule_until_stopped``."""
        self._binders.finish()
        self._components.preemptions.stop()
        self._components.failures.statuses.stop()
        self._components.group_statuses.stop(LAST_CONDITIONS_SECONDS)
        self._components.recorder.stop(LAST_EVENTS_SECONDS)

    def is_deciding(self) -> bool:
        """Return whether a pod or a group is being tried right now. Any thread."""
        return self._deciding is not None

    def check_profiles(self, profiles: Profiles) -> None:
        """Check that ``reconfigure`` can follow. Raises InvalidArgumentError if they need a restart."""
        known = self._components.profiles
        if profiles.keys() != known.keys():
            raise InvalidArgumentError.at(
                "profiles",
                f"were {', '.join(known)} at the start; restart to schedule for {', '.join(profiles)}",
            )
        for name, profile in profiles.items():
            if [entry.name for entry in profile.queue_sort] != [e.name for e in known[name].queue_sort]:
                raise InvalidArgumentError.at("queueSort", f"of {name}: only a start sorts by another plugin")

    def reconfigure(self, profiles: Profiles) -> None:
        """Decide by other profiles from now on; attempts that run end with their own. Any thread.

        A rejected or gated pod is tried again.
        """
        self._components.profiles.update(deciding(profiles))
        self.queue.replace_rules(self._rules(profiles))

    def record_own_event(self, scheduler: Pod, kind: str, reason: str, action: str, note: str) -> None:
        """Have an Event written about the pod in which this scheduler runs."""
        self._components.recorder.record_event(EventNote(scheduler, kind, reason, action, note))

    def fault(self) -> str:
        """Return why only a restart helps: a turn has lasted for a minute; "" otherwise. Any thread."""
        began, deciding = self._turn_began, self._deciding
        seconds = 0.0 if began is None else self._components.clock.monotonic() - began
        if seconds <= LONGEST_DECISION_SECONDS:
            return ""
        if deciding is None:
            return f"reporting changes to the scheduling queue has lasted {seconds:.0f} s"
        where = f"plugin {deciding.budget.plugin}" if deciding.budget.plugin else "mooring itself"
        return f"the decision about {deciding.subject} has lasted {seconds:.0f} s, in {where}"

    def try_next(self) -> float:
        """Report the changes to the queue, try one pod or group, and return after how many seconds to come
        again when nothing wakes the scheduler before; 0 = at once.
        """
        self._turn_began = self._components.clock.monotonic()
        try:
            return self._take_turn()
        finally:
            self._turn_began = None

    def _take_turn(self) -> float:
        components = self._components
        components.changes.tell_queue()
        pause = components.queue.move_due_pods()
        if not self._begins_to_lead():
            return min(pause, STANDBY_SECONDS)
        entity = components.queue.pop()
        if entity is None:
            return pause
        began, size = components.clock.monotonic(), len(entity.members)
        budget = AttemptBudget(group_seconds(components.attempt_seconds, size))
        RUNNING.charge_others = budget.charge_others
        span = None if components.tracer is None else components.tracer.begin_attempt("schedulingCycle")
        try:
            with Entered(span):
                if isinstance(entity, QueuedGroup):
                    self._deciding = Deciding(f"pod group {'/'.join(entity.key)}", budget)
                    self._groups.try_group(entity, budget)
                else:
                    (item,) = entity.members
                    self._deciding = Deciding(f"pod {item.pod.key}", budget)
                    profile = components.profiles[item.pod.spec.scheduler_name]
                    self._try_pod(Attempt(item, profile, began, budget, components.engine.start))
        finally:
            self._deciding = None
            self._overruns.attempted(entity.members[0].pod, budget)
        return 0.0

    def _begins_to_lead(self) -> bool:
        """Return whether this replica leads; at first it ends what the one before may have left half done."""
        leads = self._components.leadership.is_leader()
        if leads and not self._leads:
            pods = self._components.engine.state.snapshot.pods
            self.queue.put_groups_first(lambda key: any(pod.spec.node_name for pod in pods.in_group(key)))
        self._leads = leads
        return leads

    def _try_pod(self, attempt: Attempt) -> None:
        components = self._components
        try:
            if self._placed_last and self._head_batch.place_some(attempt):
                return
            if not components.failures.left_alone(attempt.item):
                self._schedule(attempt)
        except DeadlineExceededError as error:
            self._undecided(attempt, overran(error, blameless=attempt.budget.blame == OTHERS))
        except Exception as error:  # noqa: BLE001 - a defect is logged
            self._undecided(attempt, failed(error, log, f"trying pod {attempt.pod.key}"))

    def _schedule(self, attempt: Attempt) -> None:
        """Run the scheduling cycle; the binding cycle goes on in a thread of its own."""
        components = self._components
        placement = components.committer.begin_placing(
            attempt.pod, attempt.profile, ALL_NODES, progress=attempt.budget
        )
        reservation = placement.reservation
        self._placed_last = reservation is not None
        if reservation is not None:
            self._begin_binding(attempt, placement.choice, reservation)
        elif placement.committed is not None:
            node_name = placement.choice.node_name or ""
            self._undecided(attempt, rejected_by_plugin(placement.committed.status, node_name))
        else:
            self._undecided(attempt, self._no_node(attempt, placement.choice))

    def _begin_binding(self, attempt: Attempt, choice: Choice, reservation: Reservation) -> None:
        """Have it bound in another thread."""
        if others := reservation.commit.pods_to_activate:
            self._components.queue.activate_pods(others)
        self._binders.begin_binding(attempt, reservation, choice)

    def _no_node(self, attempt: Attempt, choice: Choice) -> SchedulingFailure:
        """Return why no node takes the pod, and make room if that helps."""
        evaluation, pod, engine = choice.evaluation, attempt.pod, self._components.engine
        carry_out(evaluation, pod, self._components.cluster, self._components.audit)
        calls = engine.calls(attempt.profile, attempt.budget)
        # Extenders take part only if a private copy was evaluated, and nothing waits for them.
        with engine.state.lock if evaluation.cluster is engine.state else nullcontext():
            start = mix64(attempt.item.attempts, pod.metadata.uid)
            sought = seek_room(evaluation, calls, start)
        if sought.room is not None:
            candidate = sought.room.candidate
            self._components.preemptions.start_preemption(
                Preemptor(pod, (pod,)),
                candidate.node_name,
                candidate.victims,
                sought.room.plugin,
                lambda: self.queue.activate_pods([pod]),
            )
        return rejected_by_nodes(choice, sought.nominated)

    def _undecided(self, attempt: Attempt, failure: SchedulingFailure) -> None:
        """Handle a pod without a node; how long it took decides when it is tried again at the earliest."""
        rejection = replace(failure.rejection, pause=attempt.budget.pause())
        self._components.failures.handle_failure(attempt, replace(failure, rejection=rejection))
