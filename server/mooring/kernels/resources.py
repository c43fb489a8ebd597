"""Resources of nodes: how much of them is left, how full nodes are, and how evenly."""

from __future__ import annotations

import numpy as np

from mooring.kernels.arrays import REJECTED, Int32s, Int64s
from mooring.kernels.compile import loop
from mooring.kernels.percentages import MAX_EXACT, MAX_FACTOR, MAX_NODE_SCORE

Columns = tuple[Int64s, Int64s, Int64s]
"""int64[R, capacity] each: what nodes offer, what is requested of it, and the same with the defaults of
scheduling."""

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
            totals[node] = REJECTED if offered[node] - used[node] < request else totals[node]


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
        share = min(used[at], offered[at]) / offered[at]
        other_share = min(other_used[at], other_offered[at]) / other_offered[at]
        without_pod = np.int64((1 - abs(share - other_share) / 2) * 100)
        share = min(used[at] + request, offered[at]) / offered[at]
        other_share = min(other_used[at] + other_request, other_offered[at]) / other_offered[at]
        with_pod = np.int64((1 - abs(share - other_share) / 2) * 100)
        score = weight * (((with_pod - without_pod + 50) >> 1) + 50)
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
