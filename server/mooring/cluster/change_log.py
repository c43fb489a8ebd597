"""Which rows changed lately: what lets a reader look again at a few rows instead of all."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from mooring.framework.columns import Int32s
from mooring.framework.pod_table import UNPLACED

DEFAULT_LENGTH = 1 << 16
"""Changes that are remembered; a reader that is further behind looks at every row."""


class ChangeLog:
    """A ring with one entry for each version: the row that it touched, or ``UNPLACED``.

    The caller holds the state's lock.
    """

    __slots__ = ("_rows",)

    def __init__(self, length: int = DEFAULT_LENGTH) -> None:
        self._rows: Int32s = np.full(length, UNPLACED, np.int32)

    def record(self, version: int, rows: Collection[int]) -> int:
        """Notes changes of ``rows``, one or more, after ``version``; returns the version they lead to."""
        entries = np.fromiter(rows, np.int32, len(rows))
        length = len(self._rows)
        new = version + len(entries)
        kept = entries[-length:]
        self._rows[np.arange(new - len(kept) + 1, new + 1) % length] = kept
        return new

    def since(self, version: int, now: int) -> Int32s | None:
        """int32[]: the rows touched after ``version`` up to ``now``, each once; None if forgotten."""
        if version > now or now - version > len(self._rows):
            return None
        rows: Int32s = np.unique(self._rows[np.arange(version + 1, now + 1) % len(self._rows)])
        touched: Int32s = rows[rows != UNPLACED]
        return touched

    def copy(self) -> ChangeLog:
        """An independent log with the same content."""
        twin = ChangeLog(0)
        twin._rows = self._rows.copy()
        return twin
