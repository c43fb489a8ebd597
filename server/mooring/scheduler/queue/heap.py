"""A heap of queued pods and groups from which any one can be taken out. Mirrors ``backend/heap``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any

from mooring.scheduler.queue.queued_pod import QueuedEntity

Order = Callable[[QueuedEntity], Any]
"""The key by which they are ordered: what has the lowest goes first."""

_FEWEST = 64
"""Entries that are not worth clearing up for."""


class EntityHeap:
    """Queued entities by UID, the first in the order of a key on top. For one thread at a time.

    An item that is taken out or moved leaves an entry in the heap that no longer counts. The key of an item
    in the heap has to stay the same, unless ``put`` is called for it.
    """

    def __init__(self, order: Order) -> None:
        self._order = order
        self._heap: list[tuple[Any, int, str]] = []
        self._items: dict[str, tuple[int, QueuedEntity]] = {}
        self._number = self._foremost = 0

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, uid: str) -> bool:
        return uid in self._items

    def __iter__(self) -> Iterator[QueuedEntity]:
        """Return them in no particular order."""
        return (item for _, item in self._items.values())

    def put(self, item: QueuedEntity) -> None:
        """Add it, or find its new place."""
        self._number += 1
        self._put(item, self._number)

    def put_back(self, item: QueuedEntity) -> None:
        """Add what was on top until now: it goes before all that have the same key."""
        self._foremost -= 1
        self._put(item, self._foremost)

    def _put(self, item: QueuedEntity, number: int) -> None:
        self._items[item.uid] = number, item
        heappush(self._heap, (self._order(item), number, item.uid))
        if len(self._heap) > 2 * len(self._items) + _FEWEST:
            self._heap = [entry for entry in self._heap if self._counts(entry)]
            heapify(self._heap)

    def get(self, uid: str) -> QueuedEntity | None:
        """Return the one with this UID."""
        found = self._items.get(uid)
        return None if found is None else found[1]

    def remove(self, uid: str) -> QueuedEntity | None:
        """Take it out; None when it isn't there."""
        found = self._items.pop(uid, None)
        return None if found is None else found[1]

    def first(self) -> QueuedEntity | None:
        """Return the one on top, which stays there."""
        heap, items = self._heap, self._items
        while heap:
            _, number, uid = heap[0]
            found = items.get(uid)
            if found is not None and found[0] == number:
                return found[1]
            heappop(heap)
        return None

    def pop(self) -> QueuedEntity | None:
        """Take the one on top; None when there is none."""
        return None if self.first() is None else self.pop_first()

    def pop_first(self) -> QueuedEntity:
        """Take what ``first`` has just returned."""
        return self._items.pop(heappop(self._heap)[2])[1]

    def _counts(self, entry: tuple[Any, int, str]) -> bool:
        """Return whether an entry is the last one of its UID, which is still there."""
        found = self._items.get(entry[2])
        return found is not None and found[0] == entry[1]
