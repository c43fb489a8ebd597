"""Which rows have the highest total, in compiled passes over a column."""

from __future__ import annotations

import msgspec
import numpy as np

from mooring.kernels.arrays import REJECTED, Int32s, Int64s
from mooring.kernels.compile import loop

_PIECE = 1 << 8
"""Rows that are searched one by one."""


class Leaders(msgspec.Struct, frozen=True, gc=False):
    """The rows with the highest total, in numbers.

    Attributes:
        top: The highest total; ``REJECTED`` if all rows are.
        ties: How many rows have it.
        feasible: How many rows are not ``REJECTED``.
    """

    top: int
    ties: int
    feasible: int


def leaders_of(totals: Int32s) -> Leaders:
    """Return the leaders by ``totals`` ([N], at least one), with numpy until a pass is compiled."""
    compiled = find_leaders.for_rows(len(totals))
    if compiled is not None:
        return Leaders(*compiled(totals))
    top = totals.item(totals.argmax())
    return Leaders(top, int(np.count_nonzero(totals == top)), int(np.count_nonzero(totals != REJECTED)))


def leader_at(totals: Int32s, leaders: Leaders, position: int) -> int:
    """Return the row of the leader at ``position``, 0..ties-1, in row order."""
    compiled = find_leader.for_rows(len(totals))
    if compiled is not None:
        return compiled(totals, leaders.top, position)
    return np.equal(totals, leaders.top).nonzero()[0].item(position)


@loop("(int32[::1],)", "(int64[::1],)")
def find_leaders(totals: Int32s | Int64s) -> tuple[int, int, int]:
    """Return the fields of ``Leaders``."""
    top, least = totals[0], totals[0]
    for row in range(len(totals)):
        top, least = max(top, totals[row]), min(least, totals[row])
    ties, rejected = np.int32(0), np.int32(0)
    for row in range(len(totals)):
        ties += np.int32(totals[row] == top)
    if least == REJECTED:
        for row in range(len(totals)):
            rejected += np.int32(totals[row] == REJECTED)
    return int(top), int(ties), len(totals) - int(rejected)


@loop("(int32[::1], int64, int64)", "(int64[::1], int64, int64)")
def find_leader(totals: Int32s | Int64s, top: int, position: int) -> int:
    """Return the row of the leader at ``position``; -1 when there are fewer."""
    # Piece by piece: leaders are counted much faster than found.
    for begin in range(0, len(totals), _PIECE):
        piece, leaders = totals[begin : begin + _PIECE], 0
        for at in range(len(piece)):
            leaders += piece[at] == top
        if position < leaders:
            for at in range(len(piece)):
                if piece[at] == top:
                    if position == 0:
                        return begin + at
                    position -= 1
        position -= leaders
    return -1


@loop("(int32[::1], int64)", "(int64[::1], int64)")
def take_out(leaders: Int32s | Int64s, position: int) -> None:
    """Take the leader at ``position`` out of ``leaders``, in row order; the last entry is left over."""
    # Counted from 0 on, which is what numba turns into moves of many entries at once.
    behind = leaders[position:]
    for at in range(len(behind) - 1):
        behind[at] = behind[at + 1]
