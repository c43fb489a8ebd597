"""The rounds so far: one line of JSON for each, over all runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.laboratories import long_runs
from tests.laboratories.soak.rounds import Played


@dataclass
class Total:
    """The sum over the rounds of one row.

    Attributes:
        rounds: Rounds; each has a seed of its own.
        binds: Bindings that the API accepted.
        faults: Things that went wrong on purpose.
        inputs: Calls, events or steps that were tried.
        seconds: How long that took.
        violations: Rounds in which something did not hold.
    """

    rounds: int = 0
    binds: int = 0
    faults: int = 0
    inputs: int = 0
    seconds: float = 0.0
    violations: int = 0

    def add(self, played: Played) -> None:
        """Count a round."""
        self.rounds += 1
        self.binds += played.binds
        self.faults += played.faults
        self.inputs += played.inputs
        self.seconds += played.seconds
        self.violations += bool(played.violation)


def read(file: Path) -> list[Played]:
    """Return every round of the ledger; none if there is no ledger yet."""
    return long_runs.read(file, Played)


def totals(rounds: Iterable[Played]) -> dict[str, Total]:
    """Return the sums by row."""
    found: dict[str, Total] = {}
    for played in rounds:
        found.setdefault(played.row, Total()).add(played)
    return found
