"""The node that a kept evaluation gives a pod."""

from __future__ import annotations

import msgspec


class Lead(msgspec.Struct, frozen=True):
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
