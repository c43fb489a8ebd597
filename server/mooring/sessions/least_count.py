"""The search for the least number of nodes with which no more pods are left over than with many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

PlacedBy = Callable[[Sequence[int], Sequence[int]], Iterable[Sequence[int]]]
"""Gives, for some searches by number and a count of nodes for each, the node of each pod; -1 = none."""

_AT_ONCE = 4
"""Counts of one search that are tried at once: more of them take fewer rounds, each of which takes longer."""


@dataclass(frozen=True, slots=True)
class Search:
    """The count to find, and its known bounds.

    Attributes:
        first: With fewer nodes more than ``unfit`` pods are left over; 1 if no more is known.
        start: The count to begin with.
        most: How many nodes there can be.
        unfit: As few of them as are left over with any number of nodes; perhaps always more.
    """

    first: int
    start: int
    most: int
    waiting: int
    unfit: int

    def wanted(self, tried: Mapping[int, int]) -> Sequence[int]:
        """Return the counts to try next; none once the answer is known.

        ``tried`` says how many pods are left over, by count.
        """
        if not self.most or self.unfit == self.waiting:
            return ()
        if not tried:
            return (min(self.start, self.most),)
        if self.most not in tried and self.unfit not in tried.values():
            last = max(tried)
            steps = (max(1, last // 8) << at for at in range(_AT_ONCE))
            return sorted({min(self.most, last + step) for step in steps})
        too_few, enough = self._between(tried)
        if enough == min(tried) and too_few < enough - 1:
            # A start that suffices may well be the least count.
            return (enough - 1,)
        parts = min(_AT_ONCE + 1, enough - too_few)
        return [too_few + (enough - too_few) * part // parts for part in range(1, parts)]

    def answer(self, tried: Mapping[int, int]) -> int:
        """Return the number with which no more are left over than with ``most``; with one fewer there are."""
        return self._between(tried)[1] if tried else 0

    def _between(self, tried: Mapping[int, int]) -> tuple[int, int]:
        """Return a count that is too small, and one that suffices."""
        known = {0: self.waiting, **tried}
        fewest = self.unfit if self.unfit in tried.values() else known[self.most]
        enough = min(count for count, left in known.items() if left <= fewest)
        too_few = [count for count, left in known.items() if left > fewest and count < enough]
        if fewest == self.unfit:
            too_few.append(min(self.first, enough) - 1)
        return max(too_few, default=-1), enough


def searched(searches: Sequence[Search], placed_by: PlacedBy) -> list[tuple[int, Sequence[int]]]:
    """Return of each search the number of nodes, and where the pods are with it.

    The next counts of all of them are tried at once.
    """
    tried: list[dict[int, Sequence[int]]] = [{} for _ in searches]
    numbers: list[dict[int, int]] = [{} for _ in searches]
    running = list(range(len(searches)))
    while running:
        asked = [(at, count) for at in running for count in searches[at].wanted(numbers[at])]
        running = list(dict.fromkeys(at for at, _ in asked))
        counts = [count for _, count in asked]
        for (at, count), places in zip(asked, placed_by([at for at, _ in asked], counts), strict=True):
            tried[at][count], numbers[at][count] = places, places.count(-1)
    answers = [search.answer(known) for search, known in zip(searches, numbers, strict=True)]
    return [
        (count, known.get(count, [-1] * search.waiting))
        for search, count, known in zip(searches, answers, tried, strict=True)
    ]
