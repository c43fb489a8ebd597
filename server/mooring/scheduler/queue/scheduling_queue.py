"""The scheduling queue: which pod is tried next, and when one that was rejected is tried again.

Mirrors ``backend/queue/scheduling_queue.go``.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mooring.framework import Clock, ClusterEvent, ObjectChange, Pod
from mooring.framework.releases import NEWEST, Gates
from mooring.scheduler.queue.backoff import BackoffTimes
from mooring.scheduler.queue.cluster_events import events_of, label_of
from mooring.scheduler.queue.heap import Less
from mooring.scheduler.queue.hints import WILDCARD, QueueingRules, Strategy
from mooring.scheduler.queue.in_flight import InFlight
from mooring.scheduler.queue.places import FLUSHED_ONCE_SINCE, Incoming, Places
from mooring.scheduler.queue.queued_pod import QueuedPod, Rejection

LONGEST_WAIT_SECONDS = 300.0
"""A rejected pod that no event helped is tried again after this time, by default."""

BACKOFF_FLUSH_SECONDS = 1.0
UNSCHEDULABLE_FLUSH_SECONDS = 30.0


def _unheard(queue: str, event: str) -> None:
    """Count nothing."""


# Why a pod came to a place of the queue, as metrics and logs spell it: the labels in ``framework/events.go``.
ADDED = "UnschedulablePodAdd"
UPDATED = "UnschedulablePodUpdate"
ATTEMPT_FAILED = "ScheduleAttemptFailure"
BACKOFF_COMPLETE = "BackoffComplete"
POPPED_FROM_BACKOFF = "PopFromBackoffQ"
FORCED = "ForceActivate"
TIMED_OUT = "UnschedulableTimeout"


class SchedulingQueue:
    """The pending pods, by UID, in four parts. Safe from any thread; no method blocks.

    *Active* pods are tried as soon as possible, in the order of the profiles' QueueSort plugin. Pods that
    were rejected or failed back off for a while. Unschedulable ones wait for an event that one of the
    plugins which rejected them says may help. Gated ones are held back by a PreEnqueue plugin.

    Args:
        rules: By scheduler name, the profile's gates and events.
        less: The order of active pods.
        clock: The time.
        times: How long pods back off.
        gates: Which features of which release are on.
        wake: Called, under the queue's lock, when there is a pod to try.
        incoming: Counts the pods added to each part of the queue.
        longest_wait: Seconds after which a rejected pod that no event helped is tried again.
    """

    def __init__(
        self,
        rules: Mapping[str, QueueingRules],
        less: Less,
        clock: Clock,
        *,
        times: BackoffTimes | None = None,
        gates: Gates | None = None,
        wake: Callable[[], None] = lambda: None,
        incoming: Incoming = _unheard,
        longest_wait: float = LONGEST_WAIT_SECONDS,
    ) -> None:
        self._rules = rules
        self._clock = clock
        self._gates = gates or Gates(NEWEST)
        self._incoming = incoming
        self._longest_wait = longest_wait
        self._lock = threading.RLock()
        version = self._gates.version
        self._flushed_once = version >= FLUSHED_ONCE_SINCE
        self._places = Places(rules, less, clock, times or BackoffTimes(), wake, incoming, version)
        self._in_flight = InFlight()
        now = clock.now()
        self._next_backoff_flush = math.floor(now) + BACKOFF_FLUSH_SECONDS
        self._next_unschedulable_flush = now

    def add_pod(self, pod: Pod) -> None:
        """Add a new pod."""
        with self._lock:
            self._places.activate_pod(QueuedPod(pod, self._clock.now()), ADDED)

    def update_pod(self, old: Pod, new: Pod) -> None:
        """Take in a change of the pod, which may become schedulable by that."""
        change = ObjectChange("Pod", old, new)
        with self._lock:
            if new.metadata.uid in self._in_flight:
                for event in events_of(change, self._gates):
                    self._in_flight.note_event(event, old, new)
            elif not self._places.update_ready(new):
                item = self._places.unschedulable.get(new.metadata.uid)
                if item is None:
                    self._places.activate_pod(QueuedPod(new, self._clock.now()), UPDATED)
                else:
                    item.pod = new
                    self._reconsider(item, change)

    def delete_pod(self, uid: str) -> None:
        """Delete a pod that is gone, or got its node."""
        with self._lock:
            self._places.remove_pod(uid)

    def pop_pod(self) -> QueuedPod | None:
        """Return the next pod to try, in flight from now on; None when there is none.

        When no pod is active, one is taken whose backoff has not ended yet.
        """
        with self._lock:
            while True:
                item = self._places.active.pop()
                if item is None:
                    item = self._places.backoff.pop_early()
                    if item is None:
                        return None
                    self._incoming("active", POPPED_FROM_BACKOFF)
                item.attempts += 1
                if self._in_flight.begin_attempt(item.uid):
                    return item

    def give_back(self, item: QueuedPod, rejection: Rejection) -> None:
        """Take back a popped pod that got no node: it waits for an event, or backs off after an error.

        Events since it was taken count as if they came now. Does nothing when the pod is queued again.
        """
        with self._lock:
            uid = item.uid
            if uid not in self._places:
                item.rejected_by = rejection
                if item.rejectors:
                    item.unschedulable_count += 1
                    item.error_count = 0
                else:
                    item.error_count += 1
                item.queued_at = self._clock.now()
                item.backoff_ends = None
                item.flushed, item.flushed_at = False, 0.0
                self._places.place_pod(item, self._strategy_since(item), ATTEMPT_FAILED)
            self._in_flight.end_attempt(uid)

    def end_attempt(self, uid: str) -> None:
        """End the attempt of a popped pod that does not come back."""
        with self._lock:
            self._in_flight.end_attempt(uid)

    def move_pods(
        self,
        event: ClusterEvent,
        old: Any,
        new: Any,
        only: Callable[[Pod], bool] | None = None,
    ) -> None:
        """Move the pods that an event may help, so that they are tried again.

        Args:
            event: What happened.
            old: The object before; None: it is new.
            new: The object after; None: it is gone.
            only: Which pods it concerns; None = all.
        """
        with self._lock:
            interested = {plugin for rules in self._rules.values() for plugin in rules.interested(event)}
            if interested:
                waiting = self._places.unschedulable.rejected_by(interested)
                self._move([item for item in waiting if only is None or only(item.pod)], event, old, new)

    def activate_pods(self, pods: Iterable[Pod]) -> None:
        """Try these pods again at once, whatever they wait for."""
        with self._lock:
            for pod in pods:
                uid = pod.metadata.uid
                backing_off = self._places.backoff.remove(uid)
                item = backing_off or self._places.unschedulable.get(uid)
                if item is not None:
                    self._places.activate_pod(item, FORCED, gates_asked=backing_off is not None)
                elif uid in self._in_flight:
                    self._in_flight.note_event(WILDCARD, None, pod)

    def move_due_pods(self) -> float:
        """Move the pods whose time has come; to be called again after the returned seconds."""
        with self._lock:
            now = self._clock.now()
            if now >= self._next_backoff_flush:
                self._next_backoff_flush = math.floor(now) + BACKOFF_FLUSH_SECONDS
                self.flush_backoff()
            if now >= self._next_unschedulable_flush:
                self._next_unschedulable_flush = now + UNSCHEDULABLE_FLUSH_SECONDS
                self.flush_unschedulable()
            return min(self._next_backoff_flush, self._next_unschedulable_flush) - now

    def flush_backoff(self) -> None:
        """Make the pods active whose backoff is over."""
        with self._lock:
            for item in self._places.backoff.pop_completed():
                self._places.activate_pod(item, BACKOFF_COMPLETE, gates_asked=True)

    def flush_unschedulable(self) -> None:
        """Try the pods again that have waited for too long."""
        with self._lock:
            now = self._clock.now()
            waiting = self._places.unschedulable
            last = _last_tried if self._flushed_once else _last_queued
            late = [item for item in waiting if now - last(item) > self._longest_wait]
            for item in late:
                item.flushed, item.flushed_at = True, now
            if late:
                self._move(late, WILDCARD, None, None)

    def count_pods(self) -> dict[str, int]:
        """Return how many pods are active, in backoff, unschedulable and gated."""
        with self._lock:
            return self._places.count_pods()

    def in_flight(self) -> tuple[int, int]:
        """Return how many pods are in flight, and how many events are remembered for them."""
        with self._lock:
            return len(self._in_flight), self._in_flight.remembered

    def count_rejections(self) -> Counter[tuple[str, str]]:
        """Return how many waiting pods each (plugin, profile) rejected."""
        with self._lock:
            return Counter(
                (name, item.pod.spec.scheduler_name) for item in self._places for name in item.rejectors
            )

    def _rules_of(self, item: QueuedPod) -> QueueingRules:
        return self._rules[item.pod.spec.scheduler_name]

    def _strategy_since(self, item: QueuedPod) -> Strategy:
        """Return what the events since the pod was taken mean for it."""
        if not item.rejectors or item.uid not in self._in_flight:
            return Strategy.AFTER_BACKOFF
        rules = self._rules_of(item)
        answer = Strategy.SKIP
        for happening in self._in_flight.events_since(item.uid):
            found = rules.strategy(item, happening.event, happening.old, happening.new)
            answer = max(answer, found)
            if answer is Strategy.AT_ONCE or (answer and not item.rejected_by.pending):
                break
        return answer

    def _reconsider(self, item: QueuedPod, change: ObjectChange) -> None:
        for event in events_of(change, self._gates):
            strategy = self._rules_of(item).strategy(item, event, change.old, change.new)
            if self._places.place_pod(item, strategy, label_of(event, self._gates.version)):
                return

    def _move(self, items: Iterable[QueuedPod], event: ClusterEvent, old: Any, new: Any) -> None:
        label = TIMED_OUT if event == WILDCARD else label_of(event, self._gates.version)
        for item in items:
            rules = self._rules_of(item)
            asked_anyway = event == WILDCARD and self._flushed_once
            if item.gated_by and not asked_anyway and not rules.gate_listens(item.gated_by, event):
                continue
            strategy = rules.strategy(item, event, old, new)
            if strategy is not Strategy.SKIP:
                self._places.place_pod(item, strategy, label)
        self._in_flight.note_event(event, old, new)


def _last_queued(item: QueuedPod) -> float:
    return item.queued_at


def _last_tried(item: QueuedPod) -> float:
    return max(item.queued_at, item.flushed_at)
