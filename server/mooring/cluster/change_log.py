"""The latest changes: with them a reader reads a few rows again instead of all."""

from __future__ import annotations

from collections.abc import Sequence

from mooring.framework.memory import share_of_memory
from mooring.framework.pod_table import PodRecord
from mooring.framework.state import RowChange

DEFAULT_LENGTH = 1 << 12
"""Changes that are remembered; a reader that is further behind reads every row at lower cost."""

MAX_BYTES = share_of_memory(128, 1 << 21)
"""Encoded bytes of large pods that may be remembered: they may be gone, and take several times as much."""

_MANY_LABELS = 1 << 7
"""Labels, their keys and values, that count like a large template."""


def large_bytes(record: PodRecord) -> int:
    """Return about how many bytes the pod takes encoded; 0 for one that isn't large, as most share theirs."""
    kind = record.kind
    return kind.size if kind.base.size or len(kind.class_key) > _MANY_LABELS else 0


class ChangeLog:
    """One entry for each version. The caller holds the state's lock."""

    __slots__ = ("_bytes", "_changes", "_length")

    def __init__(self, length: int = DEFAULT_LENGTH) -> None:
        self._length = length
        self._changes: list[RowChange] = []
        self._bytes = 0

    def extend(self, changes: Sequence[RowChange]) -> None:
        """Note ``changes``, the next versions.

        With this many at once, such as after a full load, and with too many large pods, all are forgotten.
        """
        for _, record, _ in changes:
            if record is not None:
                self._bytes += large_bytes(record)
        if len(changes) > self._length or self._bytes > MAX_BYTES:
            self._changes.clear()
            self._bytes = 0
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
        twin._changes, twin._bytes = self._changes.copy(), self._bytes
        return twin
