"""Finds whether a text matches a regular expression, in time linear in its length whatever the expression.

Anybody who may make a claim may write one, and Python's own engine takes exponential time for some.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mooring.plugins.dynamic_resources.cel.syntax import UnsupportedExpressionError

WORD = frozenset(string.ascii_letters + string.digits + "_")
"""What a word is made of."""

_MAX_STEPS = 2000

Test = Callable[[str], bool]
"""Whether one character will do."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step: take a character (``test``), look around (``place``), or go on at any of ``ways``."""

    ways: tuple[int, ...]
    test: Test | None = None
    place: str = ""


Emit = Callable[[list[Step]], None]
"""Appends the steps of a part of a pattern; they go on at the step behind them."""


def append(steps: list[Step], step: Step) -> int:
    """Append ``step`` and tell its place.

    Raises:
        UnsupportedExpressionError: There are too many.
    """
    if len(steps) >= _MAX_STEPS:
        raise UnsupportedExpressionError(f"a pattern of more than {_MAX_STEPS} steps")
    steps.append(step)
    return len(steps) - 1


def one(test: Test) -> Emit:
    """One character."""
    return _single(test, "")


def look(place: str) -> Emit:
    """A place: "^" begin, "$" end, "b" the edge of a word, "B" none."""
    return _single(None, place)


def _single(test: Test | None, place: str) -> Emit:
    def emit(steps: list[Step]) -> None:
        append(steps, Step((len(steps) + 1,), test, place))

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


def found_in(steps: Sequence[Step], text: str) -> bool:
    """Whether a part of ``text`` leads from the first of ``steps`` to the last."""
    current: set[int] = set()
    for at in range(len(text) + 1):
        current = _reach(steps, {*current, 0}, text, at)
        if len(steps) - 1 in current:
            return True
        if at < len(text):
            taken = [steps[each] for each in current if _takes(steps[each], text[at])]
            current = {way for step in taken for way in step.ways}
    return False


def _takes(step: Step, character: str) -> bool:
    return step.test is not None and step.test(character)


def _reach(steps: Sequence[Step], starts: set[int], text: str, at: int) -> set[int]:
    """The steps that are reached from ``starts`` without a character."""
    reached: set[int] = set()
    left = list(starts)
    while left:
        each = left.pop()
        step = steps[each]
        if each not in reached:
            reached.add(each)
            if step.test is None and (not step.place or _is_at(step.place, text, at)):
                left += step.ways
    return reached


def _is_at(place: str, text: str, at: int) -> bool:
    if place == "^":
        return at == 0
    if place == "$":
        return at == len(text)
    edge = (at > 0 and text[at - 1] in WORD) != (at < len(text) and text[at] in WORD)
    return edge == (place == "b")
