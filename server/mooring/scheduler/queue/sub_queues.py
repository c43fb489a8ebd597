"""The four sub-queues in which pods and groups wait, and how an item gets from one to another.

Mirrors the moves in ``backend/queue/scheduling_queue.go`` and ``unschedulable_entities.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import product

from mooring.framework import Clock, KubeVersion
from mooring.scheduler.queue.backoff import BackoffQueue, BackoffTimes
from mooring.scheduler.queue.heap import EntityHeap, Order
from mooring.scheduler.queue.hints import QueueingRules, Strategy
from mooring.scheduler.queue.pre_enqueue import ask_gates
from mooring.scheduler.queue.queued_pod import QueuedEntity

FLUSHED_ONCE_SINCE = KubeVersion(1, 37)
"""From this release on, gates are called again for pods that have waited too long."""

PLACES = ("active", "backoff", "unschedulable", "gated")
"""As metrics spell them; what is gated is among the unschedulable ones."""

KINDS = ("pod", "podgroup")

Incoming = Callable[[str, str, str, int], None]
"""``(queue, event, kind, pods)``: a ``pod``, or a ``podgroup`` with this many, was added to this sub-queue.

The kind is "" for a group that was there before and that gained or lost a pod.
"""

_ON_ITS_WAY = ("BackoffComplete", "PopFromBackoffQ", "ScheduleAttemptFailure")
"""Events that move what was woken before, or that failed and is tried again anyway."""

_LEADS_TO = {Strategy.AT_ONCE: "active", Strategy.AFTER_BACKOFF: "backoff", Strategy.SKIP: "unschedulable"}


class SubQueues:
    """Each pod that may be tried is in one of them, alone or with its group. For one thread at a time.

    Attributes:
        active: To be tried as soon as possible.
        backoff: Rejected or failed a moment ago.
        unschedulable: Rejected and waiting for an event, or gated.
    """

    def __init__(
        self,
        rules: Mapping[str, QueueingRules],
        order: Order,
        clock: Clock,
        times: BackoffTimes,
        wake: Callable[[], None],
        incoming: Incoming,
        version: KubeVersion,
    ) -> None:
        self.active = EntityHeap(order)
        self.backoff = BackoffQueue(clock, times, order)
        self.unschedulable = UnschedulableEntities()
        self._rules = rules
        self._clock = clock
        self._wake = wake
        self._incoming = incoming
        self._gates_end_flushes = version >= FLUSHED_ONCE_SINCE

    def __contains__(self, uid: str) -> bool:
        return uid in self.unschedulable or uid in self.active or uid in self.backoff

    def __len__(self) -> int:
        return len(self.active) + len(self.backoff) + len(self.unschedulable)

    def __iter__(self) -> Iterator[QueuedEntity]:
        yield from self.active
        yield from self.backoff
        yield from self.unschedulable

    def count_pods(self) -> dict[str, int]:
        """Return how many pods are active, in backoff, unschedulable and gated."""
        counts: Counter[str] = Counter(dict.fromkeys(PLACES, 0))
        for place, item in self.placed():
            counts[place] += len(item.members)
        return counts

    def oldest_active(self) -> float:
        """Return for how many seconds the active pod waits that has waited longest; 0 without one."""
        now = self._clock.now()
        return max((now - item.queued_at for item in self.active), default=0.0)

    def count_entities(self) -> dict[tuple[str, str], int]:
        """Return the same of pods and groups, by place and kind."""
        counts: Counter[tuple[str, str]] = Counter(dict.fromkeys(product(PLACES, KINDS), 0))
        counts.update((place, item.kind) for place, item in self.placed())
        return counts

    def placed(self) -> Iterator[tuple[str, QueuedEntity]]:
        """Yield everything with its place."""
        yield from (("active", item) for item in self.active)
        yield from (("backoff", item) for item in self.backoff)
        for item in self.unschedulable:
            yield ("gated" if item.gated_by else "unschedulable"), item

    def get(self, uid: str) -> QueuedEntity | None:
        """Return the one with this UID, wherever it is."""
        return self.active.get(uid) or self.backoff.get(uid) or self.unschedulable.get(uid)

    def take(self, uid: str) -> tuple[QueuedEntity, Strategy] | None:
        """Take out the one with this UID, with the strategy that leads back to its sub-queue."""
        if (item := self.active.remove(uid)) is not None:
            return item, Strategy.AT_ONCE
        if (item := self.backoff.remove(uid)) is not None:
            return item, Strategy.AFTER_BACKOFF
        if (item := self.unschedulable.get(uid)) is not None:
            self.unschedulable.remove(uid)
            return item, Strategy.SKIP
        return None

    def reorder(self, item: QueuedEntity) -> bool:
        """Find its new place among those that are active or in backoff; False when it is in neither."""
        for place in (self.active, self.backoff):
            if item.uid in place:
                place.put(item)
                return True
        return False

    def place(self, item: QueuedEntity, strategy: Strategy, label: str, *, was_there: bool = False) -> bool:
        """Put it where it belongs; True unless that is among the unschedulable and gated ones.

        With ``was_there`` it was taken from where the strategy leads to.
        """
        known = _LEADS_TO[strategy] if was_there else ""
        if strategy is Strategy.SKIP:
            return self._park(item, label, known)
        if strategy is Strategy.AFTER_BACKOFF and self.backoff.lasts(item):
            return self._back_off(item, label, known)
        return self.activate(item, label, known=known)

    def activate(self, item: QueuedEntity, label: str, *, gates_asked: bool = False, known: str = "") -> bool:
        """Let it be tried, unless a gate holds it back: then False. ``known`` is its sub-queue before."""
        if not gates_asked and self._gated(item):
            return self._park(item, label, known)
        for each in (item, *item.members):
            if each.first_attempt_at is None:
                each.first_attempt_at = self._clock.now()
        self.unschedulable.remove(item.uid)
        self.backoff.remove(item.uid)
        self.active.put(item)
        return self._arrived("active", item, label, known)

    def _back_off(self, item: QueuedEntity, label: str, known: str) -> bool:
        if self._gated(item):
            return self._park(item, label, known)
        self.unschedulable.remove(item.uid)
        self.backoff.put(item)
        return self._arrived("backoff", item, label, known)

    def _park(self, item: QueuedEntity, label: str, known: str) -> bool:
        for each in item.members if item.gated_by else ():
            if each.gated_by and each.gated[0] != each.gated_by:
                each.gated = each.gated_by, self._clock.now()
        if item.uid not in self.unschedulable:
            self._count("unschedulable", item, label, known)
        self.unschedulable.put(item)
        return False

    def _gated(self, item: QueuedEntity) -> bool:
        """Return whether a gate holds back one of its pods, and with that all."""
        gated_by = ""
        revisions: dict[str, Hashable] = {}
        for member in item.members:
            name = member.pod.spec.scheduler_name
            rules = self._rules[name]
            if rules.revision is not None and name not in revisions:
                revisions[name] = rules.revision()
            ask_gates(member, rules.gates, revisions.get(name))
            gated_by = member.gated_by or gated_by
        item.gated_by = gated_by
        if gated_by and self._gates_end_flushes:
            for each in (item, *item.members):
                each.flushed = False
        return bool(gated_by)

    def _arrived(self, queue: str, item: QueuedEntity, label: str, known: str) -> bool:
        if label not in _ON_ITS_WAY:
            item.woken = label, self._clock.now()
            for each in item.members:
                each.woken = item.woken
        self._count(queue, item, label, known)
        self._wake()
        return True

    def _count(self, queue: str, item: QueuedEntity, label: str, known: str) -> None:
        self._incoming(queue, label, "" if queue == known else item.kind, len(item.members))


class UnschedulableEntities:
    """Rejected and gated pods, and gated groups, by UID.

    For one thread at a time, but for ``has_rejected_by``.

    Thousands may wait, and hundreds of events happen in a second, and most events can't help any of them:
    pods with the same rejectors are skipped together.
    """

    def __init__(self) -> None:
        self._rejectors: dict[str, frozenset[str]] = {}
        self._alike: dict[frozenset[str], dict[str, QueuedEntity]] = {}

    def __len__(self) -> int:
        return len(self._rejectors)

    def __contains__(self, uid: str) -> bool:
        return uid in self._rejectors

    def __iter__(self) -> Iterator[QueuedEntity]:
        for group in self._alike.values():
            yield from group.values()

    def has_rejected_by(self, plugins: AbstractSet[str]) -> bool:
        """Return whether one of ``plugins`` rejected or gates any of them. Any thread may ask."""
        # A list of the keys is made in one step, even while other threads write.
        return not all(map(plugins.isdisjoint, list(self._alike)))

    def put(self, item: QueuedEntity) -> None:
        """Add it, or note that others reject it now."""
        self.remove(item.uid)
        # A group that is gated waits for its gate also once the pod is gone that was held back.
        rejectors = self._rejectors[item.uid] = item.rejectors | {item.gated_by}
        self._alike.setdefault(rejectors, {})[item.uid] = item

    def get(self, uid: str) -> QueuedEntity | None:
        """Return the one with this UID."""
        rejectors = self._rejectors.get(uid)
        return None if rejectors is None else self._alike[rejectors][uid]

    def remove(self, uid: str) -> None:
        """Take it out, if it is there."""
        rejectors = self._rejectors.pop(uid, None)
        if rejectors is None:
            return
        group = self._alike[rejectors]
        del group[uid]
        if not group:
            del self._alike[rejectors]

    def rejected_by(self, plugins: Iterable[str]) -> list[QueuedEntity]:
        """Return those that one of ``plugins`` rejected."""
        asked = frozenset(plugins)
        return [
            item for rejectors, group in self._alike.items() if rejectors & asked for item in group.values()
        ]
