"""``make soak MINUTES=n``: every row of faults, again and again with fresh seeds, into a ledger."""

from __future__ import annotations

import argparse
import secrets
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Console

from tests.laboratories import long_runs
from tests.laboratories.soak import ledger, report
from tests.laboratories.soak.ledger import Total
from tests.laboratories.soak.rounds import Played, Row
from tests.laboratories.soak.rows import ROWS

LEDGER = long_runs.LEDGERS / "soak" / "ledger.jsonl"

LONGEST = 1200.0
"""Seconds after which a process counts as hanging, on a busy machine too."""

SEEDS = 1000
"""More than a process plays in its time."""


def play(row: Row, seeds: Sequence[int], size: float, folder: Path) -> list[Played]:
    """Rounds in a process of their own; their log stays in ``folder`` if something did not hold."""
    log = folder / f"{row.id}-{seeds[0]}.log"
    began = time.monotonic()
    # The schedulers that it started are ended with it.
    said, code = long_runs.lines_of("tests.laboratories.soak.play", [row.id, size, *seeds], log, LONGEST)
    rounds = [msgspec.json.decode(line, type=Played) for line in said]
    if code:
        why = f"the process ended with {code}, see {log}"
        seconds = round(time.monotonic() - began, 3)
        rounds.append(Played(row.id, seeds[min(len(rounds), len(seeds) - 1)], size, 0, 0, 0, seconds, why))
    if not any(played.violation for played in rounds):
        log.unlink()
    return rounds


def next_row(rows: Sequence[Row], now: Sequence[Played], ever: Sequence[Played]) -> Row:
    """Whose turn it is: the one that got the least time in this run, then in the whole ledger."""
    new, all_ = ledger.totals(now), ledger.totals(ever)
    return min(rows, key=lambda row: (new.get(row.id, Total()).seconds, all_.get(row.id, Total()).seconds))


def soak(rows: Sequence[Row], minutes: float, size: float, file: Path, console: Console) -> list[Played]:
    """Play until the time is over, but each row at least once; returns what was played now."""
    ever, now = ledger.read(file), list[Played]()
    began = time.monotonic()
    with long_runs.progress(console, minutes) as say:
        while time.monotonic() - began < minutes * 60 or len({played.row for played in now}) < len(rows):
            row = next_row(rows, now, ever)
            say(f"{row.id} {row.title}")
            for played in play(row, [secrets.randbits(32) for _ in range(SEEDS)], size, file.parent):
                long_runs.append(file, played)
                now.append(played)
                ever.append(played)
    return now


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak, and print the totals of the whole ledger.

    Returns:
        0; 1 if something did not hold in this run.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.laboratories.soak", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="no round begins after that (10)")
    parser.add_argument("--row", choices=ROWS, metavar="ROW", action="append", help="this row alone")
    parser.add_argument(
        "--seed", type=int, help="play one round of --row with this seed, and write no ledger"
    )
    parser.add_argument("--size", type=float, default=1.0, help="the share of a round's work, above 0 (1)")
    parser.add_argument("--ledger", type=Path, default=LEDGER, help="JSON lines that are gone on from")
    args = parser.parse_args(arguments)
    rows = [ROWS[name] for name in args.row or ROWS]
    console = long_runs.console()
    args.ledger.parent.mkdir(parents=True, exist_ok=True)
    if args.seed is None:
        now = soak(rows, args.minutes, args.size, args.ledger, console)
        ever = ledger.read(args.ledger)
    else:
        now = ever = [
            played for row in rows for played in play(row, [args.seed], args.size, args.ledger.parent)
        ]
    report.show(console, {row.id: row for row in rows}, now, ever)
    return int(any(played.violation for played in now))


if __name__ == "__main__":
    raise SystemExit(main())
