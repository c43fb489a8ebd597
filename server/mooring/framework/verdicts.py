"""A Filter plugin's statuses for many nodes at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mooring.framework.status import SUCCESS, Status
from mooring.kernels.arrays import Bools, Int32s


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Statuses of K nodes, dictionary-coded.

    Attributes:
        codes: int32[K], per node an index into ``statuses``.
        statuses: The distinct statuses; number 0 is Success.
    """

    codes: Int32s
    statuses: tuple[Status, ...] = (SUCCESS,)

    @classmethod
    def passed(cls, count: int) -> Verdicts:
        """Every one of ``count`` nodes passes."""
        return cls(np.zeros(count, np.int32))

    @classmethod
    def reject_where(cls, rejected: Bools, status: Status) -> Verdicts:
        """``status`` where ``rejected`` (bool[K]) is true, Success elsewhere."""
        return cls(rejected.astype(np.int32), (SUCCESS, status))

    @classmethod
    def of(cls, statuses: Iterable[Status]) -> Verdicts:
        """One status per node, in order."""
        table: dict[Status, int] = {SUCCESS: 0}
        codes = [table.setdefault(status, len(table)) for status in statuses]
        return cls(np.array(codes, np.int32), tuple(table))

    def __len__(self) -> int:
        return len(self.codes)

    def status(self, position: int) -> Status:
        """Return the status of the node at ``position``."""
        return self.statuses[int(self.codes[position])]
