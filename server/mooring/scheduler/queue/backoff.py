"""Pods that were rejected or failed a moment ago. Mirrors ``backend/queue/backoff_queue.go``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from mooring.framework import Clock
from mooring.scheduler.queue.heap import EntityHeap, Order
from mooring.scheduler.queue.queued_pod import QueuedEntity

LONGEST_SHIFT = 62
"""How often a backoff doubles at most, whatever its limit."""


@dataclass(frozen=True, slots=True)
class BackoffTimes:
    """The backoff after the first rejection, and the longest one, in seconds; each rejection doubles it.

    The longest one of a group is that times the square root of the number of its pods.
    """

    initial: float = 1.0
    longest: float = 10.0


class BackoffQueue:
    """Orders pods and groups by the end of their backoff. For one thread at a time.

    The end is cut to the whole second, so that pods whose backoffs end in the same second are tried in
    the order of ``order``; the backoff lasts through that second. An item that isn't ``early``, such as a pod
    that failed without having been rejected, is ordered by time alone, and never taken early.
    """

    def __init__(self, clock: Clock, times: BackoffTimes, order: Order) -> None:
        self._clock = clock
        self._times = times
        self._early = EntityHeap(lambda item: (self.ends(item), order(item)))
        self._late = EntityHeap(self.ends)

    def __len__(self) -> int:
        return len(self._early) + len(self._late)

    def __iter__(self) -> Iterator[QueuedEntity]:
        yield from self._early
        yield from self._late

    def __contains__(self, uid: str) -> bool:
        return uid in self._early or uid in self._late

    def lasts(self, item: QueuedEntity) -> bool:
        """Return whether its backoff isn't over yet."""
        return self.ends(item) >= math.floor(self._clock.now())

    def ends(self, item: QueuedEntity) -> float:
        """Return when its backoff ends, in seconds since the epoch; -inf when it has none."""
        if item.backoff_ends is None:
            count = item.error_count or item.unschedulable_count
            pause = item.pause
            if not pause and (not count or not self._times.longest):
                return -math.inf
            doubled = self._times.initial * 2 ** min(max(count - 1, 0), LONGEST_SHIFT)
            longest = self._times.longest * math.sqrt(len(item.members))
            item.backoff_ends = math.floor(item.queued_at + max(pause, min(doubled, longest)))
        return item.backoff_ends

    def put(self, item: QueuedEntity) -> None:
        """Add it, or find its new place."""
        self.remove(item.uid)
        (self._early if item.early else self._late).put(item)

    def get(self, uid: str) -> QueuedEntity | None:
        """Return the one with this UID."""
        return self._early.get(uid) or self._late.get(uid)

    def remove(self, uid: str) -> QueuedEntity | None:
        """Take it out; None when it isn't there."""
        return self._early.remove(uid) or self._late.remove(uid)

    def pop_early(self) -> QueuedEntity | None:
        """Take the rejected pod whose backoff ends first, though it lasts; None when there is none."""
        return self._early.pop()

    def pop_completed(self) -> list[QueuedEntity]:
        """Take out those whose backoff is over, in their order."""
        return [*self._completed(self._early), *self._completed(self._late)]

    def _completed(self, heap: EntityHeap) -> Iterator[QueuedEntity]:
        while (item := heap.first()) is not None and not self.lasts(item):
            heap.remove(item.uid)
            yield item
