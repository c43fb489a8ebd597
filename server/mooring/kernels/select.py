"""Selections: which rows have the highest total, and which of them a pod gets.

A total that is ``REJECTED`` is the lowest. The rows with the highest one lead; a number decides between them.

- One selection: ``leaders_of`` and ``leader_at``.
- One selection after the other, and totals follow: ``select_in_turn``. The same in every placement of a group
  of pods: ``select_in_each``.
- One selection in each group of rows: ``leader_of_each``.
"""

from __future__ import annotations

import msgspec
import numpy as np

from mooring.kernels.arrays import REJECTED, UNKNOWN, Int32s, Int64s, UInt64s
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


def leaders_of(totals: Int32s | Int64s) -> Leaders:
    """Return the leaders by ``totals`` ([N], at least one), with numpy until a pass is compiled."""
    compiled = find_leaders.for_rows(len(totals))
    if compiled is not None:
        return Leaders(*compiled(totals))
    top = totals.item(totals.argmax())
    return Leaders(top, int(np.count_nonzero(totals == top)), int(np.count_nonzero(totals != REJECTED)))


def leader_at(totals: Int32s | Int64s, leaders: Leaders, position: int) -> int:
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


def leader_of_each(totals: Int32s, firsts: Int64s, groups: Int64s, mixed: int) -> Int64s:
    """int64[G]: the row of one leader of each group; ``REJECTED`` if all of the group's rows are.

    Args:
        totals: int32[R], of groups in sequence, each of one row or more.
        firsts: int64[G], where each group begins.
        groups: int64[R], the group of each row.
        mixed: Decides between leaders, below 2**64.
    """
    top = np.maximum.reduceat(totals, firsts)
    leaders = np.flatnonzero(totals == top.take(groups))
    ties = np.bincount(groups.take(leaders), minlength=len(top))
    position = (np.uint64(mixed) % ties.astype(np.uint64)).astype(np.int64)
    selected: Int64s = leaders.take(np.cumsum(ties) - ties + position)
    return np.where(top != REJECTED, selected, REJECTED)


@loop("(int32[::1], int64)")
def take_out(leaders: Int32s, position: int) -> None:
    """Take the leader at ``position`` out of ``leaders``, in row order; the last entry is left over."""
    # Counted from 0 on, which is what numba turns into moves of many entries at once.
    behind = leaders[position:]
    for at in range(len(behind) - 1):
        behind[at] = behind[at + 1]


@loop("(int32[::1], int32[::1])")
def list_leaders(totals: Int32s, leaders: Int32s) -> tuple[int, int, int]:
    """Write the leaders by ``totals`` (int32[N]) to ``leaders`` (int32[N]), in row order, unless all rows are
    rejected; return the fields of ``Leaders``.
    """
    top, ties, feasible = find_leaders(totals)
    if top != REJECTED:
        at = 0
        for row in range(len(totals)):
            leaders[at] = row
            at += totals[row] == top
    return top, ties, feasible


@loop("(int32[::1], int64, int64, int64, int64, int64)")
def moved(leaders: Int32s, ties: int, position: int, top: int, row: int, total: int) -> tuple[int, int]:
    """Return the highest total and its ties after the leader at ``position``, ``row``, gets ``total``.

    There are ``ties`` among the ``leaders`` (int32[N]), which lose ``row`` if it leads no more. With 0 ties,
    others lead, which have to be looked for.
    """
    if total > top:
        leaders[0] = row
        return total, 1
    if total < top:
        take_out(leaders[:ties], position)
        return top, ties - 1
    return top, ties


@loop("(UniTuple(int32[::1], 2), UniTuple(int32[::1], 3), uint64[::1], boolean, int32[:, ::1])")
def select_in_turn(
    nodes: tuple[Int32s, Int32s],
    known: tuple[Int32s, Int32s, Int32s],
    numbers: UInt64s,
    scales: bool,
    found: Int32s,
) -> tuple[int, int, int]:
    """Select nodes for the first of K pods; each counts for the next one.

    It ends with the pod after which its node's total isn't known.

    Args:
        nodes: int32[N] twice, the nodes' totals and resource states, written to.
        known: int32[N], what totals are made of besides resources; int32[S], what a resource state is worth;
            int32[S], the state after one more pod. ``UNKNOWN`` if it is, and so is all that is beyond.
        numbers: uint64[K], decide between leaders.
        scales: Whether totals depend on which nodes are feasible.
        found: int32[4, K], written: the row, its total, how many have it, and how many are feasible.

    Returns:
        How many have a node, what follows from how many is taken in, and how many nodes are feasible then.
    """
    (totals, resource_ids), (base, values, following) = nodes, known
    top, left, feasible = REJECTED, 0, 0
    leaders = np.empty(len(totals), np.int32)
    for pod in range(len(numbers)):
        # Leaders are looked for once they are gone; until then they only become fewer.
        if left == 0:
            top, left, feasible = list_leaders(totals, leaders)
        if top == REJECTED:
            return pod, pod, feasible
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
        top, left = moved(leaders, left, pick, top, node, total)
    return len(numbers), len(numbers), feasible


_COLUMNS, _TABLES = "UniTuple(int32[::1], 2)", "UniTuple(int32[:, ::1], 2)"
_PODS = "Tuple((int32[::1], uint64[::1]))"


@loop(f"({_COLUMNS}, {_TABLES}, {_TABLES}, {_PODS}, int32[:, :, ::1], int32[:, ::1])")
def select_in_each(
    nodes: tuple[Int32s, Int32s],
    scores: tuple[Int32s, Int32s],
    states: tuple[Int32s, Int32s],
    pods: tuple[Int32s, UInt64s],
    found: Int32s,
    unknown: Int32s,
) -> int:
    """Select nodes for pods in each of P placements, up to the first pod that none takes.

    A node whose total isn't known is guessed to have no room, which is noted.

    Args:
        nodes: int32[P], where each placement ends among the nodes of all; int32[N], the nodes' resource
            states, written to.
        scores: int32[T, N], by template and node the totals, written to; what they are made of besides
            resources.
        states: int32[T, S], by template and resource state what it is worth; the state after one more pod,
            ``UNKNOWN`` if it is.
        pods: int32[K], the pods' templates; uint64[K], decide between leaders.
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
    leaders = np.empty(len(resource_ids), np.int32)
    for placement in range(len(ends)):
        end, top, left, looked_for, feasible = ends[placement], REJECTED, 0, -1, 0
        for pod in range(len(templates)):
            template = templates[pod]
            if left == 0 or template != looked_for:
                top, left, feasible = list_leaders(totals[template, begin:end], leaders)
                looked_for = template
            if top == REJECTED:
                break
            pick = np.int64(numbers[pod] % np.uint64(left))
            node = begin + leaders[pick]
            found[:2, placement, pod] = node, top * (feasible > 1)
            found[2:, placement, pod] = left, feasible
            before, after = resource_ids[node], following[template, resource_ids[node]]
            lacking = after < 0
            for other in range(len(totals)):
                value, base = values[other, max(after, 0)], bases[other, node]
                lacking |= value == UNKNOWN
                totals[other, node] = base + value if min(value, base) >= 0 else REJECTED
            resource_ids[node] = max(after, 0)
            total = np.int64(totals[template, node])
            feasible -= total == REJECTED
            top, left = moved(leaders, left, pick, top, node - begin, total)
            if lacking:
                unknown[min(missing, len(unknown) - 1)] = template, before
                missing += 1
        begin = end
    return missing
