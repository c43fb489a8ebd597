"""The loop by which the pods of a group get nodes in all of its placements."""

from __future__ import annotations

import numpy as np

from mooring.framework import Int32s
from mooring.kernels.arrays import REJECTED, UNKNOWN, UInt64s
from mooring.kernels.compile import loop
from mooring.kernels.select import take_out

MAX_UNKNOWN = 1 << 10
"""What one pass notes of what it had to know."""

_COLUMNS, _TABLES = "UniTuple(int32[::1], 2)", "UniTuple(int32[:, ::1], 2)"
_PODS = "Tuple((int32[::1], uint64[::1]))"


@loop(f"({_COLUMNS}, {_TABLES}, {_TABLES}, {_PODS}, int32[:, :, ::1], int32[:, ::1])")
def place_in_each(
    nodes: tuple[Int32s, Int32s],
    scores: tuple[Int32s, Int32s],
    states: tuple[Int32s, Int32s],
    pods: tuple[Int32s, UInt64s],
    found: Int32s,
    unknown: Int32s,
) -> int:
    """Select nodes for pods in each of P placements, up to the first pod that none takes.

    What isn't known is guessed to be a node without room, and noted.

    Args:
        nodes: int32[P], where each placement ends among the nodes of all; int32[N], the nodes' resource
            states, written to.
        scores: int32[T, N], by template and node the totals, written to; what they are made of besides
            resources.
        states: int32[T, S], by template and resource state what it is worth; the state after one more pod,
            ``UNKNOWN`` where it is.
        pods: int32[K], the pods' templates; uint64[K], what decides between equals.
        found: int32[4, P, K], written: the node, its total, how many have it, and how many are feasible. The
            node is ``REJECTED`` before and stays so for pods that have none.
        unknown: int32[U, 2], written: the template and the state before a pod, which it leaves in a state
            that isn't known or isn't rated for all templates.

    Returns:
        How many are unknown, which may be more than there is room for.
    """
    (ends, resource_ids), (totals, bases) = nodes, scores
    (values, following), (templates, numbers) = states, pods
    missing, begin = 0, 0
    leaders = np.empty(len(resource_ids), np.int64)
    for placement in range(len(ends)):
        # Those that lead are looked for once they are gone; until then they only become fewer.
        end, top, left, looked_for, feasible = ends[placement], REJECTED, 0, -1, 0
        for pod in range(len(templates)):
            template = templates[pod]
            if left == 0 or template != looked_for:
                top, left, looked_for, feasible = totals[template, begin:end].max(), 0, template, 0
                for node in range(begin, end):
                    feasible += totals[template, node] != REJECTED
                    leaders[left] = node
                    left += totals[template, node] == top
            if top == REJECTED:
                break
            pick = np.int64(numbers[pod] % np.uint64(left))
            node = leaders[pick]
            found[:2, placement, pod] = node, top * (feasible > 1)
            found[2:, placement, pod] = left, feasible
            before, after = resource_ids[node], following[template, resource_ids[node]]
            lacking = after < 0
            for other in range(len(totals)):
                value, base = values[other, max(after, 0)], bases[other, node]
                lacking |= value == UNKNOWN
                totals[other, node] = base + value if min(value, base) >= 0 else REJECTED
            resource_ids[node] = max(after, 0)
            total = totals[template, node]
            feasible -= total == REJECTED
            if total > top:
                top, leaders[0], left = total, node, 1
            elif total < top:
                take_out(leaders[:left], pick)
                left -= 1
            if lacking:
                unknown[min(missing, len(unknown) - 1)] = template, before
                missing += 1
        begin = end
    return missing
