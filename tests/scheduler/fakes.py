"""A clock that a test moves, and a queue with plugins that a test controls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mooring.cluster.state import State
from mooring.framework import (
    SUCCESS,
    ActionType,
    ClusterEvent,
    CycleState,
    EventResource,
    FilterPlugin,
    HintedEvent,
    NodeInfo,
    ObjectChange,
    Pod,
    Status,
)
from mooring.framework.cluster_events import PodRecordChange, StateChange
from mooring.framework.pod_table import UNPLACED, PodRecord
from mooring.scheduler.queue import Gate, QueuedEntity, QueuedPod, QueueingRules, Rejection, SchedulingQueue

SCHEDULER = "default-scheduler"
NODE_ADDED = ClusterEvent(EventResource.NODE, ActionType.ADD)
FIT = Rejection(frozenset({"Fit"}))
HEARS_NODES = {"Fit": [HintedEvent(NODE_ADDED)]}


class FakeClock:
    """Stands still until it is moved."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.time = now

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    def advance(self, seconds: float) -> None:
        self.time += seconds


def by_priority(entity: QueuedEntity) -> tuple[int, float]:
    """PrioritySort's order."""
    return -(entity.sorted_as.spec.priority or 0), entity.queued_at


def new_queue(
    clock: FakeClock,
    events: Mapping[str, Sequence[HintedEvent]] | None = None,
    gates: Mapping[str, Callable[[Pod], Status]] | None = None,
    **options: Any,
) -> SchedulingQueue:
    """Return a queue of one profile, with these plugins."""
    asked = [Gate(plugin, ask) for plugin, ask in (gates or {}).items()]
    return SchedulingQueue({SCHEDULER: QueueingRules(asked, events or {})}, by_priority, clock, **options)


def as_told(kind: str, old: Any, new: Any) -> StateChange:
    """Return the change as the state notifies of it."""
    if kind != "Pod":
        return ObjectChange(kind, old, new)
    before, after = (one and PodRecord.of(one, State().kind_of(one), UNPLACED) for one in (old, new))
    return PodRecordChange(before, after or before, gone=after is None)


def popped(queue: SchedulingQueue) -> QueuedPod:
    item = queue.pop()
    assert isinstance(item, QueuedPod)
    return item


def reject(queue: SchedulingQueue, rejection: Rejection = FIT) -> QueuedPod:
    item = popped(queue)
    queue.give_back(item, rejection)
    return item


def seconds_until_active(queue: SchedulingQueue, clock: FakeClock) -> float:
    began = clock.time
    while not queue.count_pods()["active"]:
        clock.advance(0.25)
        queue.move_due_pods()
    return clock.time - began


class Poisoned(FilterPlugin[None]):
    """Fails for pods whose name begins with poison."""

    name = "Poisoned"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        if pod.metadata.name.startswith("poison"):
            raise RuntimeError("boom")
        return SUCCESS
