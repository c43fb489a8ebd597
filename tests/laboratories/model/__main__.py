"""``make model``: visits every state of the protocol's model, or drives walks of it through the code."""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from tests.laboratories import long_runs
from tests.laboratories.model.checker import Checked, Model, check, walks
from tests.laboratories.model.driving import drive
from tests.laboratories.model.in_flight import in_flight
from tests.laboratories.model.protocol import binding
from tests.laboratories.model.states import Rules

LEDGER = long_runs.LEDGERS / "model" / "ledger.jsonl"

WALK_FAULTS, WALK_LENGTH = 4, 30
AT_A_TIME = 250
"""Walks of one line of the ledger."""

RULES = [field.name for field in dataclasses.fields(Rules) if field.type == "bool"]


@dataclasses.dataclass(frozen=True)
class Driven:
    """Some walks that were driven through the code.

    Attributes:
        first: The first seed; the others follow.
        walks: How many.
        steps: After how many steps the code was compared with the model.
        seconds: How long that took.
        differences: The differences, by seed.
    """

    first: int
    walks: int
    steps: int
    seconds: float
    differences: dict[int, str]


def drive_some(first: int, count: int) -> Driven:
    """Drive the walks of some seeds."""
    began, model = time.monotonic(), Model(binding(Rules(WALK_FAULTS)))
    ways = dict(zip(seeds := range(first, first + count), walks(model, seeds, WALK_LENGTH), strict=True))
    differences = drive(model, ways)
    steps = sum(len(way.actions) for way in ways.values())
    return Driven(first, count, steps, round(time.monotonic() - began, 3), differences)


def drive_on(count: int, file: Path, console: Console) -> list[Driven]:
    """Drive ``count`` walks, going on from the ledger."""
    found = list[Driven]()
    first = max((one.first + one.walks for one in long_runs.read(file, Driven)), default=0)
    while count > 0:
        driven = drive_some(first, min(count, AT_A_TIME))
        first, count = first + driven.walks, count - driven.walks
        long_runs.append(file, driven)
        found.append(driven)
        for seed, why in driven.differences.items():
            console.print(f"python -m tests.laboratories.model --seed {seed}: {why}")
    return found


def show(console: Console, checked: Checked) -> None:
    """Print what a search came to."""
    speed = checked.states / max(checked.seconds, 1e-9)
    console.print(
        f"{checked.states:,} states, {checked.steps:,} steps, the longest way {checked.levels}, "
        f"{checked.seconds:.0f} s, {speed:,.0f} states/s"
    )
    if checked.violation:
        console.print(f"violated: {checked.violation}\n  " + "\n  ".join(checked.trace))
    elif checked.stuck > 0:
        console.print(f"{checked.stuck:,} states are never settled")
    else:
        console.print("every invariant holds" + ("; every state can be settled" * (checked.stuck == 0)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, or drive.

    Returns:
        0; 1 if an invariant does not hold, a state is never settled, or the code differs from the model.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.laboratories.model", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--faults", type=int, default=2, help="the most faults of a trace (2)")
    parser.add_argument("--in-flight", action="store_true", help="check filter calls instead of bindings")
    parser.add_argument("--without", choices=RULES, action="append", default=[], help="leave this rule out")
    parser.add_argument("--walks", type=int, default=0, help="drive so many walks through the code instead")
    parser.add_argument("--seed", type=int, help="drive this walk alone, and write no ledger")
    parser.add_argument("--ledger", type=Path, default=LEDGER, help="JSON lines that are gone on from")
    args = parser.parse_args(arguments)
    console = long_runs.console()
    if args.seed is not None:
        driven = [drive_some(args.seed, 1)]
        console.print(*driven[0].differences.values())
        return int(bool(driven[0].differences))
    if args.walks:
        now = drive_on(args.walks, args.ledger, console)
        ever = long_runs.read(args.ledger, Driven)
        for title, some in (("now", now), ("ever", ever)):
            count, steps = sum(one.walks for one in some), sum(one.steps for one in some)
            wrong = sum(len(one.differences) for one in some)
            console.print(f"{title}: {count:,} walks, {steps:,} steps compared, {wrong} differences")
        return int(any(one.differences for one in now))

    def tell(found: Checked) -> None:
        console.print(f"level {found.levels}: {found.states:,} states, {found.seconds:.0f} s", end="\r")

    rules = Rules(args.faults, **dict.fromkeys(args.without, False))
    protocol = in_flight(args.faults) if args.in_flight else binding(rules)
    checked = check(protocol, tell=tell if console.is_terminal else lambda _: None)
    show(console, checked)
    return int(bool(checked.violation) or checked.stuck > 0)


if __name__ == "__main__":
    raise SystemExit(main())
