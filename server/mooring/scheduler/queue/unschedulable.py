"""Pods that wait for an event, by the rejecting plugin. Mirrors
``backend/queue/unschedulable_entities.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

from mooring.scheduler.queue.queued_pod import QueuedEntity


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
