"""One history: how it is played, what it came to, and which of its steps matter."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Protocol

from tests.laboratories.histories.comparing import Tally

log = logging.getLogger(__name__)

PATIENCE = 30.0
"""Seconds for leaving out steps, after a mismatch."""


class History(Protocol):
    """A cluster and the ways to ask about it."""

    def step(self, dice: Random) -> None:
        """Some events and questions."""


@dataclass(frozen=True)
class Form:
    """A way to ask.

    Attributes:
        id: Its name.
        title: Its subject.
        playing: The history, while it is played.
        steps: The steps of a history.
        share: Its share of the time of all forms, as a weight.
        repeats: Whether a seed plays the same history each time.
    """

    id: str
    title: str
    playing: Callable[[Random, Tally], AbstractContextManager[History]]
    steps: int
    share: float = 1.0
    repeats: bool = True


@dataclass(frozen=True)
class Played:
    """The result of a history.

    Attributes:
        form: The form's id.
        seed: The seed.
        steps: Those that were played; after a mismatch as few as still show it.
        comparisons: As in ``Tally``, like the next two.
        decisions: See ``comparisons``.
        cached: See ``comparisons``.
        seconds: How long it took.
        mismatch: The difference or failure; "" = none.
        sessions: As in ``Tally``.
    """

    form: str
    seed: int
    steps: tuple[int, ...]
    comparisons: int
    decisions: int
    cached: int
    seconds: float
    mismatch: str = ""
    sessions: int = 0

    @property
    def again(self) -> str:
        """The command that plays it once more."""
        steps = ",".join(map(str, self.steps))
        return f"python -m tests.laboratories.histories --form {self.form} --seed {self.seed} --steps {steps}"


def play(form: Form, seed: int, steps: Sequence[int] | None = None) -> Played:
    """Play the given steps of a history, or all."""
    began, tally = time.monotonic(), Tally()
    mismatch, steps = "", tuple(range(form.steps) if steps is None else steps)
    at = 0
    try:
        with form.playing(Random(f"{form.id}/{seed}"), tally) as history:
            for at, number in enumerate(steps):  # noqa: B007 - how far it came
                history.step(Random(f"{form.id}/{seed}/{number}"))
    except Exception as error:
        log.exception("%s, seed %d", form.id, seed)
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = "".join(traceback.format_exception_only(error)).strip()
        mismatch = f"{said} ({Path(where.filename).name}:{where.lineno})"
        steps = steps[: at + 1]
    counted = (tally.comparisons, tally.decisions, tally.cached)
    seconds = round(time.monotonic() - began, 3)
    return Played(form.id, seed, steps, *counted, seconds, mismatch, tally.sessions)


def shrunk(form: Form, played: Played, patience: float = PATIENCE) -> Played:
    """Return the same with fewer steps, as long as anything is still not the same."""
    end, size = time.monotonic() + patience, max(len(played.steps) // 2, 1)
    best = played
    while form.repeats and size:
        at = len(best.steps) - size
        while at >= 0 and time.monotonic() < end:
            fewer = play(form, played.seed, best.steps[:at] + best.steps[at + size :])
            if fewer.mismatch:
                best = fewer
            at = min(at - size, len(best.steps) - size)
        size = size // 2 if time.monotonic() < end else 0
    return best
