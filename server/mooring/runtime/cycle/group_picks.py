"""The choices between equals while a group is tried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mooring.framework import GroupPlacement
from mooring.runtime.cycle.choice import Choice
from mooring.runtime.cycle.tie_break import choose


class Picks(Protocol):
    """Decides between equals: nodes for a pod, placements for the group."""

    def node(self, placement: GroupPlacement, choice: Choice) -> Choice:
        """Return ``choice``, or the same with another one of its ties."""
        ...

    def placement(self, names: Sequence[str]) -> int:
        """Return which of some placements, equally good, the group gets."""
        ...

    def again(self) -> None:
        """Hear that the group is tried once more now, without those who could make room for it."""
        ...


class SeededPicks:
    """Picks by the seed and the group's UID; nodes as for single pods."""

    def __init__(self, seed: int, uid: str) -> None:
        self._seed = seed
        self._uid = uid

    def node(self, placement: GroupPlacement, choice: Choice) -> Choice:
        """Return ``choice``, which was made by the seed and the pod's UID."""
        return choice

    def placement(self, names: Sequence[str]) -> int:
        """Return one of them, the same for the same group and seed."""
        return choose(self._seed, self._uid, len(names))

    def again(self) -> None:
        """Continue after the last pick."""
