"""The node that a cached evaluation selects for a pod."""

from __future__ import annotations

import msgspec
import numpy as np

from mooring.framework import Int32s, Int64s
from mooring.runtime.cycle.tie_break import choose


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


def best(
    totals: Int32s | Int64s, seed: int, uid: str, *, feasible: int, evaluated: int, rows: Int32s | None = None
) -> Selected:
    """Select the node for the pod with ``uid``.

    ``totals`` ([N]) are those of ``rows`` (int32[N], in row order; None = of all), of which so many are
    ``feasible``.
    """
    top = totals.max()
    (leaders,) = np.equal(totals, top).nonzero()
    at = leaders[choose(seed, uid, len(leaders))]
    row = int(at if rows is None else rows[at])
    return Selected(row, int(top) if feasible > 1 else 0, len(leaders), feasible, evaluated)
