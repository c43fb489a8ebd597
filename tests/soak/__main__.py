"""``make soak MINUTES=n``: every row of faults, again and again with fresh seeds, into a ledger."""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tests.soak import ledger, report
from tests.soak.ledger import Total
from tests.soak.rounds import Played, Row
from tests.soak.rows import ROWS

ROOT = Path(__file__).parents[2]
LEDGER = ROOT / ".cache" / "soak" / "ledger.jsonl"
"""Git ignores it."""

LONGEST = 240.0
"""Seconds after which a process counts as hanging."""

SEEDS = 1000
"""More than a process plays in its time."""


def play(row: Row, seeds: Sequence[int], size: float, folder: Path) -> list[Played]:
    """Rounds in a process of their own; their log stays in ``folder`` if something did not hold."""
    log = folder / f"{row.id}-{seeds[0]}.log"
    command = [sys.executable, "-m", "tests.soak.play", row.id, str(size), *map(str, seeds)]
    began = time.monotonic()
    with log.open("w") as errors:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
        )
        try:
            said, _ = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            # The schedulers that it started are of its session.
            os.killpg(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
    rounds = [msgspec.json.decode(line, type=Played) for line in said.splitlines()]
    if process.returncode:
        why = f"the process ended with {process.returncode}, see {log}"
        seconds = round(time.monotonic() - began, 3)
        rounds.append(Played(row.id, seeds[len(rounds)], size, 0, 0, 0, seconds, why))
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
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=minutes * 60)
        while time.monotonic() - began < minutes * 60 or len({played.row for played in now}) < len(rows):
            row = next_row(rows, now, ever)
            progress.update(task, description=f"{row.id} {row.title}", completed=time.monotonic() - began)
            for played in play(row, [secrets.randbits(32) for _ in range(SEEDS)], size, file.parent):
                ledger.append(file, played)
                now.append(played)
                ever.append(played)
    return now


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak, and print the totals of the whole ledger.

    Returns:
        0; 1 if something did not hold in this run.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__, allow_abbrev=False)
    parser.add_argument("--minutes", type=float, default=10.0, help="no round begins after that (10)")
    parser.add_argument("--row", choices=ROWS, metavar="ROW", action="append", help="this row alone")
    parser.add_argument(
        "--seed", type=int, help="play one round of --row with this seed, and write no ledger"
    )
    parser.add_argument("--size", type=float, default=1.0, help="the share of a round's work, above 0 (1)")
    parser.add_argument("--ledger", type=Path, default=LEDGER, help="JSON lines that are gone on from")
    args = parser.parse_args(arguments)
    rows = [ROWS[name] for name in args.row or ROWS]
    console = Console(width=None if Console().is_terminal else 120)
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
