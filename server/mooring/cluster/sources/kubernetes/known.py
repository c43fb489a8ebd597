"""The objects that one kind's list and watch have delivered, to compare with the server's count."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping

_REMEMBERED = 100_000
"""Arrivals and departures that are remembered; a count is about the last moments only."""


class KnownObjects:
    """The objects by key, each with the version it is known at. Safe from any thread.

    Attributes:
        position: The version up to which everything was delivered; 0 before the first list.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._versions: dict[str, int] = {}
        self._moves: deque[tuple[int, int, str]] = deque(maxlen=_REMEMBERED)
        self.position = 0

    def load_list(self, versions: dict[str, int], position: int) -> None:
        """Start over from a full list; ``versions`` belongs to this object from now on."""
        with self._lock:
            self._versions = versions
            self._moves.clear()
            self.position = position

    def put_object(self, key: str, version: int) -> None:
        """Store the object's version, which becomes the position."""
        with self._lock:
            if key not in self._versions:
                self._moves.append((version, 1, key))
            self._versions[key] = version
            self.position = version

    def remove_object(self, key: str, version: int) -> None:
        """Drop an object that is gone since this version, which becomes the position."""
        with self._lock:
            if self._versions.pop(key, None) is not None:
                self._moves.append((version, -1, key))
            self.position = version

    def advance_position(self, version: int) -> None:
        """Nothing happened up to this version."""
        with self._lock:
            self.position = max(self.position, version)

    def count_at(self, version: int) -> int:
        """Return how many objects there were at ``version``, as far as delivered."""
        with self._lock:
            count = len(self._versions)
            for moved_at, change, _ in reversed(self._moves):
                if moved_at <= version:
                    break
                count -= change
            return count

    def first_difference(self, listed: Mapping[str, int], version: int) -> str:
        """Return the first difference from the server's list at ``version``; "" = none.

        Objects that were added, changed or deleted after ``version`` don't count.
        """
        with self._lock:
            left = {key for moved_at, change, key in self._moves if moved_at > version and change < 0}
            for key, listed_at in listed.items():
                known_at = self._versions.get(key, 0)
                if known_at <= version and known_at != listed_at and key not in left:
                    return f"{key} is at {listed_at}, and known at {known_at or 'no version'}"
            for key, known_at in self._versions.items():
                if known_at <= version and key not in listed:
                    return f"{key} is gone"
        return ""
