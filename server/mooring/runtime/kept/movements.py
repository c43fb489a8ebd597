"""What the change log says, read once for all kept evaluations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mooring.framework import ClusterState, Int32s, Part
from mooring.framework.pod_table import UNPLACED
from mooring.framework.state import RowChange

_NUMBERS_PER_ROW, _FEWEST_NUMBERS = 4, 1 << 12
"""At so many distinct amounts the numbers begin anew, and with them what is known of amounts."""


class Movements:
    """Follows the state: when which part last changed, and which rows have the same amounts.

    It is written to under the state's lock; who reads without it finds out by the version what changed.

    Attributes:
        version: Up to here the log was read.
        numbers: int32[capacity], equal where rows offer the same and have given away the same of everything.
        generation: Changes when numbers get a new meaning.
        structure: Changes when anything moved but amounts and pods without terms about others.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._known: dict[bytes, int] = {}
        self._moved = {Part.NODES: 0, Part.OBJECTS: 0, Part.AFFINITIES: 0}
        self.version = -1
        self.generation = 0
        self.structure = 0
        self.numbers: Int32s = np.zeros(0, np.int32)

    @property
    def count(self) -> int:
        """How many numbers there are."""
        return len(self._known)

    def moved_since(self, version: int, parts: Part) -> bool:
        """Whether one of ``parts``, amounts and pods aside, changed after ``version``."""
        return any(at > version for part, at in self._moved.items() if part in parts)

    def follow(self, version: int) -> Sequence[RowChange] | None:
        """Read what was logged since the last time.

        Returns:
            What changed after ``version``; None when that is forgotten.
        """
        with self._state.lock:
            before = self.version
            changes = self._state.changes_since(before)
            if changes is None or self.count > max(_FEWEST_NUMBERS, _NUMBERS_PER_ROW * len(self.numbers)):
                self._begin()
            else:
                self._read(changes)
            return changes if version == before else self._state.changes_since(version)

    def _read(self, changes: Sequence[RowChange]) -> None:
        for row, record, amount in changes:
            self.version += 1
            if record is None and amount:
                continue
            if record is None:
                self._move(Part.OBJECTS if row == UNPLACED else Part.NODES)
            elif row == UNPLACED or not amount:
                continue
            elif record.kind.affinity_key is not None:
                self._move(Part.AFFINITIES)
            if row != UNPLACED:
                self._number(row)

    def _move(self, part: Part) -> None:
        self._moved[part] = self.version
        self.structure += 1

    def _begin(self) -> None:
        """Number every row, as if everything had changed."""
        self.version = self._state.version
        table = self._state.snapshot.nodes
        amounts = np.concatenate((table.allocatable, table.requested, table.non_zero_requested))
        for part in self._moved:
            self._move(part)
        self.generation += 1
        keys, width = np.ascontiguousarray(amounts.T).tobytes(), amounts.shape[0] * amounts.itemsize
        known: dict[bytes, int] = {}
        self.numbers = np.fromiter(
            (known.setdefault(keys[at : at + width], len(known)) for at in range(0, len(keys), width)),
            np.int32,
            amounts.shape[1],
        )
        self._known = known

    def _number(self, row: int) -> None:
        table = self._state.snapshot.nodes
        if row >= len(self.numbers):
            larger = np.zeros(table.capacity, np.int32)
            larger[: len(self.numbers)] = self.numbers
            self.numbers = larger
        key = (
            table.allocatable[:, row].tobytes()
            + table.requested[:, row].tobytes()
            + table.non_zero_requested[:, row].tobytes()
        )
        self.numbers.data[row] = self._known.setdefault(key, len(self._known))
