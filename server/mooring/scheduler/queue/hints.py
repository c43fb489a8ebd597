"""Which events may help which pods.

Mirrors ``buildQueueingHintMap`` in ``scheduler.go`` and ``isPodWorthRequeuing`` in
``backend/queue/scheduling_queue.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from mooring.framework import (
    EVERY_EVENT,
    ActionType,
    ClusterEvent,
    EventResource,
    HintedEvent,
    Plugin,
    Pod,
    QueueingHint,
)
from mooring.runtime.profiles.extender import EXTENDER
from mooring.runtime.profiles.profile import Enabled, Profile
from mooring.runtime.profiles.tracebacks import TRACEBACKS
from mooring.scheduler.queue.cluster_events import concerns
from mooring.scheduler.queue.pre_enqueue import Gate
from mooring.scheduler.queue.queued_pod import QueuedEntity, QueuedPod

WILDCARD = ClusterEvent(EventResource.ANY, ActionType.ALL)
"""Not a change of an object: the pod is tried again whichever plugin rejected it."""

TAINT_UPDATED = HintedEvent(ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT))


class Strategy(IntEnum):
    """The effect of an event on a pod."""

    SKIP = 0
    """It stays where it is."""

    AFTER_BACKOFF = 1
    """It is tried again once its backoff is over."""

    AT_ONCE = 2
    """It is tried again without a backoff."""


@dataclass(frozen=True, slots=True)
class QueueingRules:
    """One profile's rules for the queue.

    Attributes:
        gates: Its PreEnqueue plugins.
        events: By plugin, the events that it registered.
        revision: A value for everything besides the pod that the gates' answers depend on: while it is the
            same, they are not called again for the same pod. None = they are called each time.
    """

    gates: Sequence[Gate] = ()
    events: Mapping[str, Sequence[HintedEvent]] = field(default_factory=dict)
    revision: Callable[[], Hashable] | None = None
    _known: dict[ClusterEvent, dict[str, list[HintedEvent]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def interested(self, happened: ClusterEvent) -> Mapping[str, Sequence[HintedEvent]]:
        """By plugin, what it registered that the event matches."""
        found = self._known.get(happened)
        if found is None:
            found = {}
            for plugin, registered in self.events.items():
                if matching := [entry for entry in registered if concerns(entry.event, happened)]:
                    found[plugin] = matching
            self._known[happened] = found
        return found

    def gate_listens(self, plugin: str, happened: ClusterEvent) -> bool:
        """Return whether a pod that ``plugin`` gates may be let go by the event."""
        return plugin in self.interested(happened)

    def strategy(self, item: QueuedPod, happened: ClusterEvent, old: Any, new: Any) -> Strategy:
        """Return what the event means for a pod that was rejected."""
        if not item.rejectors:
            return Strategy.AFTER_BACKOFF
        if happened == WILDCARD:
            itself = isinstance(new, Pod) and new.metadata.uid == item.uid
            return Strategy.AFTER_BACKOFF if new is None or itself else Strategy.SKIP
        answer = Strategy.SKIP
        for plugin, registered in self.interested(happened).items():
            if plugin not in item.rejectors or not helps(plugin, registered, item.pod, old, new):
                continue
            if plugin in item.rejected_by.pending:
                return Strategy.AT_ONCE
            answer = Strategy.AFTER_BACKOFF
        return answer


def strategy_for(
    entity: QueuedEntity, rules: Mapping[str, QueueingRules], event: ClusterEvent, old: Any, new: Any
) -> Strategy:
    """Return what an event means: for a group, the most that it means for one of its pods.

    ``rules`` are those of the profiles, by scheduler name.
    """
    answer = Strategy.SKIP
    for item in entity.members:
        answer = max(answer, rules[item.pod.spec.scheduler_name].strategy(item, event, old, new))
        if answer is Strategy.AT_ONCE:
            break
    return answer


def gate_listens(entity: QueuedEntity, rules: Mapping[str, QueueingRules], event: ClusterEvent) -> bool:
    """Return whether an event may let go what a gate holds back; ``rules`` as in ``strategy_for``."""
    profiles = {item.pod.spec.scheduler_name for item in entity.members}
    return any(rules[name].gate_listens(entity.gated_by, event) for name in profiles)


def helps(plugin: str, registered: Iterable[HintedEvent], pod: Pod, old: Any, new: Any) -> bool:
    """Return whether a change may help ``pod``, which ``plugin`` rejected, by the events that it matches."""
    for entry in registered:
        if entry.hint is None:
            return True
        try:
            if entry.hint(pod, old, new) is QueueingHint.QUEUE:
                return True
        except Exception as error:  # noqa: BLE001 - whatever a plugin raises, the pod is tried again
            TRACEBACKS.tell(plugin, "QueueingHint", error)
            return True
    return False


def rules_of(
    profile: Profile, gates: Sequence[Gate], revision: Callable[[], Hashable] | None = None
) -> QueueingRules:
    """Return the rules of ``profile``: the events of its plugins that can reject a pod."""
    plugins: dict[str, Plugin[Any]] = {}
    points: tuple[tuple[Enabled[Any], ...], ...] = (
        profile.pre_enqueue,
        profile.pre_filter,
        profile.filter,
        profile.reserve,
        profile.permit,
    )
    for point in points:
        plugins.update({enabled.name: enabled.plugin for enabled in point})
    events: dict[str, Sequence[HintedEvent]] = {name: _registered(plugin) for name, plugin in plugins.items()}
    if profile.extenders:
        events[EXTENDER] = (EVERY_EVENT,)
    return QueueingRules(gates, events, revision)


def _registered(plugin: Plugin[Any]) -> Sequence[HintedEvent]:
    events = tuple(plugin.events_to_register())
    of_nodes = [entry.event.action for entry in events if entry.event.resource is EventResource.NODE]
    if any(action & ActionType.ADD for action in of_nodes) and not any(
        action & ActionType.UPDATE_NODE_TAINT for action in of_nodes
    ):
        return (*events, TAINT_UPDATED)
    return events
