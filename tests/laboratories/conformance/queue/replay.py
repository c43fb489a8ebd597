"""Plays a history on mooring's queue, and compares it with kube-scheduler's queue."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
from mooring.framework.objects import ObjectMeta, PodGroup, PodGroupSpec
from mooring.scheduler.queue import (
    Gate,
    QueuedEntity,
    QueuedGroup,
    QueuedPod,
    QueueingRules,
    Rejection,
    SchedulingQueue,
)
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

ENDS = {
    "scheduled": SUCCESS,
    "unschedulable": Status.unschedulable(),
    "error": Status.error("failed"),
}
"""How a group's attempt ends."""

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
    """Yield the difference of mooring's queue after the first step that differs."""
    groups = {"GenericWorkload": True} if history.get("groups") else {}
    player = Player(Gates(KubeVersion.parse(version), groups))
    for number, (step, expected) in enumerate(zip(history["steps"], seen, strict=True)):
        found = player.play(step, groups="groups" in expected)
        if found != expected:
            return [f"step {number}: {step}", *_unequal(expected, found)]
    return []


def _unequal(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    told = [f"popped {expected['popped']!r}, but here {found['popped']!r}"]
    for kind in ("pods", "groups"):
        names = sorted({*expected.get(kind, ()), *found.get(kind, ())})
        for name in names:
            there, here = expected.get(kind, {}).get(name), found.get(kind, {}).get(name)
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
        self._groups: dict[str, PodGroup] = {}
        self._tried: QueuedGroup | None = None
        self._locked = False
        events: dict[str, list[HintedEvent]] = {}
        for plugin, number, resource, action in REGISTERED:
            entry = HintedEvent(ClusterEvent(resource, action), self._hint(number))
            events.setdefault(plugin, []).append(entry)
        rules = QueueingRules([Gate("Gates", _gates), Gate("Lock", self._lock)], events)
        self._queue = SchedulingQueue({PROFILE: rules}, _order, self, gates=gates)

    def now(self) -> float:
        return 1_700_000_000 + self.ticks / TICKS

    def monotonic(self) -> float:
        return self.now()

    def play(self, step: Step, *, groups: bool) -> dict[str, Any]:
        """Take a step; what was popped and where every pod, and with ``groups`` every group, is then."""
        kind = step["do"].replace("-", "_")
        popped: str = getattr(self, f"_{kind}")(step) or ""
        self.ticks += step["ticks"]
        seen = {"popped": popped, "pods": self._places()}
        return {**seen, "groups": self._group_places()} if groups else seen

    def _add(self, step: Step) -> None:
        self._queue.add_pod(self._remember(step))

    def _update(self, step: Step) -> None:
        old = self._pods.get(step["pod"]["name"])
        if old is not None:
            self._queue.update_pod(old, self._remember(step))

    def _delete(self, step: Step) -> None:
        pod = self._pods.pop(step["name"], None)
        if pod is not None:
            self._queue.delete_pod(pod)

    def _pop(self, _: Step) -> str:
        entity = None if self._tried is not None else self._queue.pop()
        if entity is None:
            return ""
        if isinstance(entity, QueuedGroup):
            self._tried = entity
        self._flight += entity.members
        name: str = entity.sorted_as.metadata.name
        return name

    def _landed(self, step: Step) -> QueuedPod | None:
        landing = [item for item in self._flight if self._tried is None or item.pod.group == self._tried.key]
        if not landing:
            return None
        item: QueuedPod = landing[step["n"] % len(landing)]
        self._flight.remove(item)
        return item

    def _add_group(self, step: Step) -> None:
        name = step["name"]
        if name not in self._groups:
            self._align_incomplete(name)
            meta = ObjectMeta(name=name, namespace="default", uid=name)
            group = self._groups[name] = PodGroup(metadata=meta, spec=PodGroupSpec(priority=step["n"]))
            self._queue.add_group(group)

    def _align_incomplete(self, name: str) -> None:
        """As ``alignIncomplete`` in the oracle's groups.go."""
        incomplete = self._queue._gathering._incomplete
        items = [item for item in incomplete if item.pod.group == ("default", name)]
        items.sort(key=lambda item: item.pod.metadata.name)
        gated = self._locked or any(item.pod.spec.scheduling_gates for item in items)
        for item in items[1:]:
            item.queued_at = items[0].queued_at
            if gated:
                self._queue.delete_pod(self._pods.pop(item.pod.metadata.name))

    def _update_group(self, step: Step) -> None:
        if step["name"] in self._groups:
            self._queue.add_group(self._groups[step["name"]])

    def _delete_group(self, step: Step) -> None:
        group = self._groups.pop(step["name"], None)
        if group is not None:
            self._queue.delete_group(group)

    def _end_group(self, step: Step) -> None:
        if self._tried is not None:
            self._queue.end_group_attempt(self._tried, ENDS[step["event"]])
            self._tried = None

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
        spec: dict[str, Any] = {"priority": given["priority"], "schedulingGates": gates}
        if given.get("group"):
            spec["schedulingGroup"] = {"podGroupName": given["group"]}
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
        gathering = self._queue._gathering
        found = {}
        queues: dict[str, Iterable[QueuedEntity]] = {
            **self._queue_places(),
            "incomplete": gathering._incomplete,
            "pending": gathering._pending,
        }
        for queue, entities in queues.items():
            for item in (member for entity in entities for member in entity.members):
                rejectors = sorted(item.rejectors)
                found[item.pod.metadata.name] = {**_told(item), "queue": queue, "rejectors": rejectors}
        return found

    def _group_places(self) -> dict[str, Any]:
        entities = (each for queued in self._queue_places().values() for each in queued)
        groups = (each for each in entities if isinstance(each, QueuedGroup))
        return {each.key[1]: {**_told(each), "queue": "", "rejectors": []} for each in groups}

    def _queue_places(self) -> dict[str, Iterable[QueuedEntity]]:
        places = self._queue._sub_queues
        return {"active": places.active, "backoff": places.backoff, "unschedulable": places.unschedulable}


def _told(entity: QueuedEntity) -> dict[str, Any]:
    return {
        "gate": entity.gated_by,
        "attempts": entity.attempts,
        "refused": entity.unschedulable_count,
        "errors": entity.error_count,
        "flushed": entity.flushed,
    }


def _gates(pod: Pod) -> Status:
    return Status.unresolvable("gated") if pod.spec.scheduling_gates else SUCCESS


def _order(entity: QueuedEntity) -> tuple[int, float]:
    return -(entity.sorted_as.spec.priority or 0), entity.queued_at
