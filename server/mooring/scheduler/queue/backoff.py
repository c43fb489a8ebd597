"""Pods that were rejected or failed a moment ago. Mirrors ``backend/queue/backoff_queue.go``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from mooring.framework import Clock
from mooring.scheduler.queue.heap import Less, PodHeap
from mooring.scheduler.queue.queued_pod import QueuedPod

LONGEST_SHIFT = 62
"""How often a backoff doubles at most, whatever its limit."""


@dataclass(frozen=True, slots=True)
class BackoffTimes:
    """The backoff after the first rejection, and the longest one, in seconds; each rejection doubles it."""

    initial: float = 1.0
    longest: float = 10.0


class BackoffQueue:
    """Orders pods by the end of their backoff. For one thread at a time.

    The end is cut to the whole second, so that pods whose backoffs end in the same second are tried in
    the order of ``less``; the backoff lasts through that second. Pods that failed without having been
    rejected, and those that have to pause, are ordered by time alone, and are never taken early.
    """

    def __init__(self, clock: Clock, times: BackoffTimes, less: Less) -> None:
        self._clock = clock
        self._times = times
        self._less = less
        self._rejected = PodHeap(self._rejected_less)
        self._failed = PodHeap(lambda first, second: self.ends(first) < self.ends(second))

    def __len__(self) -> int:
        return len(self._rejected) + len(self._failed)

    def __iter__(self) -> Iterator[QueuedPod]:
        yield from self._rejected
        yield from self._failed

    def __contains__(self, uid: str) -> bool:
        return uid in self._rejected or uid in self._failed

    def lasts(self, item: QueuedPod) -> bool:
        """Return whether the pod's backoff isn't over yet."""
        return self.ends(item) >= math.floor(self._clock.now())

    def ends(self, item: QueuedPod) -> float:
        """Return when the pod's backoff ends, in seconds since the epoch; -inf when it has none."""
        if item.backoff_ends is None:
            count = item.error_count or item.unschedulable_count
            pause = item.rejected_by.pause
            if not pause and (not count or not self._times.longest):
                return -math.inf
            doubled = self._times.initial * 2 ** min(max(count - 1, 0), LONGEST_SHIFT)
            item.backoff_ends = math.floor(item.queued_at + max(pause, min(doubled, self._times.longest)))
        return item.backoff_ends

    def put(self, item: QueuedPod) -> None:
        """Add the pod, or find its new place."""
        self.remove(item.uid)
        early = item.rejectors and not item.rejected_by.pause
        (self._rejected if early else self._failed).put(item)

    def get(self, uid: str) -> QueuedPod | None:
        """Return the pod with this UID."""
        return self._rejected.get(uid) or self._failed.get(uid)

    def remove(self, uid: str) -> QueuedPod | None:
        """Take the pod out; None when it isn't there."""
        return self._rejected.remove(uid) or self._failed.remove(uid)

    def pop_early(self) -> QueuedPod | None:
        """Return the rejected pod whose backoff ends first, though it lasts; None when there is none."""
        return self._rejected.pop()

    def pop_completed(self) -> list[QueuedPod]:
        """Take out the pods whose backoff is over, in their order."""
        return [*self._completed(self._rejected), *self._completed(self._failed)]

    def _completed(self, heap: PodHeap) -> Iterator[QueuedPod]:
        while (item := heap.first()) is not None and not self.lasts(item):
            heap.remove(item.uid)
            yield item

    def _rejected_less(self, first: QueuedPod, second: QueuedPod) -> bool:
        first_ends, second_ends = self.ends(first), self.ends(second)
        return first_ends < second_ends if first_ends != second_ends else self._less(first, second)
