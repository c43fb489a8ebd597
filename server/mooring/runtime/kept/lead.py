"""The node that a kept evaluation gives a pod."""

from __future__ import annotations

import msgspec
import numpy as np

from mooring.framework import Int32s, Int64s
from mooring.runtime.tie_break import choose


class Lead(msgspec.Struct, frozen=True, gc=False):
    """One of the best nodes.

    Attributes:
        row: Its row.
        total: Its total; 0 when it is the only feasible one, which needs no score.
        ties: How many nodes have that total.
        feasible: How many nodes are feasible.
    """

    row: int
    total: int
    ties: int
    feasible: int


def best(totals: Int32s | Int64s, feasible: int, seed: int, uid: str) -> Lead:
    """The lead for the pod with ``uid`` at ``totals`` ([N], by row), of which so many are ``feasible``."""
    top = totals.max()
    leaders = np.flatnonzero(totals == top)
    row = int(leaders[choose(seed, uid, len(leaders))])
    return Lead(row, int(top) if feasible > 1 else 0, len(leaders), feasible)
