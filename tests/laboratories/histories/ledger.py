"""The histories so far: one line of JSON for each, over all runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from tests.laboratories import long_runs
from tests.laboratories.histories.rounds import Played


class Total(msgspec.Struct):
    """The sum over histories of one form.

    Attributes:
        histories: Each has a seed of its own.
        sessions: As in ``Tally``, like the next three: each is a history of its own.
        comparisons: See ``sessions``.
        decisions: See ``sessions``.
        cached: See ``sessions``.
        seconds: How long that took.
        mismatches: Histories in which something was not the same, or failed.
    """

    histories: int = 0
    sessions: int = 0
    comparisons: int = 0
    decisions: int = 0
    cached: int = 0
    seconds: float = 0.0
    mismatches: int = 0

    def add(self, played: Played) -> None:
        """Count a history."""
        self.histories += 1
        self.sessions += played.sessions
        self.comparisons += played.comparisons
        self.decisions += played.decisions
        self.cached += played.cached
        self.seconds += played.seconds
        self.mismatches += bool(played.mismatch)


def read(file: Path) -> list[Played]:
    """Return every history of the ledger; none if there is no ledger yet."""
    return long_runs.read(file, Played)


def totals(histories: Iterable[Played]) -> dict[str, Total]:
    """Return the sums by form."""
    found: dict[str, Total] = {}
    for played in histories:
        found.setdefault(played.form, Total()).add(played)
    return found
