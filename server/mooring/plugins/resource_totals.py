"""Totals of rows from what NodeResourcesFit and NodeResourcesBalancedAllocation say, in one compiled pass."""

from __future__ import annotations

from collections.abc import Sequence

from mooring.framework import Int32s, Int64s, NodeTable
from mooring.framework.internal import REJECTED, NodeRating
from mooring.plugins.leading_rows import Leaders, find_leaders
from mooring.plugins.loops import loop
from mooring.plugins.node_resources_balanced_allocation.plugin import add_improvements
from mooring.plugins.node_resources_fit.scoring import add_free_shares
from mooring.plugins.resource_uses import COLUMNS_AND_PLACES, Columns, Places, ResourceRating, places_of

_LOOPS = [add_free_shares, add_improvements]

_PIECE = 1 << 16
"""Rows that are rated at once: the columns of a piece stay in the processor's cache."""


Put = tuple[bool, Leaders]
"""What became of totals: whether a row is feasible that was not, or the other way round; and who leads."""


class TotalsRating:
    """What both say of one pod.

    Args:
        asked: What ``add_free_shares`` takes and the weight of its scores, and the same of
            ``add_improvements``.
    """

    def __init__(self, asked: Sequence[tuple[Int64s | int, ...]]) -> None:
        self._asked = asked

    @classmethod
    def of(cls, ratings: Sequence[tuple[NodeRating, int]]) -> TotalsRating | None:
        """Return what does the same as ``ratings``, each with its weight; None where one pass can't."""
        asked: list[tuple[Int64s | int, ...]] = []
        loops: list[object] = []
        for rating, weight in ratings:
            if not isinstance(rating, ResourceRating) or rating.asked is None:
                return None
            asked.append((*rating.asked, weight))
            loops.append(rating.loop)
        return cls(asked) if loops == _LOOPS else None

    def put(self, table: NodeTable, at: Int32s | slice, base: Int32s, totals: Int32s) -> Put | None:
        """Give the rows ``at`` the totals that they have by their ``base`` and these scores.

        Both are int32[capacity], and ``REJECTED`` where a node is rejected. A negative row is none.

        Returns:
            None when that can't be done now; then nothing is.
        """
        count, places = places_of(at)
        put = _put_and_lead.for_rows(count, len(table.alive))
        if put is None:
            return None
        columns = table.allocatable, table.requested, table.non_zero_requested
        done, crossed, top, ties, feasible = put(columns, places, count, *self._asked, (base, totals))
        return (crossed, Leaders(top, ties, feasible)) if done else None


@loop(
    f"({COLUMNS_AND_PLACES}, int64, Tuple((int64[:, ::1], int64[:, ::1], int64)),"
    " Tuple((int64[:, ::1], int64)), UniTuple(int32[::1], 2))"
)
def _put_totals(
    columns: Columns,
    places: Places,
    count: int,
    shares: tuple[Int64s, Int64s, int],
    balance: tuple[Int64s, int],
    both: tuple[Int32s, Int32s],
) -> tuple[bool, bool]:
    """Return whether it could be done, and what ``put`` does with ``both`` base and totals."""
    (scored, checked, weight), (uses, other_weight), (base, totals) = shares, balance, both
    first, rows = places
    found = base[rows] if len(rows) else base[first : first + count].copy()
    for begin in range(0, count, _PIECE):
        piece, there = found[begin : begin + _PIECE], (first + begin, rows[begin : begin + _PIECE])
        if not add_free_shares(columns, there, scored, checked, weight, piece):
            return False, False
        if not add_improvements(columns, there, uses, other_weight, piece):
            return False, False
    crossed = False
    if len(rows):
        for at in range(count):
            crossed |= (found[at] == REJECTED) != (totals[rows[at]] == REJECTED)
            totals[rows[at]] = found[at]
    else:
        before = totals[first : first + count]
        for at in range(count):
            crossed |= (found[at] == REJECTED) != (before[at] == REJECTED)
        before[:] = found
    return True, crossed


@loop(
    f"({COLUMNS_AND_PLACES}, int64, Tuple((int64[:, ::1], int64[:, ::1], int64)),"
    " Tuple((int64[:, ::1], int64)), UniTuple(int32[::1], 2))"
)
def _put_and_lead(
    columns: Columns,
    places: Places,
    count: int,
    shares: tuple[Int64s, Int64s, int],
    balance: tuple[Int64s, int],
    both: tuple[Int32s, Int32s],
) -> tuple[bool, bool, int, int, int]:
    """Do ``_put_totals`` for rows that are there, and find who leads then."""
    (first, rows), (_, totals) = places, both
    # Read in sequence first: where it is far away, one would wait for memory at each row that is written.
    done, crossed = totals.min() >= REJECTED, False
    if len(rows) and rows.min() < 0:
        rows = rows[rows >= 0]
        count = len(rows)
    if done and count:
        done, crossed = _put_totals(columns, (first, rows), count, shares, balance, both)
    top, ties, feasible = find_leaders(totals)
    return done, crossed, top, ties, feasible
