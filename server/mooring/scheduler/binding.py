"""Binds pods that have their place, in other threads. Mirrors ``runBindingCycle`` in ``schedule_one.go``."""

from __future__ import annotations

import logging
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from mooring.framework import Pod
from mooring.framework.errors import MooringError
from mooring.runtime.commit.reservations import Reservation
from mooring.runtime.cycle.choice import Choice
from mooring.scheduler.attempt import Attempt
from mooring.scheduler.changes import POD_LEFT
from mooring.scheduler.parts import Parts
from mooring.scheduler.recorder import EventNote
from mooring.scheduler.scheduling_failure import SchedulingFailure, failed, rejected_by_plugin
from mooring.scheduler.stopping import StoppedError, UntilStopped
from mooring.tracing.spans import in_child

BINDING_CYCLE = "bindingCycle"
"""The span of a binding cycle, a child of the attempt's."""

log = logging.getLogger(__name__)

Counts = tuple[int, int]
"""How many nodes were evaluated for a pod, and how many of them were feasible."""


class Binders:
    """Binds several pods at a time; a pod that has to wait first gets a thread of its own.

    Args:
        parts: The parts of the scheduler.
        count: How many pods are bound at a time.
        stopping: Set when nothing new should begin.
    """

    def __init__(self, parts: Parts, count: int, stopping: threading.Event) -> None:
        self._parts = parts
        self._waiting = parts.engine.profiles.waiting
        self._stopping = stopping
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="binder")
        self._waiters: set[threading.Thread] = set()

    def finish(self) -> None:
        """Give back what is not sent, and finish the rest."""
        for waiter in tuple(self._waiters):
            waiter.join()
        self._pool.shutdown(wait=True)

    def begin_binding(self, attempt: Attempt, reservation: Reservation, choice: Choice) -> None:
        """Bind a pod that has its place by ``choice`` and passed Permit, or waits there."""
        self._parts.attempts.selected(attempt, choice)
        counts = choice.evaluated, choice.feasible
        if not self._waits(attempt.item.uid):
            # Events that happen from now on can't help a pod that has its node.
            self._parts.queue.end_attempt(attempt.item.uid)
            self._pool.submit(in_child(BINDING_CYCLE, self._bind), attempt, reservation, counts)
            return
        bind = in_child(BINDING_CYCLE, self._wait_and_bind)
        waiter = threading.Thread(target=bind, args=(attempt, reservation, counts))
        self._waiters.add(waiter)
        waiter.start()

    def _wait_and_bind(self, attempt: Attempt, reservation: Reservation, counts: Counts) -> None:
        try:
            self._bind(attempt, reservation, counts)
        finally:
            self._waiters.discard(threading.current_thread())

    def _bind(self, attempt: Attempt, reservation: Reservation, counts: Counts) -> None:
        """Run the binding cycle."""
        parts, pod, node_name = self._parts, attempt.pod, reservation.commit.node_name
        parts.failures.statuses.wait_until_written(pod)
        try:
            status = parts.committer.finish_binding(reservation, self._progress(pod), parts.expect).status
        except StoppedError:
            # Its place is free again; whoever schedules next finds the pod as it was.
            return
        except MooringError as error:
            self._failed(attempt, replace(failed(error), node=node_name))
            return
        except Exception as error:
            log.exception("binding pod %s to node %s", pod.key, node_name)
            self._failed(attempt, replace(failed(error), node=node_name))
            return
        if status.ok:
            self._bound(attempt, node_name, counts)
        else:
            self._failed(attempt, rejected_by_plugin(status, node_name))

    def _progress(self, pod: Pod) -> UntilStopped:
        """Return what ends a binding early: of a pod in a group, only while it waits at Permit.

        Then it is bound also when the scheduler stops, since others of its group may be bound by then.
        """
        if pod.group is None:
            return UntilStopped(self._stopping)
        return UntilStopped(self._stopping, partial(self._waits, pod.metadata.uid))

    def _waits(self, uid: str) -> bool:
        """Return whether the pod waits at Permit, and nothing was said of it yet."""
        return math.isfinite(self._waiting.end(uid))

    def _bound(self, attempt: Attempt, node_name: str, counts: Counts) -> None:
        parts, pod, item = self._parts, attempt.pod, attempt.item
        log.info(
            '"Successfully bound pod to node" pod="%s" node="%s" evaluatedNodes=%d feasibleNodes=%d',
            pod.key,
            node_name,
            *counts,
        )
        parts.queue.end_attempt(item.uid)
        note = f"Successfully assigned {pod.key} to {node_name}"
        parts.recorder.record_event(EventNote(pod, "Normal", "Scheduled", "Binding", note))
        parts.observer.attempted("scheduled", attempt.profile.name, parts.clock.monotonic() - attempt.began)
        parts.observer.scheduled(item.attempts, parts.clock.now() - (item.first_attempt_at or item.queued_at))

    def _failed(self, attempt: Attempt, failure: SchedulingFailure) -> None:
        """Handle a failed binding: the place is free again; after a rejection, for others only."""
        parts = self._parts
        if not failure.rejected:
            parts.queue.move_pods(POD_LEFT, attempt.pod, None)
            parts.failures.handle_failure(attempt, failure)
            return
        parts.failures.handle_failure(attempt, failure)
        uid = attempt.item.uid
        parts.queue.move_pods(POD_LEFT, attempt.pod, None, lambda other: other.metadata.uid != uid)
