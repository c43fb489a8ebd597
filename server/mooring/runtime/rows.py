"""Which nodes a decision is about."""

from __future__ import annotations

from collections.abc import Callable

from mooring.framework import ClusterState, Int32s

Rows = Callable[[ClusterState], Int32s]
"""Gives the candidate rows, int32[N], of the state that is evaluated."""


def all_rows(state: ClusterState) -> Int32s:
    """Every node as a candidate."""
    return state.snapshot.nodes.rows()
