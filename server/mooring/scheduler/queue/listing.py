"""The queue for people: where each pod waits, and what would wake it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache

from mooring.decisions.listed_pod import ListedPod
from mooring.framework import ActionType, ClusterEvent
from mooring.scheduler.queue.heap import Order
from mooring.scheduler.queue.hints import QueueingRules
from mooring.scheduler.queue.queued_pod import QueuedEntity, QueuedPod


def list_pods(
    waiting: Iterable[tuple[str, QueuedEntity]],
    rules: Mapping[str, QueueingRules],
    order: Order,
    swept: Callable[[QueuedEntity], float],
) -> list[ListedPod]:
    """Return the waiting pods, each with its place: the active ones first, in their order.

    ``swept`` says when an unschedulable one is tried again although nothing woke it.
    """
    placed = list(waiting)
    active = [entity for place, entity in placed if place == "active"]
    active.sort(key=order)
    others = [each for each in placed if each[0] != "active"]
    return [
        _listed(place, entity, item, rules[item.pod.spec.scheduler_name], swept)
        for place, entity in (*(("active", entity) for entity in active), *others)
        for item in tuple(entity.members)
    ]


def _listed(
    place: str,
    entity: QueuedEntity,
    item: QueuedPod,
    rules: QueueingRules,
    swept: Callable[[QueuedEntity], float],
) -> ListedPod:
    rejectors = item.rejectors | ({entity.gated_by} if entity.gated_by else frozenset())
    waits = place in ("unschedulable", "gated")
    return ListedPod(
        item.pod,
        place,
        item.attempts,
        item.first_attempt_at or item.queued_at,
        entity.queued_at,
        (entity.backoff_ends or 0.0) if place == "backoff" else 0.0,
        {name: _events(rules, name) for name in sorted(rejectors)} if waits else {},
        swept(entity) if place == "unschedulable" else 0.0,
    )


def _events(rules: QueueingRules, plugin: str) -> list[str]:
    entries = rules.events.get(plugin, ())
    return list(dict.fromkeys(name for entry in entries for name in event_names(entry.event)))


@cache
def event_names(event: ClusterEvent) -> tuple[str, ...]:
    """Return the changes that an event stands for, such as ``Node/Add``; of any change, ``Node/*``."""
    resource, action = event.resource.value, event.action
    if action == ActionType.ALL:
        return (f"{resource}/*",)
    names = [(each.name or "").title().replace("_", "") for each in action & ~ActionType.UPDATE]
    if ActionType.UPDATE in action:
        names.append("Update")
    else:
        names += [(each.name or "").title().replace("_", "") for each in action & ActionType.UPDATE]
    return tuple(f"{resource}/{name}" for name in names)
