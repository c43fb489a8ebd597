"""The scheduler: takes the next pod, finds its node, binds it. Mirrors ``schedule_one.go``."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from mooring.framework import Clock, ClusterApi, Code, Pod, PodsToActivate, Status
from mooring.framework.errors import DeadlineExceededError, MooringError
from mooring.framework.handle import Leadership
from mooring.framework.interface import PreemptingPlugin
from mooring.runtime.commit.binding_cycle import Expect
from mooring.runtime.commit.committer import Committer
from mooring.runtime.commit.reservations import Reservation
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.choice import Choice
from mooring.runtime.cycle.post_filter import preempt
from mooring.runtime.cycle.tie_break import choose, mix64
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Enabled, Profile
from mooring.scheduler.budget import AttemptBudget
from mooring.scheduler.changes import POD_LEFT, ChangeFeed
from mooring.scheduler.failure import (
    FailureHandler,
    SchedulingFailure,
    failed,
    overran,
    rejected_by_nodes,
    rejected_by_plugin,
)
from mooring.scheduler.preemption import Preemptions, carry_out
from mooring.scheduler.queue import QueuedPod, Rejection, SchedulingQueue
from mooring.scheduler.recorder import EventNote, EventRecorder
from mooring.scheduler.stopping import StoppedError, UntilStopped
from mooring.telemetry.scheduler_observer import SchedulerObserver

log = logging.getLogger(__name__)

STANDBY_SECONDS = 0.1
"""Seconds between two checks of a replica that doesn't lead whether it does."""

LONGEST_DECISION_SECONDS = 60.0
"""When a decision lasts longer, only a restart helps: its plugin doesn't look at the clock."""

LAST_EVENTS_SECONDS = 2.0
"""Seconds that the last Events may take to be written."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of the scheduler.

    Attributes:
        engine: Decides.
        profiles: By name, the profiles that it decides with: without PreEnqueue, which the queue has run.
        committer: Commits what was decided.
        queue: The pods that wait.
        changes: Passes the state's changes on to the queue.
        failures: What happens to pods that got no node.
        preemptions: Evicts victims.
        cluster: Where proposed changes are made.
        expect: Called for pods that have a node and are not bound at once; None = not needed.
        recorder: Writes Events about it.
        leadership: Whether anything may be committed.
        observer: Records measurements.
        clock: The time.
        attempt_seconds: What one attempt may take, see ``AttemptBudget``.
    """

    engine: Engine
    profiles: Mapping[str, Profile]
    committer: Committer
    queue: SchedulingQueue
    changes: ChangeFeed
    failures: FailureHandler
    preemptions: Preemptions
    cluster: ClusterApi
    expect: Expect | None
    recorder: EventRecorder
    leadership: Leadership
    observer: SchedulerObserver
    clock: Clock
    attempt_seconds: float


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One pod's attempt: which, with what, since when on the monotonic clock, and where it is."""

    item: QueuedPod
    pod: Pod
    profile: Profile
    began: float
    budget: AttemptBudget


class Wake:
    """Wakes the thread that decides. Safe from any thread, never blocks for long."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """There may be something to do."""
        if not self._event.is_set():
            self._event.set()

    def clear(self) -> None:
        """Everything that there was to do is about to be looked at."""
        self._event.clear()

    def wait(self, seconds: float) -> None:
        """Until there is something to do, or the time is over."""
        self._event.wait(seconds)


class Scheduler:
    """One thread decides, pod by pod; others bind.

    Args:
        parts: Its parts.
        wake: Wakes the thread that decides.
        binders: How many pods are bound at a time.
    """

    def __init__(self, parts: Parts, wake: Wake, binders: int) -> None:
        self.queue = parts.queue
        self._parts = parts
        self._wake = wake
        self._stopping = threading.Event()
        self._binders = ThreadPoolExecutor(binders, thread_name_prefix="binder")
        self._waiters: set[threading.Thread] = set()
        self._deciding: _Attempt | None = None

    def schedule_until_stopped(self) -> None:
        """Schedule until ``stop``; the calling thread decides."""
        self._parts.recorder.start()
        while not self._stopping.is_set():
            self._wake.clear()
            if (pause := self.try_next_pod()) > 0:
                self._wake.wait(pause)

    def stop(self) -> None:
        """Take no more pods. Any thread."""
        self._stopping.set()
        self._wake.set()

    def finish_bindings(self) -> None:
        """Give back what is not sent, finish the rest, write the Events. After ``schedule_until_stopped``."""
        for waiter in tuple(self._waiters):
            waiter.join()
        self._binders.shutdown(wait=True)
        self._parts.preemptions.stop()
        self._parts.failures.statuses.stop()
        self._parts.recorder.stop(LAST_EVENTS_SECONDS)

    def fault(self) -> str:
        """Return why only a restart helps: a decision has lasted for a minute; "" otherwise. Any thread."""
        attempt = self._deciding
        if attempt is None:
            return ""
        seconds = self._parts.clock.monotonic() - attempt.began
        if seconds <= LONGEST_DECISION_SECONDS:
            return ""
        where = f"plugin {attempt.budget.plugin}" if attempt.budget.plugin else "mooring itself"
        return f"the decision about pod {attempt.pod.key} has lasted {seconds:.0f} s, in {where}"

    def try_next_pod(self) -> float:
        """Tell the queue what changed and try one pod.

        Returns:
            After how many seconds to come again, when nothing wakes the scheduler before; 0 = at once.
        """
        parts = self._parts
        parts.changes.tell_queue()
        pause = parts.queue.move_due_pods()
        if not parts.leadership.is_leader():
            return min(pause, STANDBY_SECONDS)
        item = parts.queue.pop_pod()
        if item is None:
            return pause
        profile = parts.profiles[item.pod.spec.scheduler_name]
        budget = AttemptBudget(parts.attempt_seconds)
        attempt = self._deciding = _Attempt(item, item.pod, profile, parts.clock.monotonic(), budget)
        try:
            if not self._left_alone(item):
                self._schedule(attempt)
        except DeadlineExceededError as error:
            parts.observer.overran(error.metadata["plugin"], error.metadata["extension_point"])
            self._undecided(attempt, overran(error))
        except MooringError as error:
            self._undecided(attempt, failed(error))
        except Exception as error:
            log.exception("trying pod %s", item.pod.key)
            self._undecided(attempt, failed(error))
        finally:
            self._deciding = None
        return 0.0

    def _left_alone(self, item: QueuedPod) -> bool:
        """Return whether the pod needs no node from here: it leaves, has one, or is being bound."""
        parts, pod = self._parts, item.pod
        record = parts.engine.state.snapshot.pods.get(item.uid)
        if record is not None and record.assumed:
            # What became of its binding isn't known yet.
            parts.queue.give_back(item, Rejection())
            return True
        if pod.metadata.deletion_timestamp:
            note = f"skip schedule deleting pod: {pod.key}"
            parts.recorder.record_event(EventNote(pod, "Warning", "FailedScheduling", "Scheduling", note))
        elif record is not None and not record.pod.spec.node_name:
            return False
        parts.queue.end_attempt(item.uid)
        return True

    def _schedule(self, attempt: _Attempt) -> None:
        """Run the scheduling cycle; the binding cycle goes on in a thread of its own."""
        parts = self._parts
        placement = parts.committer.begin_placing(
            attempt.pod, attempt.profile, ALL_NODES, progress=attempt.budget
        )
        reservation = placement.reservation
        if reservation is not None:
            self._begin_binding(attempt, placement.choice, reservation)
        elif placement.committed is not None:
            self._undecided(attempt, rejected_by_plugin(placement.committed.status))
        else:
            self._undecided(attempt, self._no_node(attempt, placement.choice))

    def _begin_binding(self, attempt: _Attempt, choice: Choice, reservation: Reservation) -> None:
        """Bind in a thread; a pod that has to wait first gets one of its own, so that it delays no other."""
        counts = choice.evaluated, choice.feasible
        others = reservation.commit.cycle_state.get(PodsToActivate, PodsToActivate)
        if others is not None:
            self._parts.queue.activate_pods(others.pods)
        if not self._parts.engine.profiles.waiting.waits(attempt.item.uid):
            # Events that happen from now on can't help a pod that has its node.
            self._parts.queue.end_attempt(attempt.item.uid)
            self._binders.submit(self._bind, attempt, reservation, counts)
            return
        waiter = threading.Thread(target=self._wait_and_bind, args=(attempt, reservation, counts))
        self._waiters.add(waiter)
        waiter.start()

    def _wait_and_bind(self, attempt: _Attempt, reservation: Reservation, counts: tuple[int, int]) -> None:
        try:
            self._bind(attempt, reservation, counts)
        finally:
            self._waiters.discard(threading.current_thread())

    def _bind(self, attempt: _Attempt, reservation: Reservation, counts: tuple[int, int]) -> None:
        """Run the binding cycle."""
        parts, pod = self._parts, attempt.pod
        parts.failures.statuses.wait_until_written(pod)
        try:
            status = parts.committer.finish_binding(
                reservation, UntilStopped(self._stopping), parts.expect
            ).status
        except StoppedError:
            # Its place is free again; whoever schedules next finds the pod as it was.
            return
        except MooringError as error:
            self._binding_failed(attempt, failed(error))
            return
        except Exception as error:
            log.exception("binding pod %s to node %s", pod.key, reservation.commit.node_name)
            self._binding_failed(attempt, failed(error))
            return
        if not status.ok:
            self._binding_failed(attempt, rejected_by_plugin(status))
            return
        node_name = reservation.commit.node_name
        log.info(
            '"Successfully bound pod to node" pod="%s" node="%s" evaluatedNodes=%d feasibleNodes=%d',
            pod.key,
            node_name,
            *counts,
        )
        parts.queue.end_attempt(attempt.item.uid)
        parts.recorder.record_event(
            EventNote(
                pod, "Normal", "Scheduled", "Binding", f"Successfully assigned {pod.key} to {node_name}"
            )
        )
        item = attempt.item
        parts.observer.attempted("scheduled", attempt.profile.name, parts.clock.monotonic() - attempt.began)
        parts.observer.scheduled(item.attempts, parts.clock.now() - (item.first_attempt_at or item.queued_at))

    def _binding_failed(self, attempt: _Attempt, failure: SchedulingFailure) -> None:
        """Handle a failed binding: the place is free again; after a rejection, for others only."""
        move = self._parts.queue.move_pods
        if not failure.rejected:
            move(POD_LEFT, attempt.pod, None)
            self._fail(attempt, failure)
            return
        self._fail(attempt, failure)
        uid = attempt.item.uid
        move(POD_LEFT, attempt.pod, None, lambda other: other.metadata.uid != uid)

    def _no_node(self, attempt: _Attempt, choice: Choice) -> SchedulingFailure:
        """Return why no node takes the pod, and make room where that helps."""
        evaluation, pod = choice.evaluation, attempt.pod
        carry_out(evaluation, self._parts.cluster)
        preempting = _preempting(attempt.profile)
        helps = evaluation.post_filter.ok or pod.status.nominated_node_name
        if preempting is None or not len(evaluation.rows) or not helps:
            return rejected_by_nodes(evaluation)
        engine = self._parts.engine
        calls = engine.calls(attempt.profile, attempt.budget)
        # Extenders take part only where a private copy was evaluated, and nothing waits for them.
        with engine.state.lock if evaluation.cluster is engine.state else nullcontext():
            found = preempt(evaluation, calls, None, mix64(attempt.item.attempts, pod.metadata.uid))
        if not found.best:
            evaluation.post_filter = _in_the_end(evaluation.post_filter, found.status)
            return rejected_by_nodes(evaluation, "" if found.eligible else None)
        node_name = found.best[choose(0, pod.metadata.uid, len(found.best))]
        candidate = next(entry for entry in found.candidates if entry.node_name == node_name)
        evaluation.room_is_made = preempting.plugin.announce(candidate)
        self._parts.preemptions.start_preemption(
            pod, candidate, preempting.name, lambda: self.queue.activate_pods([pod])
        )
        return rejected_by_nodes(evaluation, node_name)

    def _undecided(self, attempt: _Attempt, failure: SchedulingFailure) -> None:
        """Handle a pod without a node; how long it took decides when it is tried again at the earliest."""
        rejection = replace(failure.rejection, pause=attempt.budget.pause())
        self._fail(attempt, replace(failure, rejection=rejection))

    def _fail(self, attempt: _Attempt, failure: SchedulingFailure) -> None:
        parts = self._parts
        parts.observer.attempted(
            failure.result, attempt.profile.name, parts.clock.monotonic() - attempt.began
        )
        parts.failures.handle_failure(attempt.item, failure)


def _in_the_end(verdict: Status, preemption: Status) -> Status:
    """Return PostFilter's message once the extenders were called, too; an error stands alone."""
    if not verdict.ok or preemption.ok:
        return verdict
    before = () if preemption.code is Code.ERROR else verdict.reasons
    return replace(preemption, reasons=(*before, *preemption.reasons))


def _preempting(profile: Profile) -> Enabled[PreemptingPlugin[Any]] | None:
    """Return the profile's plugin that preempts, if it has one."""
    for entry in profile.post_filter:
        if isinstance(entry.plugin, PreemptingPlugin):
            return Enabled(entry.name, entry.plugin)
    return None
