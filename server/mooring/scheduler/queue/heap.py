"""A heap of queued pods and groups from which any one can be taken out. Mirrors ``backend/heap``."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mooring.scheduler.queue.queued_pod import QueuedEntity

Less = Callable[[QueuedEntity, QueuedEntity], bool]
"""True when the first goes before the second."""


class EntityHeap:
    """Queued entities by UID, the first in the order of ``less`` on top. For one thread at a time.

    A binary heap that knows where each one is; the standard library's can't move one whose place changed.

    Args:
        less: Must give the same result for what is in the heap, unless ``put`` is called for it.
    """

    def __init__(self, less: Less) -> None:
        self._less = less
        self._items: list[QueuedEntity] = []
        self._at: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, uid: str) -> bool:
        return uid in self._at

    def __iter__(self) -> Iterator[QueuedEntity]:
        """Return them in no particular order."""
        return iter(self._items)

    def put(self, item: QueuedEntity) -> None:
        """Add it, or find its new place."""
        at = self._at.get(item.uid)
        if at is None:
            at = len(self._items)
            self._items.append(item)
        self._settle(item, at)

    def get(self, uid: str) -> QueuedEntity | None:
        """Return the one with this UID."""
        at = self._at.get(uid)
        return None if at is None else self._items[at]

    def remove(self, uid: str) -> QueuedEntity | None:
        """Take it out; None when it isn't there."""
        at = self._at.pop(uid, None)
        if at is None:
            return None
        item, last = self._items[at], self._items.pop()
        if last is not item:
            self._settle(last, at)
        return item

    def first(self) -> QueuedEntity | None:
        """Return the one on top, which stays there."""
        return self._items[0] if self._items else None

    def pop(self) -> QueuedEntity | None:
        """Take the one on top; None when there is none."""
        return self.remove(self._items[0].uid) if self._items else None

    def _settle(self, item: QueuedEntity, at: int) -> None:
        """Put ``item`` where it belongs, beginning at the place ``at``.

        What doesn't rise mostly belongs at the bottom, being what was there: to go down all the way and rise
        from there takes half as many comparisons as looking at each step whether it has sunk enough.
        """
        risen = self._rise(item, at)
        at = self._rise(item, self._bottom(at)) if risen == at else risen
        self._items[at] = item
        self._at[item.uid] = at

    def _rise(self, item: QueuedEntity, at: int) -> int:
        while at:
            parent = (at - 1) // 2
            above = self._items[parent]
            if not self._less(item, above):
                break
            self._items[at] = above
            self._at[above.uid] = at
            at = parent
        return at

    def _bottom(self, at: int) -> int:
        """Return the place at the bottom that is free after the first ones below ``at`` have risen."""
        while (child := 2 * at + 1) < len(self._items):
            if child + 1 < len(self._items) and self._less(self._items[child + 1], self._items[child]):
                child += 1
            below = self._items[child]
            self._items[at] = below
            self._at[below.uid] = at
            at = child
        return at
