"""The scheduling queue: which pod or group is tried next, and when one that was rejected is tried again.

Mirrors ``backend/queue/scheduling_queue.go``.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mooring.decisions.listed_pod import ListedPod
from mooring.framework import Clock, ClusterEvent, ObjectChange, Pod, Status
from mooring.framework.cluster_events import StateChange
from mooring.framework.objects import PodGroup
from mooring.framework.releases import NEWEST, Gates
from mooring.scheduler.queue.backoff import BackoffTimes
from mooring.scheduler.queue.cluster_events import events_of, is_placement
from mooring.scheduler.queue.gathering import Gathering
from mooring.scheduler.queue.heap import Order
from mooring.scheduler.queue.hints import WILDCARD, QueueingRules, Strategy
from mooring.scheduler.queue.in_flight import InFlight
from mooring.scheduler.queue.listing import list_pods
from mooring.scheduler.queue.moving import Mover
from mooring.scheduler.queue.queued_group import GroupKey, QueuedGroup
from mooring.scheduler.queue.queued_pod import QueuedEntity, QueuedPod, Rejection
from mooring.scheduler.queue.sub_queues import Incoming, SubQueues

LONGEST_WAIT_SECONDS = 300.0
"""A rejected pod that no event helped is tried again after this time, by default."""

BACKOFF_FLUSH_SECONDS = 1.0
UNSCHEDULABLE_FLUSH_SECONDS = 30.0


def _unheard(queue: str, event: str, kind: str, pods: int) -> None:
    """Count nothing."""


# Why a pod came to a place of the queue, as metrics and logs spell it: the labels in ``framework/events.go``.
ADDED = "UnschedulablePodAdd"
UPDATED = "UnschedulablePodUpdate"
ATTEMPT_FAILED = "ScheduleAttemptFailure"
BACKOFF_COMPLETE = "BackoffComplete"
POPPED_FROM_BACKOFF = "PopFromBackoffQ"
FORCED = "ForceActivate"
RECONFIGURED = "ConfigurationReload"


class SchedulingQueue:
    """The pending pods and groups, by UID, in four parts. Safe from any thread; no method blocks.

    *Active* pods are tried as soon as possible, in the order of the profiles' QueueSort plugin. Pods that
    were rejected or failed back off for a while. Unschedulable ones wait for an event that one of the
    plugins which rejected them says may help. Gated ones are held back by a PreEnqueue plugin.

    With the feature gate GenericWorkload the pods of a group are one entity: they are popped together, and
    one gated pod holds back all. A pod whose group isn't known is *incomplete* until it is; one that comes,
    or comes back, while its group is being tried is *pending* until that is over. A group that was rejected
    waits for no event: it backs off and is tried again.

    Args:
        order: That of active pods.
        wake: Called, under the queue's lock, when there is a pod to try.
        incoming: Counts the pods added to each part of the queue.
        longest_wait: Seconds after which a rejected pod that no event helped is tried again.
    """

    def __init__(
        self,
        rules: Mapping[str, QueueingRules],
        order: Order,
        clock: Clock,
        *,
        times: BackoffTimes | None = None,
        gates: Gates | None = None,
        wake: Callable[[], None] = lambda: None,
        incoming: Incoming = _unheard,
        longest_wait: float = LONGEST_WAIT_SECONDS,
    ) -> None:
        self._rules = dict(rules)
        self._order = order
        self._clock = clock
        self._gates = gates or Gates(NEWEST)
        self._longest_wait = longest_wait
        self._wake = wake
        self._lock = threading.RLock()
        self._incoming = incoming
        self._sub_queues = SubQueues(
            self._rules, order, clock, times or BackoffTimes(), wake, incoming, self._gates.version
        )
        self._in_flight = InFlight()
        self._mover = Mover(self._rules, self._sub_queues, self._in_flight, self._gates)
        self._gathering = Gathering(self._sub_queues, clock, self._gates)
        now = clock.now()
        self._next_backoff_flush = math.floor(now) + BACKOFF_FLUSH_SECONDS
        self._next_unschedulable_flush = now

    def __len__(self) -> int:
        """Return how many pods that are alone, and groups, wait to be tried."""
        with self._lock:
            return len(self._sub_queues)

    def is_relevant(self, change: StateChange) -> bool:
        """Return whether a change may move anything: a pod was rejected, or is gated. Waits for no lock.

        A bound pod, which is most changes of a busy cluster, moves only pods whose plugins
        registered for that.
        """
        if not len(self._sub_queues.unschedulable):
            return False
        return not is_placement(change) or self._mover.placements_are_relevant()

    def follows(self, change: StateChange) -> bool:
        """Return whether ``move_pods`` would do anything for a change."""
        # In this order, since what fails leaves the flight after it has come to its place.
        return len(self._in_flight) > 0 or self.is_relevant(change)

    def ignores(self, change: StateChange) -> bool:
        """Return whether a change leaves the queue as it is: a pod got its node, and is not queued, and no
        other waits for that.

        Most changes of a busy cluster are, and reporting one takes a tenth of a decision's calls.
        """
        if not is_placement(change):
            return False
        record = change.record
        with self._lock:
            alone = record.kind.base.template.group is None
            return alone and record.uid not in self._sub_queues and not self.follows(change)

    def add_pod(self, pod: Pod) -> None:
        """Add a new pod."""
        with self._lock:
            self._gathering.add_pod(QueuedPod(pod, queued_at=self._clock.now()), ADDED)

    def update_pod(self, old: Pod, new: Pod) -> None:
        """Take in a change of the pod, which may become schedulable by that."""
        change = ObjectChange("Pod", old, new)
        with self._lock:
            complete = self._gathering.is_complete(new)
            if complete and new.metadata.uid in self._in_flight:
                for event in events_of(change, self._gates):
                    self._in_flight.note_event(event, old, new)
                return
            entity = self._sub_queues.get(self._gathering.entity_uid(new))
            if entity is not None and _took_in(entity, new):
                if not self._sub_queues.reorder(entity):
                    self._mover.reconsider(entity, change)
            elif (item := self._gathering.find(new)) is not None:
                item.pod = new
            elif complete:
                self._gathering.add_pod(QueuedPod(new, queued_at=self._clock.now()), UPDATED)

    def delete_pod(self, pod: Pod) -> None:
        """Delete a pod that is gone, or got its node."""
        with self._lock:
            self._gathering.remove_pod(pod, ADDED)

    def add_group(self, group: PodGroup) -> None:
        """Take in a group that is new, or is now like this; its pods need to wait for it no longer."""
        with self._lock:
            self._gathering.add_group(group, ADDED)

    def delete_group(self, group: PodGroup) -> None:
        """Forget a group that is gone; its pods wait until there is one of that name again."""
        with self._lock:
            self._gathering.remove_group(group)

    def put_groups_first(self, begun: Callable[[GroupKey], bool]) -> None:
        """Let groups for which ``begun`` is true be tried at once, before others of their priority."""
        with self._lock:
            self._gathering.put_first(begun, FORCED)

    def pop(self) -> QueuedEntity | None:
        """Return what to try next, its pods in flight from now on; None when there is nothing.

        When nothing is active, a pod is taken whose backoff has not ended yet.
        """
        with self._lock:
            while True:
                entity = self._sub_queues.active.pop()
                if entity is None:
                    entity = self._sub_queues.backoff.pop_early()
                    if entity is None:
                        return None
                    self._incoming("active", POPPED_FROM_BACKOFF, entity.kind, len(entity.members))
                if self._begin_attempt(entity):
                    return entity

    def pop_more(self, wanted: Callable[[QueuedPod], bool], most: int) -> list[QueuedPod]:
        """Return the active pods that come next, in flight from now on, up to one that is not ``wanted``."""
        with self._lock:
            active, taken = self._sub_queues.active, list[QueuedPod]()
            while len(taken) < most and isinstance(item := active.first(), QueuedPod) and wanted(item):
                active.pop_first()
                if self._begin_attempt(item):
                    taken.append(item)
            return taken

    def put_back(self, items: Sequence[QueuedPod]) -> None:
        """Undo the pops of the last pods, in this order, before the popping thread reports them."""
        with self._lock:
            for item in reversed(items):
                item.attempts -= 1
                self._in_flight.end_attempt(item.uid)
                self._sub_queues.active.put_back(item)

    def give_back(self, item: QueuedPod, rejection: Rejection) -> None:
        """Take back a popped pod that got no node: it waits for an event, or backs off after an error.

        Events since it was taken count as if they came now. A pod of a group goes back to its group, whose
        backoff is its own. Does nothing when the pod is queued again.
        """
        with self._lock:
            if not self._gathering.has(item.pod):
                item.rejected_by = rejection
                item.count_end(rejected=bool(item.rejectors))
                item.wait_from(self._clock.now())
                if self._gathering.group_of(item.pod) is None:
                    self._sub_queues.place(item, self._mover.strategy_since(item), ATTEMPT_FAILED)
                else:
                    self._in_flight.end_attempt(item.uid)
                    self._gathering.add_pod(item, ATTEMPT_FAILED)
            self._in_flight.end_attempt(item.uid)
            # An event while nothing waited woke no pod, and may help this one.
            self._wake()

    def end_attempt(self, *uids: str) -> None:
        """End the attempt of popped pods that do not come back."""
        with self._lock:
            self._in_flight.end_attempt(*uids)

    def end_group_attempt(self, group: QueuedGroup, status: Status, pause: float = 0.0) -> None:
        """End the attempt of a popped group, after each of its pods was given back, ended or is being bound.

        What has no node waits with the group: for the next attempt at once after Success, with its turn if
        pods of this attempt are among it; else until the group's backoff is over. ``status`` is Success, a
        rejection or an error; ``pause`` is as in ``Rejection``.
        """
        with self._lock:
            self._gathering.end_attempt(group, status, pause, ATTEMPT_FAILED)

    def move_pods(
        self,
        event: ClusterEvent,
        old: Any,
        new: Any,
        only: Callable[[Pod], bool] | None = None,
    ) -> None:
        """Move the pods that an event may help, so that they are tried again. The object is new without an
        ``old`` one, and gone without a ``new`` one. ``only`` says which pods the event concerns; None = all.
        """
        with self._lock:
            self._mover.move_interested(event, old, new, only)

    def replace_rules(self, rules: Mapping[str, QueueingRules]) -> None:
        """Follow other rules of the same profiles; whatever was rejected or gated is tried again."""
        with self._lock:
            self._rules.update(rules)
            self._mover.follow_rules()
            for entity in [*self._sub_queues.unschedulable]:
                self._sub_queues.place(entity, Strategy.AFTER_BACKOFF, RECONFIGURED)
            self._in_flight.note_event(WILDCARD, None, None)

    def activate_pods(self, pods: Iterable[Pod]) -> None:
        """Try these pods again at once, whatever they wait for."""
        with self._lock:
            for pod in pods:
                uid = self._gathering.entity_uid(pod)
                backing_off = self._sub_queues.backoff.remove(uid)
                entity = backing_off or self._sub_queues.unschedulable.get(uid)
                if entity is not None:
                    self._sub_queues.activate(entity, FORCED, gates_asked=backing_off is not None)
                elif pod.metadata.uid in self._in_flight:
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
            for item in self._sub_queues.backoff.pop_completed():
                self._sub_queues.activate(item, BACKOFF_COMPLETE, gates_asked=True)

    def flush_unschedulable(self) -> None:
        """Try the pods again that have waited for too long."""
        with self._lock:
            self._mover.move_late(self._clock.now(), self._longest_wait)

    def count_pods(self) -> dict[str, int]:
        """Return how many pods are active, in backoff, unschedulable, gated, incomplete and pending."""
        with self._lock:
            return {**self._sub_queues.count_pods(), **self._gathering.count_pods()}

    def count_entities(self) -> dict[tuple[str, str], int]:
        """Return how many pods that are alone, and groups, are in which place: by (place, kind)."""
        with self._lock:
            return self._sub_queues.count_entities()

    def oldest_active(self) -> float:
        """Return for how many seconds the active pod waits that has waited longest; 0 without one."""
        with self._lock:
            return self._sub_queues.oldest_active()

    def list_pods(self) -> list[ListedPod]:
        """Return the pods that wait: by place, the active ones in the order in which they are tried."""
        with self._lock:
            waiting = list(self._sub_queues.placed())
        wait = self._longest_wait
        return list_pods(
            waiting, self._rules, self._order, lambda entity: self._mover.waits_since(entity) + wait
        )

    def in_flight(self) -> tuple[int, int]:
        """Return how many pods are in flight, and how many events are remembered for them."""
        with self._lock:
            return len(self._in_flight), self._in_flight.remembered

    def count_rejections(self) -> Counter[tuple[str, str]]:
        """Return how many waiting pods each (plugin, profile) rejected."""
        with self._lock:
            items = [item for entity in self._sub_queues for item in entity.members]
            return Counter(
                (name, item.pod.spec.scheduler_name)
                for item in (*items, *self._gathering)
                for name in item.rejectors
            )

    def count_causes(self) -> Counter[tuple[str, str, str]]:
        """Return how many waiting pods have a reason of each (plugin, code, profile)."""
        with self._lock:
            items = [item for entity in self._sub_queues for item in entity.members]
            return Counter(
                (*cause, item.pod.spec.scheduler_name)
                for item in (*items, *self._gathering)
                for cause in item.rejected_by.causes
            )

    def _begin_attempt(self, entity: QueuedEntity) -> bool:
        """Put the taken pods in flight; False when all its pods are already, which then are not tried."""
        entity.attempts += 1
        if isinstance(entity, QueuedPod):
            begun = self._in_flight.begin_attempt(entity.uid)
        else:
            assert isinstance(entity, QueuedGroup)  # noqa: S101 - there is no other kind
            for item in tuple(entity.members):
                item.attempts += 1
                if not self._in_flight.begin_attempt(item.uid):
                    entity.remove_pod(item.uid)
            begun = bool(entity.members)
        if begun:
            self._gathering.tried = entity.uid
        return begun


def _took_in(entity: QueuedEntity, pod: Pod) -> bool:
    """Return whether it is one of the entity's pods; the entity has it as it is now then."""
    for item in entity.members:
        if item.uid == pod.metadata.uid:
            item.pod = pod
            return True
    return False
