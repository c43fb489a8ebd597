"""Finds whether a text matches a regular expression, in time linear in its length whatever the expression.

Every user that may make a claim may write one, and Python's own engine takes exponential time for some.
Here all paths through the expression are followed at once. A set of steps is an integer with a bit for each.
The steps after a set are remembered, so most characters cost a look into a table.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mooring.plugins.dynamic_resources.cel.syntax import UnsupportedExpressionError

WORD = frozenset(string.ascii_letters + string.digits + "_")
"""The characters of a word."""

_MAX_STEPS = 2000
_REMEMBERED = 256
"""For how many sets of steps an expression remembers what they reach."""
_LOOK_EVERY = 16
"""The number of characters after which the clock is read."""

Test = Callable[[str], bool]
"""Whether one character will do."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step: take a character (``test``), look around (``place``), or go on at any of ``ways``.

    A step that takes a character or checks its neighbours continues at the step after it.
    """

    ways: tuple[int, ...] = ()
    test: Test | None = None
    place: str = ""


Emit = Callable[[list[Step]], None]
"""Appends the steps of a part of a pattern; they continue at the step after them."""


def append(steps: list[Step], step: Step) -> int:
    """Append ``step`` and return its position; raises UnsupportedExpressionError if there are too many."""
    if len(steps) >= _MAX_STEPS:
        raise UnsupportedExpressionError(f"a pattern of more than {_MAX_STEPS} steps")
    steps.append(step)
    return len(steps) - 1


def one(test: Test) -> Emit:
    """One character."""
    return _single(test, "")


def look(place: str) -> Emit:
    """Emit a test of the position: "^" beginning, "$" end, "b" word boundary, "B" none."""
    return _single(None, place)


def _single(test: Test | None, place: str) -> Emit:
    def emit(steps: list[Step]) -> None:
        append(steps, Step((), test, place))

    return emit


def sequence(parts: Sequence[Emit]) -> Emit:
    """One after the other."""

    def emit(steps: list[Step]) -> None:
        for part in parts:
            part(steps)

    return emit


def either(parts: Sequence[Emit]) -> Emit:
    """Any of them."""

    def emit(steps: list[Step]) -> None:
        branch = append(steps, Step(()))
        starts, ends = [], []
        for part in parts:
            starts.append(len(steps))
            part(steps)
            ends.append(append(steps, Step(())))
        steps[branch] = Step(tuple(starts))
        for end in ends:
            steps[end] = Step((len(steps),))

    return emit


def repeat(part: Emit, least: int, most: int | None) -> Emit:
    """As often as ``least`` to ``most`` times (None = without end); greed makes no difference to whether."""

    def emit(steps: list[Step]) -> None:
        for _ in range(least):
            part(steps)
        branches = []
        for _ in range(1 if most is None else most - least):
            branches.append(append(steps, Step(())))
            part(steps)
        if most is None:
            append(steps, Step((branches[0],)))
        for branch in branches:
            steps[branch] = Step((branch + 1, len(steps)))

    return emit


Around = tuple[bool, bool, bool]
"""Whether a place is at the beginning, at the end, and at the edge of a word."""

_ANYWHERE = (False, False, False)


class Automaton:
    """Finds what ``steps`` describe, from the first to the last of them. Serves many threads."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._goal = 1 << len(steps) - 1
        self._looks = any(step.place for step in steps)
        # A character is tested once for all steps that test the same: where parts repeat, for few.
        self._testing: dict[Test, int] = {}
        for i, step in enumerate(steps):
            if step.test is not None:
                self._testing[step.test] = self._testing.get(step.test, 0) | 1 << i
        # Each thread may work out the same; all come to the same.
        self._takers = lru_cache(_REMEMBERED)(self._takers_of)
        self._reached = lru_cache(_REMEMBERED)(self._reached_from)
        self._reached_by_byte = lru_cache(16 * _REMEMBERED)(self._reached_from_byte)
        self._reached_by_step = lru_cache(8)(self._reached_from_steps)

    def found_in(self, text: str, check_time: Callable[[], None] = lambda: None) -> bool:
        """Return whether a part of ``text`` matches; ``check_time`` is called now and then, and may raise."""
        current = 0
        for at, character in enumerate(text):
            if at % _LOOK_EVERY == 0:
                check_time()
            current = self._reached(current | 1, self._around(text, at))
            if current & self._goal:
                return True
            current = (current & self._takers(character)) << 1
        return bool(self._reached(current | 1, self._around(text, len(text))) & self._goal)

    def _around(self, text: str, at: int) -> Around:
        if not self._looks:
            return _ANYWHERE
        edge = (at > 0 and text[at - 1] in WORD) != (at < len(text) and text[at] in WORD)
        return at == 0, at == len(text), edge

    def _takers_of(self, character: str) -> int:
        """Return the steps that take ``character``."""
        takers = 0
        for test, steps in self._testing.items():
            if test(character):
                takers |= steps
        return takers

    def _reached_from(self, starts: int, around: Around) -> int:
        """Return the steps that are reached from ``starts`` without a character."""
        reached = 0
        for index, byte in enumerate(starts.to_bytes(len(self._steps) // 8 + 1, "little")):
            if byte:
                reached |= self._reached_by_byte(index, byte, around)
        return reached

    def _reached_from_byte(self, index: int, byte: int, around: Around) -> int:
        reached = 0
        for bit in range(8):
            if byte >> bit & 1:
                reached |= self._reached_by_step(around)[8 * index + bit]
        return reached

    def _reached_from_steps(self, around: Around) -> list[int]:
        """Return what each step reaches; most ways lead ahead, so a few rounds from the end suffice."""
        reached = [1 << i for i in range(len(self._steps))]
        before: list[int] = []
        while before != reached:
            before = reached.copy()
            for i in reversed(range(len(self._steps))):
                for way in self._ways(i, around):
                    reached[i] |= reached[way]
        return reached

    def _ways(self, i: int, around: Around) -> tuple[int, ...]:
        """Return the steps after step ``i`` that need no character."""
        place = self._steps[i].place
        if not place:
            return self._steps[i].ways
        begin, end, edge = around
        return (i + 1,) if {"^": begin, "$": end, "b": edge, "B": not edge}[place] else ()
