"""The latest changes, so that a reader reads only those."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import count
from typing import Generic, TypeVar

T = TypeVar("T")

MAX_CHANGES = 1 << 10
"""The changes that are remembered; up to twice as many before half of them go."""

next_version: Callable[[], int] = count(1).__next__
"""Numbers that no version of anything has had: equal versions mean equal content, in forks as well."""


class RecentChanges(Generic[T]):
    """The last changes, each with the version that it led to. The one writer is the state.

    Args:
        before: An entry that stands for all earlier changes; it is never returned.

    Attributes:
        version: Changes with every change.
    """

    __slots__ = ("_changes", "version")

    def __init__(self, before: T) -> None:
        self.version = next_version()
        self._changes = [(self.version, before)]

    def add(self, changed: T) -> int:
        """Note that ``changed`` came, changed or went; return the new version."""
        self.version = next_version()
        self._changes.append((self.version, changed))
        if len(self._changes) > 2 * MAX_CHANGES:
            self._changes = self._changes[-MAX_CHANGES:]
        return self.version

    def since(self, version: int) -> Sequence[T] | None:
        """Return the changes after ``version``, in order; None when they are forgotten.

        Versions of other copies are unknown here.
        """
        changes = self._changes
        at = bisect_left(changes, (version,))
        if at == len(changes) or changes[at][0] != version:
            return None
        return [changed for _, changed in changes[at + 1 :]]

    def copy(self) -> RecentChanges[T]:
        """Return an independent copy."""
        twin: RecentChanges[T] = object.__new__(RecentChanges)
        twin.version, twin._changes = self.version, self._changes.copy()
        return twin
