"""The loop by which pods that are alike get nodes in turn."""

from __future__ import annotations

import numpy as np

from mooring.framework import Int32s
from mooring.framework.batch import REJECTED
from mooring.plugins.leading_rows import find_leaders, take_out
from mooring.plugins.loops import loop
from mooring.runtime.cache.tracking.change_tracker import UNKNOWN
from mooring.runtime.cycle.tie_break import UInt64s


@loop("(UniTuple(int32[::1], 2), UniTuple(int32[::1], 3), uint64[::1], boolean, int32[:, ::1])")
def select_sequentially(
    nodes: tuple[Int32s, Int32s],
    known: tuple[Int32s, Int32s, Int32s],
    numbers: UInt64s,
    scales: bool,
    found: Int32s,
) -> tuple[int, int, int]:
    """Select nodes for the first of K pods, each of which counts for the next one.

    It ends with the pod after which its node's total isn't known.

    Args:
        nodes: int32[N] twice, the nodes' totals and resource states, written to.
        known: int32[N], what totals are made of besides resources; int32[S], what a resource state is worth;
            int32[S], the state after one more pod. ``UNKNOWN`` where it is, and so is what is beyond.
        numbers: uint64[K], what decides between equals (``mix64``).
        scales: Whether totals depend on which nodes are feasible.
        found: int32[4, K], written: the row, its total, how many have it, and how many are feasible.

    Returns:
        How many have a node, what follows from how many is taken in, and how many nodes are feasible then.
    """
    (totals, resource_ids), (base, values, following) = nodes, known
    top, left, feasible = REJECTED, 0, 0
    leaders = np.empty(len(totals), np.int32)
    for pod in range(len(numbers)):
        if left == 0:
            # Those that lead are looked for once they are gone; until then they only become fewer.
            top, left, feasible = find_leaders(totals)
            if top == REJECTED:
                return pod, pod, feasible
            at = 0
            for row in range(len(totals)):
                leaders[at] = row
                at += totals[row] == top
        pick = np.int64(numbers[pod] % np.uint64(left))
        node = np.int64(leaders[pick])
        found[:2, pod] = node, top * (feasible > 1)
        found[2:, pod] = left, feasible
        before, after, value = resource_ids[node], UNKNOWN, UNKNOWN
        if before < len(following):
            after = following[before]
        if 0 <= after < len(values):
            value = values[after]
        if value == UNKNOWN or (value == REJECTED and scales):
            return pod + 1, pod, feasible
        resource_ids[node] = after
        total = REJECTED if value == REJECTED else base[node] + value
        totals[node] = total
        feasible -= total == REJECTED
        if total > top:
            top, leaders[0], left = total, node, 1
        elif total < top:
            take_out(leaders[:left], pick)
            left -= 1
    return len(numbers), len(numbers), feasible
