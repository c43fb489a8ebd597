"""Binds pods that have their place, in other threads. Mirrors ``runBindingCycle`` in ``schedule_one.go``.

Unsent bindings are given back when the scheduler stops.
"""

from __future__ import annotations

import logging
import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import NoReturn

import msgspec

from mooring.audit.event import OK, OWN, AuditedPod, AuditEvent, AuditKind
from mooring.decisions.records import Record
from mooring.framework import BindOutcome, Pod
from mooring.framework.errors import MooringError
from mooring.framework.handle import BindingAnswer
from mooring.runtime.answers import Choice
from mooring.runtime.commit.extension_points import Committed
from mooring.runtime.commit.placement import PlacedPod
from mooring.runtime.commit.reservations import Reservation
from mooring.scheduler.attempt import Attempt
from mooring.scheduler.components import Components
from mooring.scheduler.queue.cluster_events import POD_LEFT
from mooring.scheduler.recorder import EventNote
from mooring.scheduler.scheduling_failure import SchedulingFailure, failed, rejected_by_plugin
from mooring.tracing.spans import Entered, Span, current_span, in_child


class StoppedError(Exception):
    """The scheduler is stopping: nothing new begins."""


def always() -> bool:
    """Return True."""
    return True


@dataclass(slots=True)
class UntilStopped:
    """Implements ``Progress`` for a binding cycle: it goes on until ``stopping`` is set.

    Attributes:
        stopping: Set when nothing new should begin.
        may_end: Whether the binding may still be given up.
        answered_by: Stays empty: nothing is decided in a binding cycle.
    """

    stopping: threading.Event
    may_end: Callable[[], bool] = always
    plugin: str = ""
    extension_point: str = ""
    answered_by: str = ""
    may_call_plugins = True

    def check(self) -> None:
        """Go on only before the end. Raises StoppedError if it has come."""
        if self.stopping.is_set() and self.may_end():
            raise StoppedError


BINDING_CYCLE = "bindingCycle"
"""The span of a binding cycle, a child of the attempt's."""

log = logging.getLogger(__name__)

BOUND = logging.INFO - 2
"""kube-scheduler's level for logging bound pods: a line takes a tenth of a pod's time."""

Counts = tuple[int, int]
"""How many nodes were evaluated for a pod, and how many of them were feasible."""


class PlacedAttempt(msgspec.Struct, frozen=True):
    """A pod that got its place together with others."""

    attempt: Attempt
    placed: PlacedPod


class _Binding(msgspec.Struct, frozen=True):
    """A pod that has its place. ``counts`` are the numbers of its nodes."""

    attempt: Attempt
    reservation: Reservation
    counts: Counts
    record: Record | None
    span: Span | None


class Binders:
    """Binds several pods at a time; a pod that has to wait first gets a thread of its own.

    If no plugin runs between a pod's decision and its binding, any free thread sends the binding, even the
    one that decides, and the thread that reads the API server's answers ends it.
    Everything else is for threads that may wait.

    Args:
        count: How many pods are bound at a time.
        stopping: Set when nothing new should begin.
    """

    def __init__(self, components: Components, count: int, stopping: threading.Event) -> None:
        self._components = components
        self._waiting = components.engine.profiles.waiting
        self._stopping = stopping
        self._count = count
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="binder")
        self._waiters: set[threading.Thread] = set()
        self._lock = threading.Lock()
        self._none_left = threading.Condition(self._lock)
        self._placed: deque[_Binding] = deque()
        self._under_way = 0

    def are_busy(self) -> bool:
        """Return whether pods are being bound."""
        return self._under_way > 0

    def finish(self) -> None:
        """Give back what is not sent, and finish the rest."""
        for waiter in tuple(self._waiters):
            waiter.join()
        with self._lock:
            self._none_left.wait_for(lambda: not (self._under_way or self._placed))
        self._pool.shutdown(wait=True)

    def begin_binding(self, attempt: Attempt, reservation: Reservation, choice: Choice) -> None:
        """Bind a pod that has its place by ``choice`` and passed Permit, or waits there."""
        record = self._components.attempts.selected(attempt, choice)
        counts = choice.evaluated, choice.feasible
        binding = _Binding(attempt, reservation, counts, record, current_span())
        if not self._waits(attempt.item.uid):
            # Events that happen from now on can't help a pod that has its node.
            self._components.queue.end_attempt(attempt.item.uid)
            self._placed.append(binding)
            self._take_turns()
            return
        waiter = threading.Thread(target=in_child(BINDING_CYCLE, self._wait_and_bind), args=(binding,))
        self._waiters.add(waiter)
        waiter.start()

    def begin_bindings(self, placed: Sequence[PlacedAttempt]) -> None:
        """As ``begin_binding``, of pods that don't wait at Permit; the attempts of all have ended."""
        bindings = []
        for one in placed:
            attempt, choice, reservation = one.attempt, one.placed.choice, one.placed.reservation
            if reservation is not None:
                record = self._components.attempts.selected(attempt, choice)
                counts = choice.evaluated, choice.feasible
                bindings.append(_Binding(attempt, reservation, counts, record, None))
        self._components.queue.end_attempt(*[binding.attempt.item.uid for binding in bindings])
        self._placed += bindings
        self._take_turns()

    def _wait_and_bind(self, binding: _Binding) -> None:
        try:
            if self._end(binding, self._bound_by_this_thread(binding)):
                self._components.queue.end_attempt(binding.attempt.item.uid)
        finally:
            self._waiters.discard(threading.current_thread())

    def _take_turns(self) -> None:
        """Begin with the bindings that have a turn."""
        while True:
            with self._lock:
                if not self._placed or self._under_way >= self._count:
                    return
                binding = self._placed.popleft()
                self._under_way += 1
            sender = self._components.sender
            if sender is None or not sender.ready or not self._sent(binding):
                self._pool.submit(self._bind, binding)

    def _end_turn(self) -> None:
        with self._lock:
            self._under_way -= 1
            if not self._under_way:
                self._none_left.notify_all()
        self._take_turns()

    def _sent(self, binding: _Binding) -> bool:
        """Send the binding if nothing has to be waited for; return whether it is taken care of."""
        pod = binding.attempt.item.pod
        if binding.span is not None or self._components.failures.statuses.is_writing(pod):
            return False

        committer, reservation = self._components.committer, binding.reservation

        def ended(answer: BindingAnswer) -> None:
            finish = partial(committer.end_binding, reservation, answer)
            if isinstance(answer, BindOutcome):
                self._finish(binding, finish)
            else:
                self._pool.submit(self._finish, binding, finish)

        try:
            return committer.begin_binding(reservation, self._progress(pod), ended)
        except Exception as error:  # noqa: BLE001 - reported like every other end of a binding
            self._pool.submit(self._finish, binding, partial(_raise, error))
            return True

    def _bind(self, binding: _Binding) -> None:
        """Bind in a thread that may wait."""
        sender = self._components.sender
        if sender is not None and sender.open_ahead() and self._sent(binding):
            return
        with Entered(binding.span and binding.span.begin_child(BINDING_CYCLE)):
            self._finish(binding, self._bound_by_this_thread(binding))

    def _finish(self, binding: _Binding, finish: Callable[[], Committed]) -> None:
        try:
            self._end(binding, finish)
        finally:
            self._end_turn()

    def _bound_by_this_thread(self, binding: _Binding) -> Callable[[], Committed]:
        """Return what runs the binding cycle."""
        components, pod = self._components, binding.attempt.pod

        def bind() -> Committed:
            components.failures.statuses.wait_until_written(pod)
            return components.committer.finish_binding(
                binding.reservation, self._progress(pod), components.expect
            )

        return bind

    def _end(self, binding: _Binding, finish: Callable[[], Committed]) -> bool:
        """Finish the binding cycle, and say how it ended; return whether the pod is bound."""
        attempt, node_name = binding.attempt, binding.reservation.commit.node_name
        try:
            status = finish().status
        except StoppedError:
            # Its place is free again; the next scheduler finds the pod as it was.
            return False
        except Exception as error:  # noqa: BLE001 - a defect is logged
            failure = failed(error, log, f"binding pod {attempt.pod.key} to node {node_name}")
            reason = error.reason if isinstance(error, MooringError) else type(error).__name__
            self._tell(binding, reason, failure.message)
            self._failed(attempt, replace(failure, node=node_name))
            return False
        if not status.ok:
            self._tell(binding, status.code.name, status.message)
            self._failed(attempt, rejected_by_plugin(status, node_name))
            return False
        self._bound(attempt, node_name, binding.counts)
        self._tell(binding)
        return True

    def _tell(self, binding: _Binding, outcome: str = OK, message: str = "") -> None:
        """Record how a binding ended."""
        commit = binding.reservation.commit
        event = AuditEvent(
            kind=AuditKind.COMMIT,
            call="Schedule+Bind",
            who=OWN,
            pods=(AuditedPod.of(commit.pod, commit.node_name),),
            configuration=commit.profile.key,
            outcome=outcome,
            message=message,
        )
        self._components.audit.record(event, binding.record)

    def _progress(self, pod: Pod) -> UntilStopped:
        """Return what ends a binding early: of a pod in a group, only while it waits at Permit.

        Then it is bound also when the scheduler stops, since others of its group may be bound by then.
        """
        if pod.group is None:
            return UntilStopped(self._stopping)
        return UntilStopped(self._stopping, partial(self._waits, pod.metadata.uid))

    def _waits(self, uid: str) -> bool:
        """Return whether the pod waits at Permit without a verdict."""
        return math.isfinite(self._waiting.end(uid))

    def _bound(self, attempt: Attempt, node_name: str, counts: Counts) -> None:
        components, item = self._components, attempt.item
        pod = item.pod
        key = pod.key
        log.log(
            BOUND,
            '"Successfully bound pod to node" pod="%s" node="%s" evaluatedNodes=%d feasibleNodes=%d',
            key,
            node_name,
            *counts,
        )
        note = f"Successfully assigned {key} to {node_name}"
        components.recorder.record_event(EventNote(pod, "Normal", "Scheduled", "Binding", note))
        components.observer.attempted(
            "scheduled", attempt.profile.name, components.clock.monotonic() - attempt.began
        )
        components.observer.scheduled(
            item.attempts, components.clock.now() - (item.first_attempt_at or item.queued_at)
        )

    def _failed(self, attempt: Attempt, failure: SchedulingFailure) -> None:
        """Handle a failed binding: the place is free again; after a rejection, for others only."""
        components = self._components
        if not failure.rejected:
            components.queue.move_pods(POD_LEFT, attempt.pod, None)
            components.failures.handle_failure(attempt, failure)
            return
        components.failures.handle_failure(attempt, failure)
        uid = attempt.item.uid
        components.queue.move_pods(POD_LEFT, attempt.pod, None, lambda other: other.metadata.uid != uid)


def _raise(error: Exception) -> NoReturn:
    raise error
