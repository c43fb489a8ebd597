"""What was worked out of an object that never changes, kept for as long as it is asked for often."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
V = TypeVar("V")


MOST_PODS = 1 << 10
"""How many pods a plugin remembers something of that each decision about pods like them asks for."""

MOST_AT_ONCE = 1 << 5
"""The same of what one decision asks for several times, and hardly any later: new memory is slower."""


class ByIdentity(Generic[T, V]):
    """A function of one immutable object that remembers its answers. Safe from any thread.

    Args:
        work_out: The function.
        most: So many answers are kept; then all are forgotten.
    """

    def __init__(self, work_out: Callable[[T], V], most: int) -> None:
        self._work_out = work_out
        self._most = most
        # The object is kept with its answer, so that its number isn't given to another one meanwhile.
        self._known: dict[int, tuple[T, V]] = {}

    def __call__(self, item: T) -> V:
        known = self._known.get(id(item))
        if known is not None:
            return known[1]
        answer = self._work_out(item)
        if len(self._known) >= self._most:
            self._known.clear()
        self._known[id(item)] = item, answer
        return answer
