"""A heap of queued pods from which any one can be taken out. Mirrors ``backend/heap``."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator

from mooring.scheduler.queue.queued_pod import QueuedPod

Less = Callable[[QueuedPod, QueuedPod], bool]
"""True when the first goes before the second."""

SLACK = 64
"""So many taken-out entries may stay in the heap in any case."""


class _Entry:
    """A place in the heap; ``item`` is None once it was taken out."""

    __slots__ = ("item", "less")

    def __init__(self, item: QueuedPod, less: Less) -> None:
        self.item: QueuedPod | None = item
        self.less = less

    def __lt__(self, other: _Entry) -> bool:
        if self.item is None or other.item is None:
            return self.item is None
        return self.less(self.item, other.item)


class PodHeap:
    """Queued pods by UID, the first in the order of ``less`` on top. For one thread at a time.

    Args:
        less: Must not change its mind about pods that are in the heap.
    """

    def __init__(self, less: Less) -> None:
        self._less = less
        self._heap: list[_Entry] = []
        self._entries: dict[str, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, uid: str) -> bool:
        return uid in self._entries

    def __iter__(self) -> Iterator[QueuedPod]:
        """The pods in no particular order."""
        return (entry.item for entry in self._entries.values() if entry.item is not None)

    def put(self, item: QueuedPod) -> None:
        """Add the pod, or find its new place."""
        self.remove(item.uid)
        entry = self._entries[item.uid] = _Entry(item, self._less)
        heapq.heappush(self._heap, entry)

    def get(self, uid: str) -> QueuedPod | None:
        """The pod with this UID."""
        entry = self._entries.get(uid)
        return entry.item if entry else None

    def remove(self, uid: str) -> QueuedPod | None:
        """Take the pod out; None when it isn't there."""
        entry = self._entries.pop(uid, None)
        if entry is None:
            return None
        item, entry.item = entry.item, None
        if len(self._heap) > 2 * len(self._entries) + SLACK:
            self._heap = list(self._entries.values())
            heapq.heapify(self._heap)
        return item

    def first(self) -> QueuedPod | None:
        """The pod on top, which stays there."""
        while self._heap and self._heap[0].item is None:
            heapq.heappop(self._heap)
        return self._heap[0].item if self._heap else None

    def pop(self) -> QueuedPod | None:
        """Take the pod on top; None when there is none."""
        item = self.first()
        return self.remove(item.uid) if item else None
