"""The effect of an event on the pods and groups that wait, and on those being tried.

Mirrors ``moveEntitiesToActiveOrBackoffQueue`` and ``determineSchedulingHintForInFlightEntity`` in
``backend/queue/scheduling_queue.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mooring.framework import ClusterEvent, ObjectChange, Pod
from mooring.framework.releases import Gates
from mooring.scheduler.queue.cluster_events import POD_PLACED, events_of, label_of
from mooring.scheduler.queue.hints import WILDCARD, QueueingRules, Strategy, gate_listens, strategy_for
from mooring.scheduler.queue.in_flight import InFlight
from mooring.scheduler.queue.queued_pod import QueuedEntity, QueuedPod
from mooring.scheduler.queue.sub_queues import FLUSHED_ONCE_SINCE, SubQueues

TIMED_OUT = "UnschedulableTimeout"
"""The event that moves items after too long a wait, in the spelling of metrics and logs."""


class Mover:
    """Moves what waits from place to place. For one thread at a time."""

    def __init__(
        self, rules: Mapping[str, QueueingRules], sub_queues: SubQueues, in_flight: InFlight, gates: Gates
    ) -> None:
        self._rules = rules
        self._sub_queues = sub_queues
        self._in_flight = in_flight
        self._gates = gates
        self._flushed_once = gates.version >= FLUSHED_ONCE_SINCE
        self.follow_rules()

    def follow_rules(self) -> None:
        """Take in that the rules are other ones."""
        self._heed_placements = self._interested(POD_PLACED)

    def placements_are_relevant(self) -> bool:
        """Return whether a pod that gets its node may help what is unschedulable. Any thread."""
        return self._sub_queues.unschedulable.has_rejected_by(self._heed_placements)

    def move_interested(
        self, event: ClusterEvent, old: Any, new: Any, only: Callable[[Pod], bool] | None
    ) -> None:
        """Move those that the event may help; of ``only`` those pods, None = of all."""
        if not self._in_flight and not self._sub_queues.unschedulable:
            return
        if interested := self._interested(event):
            waiting = self._sub_queues.unschedulable.rejected_by(interested)
            if only is not None:
                waiting = [each for each in waiting if any(only(item.pod) for item in each.members)]
            self._move(waiting, event, old, new)

    def move_late(self, now: float, longest_wait: float) -> None:
        """Move those that have waited for longer than this, in seconds."""
        late = [
            each for each in self._sub_queues.unschedulable if now - self.waits_since(each) > longest_wait
        ]
        for entity in late:
            entity.flushed_at = now
            for each in (entity, *entity.members):
                each.flushed = True
        if late:
            self._move(late, WILDCARD, None, None)

    def waits_since(self, entity: QueuedEntity) -> float:
        """Return since when an unschedulable one counts as waiting."""
        return max(entity.queued_at, entity.flushed_at) if self._flushed_once else entity.queued_at

    def reconsider(self, entity: QueuedEntity, change: ObjectChange) -> None:
        """Move an unschedulable item that changed itself, if that may help."""
        for event in events_of(change, self._gates):
            strategy = strategy_for(entity, self._rules, event, change.old, change.new)
            if self._sub_queues.place(entity, strategy, label_of(event, self._gates.version)):
                return

    def strategy_since(self, item: QueuedPod) -> Strategy:
        """Return what the events since the pod was taken mean for it."""
        if not item.rejectors or item.uid not in self._in_flight:
            return Strategy.AFTER_BACKOFF
        answer = Strategy.SKIP
        for happening in self._in_flight.events_since(item.uid):
            meant = strategy_for(item, self._rules, happening.event, happening.old, happening.new)
            answer = max(answer, meant)
            if answer is Strategy.AT_ONCE or (answer and not item.rejected_by.pending):
                break
        return answer

    def _interested(self, event: ClusterEvent) -> set[str]:
        """Return the plugins of all profiles that registered for the event."""
        return {plugin for rules in tuple(self._rules.values()) for plugin in rules.interested(event)}

    def _move(self, entities: Iterable[QueuedEntity], event: ClusterEvent, old: Any, new: Any) -> None:
        label = TIMED_OUT if event == WILDCARD else label_of(event, self._gates.version)
        asked_anyway = event == WILDCARD and self._flushed_once
        for entity in entities:
            if entity.gated_by and not asked_anyway and not gate_listens(entity, self._rules, event):
                continue
            strategy = strategy_for(entity, self._rules, event, old, new)
            if strategy is not Strategy.SKIP:
                self._sub_queues.place(entity, strategy, label)
        self._in_flight.note_event(event, old, new)
