"""Plays a history on mooring's queue, and says where it differs from what kube-scheduler's queue did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mooring.framework import (
    SUCCESS,
    ActionType,
    ClusterEvent,
    EventResource,
    Gates,
    HintedEvent,
    KubeVersion,
    Node,
    Pod,
    QueueingHint,
    Status,
)
from mooring.scheduler.queue import Gate, QueuedPod, QueueingRules, Rejection, SchedulingQueue
from mooring.testing import make_node, make_pod

from .generator import TICKS, Step

PROFILE = "default-scheduler"

EVENTS = {
    "node-added": ClusterEvent(EventResource.NODE, ActionType.ADD),
    "node-label": ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL),
    "node-taint": ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT),
    "pod-left": ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE),
    "pod-came": ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD),
    "claim-added": ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD),
    "class-added": ClusterEvent(EventResource.STORAGE_CLASS, ActionType.ADD),
    "assigned-labels": ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_LABEL),
}

REGISTERED = [
    ("Fit", 1, EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT),
    ("Fit", 1, EventResource.POD, ActionType.DELETE | ActionType.UPDATE_POD_SCALE_DOWN),
    ("Affinity", 2, EventResource.POD, ActionType.ADD | ActionType.UPDATE_POD_LABEL),
    (
        "Affinity",
        2,
        EventResource.NODE,
        ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT,
    ),
    ("Volumes", 3, EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD | ActionType.UPDATE),
    ("Any", 4, EventResource.POD, ActionType.ALL),
    ("Any", 4, EventResource.NODE, ActionType.ALL),
    ("Gates", 5, EventResource.POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED),
    ("Lock", 6, EventResource.POD, ActionType.DELETE),
]
"""As ``hints`` in the oracle's player.go: plugin, its number, and what it hears of."""


def differences(history: dict[str, Any], seen: list[dict[str, Any]], version: str) -> list[str]:
    """Where mooring's queue is in another state after a step, the first step only."""
    player = Player(Gates(KubeVersion.parse(version)))
    for number, (step, expected) in enumerate(zip(history["steps"], seen, strict=True)):
        found = player.play(step)
        if found != expected:
            return [f"step {number}: {step}", *_unequal(expected, found)]
    return []


def _unequal(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    told = [f"popped {expected['popped']!r}, but here {found['popped']!r}"]
    for name in sorted({*expected["pods"], *found["pods"]}):
        there, here = expected["pods"].get(name), found["pods"].get(name)
        if there != here:
            told.append(f"{name} is {there}, but here {here}")
    return told


class Player:
    """mooring's queue with the plugins of the oracle's."""

    def __init__(self, gates: Gates) -> None:
        self.ticks = 0
        self._pods: dict[str, Pod] = {}
        self._numbers: dict[str, int] = {}
        self._flight: list[QueuedPod] = []
        self._locked = False
        events: dict[str, list[HintedEvent]] = {}
        for plugin, number, resource, action in REGISTERED:
            entry = HintedEvent(ClusterEvent(resource, action), self._hint(number))
            events.setdefault(plugin, []).append(entry)
        rules = QueueingRules([Gate("Gates", _gates), Gate("Lock", self._lock)], events)
        self._queue = SchedulingQueue({PROFILE: rules}, _less, self, gates=gates)

    def now(self) -> float:
        return 1_700_000_000 + self.ticks / TICKS

    def monotonic(self) -> float:
        return self.now()

    def play(self, step: Step) -> dict[str, Any]:
        """Take a step; what was popped and where every pod is then."""
        kind = step["do"].replace("-", "_")
        popped: str = getattr(self, f"_{kind}")(step) or ""
        self.ticks += step["ticks"]
        return {"popped": popped, "pods": self._places()}

    def _add(self, step: Step) -> None:
        self._queue.add_pod(self._remember(step))

    def _update(self, step: Step) -> None:
        old = self._pods.get(step["pod"]["name"])
        if old is not None:
            self._queue.update_pod(old, self._remember(step))

    def _delete(self, step: Step) -> None:
        pod = self._pods.pop(step["name"], None)
        if pod is not None:
            self._queue.delete_pod(pod.metadata.uid)

    def _pop(self, _: Step) -> str:
        item = self._queue.pop_pod()
        if item is None:
            return ""
        self._flight.append(item)
        return item.pod.metadata.name

    def _landed(self, step: Step) -> QueuedPod | None:
        return self._flight.pop(step["n"] % len(self._flight)) if self._flight else None

    def _give_back(self, step: Step) -> None:
        item = self._landed(step)
        if item is None:
            return
        pod = self._pods.get(item.pod.metadata.name)
        if pod is None:
            self._queue.end_attempt(item.uid)
            return
        item.pod = pod
        self._queue.give_back(item, Rejection(frozenset(step["plugins"]), frozenset(step["pending"])))

    def _done(self, step: Step) -> None:
        item = self._landed(step)
        if item is not None:
            self._pods.pop(item.pod.metadata.name, None)
            self._queue.end_attempt(item.uid)

    def _force(self, step: Step) -> None:
        pod = self._pods.get(step["name"])
        if pod is not None:
            self._queue.activate_pods([pod])

    def _move(self, step: Step) -> None:
        only: Callable[[Pod], bool] | None = None
        if step["plugins"]:
            only = self._is_even
        self._queue.move_pods(EVENTS[step["event"]], None, make_node(f"node-{step['n']}"), only)

    def _is_even(self, pod: Pod) -> bool:
        return self._numbers[pod.metadata.name] % 2 == 0

    def _set_lock(self, step: Step) -> None:
        self._locked = step["n"] == 1

    def _flush(self, _: Step) -> None:
        self._queue.flush_backoff()
        self._queue.flush_unschedulable()

    def _remember(self, step: Step) -> Pod:
        given = step["pod"]
        gates = [{"name": gate} for gate in given["gates"]]
        spec = {"priority": given["priority"], "schedulingGates": gates}
        pod = make_pod(given["name"], labels=given["labels"], spec=spec)
        self._pods[given["name"]] = pod
        self._numbers[given["name"]] = given["n"]
        return pod

    def _hint(self, plugin: int) -> Callable[[Pod, Any, Any], QueueingHint]:
        def hint(pod: Pod, _: Any, new: Any) -> QueueingHint:
            happened = int(new.metadata.name.removeprefix("node-")) if isinstance(new, Node) else 0
            answer = (self._numbers[pod.metadata.name] * 7 + happened * 5 + plugin * 3) % 5
            if answer == 2:
                raise RuntimeError("no idea")
            return QueueingHint.SKIP if answer < 2 else QueueingHint.QUEUE

        return hint

    def _lock(self, pod: Pod) -> Status:
        odd = self._numbers[pod.metadata.name] % 2 == 1
        if self._locked and odd and not pod.spec.scheduling_gates:
            return Status.unschedulable("locked")
        return SUCCESS

    def _places(self) -> dict[str, Any]:
        places = self._queue._places
        found = {}
        for queue, items in (
            ("active", places.active),
            ("backoff", places.backoff),
            ("unschedulable", places.unschedulable),
        ):
            for item in items:
                found[item.pod.metadata.name] = {
                    "queue": queue,
                    "gate": item.gated_by,
                    "attempts": item.attempts,
                    "refused": item.unschedulable_count,
                    "errors": item.error_count,
                    "rejectors": sorted(item.rejectors),
                    "flushed": item.flushed,
                }
        return found


def _gates(pod: Pod) -> Status:
    return Status.unresolvable("gated") if pod.spec.scheduling_gates else SUCCESS


def _less(first: QueuedPod, second: QueuedPod) -> bool:
    return (-(first.pod.spec.priority or 0), first.queued_at) < (
        -(second.pod.spec.priority or 0),
        second.queued_at,
    )
