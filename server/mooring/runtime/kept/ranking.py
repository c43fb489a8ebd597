"""The nodes with the highest total, kept while totals change one by one."""

from __future__ import annotations

from bisect import bisect_left, insort
from copy import copy

import numpy as np

from mooring.framework import Int32s

OUT = -1
"""The total of a row that no pod can go to."""

_SMALLEST_BLOCK = 1024
_MOST_BLOCKS = 64


class Ranking:
    """Totals by row, with the rows that lead.

    Rows are looked at in blocks: a choice touches one block, and when the last leader is gone, the blocks
    that can have the next highest total.

    Attributes:
        totals: int32[N]; ``OUT`` for rows that are not to be chosen. Written by ``put`` alone.
        top: The highest total; ``OUT`` when no row is left.
        ties: How many rows have it; 0 when ``top`` is ``OUT``.
    """

    _counts: list[int]
    _leaders: list[list[int] | None]

    def __init__(self, totals: Int32s) -> None:
        self._size = max(_SMALLEST_BLOCK, -(-len(totals) // _MOST_BLOCKS))
        self.totals = totals
        self._values = totals.data
        self._blocks = [totals[at : at + self._size] for at in range(0, len(totals), self._size)]
        # No row of a block has more than this; what it has at most is found out when it matters.
        self._most = [int(block.max()) for block in self._blocks]
        self._find_top()

    def copy(self) -> Ranking:
        """The same totals, to be changed apart from these."""
        twin = copy(self)
        twin.detach()
        return twin

    def detach(self) -> None:
        """Share nothing with the ranking that this is a shallow copy of."""
        self.totals = totals = self.totals.copy()
        self._values = totals.data
        self._blocks = [totals[at : at + self._size] for at in range(0, len(totals), self._size)]
        self._most, self._counts = self._most.copy(), self._counts.copy()
        self._leaders = [leaders and leaders.copy() for leaders in self._leaders]

    def put(self, row: int, total: int) -> None:
        """``row`` has ``total`` from now on."""
        old = self._values[row]
        if total == old:
            return
        self._values[row] = total
        at = row // self._size
        self._most[at] = max(self._most[at], total)
        if total > self.top:
            self._find_top()
        elif total == self.top:
            self._counts[at] += 1
            self.ties += 1
            if (leaders := self._leaders[at]) is not None:
                insort(leaders, row)
        elif old == self.top:
            self._counts[at] -= 1
            self.ties -= 1
            if (leaders := self._leaders[at]) is not None:
                del leaders[bisect_left(leaders, row)]
            if not self.ties:
                self._find_top()

    def leader(self, position: int) -> int:
        """The row of the leader at ``position``, 0..ties-1, in row order."""
        for at, count in enumerate(self._counts):
            if position < count:
                leaders = self._leaders[at]
                if leaders is None:
                    rows = np.flatnonzero(self._blocks[at] == self.top) + at * self._size
                    leaders = self._leaders[at] = rows.tolist()
                return leaders[position]
            position -= count
        raise IndexError(position)

    def leaders(self) -> Int32s:
        """int32[ties]: all leaders, in row order."""
        return np.flatnonzero(self.totals == self.top).astype(np.int32)

    def _find_top(self) -> None:
        most, blocks = self._most, self._blocks
        while True:
            self.top = max(most, default=OUT)
            counts = [
                int(np.count_nonzero(blocks[at] == self.top)) if bound == self.top != OUT else 0
                for at, bound in enumerate(most)
            ]
            for at, bound in enumerate(most):
                if bound == self.top and not counts[at]:
                    most[at] = int(blocks[at].max())
            self.ties = sum(counts)
            if self.ties or self.top == OUT:
                break
        self._counts = counts
        self._leaders = [None] * len(blocks)
