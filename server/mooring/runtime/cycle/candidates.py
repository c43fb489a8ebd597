"""The nodes that a decision is about."""

from __future__ import annotations

from collections.abc import Callable

from mooring.framework import Int32s
from mooring.framework.state import ClusterState


class Candidates:
    """All nodes, or those that a function names in the state that is evaluated. Never changed.

    Args:
        named: Gives their rows, int32[N], each once; None = every node.
    """

    __slots__ = ("_named",)

    def __init__(self, named: Callable[[ClusterState], Int32s] | None = None) -> None:
        self._named = named

    @property
    def everything(self) -> bool:
        """Whether every node of the state is a candidate, whichever there are."""
        return self._named is None

    def rows(self, state: ClusterState) -> Int32s:
        """int32[N]: their rows in ``state``."""
        return state.snapshot.nodes.rows() if self._named is None else self._named(state)


ALL_NODES = Candidates()
