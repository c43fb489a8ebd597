"""How many feasible nodes are enough. Mirrors ``numFeasibleNodesToFind`` in ``schedule_one.go``."""

from __future__ import annotations

MIN_FEASIBLE_NODES = 100
"""So many feasible nodes are always looked for."""

MIN_PERCENTAGE = 5
"""The least that the adaptive rule asks for, in percent."""


def nodes_to_find(percentage: int | None, count: int, has_scoring: bool) -> int:
    """After how many feasible nodes the search ends.

    Args:
        percentage: ``percentageOfNodesToScore``: None = every node; 0 = 50 % less one per 125 nodes,
            at least 5; else 1..100.
        count: How many nodes there are to look at.
        has_scoring: Whether the profile scores; without it the first feasible node will do.
    """
    if percentage is None:
        return count
    if not has_scoring:
        return 1
    if count < MIN_FEASIBLE_NODES:
        return count
    if percentage == 0:
        percentage = max(50 - count // 125, MIN_PERCENTAGE)
    return max(count * percentage // 100, MIN_FEASIBLE_NODES)
