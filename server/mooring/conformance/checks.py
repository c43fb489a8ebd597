"""Plays checks, each a rule with its source, and reports."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

Result = Literal["passed", "advised", "failed", "skipped"]


class CallFailedError(Exception):
    """A call that has no answer, or one that its caller can't use; the message says why."""


class Examined(Protocol):
    """The program under examination. ``seconds`` has the time of each long call, by its name."""

    @property
    def seconds(self) -> dict[str, list[float]]: ...

    @property
    def size(self) -> int:
        """The number of nodes in a long call."""

    def serves(self, part: str) -> bool:
        """Return whether it has a part; "" = what each has."""


class Check(NamedTuple):
    """One rule.

    Attributes:
        name: Unique among all.
        part: The part that it needs, such as a verb; "" = what each has.
        run: Yields what is wrong, a sentence each; the first line of its docstring is the rule.
        source: The origin of the rule.
        must: Whether decisions fail or err without it; else only people lose by it.
        needs: The check without whose success this one says nothing; "" = none.
    """

    name: str
    part: str
    run: Callable[[Any], Iterable[str]]
    source: str
    must: bool = True
    needs: str = ""

    @property
    def rule(self) -> str:
        """Return what must be done, or should."""
        return (self.run.__doc__ or "").partition("\n")[0]


class CheckOutcome(msgspec.Struct):
    """The result of a check.

    Attributes:
        name: The check's.
        result: ``advised`` if only people lose by the faults; ``skipped`` if what it needs is missing: its
            part, or the success of another check.
    """

    name: str
    rule: str
    source: str
    result: Result
    faults: list[str]


class AnswerTimes(msgspec.Struct):
    """How long one call took about all nodes.

    Attributes:
        nodes: The number of nodes in the question.
        median: Seconds.
        longest: Seconds.
    """

    call: str
    nodes: int
    median: float
    longest: float


def outcomes(checks: Iterable[Check], examined: Examined, begins: str = "") -> Iterator[CheckOutcome]:
    """Play the checks whose names begin so, one after another."""
    failed = set[str]()
    for check in checks:
        if not check.name.startswith(begins):
            continue
        outcome = CheckOutcome(check.name, check.rule, check.source, "skipped", [])
        if check.needs not in failed and examined.serves(check.part):
            outcome.faults = _faults(check, examined)
            wrong: Result = "failed" if check.must else "advised"
            outcome.result = wrong if outcome.faults else "passed"
        if outcome.faults or check.needs in failed:
            failed.add(check.name)
        yield outcome


def answer_times(examined: Examined) -> list[AnswerTimes]:
    """Return the times that the checks took down."""
    return [
        AnswerTimes(call, examined.size, statistics.median(seconds), max(seconds))
        for call, seconds in examined.seconds.items()
    ]


def _faults(check: Check, examined: Examined) -> list[str]:
    faults: list[str] = []
    try:
        for fault in check.run(examined):
            faults.append(fault)  # noqa: PERF402 - the ones before a failed call count, too
    except CallFailedError as fault:
        faults.append(str(fault))
    except OSError as error:
        faults.append(f"the connection failed: {error}")
    return faults
