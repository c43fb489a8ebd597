"""The node that a cached evaluation selects for a pod."""

from __future__ import annotations

import msgspec
import numpy as np

from mooring.framework import Int32s, Int64s
from mooring.framework.batch import REJECTED
from mooring.plugins.leading_rows import find_leader, find_leaders
from mooring.plugins.loops import loop
from mooring.runtime.cycle.tie_break import choose, mix64


class Selected(msgspec.Struct, frozen=True, gc=False):
    """One of the best nodes.

    Attributes:
        row: Its row.
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
    """The nodes selected for pods in turn; each list has one entry per pod.

    Attributes:
        rows: As in ``Selected``, like the other ones.
        totals: As there.
        ties: As there.
        feasible: As there.
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
    totals: Int32s | Int64s, seed: int, uid: str, *, feasible: int, evaluated: int, rows: Int32s | None = None
) -> Selected:
    """Select the node for the pod with ``uid``.

    ``totals`` ([N]) are those of ``rows`` (int32[N], in row order; None = of all), of which so many are
    ``feasible``.
    """
    # Finds the highest total in half the time of max, which goes through Python.
    top = totals.item(totals.argmax())
    (leaders,) = np.equal(totals, top).nonzero()
    ties = len(leaders)
    at = leaders.item(choose(seed, uid, ties))
    row = at if rows is None else rows.item(at)
    return Selected(row, top if feasible > 1 else 0, ties, feasible, evaluated)


def best_of_rows(totals: Int32s | Int64s, seed: int, uid: str, evaluated: int) -> Selected | None:
    """As ``best``, by ``totals`` ([N]) of which some may be ``REJECTED``; None when all are."""
    compiled = _best.for_rows(len(totals))
    if compiled is not None:
        row, total, ties, feasible = compiled(totals, np.uint64(mix64(seed, uid)))
        return Selected(row, total if feasible > 1 else 0, ties, feasible, evaluated) if feasible else None
    feasible = int(np.count_nonzero(totals != REJECTED))
    return best(totals, seed, uid, feasible=feasible, evaluated=evaluated) if feasible else None


@loop("int32[::1], uint64", "int64[::1], uint64")
def _best(totals: Int32s | Int64s, mixed: int) -> tuple[int, int, int, int]:
    """Return one of the rows with the highest total, that total, how many have it, and how many any."""
    top, ties, feasible = find_leaders(totals)
    return find_leader(totals, top, np.int64(mixed % np.uint64(ties))), top, ties, feasible
