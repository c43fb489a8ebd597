"""Scenarios whose answers are judged, played until enough of them need changes."""

from __future__ import annotations

import argparse
import itertools
from collections import Counter
from collections.abc import Callable

from tests.laboratories.conformance.families.draft import Manifest
from tests.laboratories.conformance.program import NEWEST, Oracle, build

UNSCHEDULABLE = "unschedulable"
"""The counter of scenarios that need changes."""


class TooManyError(Exception):
    """There are too many cheaper sets of changes."""


def play(
    description: str,
    asked: str,
    count: int,
    draw: Callable[[int, int], Manifest],
    judged: Callable[[Manifest, Oracle, Counter[str]], str],
) -> int:
    """Carry out the command line; the exit code, 1 if an answer is wrong.

    Args:
        description: The purpose of the command.
        asked: The counted thing, for the help.
        count: How many of these by default.
        draw: Gives the scenario of a seed and a number.
        judged: Says what is wrong with the answer about a scenario, "" = nothing.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=count, help=asked)
    parser.add_argument("--only", type=int, help="this scenario alone")
    args = parser.parse_args()
    tally, wrong = Counter[str](), 0
    with Oracle(build(NEWEST)) as oracle:
        for index in itertools.count() if args.only is None else [args.only]:
            if tally[UNSCHEDULABLE] >= args.count:
                break
            if said := judged(draw(args.seed, index), oracle, tally):
                wrong += 1
                print(f"{args.seed}/{index}: {said}", flush=True)
    print(f"{wrong} wrong; " + ", ".join(f"{name}: {count}" for name, count in sorted(tally.items())))
    return int(wrong > 0)
