"""Pods that are being tried, and what happened meanwhile.

Mirrors the in-flight part of ``backend/queue/active_queue.go``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mooring.framework import ClusterEvent


@dataclass(frozen=True, slots=True)
class Happening:
    """An event with the object before and after."""

    event: ClusterEvent
    old: Any
    new: Any


class InFlight:
    """The events since the pod that has been in flight longest was popped.

    For one thread at a time.
    """

    def __init__(self) -> None:
        self._happenings: deque[Happening] = deque()
        self._forgotten = 0
        self._starts: dict[str, int] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self._starts

    def __len__(self) -> int:
        """Return how many pods are in flight."""
        return len(self._starts)

    @property
    def remembered(self) -> int:
        """How many events are kept."""
        return len(self._happenings)

    def begin_attempt(self, uid: str) -> bool:
        """Return the pod is being tried from now on; False when it is already."""
        if uid in self._starts:
            return False
        self._starts[uid] = self._forgotten + len(self._happenings)
        return True

    def note_event(self, event: ClusterEvent, old: Any, new: Any) -> None:
        """Remember an event while any pod is in flight."""
        if self._starts:
            self._happenings.append(Happening(event, old, new))

    def events_since(self, uid: str) -> Iterator[Happening]:
        """Return what happened since the pod was taken."""
        return islice(self._happenings, self._starts[uid] - self._forgotten, None)

    def end_attempt(self, *uids: str) -> None:
        """End the attempt of these pods; drop the events that no other attempt needs."""
        for uid in uids:
            self._starts.pop(uid, None)
        if not self._happenings:
            return
        # Starts only grow, and a dict keeps the order of insertion: the first is the smallest.
        oldest = next(iter(self._starts.values()), self._forgotten + len(self._happenings))
        while self._forgotten < oldest:
            self._happenings.popleft()
            self._forgotten += 1
