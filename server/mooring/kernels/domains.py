"""Totals of all rows by the counts of a topology's domains: one pass over the rows for each step.

Totals are int32[N], by row, and ``REJECTED`` for rows that can't be selected, which they stay. Columns by row
may be longer than the totals.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mooring.kernels.arrays import ABSENT, REJECTED, Bools, Float64s, Int32s, Int64s
from mooring.kernels.compile import loop
from mooring.kernels.percentages import MAX_EXACT, MAX_NODE_SCORE, between

_MOST = 2**63 - 1


def limit(
    ids: Int32s,
    counts: Int32s | Int64s,
    totals: Int32s,
    *,
    least: int = 0,
    most: int = MAX_EXACT,
    outside: bool = True,
) -> None:
    """Reject the rows whose domain has less than ``least`` or more than ``most``.

    Args:
        ids: int32[N], the domain of each row.
        counts: int32[D], what each domain has.
        totals: Those of the rows.
        least: The least.
        most: The most.
        outside: Whether rows in no domain are left.
    """
    compiled = _limit.for_rows(len(totals))
    if compiled is not None:
        compiled(ids, counts, least, most, outside, totals)
        return
    fits = within(counts, least, most)
    fits[ABSENT] = outside
    totals[~fits.take(ids[: len(totals)])] = REJECTED


def add_between(ids: Int32s, worth: Int32s | Int64s, weight: int, totals: Int32s) -> None:
    """Add ``weight`` times what ``between`` makes of the ``worth`` (int64[D]) of domains."""
    compiled = _add_between.for_rows(len(totals))
    if compiled is not None:
        compiled(ids, worth, weight, totals)
        return
    left = totals != REJECTED
    totals[left] += weight * between(worth.take(ids[: len(totals)][left]))


def add_crowding(
    ids: Int32s, counts: Int32s | Int64s, factor: float, offset: float, crowding: Float64s
) -> None:
    """Add ``factor`` times what each row's domain has, plus ``offset``, to its ``crowding`` (float64[N]).

    Rows in no domain get nothing.
    """
    compiled = _add_crowding.for_rows(len(crowding))
    if compiled is not None:
        # For a whole number numba would compile it once more, while the decision waits.
        compiled(ids, counts, factor, float(offset), crowding)
        return
    by_domain = crowd(counts, factor, offset)
    by_domain[ABSENT] = 0.0
    crowding += by_domain.take(ids[: len(crowding)])


def add_emptier(crowding: Float64s, ignored: Bools, weight: int, totals: Int32s) -> None:
    """Add ``weight`` times 0..100, most for the rows with the least ``crowding`` (float64[N]), as
    PodTopologySpread does.

    Rows that are ``ignored`` (bool[N]) get nothing, and don't matter to others.
    """
    compiled = _add_emptier.for_rows(len(totals))
    if compiled is not None and compiled(crowding, ignored, weight, totals):
        return
    rows = np.flatnonzero(_counted(totals, ignored))
    totals[rows] += weight * emptier(half_up(crowding[rows]).astype(np.int64))


def count(totals: Int32s, ignored: Bools) -> int:
    """Return how many rows are neither rejected nor ``ignored`` (bool[N])."""
    compiled = _count.for_rows(len(totals))
    if compiled is not None:
        return compiled(totals, ignored)
    return int(np.count_nonzero(_counted(totals, ignored)))


def distinct(ids: Int32s, size: int, totals: Int32s, ignored: Bools) -> int:
    """Return in how many domains, of ``size``, the rows are that ``count`` counts; in none is one more."""
    compiled = _distinct.for_rows(len(totals))
    if compiled is not None:
        return compiled(ids, totals, ignored, np.zeros(size, np.bool_))
    return int(np.count_nonzero(np.bincount(ids[: len(totals)][_counted(totals, ignored)])))


def emptier(penalties: Int64s) -> Int64s:
    """int64[K]: 0..100, the least of ``penalties`` (int64[K], not negative) gets most."""
    highest = int(penalties.max(initial=0))
    if highest == 0:
        return np.full(len(penalties), MAX_NODE_SCORE, np.int64)
    return MAX_NODE_SCORE * (highest + int(penalties.min()) - penalties) // highest


def _counted(totals: Int32s, ignored: Bools) -> Bools:
    counted: Bools = (totals != REJECTED) & ~ignored[: len(totals)]
    return counted


@loop("(int64, int64, int64)")
def within(count: Any, least: int, most: int) -> Any:
    """Return whether ``count`` is neither less than ``least`` nor more than ``most``; or bool[D]."""
    return (least <= count) & (count <= most)


@loop("(int64, float64, float64)")
def crowd(count: Any, factor: float, offset: float) -> Any:
    """Return what the pods of a domain add to the crowding of its rows; or float64[D]."""
    return count * factor + offset


@loop("(float64,)")
def half_up(value: Any) -> Any:
    """Round half up, as Go's math.Round does with numbers that aren't negative; or float64[K]."""
    return np.floor(value + 0.5)


@loop("int32[::1], int32[::1], int64, int64, boolean, int32[::1]")
def _limit(ids: Int32s, counts: Int32s, least: int, most: int, outside: bool, totals: Int32s) -> None:
    for row in range(len(totals)):
        count = counts[ids[row]]
        fits = outside if ids[row] == ABSENT else within(count, least, most)
        totals[row] = totals[row] if fits else REJECTED


@loop("int32[::1], int64[::1], int64, int32[::1]")
def _add_between(ids: Int32s, worth: Int64s, weight: int, totals: Int32s) -> None:
    lowest, highest = _MOST, -_MOST
    for row in range(len(totals)):
        value, left = worth[ids[row]], totals[row] != REJECTED
        lowest = min(lowest, value if left else _MOST)
        highest = max(highest, value if left else -_MOST)
    if highest <= lowest:
        return
    span = np.float64(highest - lowest)
    for row in range(len(totals)):
        share = MAX_NODE_SCORE * (np.float64(worth[ids[row]] - lowest) / span)
        totals[row] += weight * np.int64(share) if totals[row] != REJECTED else 0


@loop("int32[::1], int32[::1], float64, float64, float64[::1]")
def _add_crowding(ids: Int32s, counts: Int32s, factor: float, offset: float, crowding: Float64s) -> None:
    for row in range(len(crowding)):
        crowding[row] += crowd(counts[ids[row]], factor, offset) if ids[row] != ABSENT else 0.0


@loop("float64[::1], boolean[::1], int64, int32[::1]")
def _add_emptier(crowding: Float64s, ignored: Bools, weight: int, totals: Int32s) -> bool:
    """Return False when a number is too large; then nothing is done."""
    # The least and the most of whole numbers are found in half the time.
    lowest, highest = _MOST, 0
    for row in range(len(totals)):
        if totals[row] != REJECTED and not ignored[row]:
            whole = int(half_up(crowding[row]))
            lowest, highest = min(lowest, whole), max(highest, whole)
    if highest > MAX_EXACT // 2:
        return False
    most, divisor = np.float64(highest + lowest), np.float64(highest)
    for row in range(len(totals)):
        penalty = half_up(crowding[row])
        share = MAX_NODE_SCORE * (most - penalty) / divisor if highest > 0 else MAX_NODE_SCORE
        counted = totals[row] != REJECTED and not ignored[row]
        totals[row] = totals[row] + weight * np.int64(share) if counted else totals[row]
    return True


@loop("int32[::1], boolean[::1]")
def _count(totals: Int32s, ignored: Bools) -> int:
    found = 0
    for row in range(len(totals)):
        found += totals[row] != REJECTED and not ignored[row]
    return found


@loop("int32[::1], int32[::1], boolean[::1], boolean[::1]")
def _distinct(ids: Int32s, totals: Int32s, ignored: Bools, seen: Bools) -> int:
    found = 0
    for row in range(len(totals)):
        if totals[row] != REJECTED and not ignored[row] and not seen[ids[row]]:
            seen[ids[row]] = True
            found += 1
    return found
