"""Resources of nodes: how much of them is left, how full nodes are, and how evenly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mooring.kernels.arrays import REJECTED, Bools, Float64s, Int32s, Int64s
from mooring.kernels.compile import loop
from mooring.kernels.percentages import MAX_EXACT, MAX_FACTOR, MAX_NODE_SCORE, percentage

Columns = tuple[Int64s, Int64s, Int64s]
"""int64[R, capacity] each: allocatable, requested, and requested with the defaults of scheduling."""

Places = tuple[int, Int32s]
"""The nodes' places in columns: the first of rows in sequence and no rows, or 0 and int32[K] the rows."""

COLUMNS_AND_PLACES = "UniTuple(int64[:, ::1], 3), Tuple((int64, int32[::1]))"
"""Their types for compiled loops."""


@loop("(int64[::1], int64[::1])")
def least_free(offered: Int64s, used: Int64s) -> int:
    """Return the least that a node has left; columns int64[K], K at least 1."""
    least: int = offered[0] - used[0]
    for at in range(len(offered)):
        least = min(least, offered[at] - used[at])
    return least


@loop("(int64, int64, int64)")
def lacks(offered: Any, used: Any, request: int) -> Any:
    """Return whether less than ``request`` is left on a node; or bool[K], on K nodes."""
    return offered - used < request


@loop("(int64, int64)")
def share(amount: Any, capacity: Any) -> Any:
    """Return the part of its ``capacity``, 1 or more, that is taken, at most 1; or float64[K]."""
    return np.minimum(amount, capacity) / capacity


@loop("(float64,)")
def evenness(deviation: Any) -> Any:
    """Return 100 for shares without ``deviation``, less for others; or float64[K]."""
    return (1 - deviation) * 100


@loop("(int64, int64)")
def improvement(before: Any, after: Any) -> Any:
    """Return 50..100, 75 if two evennesses are the same, more if ``after`` is higher; or int64[K]."""
    return ((after - before + 50) >> 1) + 50


@loop(f"({COLUMNS_AND_PLACES}, int64[:, ::1], int32[::1])")
def reject(columns: Columns, places: Places, checked: Int64s, totals: Int32s) -> None:
    """Reject nodes that lack something: rows of ``checked`` are a resource's position and the request."""
    (allocatable, requested, _), (first, rows) = columns, places
    count = len(totals)
    for at in range(len(checked)):
        resource, request = checked[at]
        offered = allocatable[resource][rows] if len(rows) else allocatable[resource, first : first + count]
        used = requested[resource][rows] if len(rows) else requested[resource, first : first + count]
        for node in range(count):
            totals[node] = REJECTED if lacks(offered[node], used[node], request) else totals[node]


@loop(f"({COLUMNS_AND_PLACES}, int64[:, ::1], int64[:, ::1], int64, int32[::1])")
def add_free_shares(
    columns: Columns, places: Places, scored: Int64s, checked: Int64s, weight: int, totals: Int32s
) -> bool:
    """Rate nodes by the weighted mean share that stays free, in percent, rounded down.

    Rows of ``scored`` are the position of a resource in the columns, the one in the non-zero requested or -1,
    the weight and the request; those of ``checked`` the position and the request.

    Returns:
        False when a node has none of a scored resource, or an amount is too large; then nothing is done.
    """
    (allocatable, requested, non_zero), (first, rows) = columns, places
    count, weights, fine = len(totals), 0, True
    shares = np.zeros(count)
    for at in range(len(scored)):
        resource, non_zero_row, its_weight, request = scored[at]
        used_of = non_zero[non_zero_row] if non_zero_row >= 0 else requested[resource]
        offered = allocatable[resource][rows] if len(rows) else allocatable[resource, first : first + count]
        used = used_of[rows] if len(rows) else used_of[first : first + count]
        weights += its_weight
        fine &= request <= MAX_EXACT
        for node in range(count):
            fine &= (offered[node] > 0) & (offered[node] <= MAX_EXACT) & (used[node] <= MAX_EXACT)
            free = max(offered[node] - used[node] - request, 0)
            shares[node] += its_weight * np.floor(free * 100.0 / offered[node])
    if not fine:
        return False
    of_weights = 1.0 / max(weights, 1)
    for node in range(count):
        # The mean, rounded down: shares are whole, so half of one keeps it away from where rounding matters.
        score = weight * np.int64((shares[node] + 0.5) * of_weights)
        totals[node] = totals[node] + score if totals[node] >= 0 else totals[node]
    reject(columns, places, checked, totals)
    return True


@loop(f"({COLUMNS_AND_PLACES}, int64[:, ::1], int64, int32[::1])")
def add_improvements(columns: Columns, places: Places, both: Int64s, weight: int, totals: Int32s) -> bool:
    """Rate nodes by how much more even the use of two resources becomes.

    Rows of ``both`` are the position of a resource in the columns, and the request.

    Returns:
        False when a node lacks one of them, or an amount is too large; then nothing is done.
    """
    (allocatable, requested, _), (first, rows) = columns, places
    (resource, request), (other, other_request) = both
    count = len(totals)
    offered = allocatable[resource][rows] if len(rows) else allocatable[resource, first : first + count]
    used = requested[resource][rows] if len(rows) else requested[resource, first : first + count]
    other_offered = allocatable[other][rows] if len(rows) else allocatable[other, first : first + count]
    other_used = requested[other][rows] if len(rows) else requested[other, first : first + count]
    fine = (request <= MAX_EXACT) & (other_request <= MAX_EXACT)
    for at in range(count):
        fine &= (offered[at] > 0) & (other_offered[at] > 0)
        fine &= (used[at] <= MAX_EXACT) & (other_used[at] <= MAX_EXACT)
    if not fine:
        return False
    for at in range(count):
        here, there = share(used[at], offered[at]), share(other_used[at], other_offered[at])
        before = np.int64(evenness(abs(here - there) / 2))
        here = share(used[at] + request, offered[at])
        there = share(other_used[at] + other_request, other_offered[at])
        score = weight * improvement(before, np.int64(evenness(abs(here - there) / 2)))
        totals[at] = totals[at] + score if totals[at] >= 0 else totals[at]
    return True


@loop(f"({COLUMNS_AND_PLACES}, int64[:, ::1], int32[::1], int64[::1])")
def add_up_fullness(columns: Columns, places: Places, scored: Int64s, ends: Int32s, scores: Int64s) -> bool:
    """Score the placements that end at ``ends`` (int32[P]) among the nodes.

    Rows of ``scored`` are the position of a resource in the columns, the one in the non-zero requested or -1,
    what the pods request, and the weight.

    Returns:
        False when an amount is too large; the scores mean nothing then.
    """
    (allocatable, requested, non_zero), (first, rows) = columns, places
    begin, fine = 0, True
    for placement in range(len(ends)):
        end, total, divisor = ends[placement], 0, 0
        for at in range(len(scored)):
            resource, non_zero_row, request, weight = scored[at]
            offered = allocatable[resource]
            used = non_zero[non_zero_row] if non_zero_row >= 0 else requested[resource]
            capacity, taken = 0, request
            for position in range(begin, end):
                row = rows[position] if len(rows) else first + position
                fine &= (offered[row] <= MAX_EXACT) & (used[row] <= MAX_EXACT)
                capacity += offered[row]
                taken += used[row] if offered[row] > 0 else 0
            if capacity > 0:
                fine &= (capacity <= MAX_FACTOR) & (request <= MAX_EXACT)
                total += weight * (min(taken, capacity) * MAX_NODE_SCORE // capacity)
                divisor += weight
        scores[placement] = total // max(divisor, 1)
        begin = end
    return fine


def free_percentage(capacity: Int64s, wanted: Int64s) -> Int64s:
    """int64[K]: how much of the ``capacity`` (int64[K], 1 or more) stays free, 0..100, rounded down."""
    free = capacity - wanted
    # Most often every node has room, which is faster to find out.
    return percentage(np.maximum(free, 0) if int(free.min(initial=0)) < 0 else free, capacity)


def taken_percentage(capacity: Int64s, wanted: Int64s) -> Int64s:
    """int64[K]: how much of the ``capacity`` (int64[K], 1 or more) is taken, 0..100, rounded down."""
    return percentage(np.minimum(wanted, capacity), capacity)


PERCENTAGES: Mapping[str, Callable[[Int64s, Int64s], Int64s]] = {
    "LeastAllocated": free_percentage,
    "MostAllocated": taken_percentage,
}
"""The score of one resource by the scoring strategies that average such scores."""

Part = tuple[Int64s, Bools | None, int]
"""Scores of one resource, int64[K], which count for the nodes in bool[K] (None = all), and its weight."""


def mean(parts: Iterable[Part], count: int) -> Int64s:
    """int64[K]: the weighted mean of ``parts`` over ``count`` nodes, rounded down; 0 if none counts."""
    total, divisor = _sums(parts, count)
    return (total / divisor).astype(np.int64)


def rounded_mean(parts: Iterable[Part], count: int) -> Int64s:
    """int64[K]: ``mean``, rounded half up."""
    total, divisor = _sums(parts, count)
    found: Int64s = (2 * total + divisor) // (2 * divisor)
    return found


def _sums(parts: Iterable[Part], count: int) -> tuple[Int64s, Int64s]:
    """int64[K] each: the weighted sum, and the sum of the weights, 1 or more."""
    total, divisor = np.zeros((2, count), np.int64)
    for scores, counts, weight in parts:
        weights = weight if counts is None else counts * np.int64(weight)
        total += scores * weights
        divisor += weights
    return total, np.maximum(divisor, 1)


def balance(shares: Sequence[Float64s], found: Sequence[Bools | None], count: int) -> Int64s:
    """int64[K]: 100 if all shares of a node are equal, down to 50.

    Every step rounds as kube-scheduler's does: half the difference for two shares, the standard deviation of
    more, summed in order.

    Args:
        shares: float64[K] by resource.
        found: bool[K] by resource, the nodes that have it; None = all.
        count: K.
    """
    if len(shares) == 2 and found[0] is found[1] is None:
        return _whole(evenness(abs(shares[0] - shares[1]) / 2))
    counts = [np.ones(count, np.bool_) if each is None else each for each in found]
    number, total, squares = np.zeros((3, count))
    lowest, highest = np.full(count, np.inf), np.full(count, -np.inf)
    for each, counted in zip(shares, counts, strict=True):
        number += counted
        total += np.where(counted, each, 0.0)
        np.minimum(lowest, each, out=lowest, where=counted)
        np.maximum(highest, each, out=highest, where=counted)
    average = total / np.maximum(number, 1)
    for each, counted in zip(shares, counts, strict=True):
        squares += np.where(counted, (each - average) * (each - average), 0.0)
    deviation = np.where(number > 2, np.sqrt(squares / np.maximum(number, 1)), 0.0)
    two = number == 2
    deviation[two] = (highest[two] - lowest[two]) / 2
    return _whole(evenness(deviation))


def _whole(values: Float64s) -> Int64s:
    return values.astype(np.int64)


def fullness(parts: Iterable[tuple[int, int, Int64s, Int64s]], starts: Int64s) -> Int64s:
    """int64[P]: ``add_up_fullness`` with numpy, of amounts of any size.

    Args:
        parts: By resource its weight, the request, the capacity of nodes (int64[K]) and its use (int64[K]).
        starts: int64[P], where each placement begins among the nodes.
    """
    total: Int64s = np.zeros(len(starts), np.int64)
    divisor = total.copy()
    for weight, request, offered, used in parts:
        capacity = np.add.reduceat(offered, starts)
        everywhere = int(offered.min()) > 0
        before = np.add.reduceat(used if everywhere else np.where(offered > 0, used, 0), starts)
        taken = np.where(before > capacity - request, capacity, before + request)
        counts = capacity > 0
        total += np.where(counts, percentage(taken, np.maximum(capacity, 1)), 0) * weight
        divisor += np.where(counts, weight, 0)
    return total // np.maximum(divisor, 1)
