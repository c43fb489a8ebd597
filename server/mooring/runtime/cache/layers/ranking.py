"""The nodes with the highest total, kept while totals change one by one, and the node that is selected."""

from __future__ import annotations

import msgspec
import numpy as np

from mooring.framework import Int32s, Int64s
from mooring.kernels.arrays import REJECTED
from mooring.kernels.select import leader_at, leaders_of
from mooring.runtime.cycle.tie_break import choose

_SMALLEST_BLOCK = 1024
_MAX_BLOCKS = 64
_NONE_PICKED = -1, 0


class Ranking:
    """Totals by row, with the rows that lead.

    Rows are searched in blocks: a selection touches one block, and when the last leader is gone, the blocks
    that can have the next highest total.

    Attributes:
        totals: int32[N]; ``REJECTED`` for rows that must not be selected. Written by ``put`` alone.
        top: The highest total; ``REJECTED`` when no row is left.
        ties: How many rows have it; 0 when ``top`` is ``REJECTED``.
    """

    _counts: list[int]
    # By block: to be changed in place, shared by twins, made in a hurry, or not known.
    _leaders: list[list[int] | tuple[int, ...] | Int64s | None]
    _steady: list[bool]
    _picked: tuple[int, int]

    def __init__(self, totals: Int32s) -> None:
        self._size = max(_SMALLEST_BLOCK, -(-len(totals) // _MAX_BLOCKS))
        self._use(totals)
        # No row of a block has more than this; what it has at most is found out when it matters.
        self._most = [int(block.max()) for block in self._blocks]
        self._find_top()

    def copy(self) -> Ranking:
        """Return an independent copy."""
        if self._size == _SMALLEST_BLOCK:
            # The leaders are found once, for all twins.
            for at, leaders in enumerate(self._leaders):
                if not isinstance(leaders, tuple):
                    self._leaders[at] = tuple(self._rows(at).tolist())
        twin: Ranking = object.__new__(Ranking)
        twin._size, twin.top, twin.ties = self._size, self.top, self.ties
        twin._use(self.totals.copy())
        twin._most, twin._counts = self._most.copy(), self._counts.copy()
        twin._leaders = [None if isinstance(leaders, list) else leaders for leaders in self._leaders]
        twin._steady, twin._picked = self._steady.copy(), _NONE_PICKED
        return twin

    def put(self, row: int, total: int) -> None:
        """``row`` has ``total`` from now on."""
        old, top = self._values[row], self.top
        if total == old:
            return
        self._values[row] = total
        at = row // self._size
        most = self._most[at]
        if total > most:
            self._most[at] = total
        if old == top:
            self._leave(at, row)
        if total == top:
            self._counts[at] += 1
            self.ties += 1
            self._leaders[at], self._steady[at], self._picked = None, False, _NONE_PICKED
        elif total > top:
            self._lead_alone(at, total)
        elif not self.ties:
            self._find_top()

    def leader(self, position: int) -> int:
        """Return the row of the leader at ``position``, 0..ties-1, in row order."""
        for at, count in enumerate(self._counts):
            if position < count:
                leaders = self._leaders[at]
                if leaders is None:
                    leaders = self._leaders[at] = self._found(at)
                row = int(leaders[position])
                self._picked = row, position
                return row
            position -= count
        raise IndexError(position)

    def _use(self, totals: Int32s) -> None:
        self.totals = totals
        self._values = totals.data
        self._blocks = [totals[at : at + self._size] for at in range(0, len(totals), self._size)]

    def _leave(self, at: int, row: int) -> None:
        """``row`` of block ``at`` leads no more."""
        self._counts[at] -= 1
        self.ties -= 1
        leaders, (picked, position) = self._leaders[at], self._picked
        if row == picked and isinstance(leaders, list):
            del leaders[position]
        elif row == picked and isinstance(leaders, tuple):
            self._leaders[at] = [*leaders[:position], *leaders[position + 1 :]]
        else:
            self._steady[at] = row == picked and leaders is not None
            self._leaders[at], self._picked = None, _NONE_PICKED

    def _found(self, at: int) -> list[int] | Int64s:
        """Return the leaders of a block, as a list (slower to make) if only those picked leave it."""
        rows = self._rows(at)
        return rows.tolist() if self._steady[at] else rows

    def _rows(self, at: int) -> Int64s:
        """int64[count]: the leaders of a block, in row order."""
        (rows,) = np.equal(self._blocks[at], self.top).nonzero()
        return rows + at * self._size

    def _lead_alone(self, at: int, total: int) -> None:
        """One row, of block ``at``, has more than all others."""
        self.top, self.ties = total, 1
        self._counts = [0] * len(self._blocks)
        self._counts[at] = 1
        self._begin()

    def _begin(self) -> None:
        """Nothing is known of the leaders but how many there are."""
        self._leaders = [None] * len(self._blocks)
        self._steady = [False] * len(self._blocks)
        self._picked = _NONE_PICKED

    def _find_top(self) -> None:
        most, blocks = self._most, self._blocks
        while True:
            self.top = max(most, default=REJECTED)
            counts = [
                int(np.count_nonzero(blocks[at] == self.top)) if bound == self.top != REJECTED else 0
                for at, bound in enumerate(most)
            ]
            for at, bound in enumerate(most):
                if bound == self.top and not counts[at]:
                    most[at] = int(blocks[at].max())
            self.ties = sum(counts)
            if self.ties or self.top == REJECTED:
                break
        self._counts = counts
        self._begin()


class Selected(msgspec.Struct, frozen=True, gc=False):
    """One of the best nodes.

    Attributes:
        total: Its total; 0 when it is the only feasible one, which needs no score.
        ties: How many nodes have that total.
        feasible: How many nodes are feasible.
        evaluated: How many nodes were evaluated.
    """

    row: int
    total: int
    ties: int
    feasible: int
    evaluated: int


class SelectedColumns(msgspec.Struct, frozen=True):
    """The nodes selected for pods in sequence; each list has one entry per pod.

    Attributes:
        rows, totals, ties, feasible: As in ``Selected``.
        evaluated: How many nodes were evaluated for each of the pods.
    """

    rows: list[int]
    totals: list[int]
    ties: list[int]
    feasible: list[int]
    evaluated: int

    @classmethod
    def of(cls, one: Selected) -> SelectedColumns:
        """Return those of one pod."""
        return cls([one.row], [one.total], [one.ties], [one.feasible], one.evaluated)


NONE_SELECTED = SelectedColumns([], [], [], [], 0)


def best(
    totals: Int32s | Int64s, seed: int, uid: str, evaluated: int, rows: Int32s | None = None
) -> Selected | None:
    """Select the node for the pod with ``uid`` by ``totals`` (int32 or int64[N]), some of which may be
    ``REJECTED``; None when none is feasible. ``seed`` and ``uid`` decide between equals; ``evaluated`` is how
    many nodes were evaluated. The totals are those of ``rows`` (int32[N]), in row order; None = of all rows.
    """
    if not len(totals):
        return None
    leaders = leaders_of(totals)
    if not leaders.feasible:
        return None
    row = leader_at(totals, leaders, choose(seed, uid, leaders.ties))
    top = leaders.top if leaders.feasible > 1 else 0
    return Selected(row if rows is None else rows.item(row), top, leaders.ties, leaders.feasible, evaluated)
