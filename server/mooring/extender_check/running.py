"""Plays the checks, and reports."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Literal

import msgspec

from mooring.extender_check.asked import AskedExtender, CallFailedError
from mooring.extender_check.checks import CHECKS, Check

Result = Literal["passed", "advised", "failed", "skipped"]


class CheckOutcome(msgspec.Struct):
    """The result of a check.

    Attributes:
        name: The check's.
        rule: The rule.
        source: Where the rule is from.
        result: ``advised`` if only people lose by the faults; ``skipped`` if what it needs is missing: its
            verb, or the success of another check.
        faults: A sentence for each fault.
    """

    name: str
    rule: str
    source: str
    result: Result
    faults: list[str]


class AnswerTimes(msgspec.Struct):
    """How long one verb took for all nodes.

    Attributes:
        verb: The verb.
        nodes: The number of nodes in the question.
        median: Seconds.
        longest: Seconds.
    """

    verb: str
    nodes: int
    median: float
    longest: float


def outcomes(extender: AskedExtender, begins: str = "") -> Iterator[CheckOutcome]:
    """Play the checks whose names begin so, one after another."""
    failed = set[str]()
    for check in CHECKS:
        if not check.name.startswith(begins):
            continue
        if check.needs in failed:
            yield CheckOutcome(check.name, check.rule, check.source, "skipped", [])
            continue
        outcome = _outcome(check, extender)
        if outcome.faults:
            failed.add(check.name)
        yield outcome


def answer_times(extender: AskedExtender) -> list[AnswerTimes]:
    """Return the times that the checks took down."""
    return [
        AnswerTimes(verb, len(extender.sample.nodes), statistics.median(seconds), max(seconds))
        for verb, seconds in extender.seconds.items()
    ]


def _outcome(check: Check, extender: AskedExtender) -> CheckOutcome:
    verb = getattr(extender.stanza, f"{check.verb}_verb") if check.verb else extender.question_verb
    faults: list[str] = []
    if verb:
        try:
            for fault in check.run(extender):
                faults.append(fault)  # noqa: PERF402 - the ones before a failed call count, too
        except CallFailedError as fault:
            faults.append(str(fault))
        except OSError as error:
            faults.append(f"the connection failed: {error}")
    wrong: Result = "failed" if check.must else "advised"
    result: Result = "skipped" if not verb else wrong if faults else "passed"
    return CheckOutcome(check.name, check.rule, check.source, result, faults)
