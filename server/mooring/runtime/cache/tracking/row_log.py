"""Changed rows and moved pods as columns, for readers that are many changes behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mooring.framework import Int32s
from mooring.framework.pod_table import UNPLACED, PodKind
from mooring.framework.state import ClusterState, RowChange

_LENGTH = 1 << 14
"""Remembered changes; a reader that is further behind starts over."""


_KINDS = 1 << 12
"""With this many kinds of pods, numbering starts over."""


class MovedPods(NamedTuple):
    """Changes, in their order.

    Attributes:
        rows: int32[C], the row of each change.
        pods: int32[C], the number of the kind of the pod that came, negative if it left; 0 = neither.
        kinds: The kinds, number 1 first; later ones come to the same list.
    """

    rows: Int32s
    pods: Int32s
    kinds: Sequence[PodKind]


class RowLog:
    """The row and the pod of each change of the state, in their order. The caller holds the state's lock.

    Attributes:
        version: The version of the state up to which it was written.
    """

    _end: int

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._forget()
        self._begin_kinds(state.version)
        self.version = state.version

    def since(self, version: int) -> Int32s | None:
        """int32[C]: the rows of the changes after ``version``, a row as often as it changed; None when
        ``version`` is forgotten.

        ``UNPLACED`` stands for a change of no row, or of nothing that a row offers or has taken from it.
        """
        at = self._at(version)
        return None if at is None else self._rows[at : self._end]

    def pods_since(self, version: int, until: int) -> MovedPods | None:
        """Return the pods that came or left after ``version``, up to ``until``; None as with ``since``."""
        at = self._at(version)
        if at is None or version < self._kinds_since:
            return None
        changes = slice(at, at + until - version)
        return MovedPods(self._pod_rows[changes], self._pods[changes], self._kinds)

    def _at(self, version: int) -> int | None:
        """Return where the changes after ``version`` begin; None when they are forgotten."""
        if self._state.version != self.version:
            self._write()
        count = self.version - version
        return self._end - count if 0 <= count <= min(self._end, _LENGTH) else None

    def extend_from(self, version: int, changes: Sequence[RowChange]) -> None:
        """Write ``changes``, all after ``version``, if they continue the log."""
        if version == self.version:
            self._extend(changes)

    def add_pod(self, row: int, kind: PodKind, version: int) -> None:
        """Write that a pod of ``kind`` came to ``row`` with ``version``, if that is next and has room."""
        (rows, pod_rows, pods), end = self._views, self._end
        if self.version == version - 1 and end < len(rows) and len(self._kinds) < _KINDS:
            rows[end] = pod_rows[end] = row
            pods[end] = self._numbers.get(id(kind)) or self._number(kind)
            self._end = end + 1
            self.version = version

    def _forget(self) -> None:
        # Columns that readers hold stay as they are.
        self._rows: Int32s = np.zeros(2 * _LENGTH, np.int32)
        self._pod_rows: Int32s = np.zeros(2 * _LENGTH, np.int32)
        self._pods: Int32s = np.zeros(2 * _LENGTH, np.int32)
        self._views = self._rows.data, self._pod_rows.data, self._pods.data
        self._end = 0

    def _begin_kinds(self, version: int) -> None:
        """Begin to number kinds, with the change after ``version``."""
        self._kinds_since = version
        self._kinds: list[PodKind] = []
        self._numbers: dict[int, int] = {}

    def _write(self) -> None:
        changes = self._state.changes_since(self.version)
        if changes is None:
            self.version = self._state.version
            self._forget()
        else:
            self._extend(changes)

    def _extend(self, changes: Sequence[RowChange]) -> None:
        if len(self._kinds) >= _KINDS:
            self._begin_kinds(self.version)
        self.version += len(changes)
        if len(changes) > _LENGTH:
            self._forget()
            return
        if self._end + len(changes) > len(self._rows):
            latest = slice(self._end - _LENGTH, self._end)
            columns = self._rows[latest], self._pod_rows[latest], self._pods[latest]
            self._forget()
            self._rows[:_LENGTH], self._pod_rows[:_LENGTH], self._pods[:_LENGTH] = columns
            self._end = _LENGTH
        (rows, pod_rows, pods), numbers = self._views, self._numbers
        for at, (row, record, amount) in enumerate(changes, self._end):
            # A heartbeat of a node, or a pod that is confirmed, takes no room.
            if record is None:
                rows[at], pods[at] = UNPLACED if amount else row, 0
            elif row == UNPLACED or not amount:
                rows[at], pods[at] = UNPLACED, 0
            else:
                number = numbers.get(id(record.kind)) or self._number(record.kind)
                # A pod with other labels takes the same room, but counts for others.
                rows[at] = row if amount in (1, -1) else UNPLACED
                pod_rows[at], pods[at] = row, number if amount > 0 else -number
        self._end += len(changes)

    def _number(self, kind: PodKind) -> int:
        """Return the number of a kind that is new, from 1 on."""
        # It is kept, so that its identity isn't given to another one meanwhile.
        self._kinds.append(kind)
        number = self._numbers[id(kind)] = len(self._kinds)
        return number
