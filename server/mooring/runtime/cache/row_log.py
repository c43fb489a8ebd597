"""The rows that changed, as a column: what a reader that is many changes behind looks at in one step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mooring.framework import Int32s
from mooring.framework.pod_table import UNPLACED
from mooring.framework.state import ClusterState, RowChange

_LENGTH = 1 << 14
"""Changes that are remembered. Between two pods of one template there may be one of each of thousands others;
a reader that is further behind starts over."""


class RowLog:
    """The row of each change of the state, in their order. The caller holds the state's lock.

    Attributes:
        version: The version of the state up to which it was written.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._forget()
        self.version = state.version

    def since(self, version: int) -> Int32s | None:
        """int32[C]: the rows of the changes after ``version``, a row as often as it changed; None when
        ``version`` is forgotten.

        ``UNPLACED`` stands for a change of no row, or of nothing that a row offers or has taken from it.
        """
        self._write()
        count = self.version - version
        if not 0 <= count <= min(self._end, _LENGTH):
            return None
        return self._rows[self._end - count : self._end]

    def extend_from(self, version: int, changes: Sequence[RowChange]) -> None:
        """Write ``changes``, all after ``version``, unless they don't follow on what was written."""
        if version == self.version:
            self._extend(changes)

    def _forget(self) -> None:
        # What readers hold of the rows stays as it is.
        self._rows: Int32s = np.zeros(2 * _LENGTH, np.int32)
        self._end = 0

    def _write(self) -> None:
        now = self._state.version
        if now == self.version:
            return
        changes = self._state.changes_since(self.version)
        if changes is None:
            self.version = now
            self._forget()
        else:
            self._extend(changes)

    def _extend(self, changes: Sequence[RowChange]) -> None:
        self.version += len(changes)
        if len(changes) > _LENGTH:
            self._forget()
            return
        if self._end + len(changes) > len(self._rows):
            latest = self._rows[self._end - _LENGTH : self._end]
            self._forget()
            self._rows[:_LENGTH], self._end = latest, _LENGTH
        rows = self._rows.data
        for at, (row, record, amount) in enumerate(changes, self._end):
            # A node that says that it is well, or a pod that is confirmed, takes no more room than before.
            rows[at] = row if (record is None) != bool(amount) else UNPLACED
        self._end += len(changes)
