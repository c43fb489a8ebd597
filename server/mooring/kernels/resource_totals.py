"""Totals of rows by the free shares and the balance of resources, in one compiled pass."""

from __future__ import annotations

import numpy as np

from mooring.kernels.arrays import REJECTED, Bools, Int32s, Int64s
from mooring.kernels.compile import loop
from mooring.kernels.resources import (
    COLUMNS_AND_PLACES,
    Columns,
    Places,
    add_free_shares,
    add_improvements,
    lacks,
    reject,
)
from mooring.kernels.select import find_leaders

_PIECE = 1 << 10
"""Rows that are rated at once: if one of them has to be rated exactly, so are all of its piece."""

_MOST = 1 << 46
"""Amounts below this are whole numbers as floats, and so is what has a hundred of them."""

_LITTLE = 1e-10
"""More than rounding makes of a score, and so little that few scores are as near to a whole number."""

_COLUMNS = "UniTuple(int64[:, ::1], 3)"
_SHARES = "Tuple((int64[:, ::1], int64[:, ::1], int64))"
_BALANCE = "Tuple((int64[:, ::1], int64))"

Shares = tuple[Int64s, Int64s, int]
Balance = tuple[Int64s, int]
"""A pod's arguments of ``add_free_shares`` and ``add_improvements``, each with the weight of its scores."""


@loop("(int64[:, ::1], int32[::1], bool_[::1])")
def _gathered(columns: Int64s, rows: Int32s, read: Bools) -> Int64s:
    """int64[R, K]: the ``rows`` of the ``columns`` that are ``read`` (bool[R]); others mean nothing."""
    found = np.empty((len(columns), len(rows)), np.int64)
    for at in np.flatnonzero(read):
        column, there = columns[at], found[at]
        for place in range(len(rows)):
            there[place] = column[rows[place]]
    return found


@loop("(int64[:, ::1], int64)")
def _asked_of(scored: Int64s, resource: int) -> tuple[int, int, int]:
    """Return the request for a resource, its weight, and its position in the non-zero requested or -1."""
    request, weight, row = 0, 0, -1
    for at in range(len(scored)):
        if scored[at, 0] == resource:
            _, row, its_weight, request = scored[at]
            weight += its_weight
    return request, weight, row


@loop("(int64[:, ::1], int64)")
def _least_left(checked: Int64s, resource: int) -> int:
    """Return how much must be left; less than any node can have if the resource isn't ``checked``."""
    least = -_MOST
    for at in range(len(checked)):
        if checked[at, 0] == resource:
            least = max(least, checked[at, 1])
    return least


@loop(f"({_COLUMNS}, int64, {_SHARES}, {_BALANCE}, int32[::1], int32[::1])")
def _estimate(
    columns: Columns, first: int, shares: Shares, balance: Balance, base: Int32s, totals: Int32s
) -> bool:
    """Write the ``totals`` by their ``base`` and the scores of both loops, with one division a resource where
    these take six, and reject nodes that lack one of the two resources.

    A product with the inverse of a capacity is nearly the quotient. A share is corrected by the rest of the
    division. A balance that is nearly a whole number may be rounded down to that or to the one
    before, so then it has to be found out exactly.

    Returns:
        False when that is so of a node, other resources count than the two of the balance, or an amount is
        too large or lacking; then the totals mean nothing.
    """
    (scored, checked, share_weight), (uses, balance_weight) = shares, balance
    (resource, request), (other, other_request) = uses
    asked, part, row = _asked_of(scored, resource)
    other_asked, other_part, other_row = _asked_of(scored, other)
    if not (np.equal(scored[:, 0], resource) | np.equal(scored[:, 0], other)).all():
        return False
    (allocatable, requested, non_zero), rows = columns, slice(first, first + len(totals))
    offered, other_offered = allocatable[resource, rows], allocatable[other, rows]
    taken, other_taken = requested[resource, rows], requested[other, rows]
    used = non_zero[row, rows] if row >= 0 else taken
    other_used = non_zero[other_row, rows] if other_row >= 0 else other_taken
    least, other_least = _least_left(checked, resource), _least_left(checked, other)
    bits, doubt = request | other_request | asked | other_asked, False
    of_parts = 1.0 / max(part + other_part, 1)
    for at in range(len(totals)):
        bits |= (offered[at] - 1) | taken[at] | used[at]
        bits |= (other_offered[at] - 1) | other_taken[at] | other_used[at]
        whole, other_whole = np.float64(offered[at]), np.float64(other_offered[at])
        half, other_half = 50.0 / whole, 50.0 / other_whole
        free = np.float64(max(offered[at] - used[at] - asked, 0))
        other_free = np.float64(max(other_offered[at] - other_used[at] - other_asked, 0))
        share = np.floor((free + free) * half + _LITTLE)
        other_share = np.floor((other_free + other_free) * other_half + _LITTLE)
        share -= 1.0 if share * whole > free * 100.0 else 0.0
        other_share -= 1.0 if other_share * other_whole > other_free * 100.0 else 0.0
        mean = np.floor((part * share + other_part * other_share + 0.5) * of_parts)
        here, there = np.float64(taken[at]), np.float64(other_taken[at])
        without_pod = (100.0 + _LITTLE) - abs(min(here, whole) * half - min(there, other_whole) * other_half)
        here, there = here + request, there + other_request
        with_pod = (100.0 + _LITTLE) - abs(min(here, whole) * half - min(there, other_whole) * other_half)
        before, after = np.floor(without_pod), np.floor(with_pod)
        doubt |= (without_pod - before < 2 * _LITTLE) & (taken[at] + other_taken[at] > 0)
        doubt |= with_pod - after < 2 * _LITTLE
        improved = np.floor((after - before + 150.0) * 0.5)
        total = base[at] + np.int32(share_weight * mean + balance_weight * improved)
        rejected = lacks(offered[at], taken[at], least)
        rejected |= lacks(other_offered[at], other_taken[at], other_least)
        totals[at] = REJECTED if rejected | (base[at] < 0) else total
    return not doubt and 0 <= bits < _MOST


@loop(f"({_COLUMNS}, int64, {_SHARES}, {_BALANCE}, int32[::1], int32[::1])")
def _write_totals(
    columns: Columns, first: int, shares: Shares, balance: Balance, base: Int32s, totals: Int32s
) -> bool:
    """Write the ``totals`` from row ``first`` on with the loops of both plugins; False if they can't."""
    (scored, checked, weight), (uses, other_weight) = shares, balance
    unseen = (checked[:, 0] != uses[0, 0]) & (checked[:, 0] != uses[1, 0])
    others, no_rows = checked[unseen], np.zeros(0, np.int32)
    for begin in range(0, len(totals), _PIECE):
        piece, there = totals[begin : begin + _PIECE], (first + begin, no_rows)
        stands = base[begin : begin + _PIECE]
        if _estimate(columns, first + begin, shares, balance, stands, piece):
            reject(columns, there, others, piece)
            continue
        piece[:] = stands
        if not add_free_shares(columns, there, scored, checked, weight, piece):
            return False
        if not add_improvements(columns, there, uses, other_weight, piece):
            return False
    return True


@loop(f"({COLUMNS_AND_PLACES}, int64, {_SHARES}, {_BALANCE}, UniTuple(int32[::1], 2))")
def _put_totals(
    columns: Columns,
    places: Places,
    count: int,
    shares: Shares,
    balance: Balance,
    both: tuple[Int32s, Int32s],
) -> tuple[bool, bool]:
    """Return whether it could be done, and what ``put`` does with ``both`` base and totals."""
    (first, rows), (base, totals) = places, both
    crossed = False
    if len(rows):
        allocatable, requested, non_zero = columns
        read, both_read = np.zeros(len(allocatable), np.bool_), np.ones(len(non_zero), np.bool_)
        for listed in (shares[0], shares[1], balance[0]):
            read[listed[:, 0]] = True
        gathered = (
            _gathered(allocatable, rows, read),
            _gathered(requested, rows, read),
            _gathered(non_zero, rows, both_read),
        )
        found = np.empty(len(rows), np.int32)
        if not _write_totals(gathered, 0, shares, balance, base[rows], found):
            return False, False
        for at in range(count):
            crossed |= (found[at] == REJECTED) != (totals[rows[at]] == REJECTED)
            totals[rows[at]] = found[at]
        return True, crossed
    before, found = totals[first : first + count], np.empty(count, np.int32)
    if not _write_totals(columns, first, shares, balance, base[first : first + count], found):
        return False, False
    for at in range(count):
        crossed |= (found[at] == REJECTED) != (before[at] == REJECTED)
        before[at] = found[at]
    return True, crossed


@loop("(int64[:, ::1], int64[::1])")
def with_amounts(asked: Int64s, amounts: Int64s) -> Int64s:
    """int64[., .]: ``asked`` (int64[., .]) and the ``amounts`` at the positions in its last column."""
    if not len(amounts):
        return asked
    found = asked.copy()
    for at in range(len(found)):
        found[at, -1] = amounts[found[at, -1]]
    return found


@loop(f"({COLUMNS_AND_PLACES}, int64, {_SHARES}, {_BALANCE}, int64[::1], UniTuple(int32[::1], 2))")
def put_and_lead(
    columns: Columns,
    places: Places,
    count: int,
    shares: Shares,
    balance: Balance,
    amounts: Int64s,
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
        (scored, checked, weight), (uses, balance_weight) = shares, balance
        share = with_amounts(scored, amounts), with_amounts(checked, amounts), weight
        balanced = with_amounts(uses, amounts), balance_weight
        done, crossed = _put_totals(columns, (first, rows), count, share, balanced, both)
    top, ties, feasible = find_leaders(totals)
    return done, crossed, top, ties, feasible
