"""What changed lately: lets a reader look again at a few rows instead of all."""

from __future__ import annotations

from collections.abc import Sequence

from mooring.framework.state import RowChange

DEFAULT_LENGTH = 1 << 12
"""Changes that are remembered; for a reader that is further behind it is cheaper to look at every row."""


class ChangeLog:
    """One entry for each version. The caller holds the state's lock."""

    __slots__ = ("_changes", "_length")

    def __init__(self, length: int = DEFAULT_LENGTH) -> None:
        self._length = length
        self._changes: list[RowChange] = []

    def extend(self, changes: Sequence[RowChange]) -> None:
        """Note ``changes``, the next versions; so many at once, as a full load brings, are all forgotten."""
        if len(changes) > self._length:
            self._changes.clear()
            return
        self._changes += changes
        if len(self._changes) > 2 * self._length:
            del self._changes[: -self._length or None]

    def since(self, version: int, now: int) -> Sequence[RowChange] | None:
        """Return the changes after ``version`` up to ``now``, in their order; None if they are forgotten."""
        count = now - version
        if not 0 <= count <= min(self._length, len(self._changes)):
            return None
        return self._changes[-count:] if count else ()

    def copy(self) -> ChangeLog:
        """Return an independent log with the same content."""
        twin = ChangeLog(self._length)
        twin._changes = self._changes.copy()
        return twin
