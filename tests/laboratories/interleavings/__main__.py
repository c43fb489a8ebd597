"""``make interleavings MINUTES=n``: threads in an order that a seed decides, going on from a ledger."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console

from tests.laboratories import long_runs
from tests.laboratories.interleavings.rounds import PLAYS, Played, play_forked, rounds

LEDGER = long_runs.LEDGERS / "interleavings" / "ledger.jsonl"


def with_fixed_hashes() -> None:
    """Start again with hashes that are the same in every process: sets are gone through in their order."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "tests.laboratories.interleavings", *sys.argv[1:]])


def show(console: Console, title: str, played: Iterable[Played]) -> None:
    """Print the totals by scene."""
    for scene in PLAYS:
        some = [one for one in played if one.scene == scene]
        if some:
            interleavings, switches = (
                sum(getattr(one, name) for one in some) for name in ("interleavings", "switches")
            )
            found, seconds = sum(bool(one.found) for one in some), sum(one.seconds for one in some)
            console.print(
                f"{title}, {scene}: {interleavings:,} interleavings, {switches:,} switches, "
                f"{seconds:,.0f} s, {found} found something"
            )


def run(args: argparse.Namespace, console: Console) -> list[Played]:
    """Play until the time is over, and write down what came of it."""
    first = max((one.seed + 1 for one in long_runs.read(args.ledger, Played)), default=0)
    now = list[Played]()
    with long_runs.progress(console, args.minutes) as say:
        for played in rounds(args.scene or tuple(PLAYS), args.minutes, first):
            long_runs.append(args.ledger, played)
            now.append(played)
            if played.found:
                console.print(f"{played.again}: {played.found}")
            say(f"{sum(one.interleavings for one in now):,} interleavings")
    return now


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, and print the totals of the whole ledger.

    Returns:
        0; 1 if something did not hold in this run.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.laboratories.interleavings", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="no round begins after that (10)")
    parser.add_argument("--scene", choices=PLAYS, metavar="SCENE", action="append", help="this scene alone")
    parser.add_argument("--seed", type=int, help="play one round of --scene, and write no ledger")
    parser.add_argument("--ledger", type=Path, default=LEDGER, help="JSON lines that are gone on from")
    args = parser.parse_args(arguments)
    console = long_runs.console()
    logging.disable(logging.ERROR)
    if args.seed is not None:
        now = [play_forked(scene, args.seed) for scene in args.scene or PLAYS]
        console.print(*(one.found for one in now if one.found), sep="\n")
    else:
        now = run(args, console)
        show(console, "ever", long_runs.read(args.ledger, Played))
    show(console, "now", now)
    return int(any(one.found for one in now))


if __name__ == "__main__":
    with_fixed_hashes()
    raise SystemExit(main())
