"""``make doors MINUTES=n``: random manifests in a real cluster, and through mooring's commands."""

from __future__ import annotations

import argparse
import secrets
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.laboratories import long_runs
from tests.laboratories.doors.cluster import DoorsCluster
from tests.laboratories.doors.rounds import FOLDER, FOUND, Round, play_round

LEDGER = FOLDER / "ledger.jsonl"


def main(arguments: Sequence[str] | None = None) -> int:
    """Play sets, and print the totals of the whole ledger.

    Returns:
        0; 1 if something was not the same in this run.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.laboratories.doors", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="no set begins after that (10)")
    parser.add_argument("--count", type=int, help="end after so many sets, however long it takes")
    parser.add_argument("--seed", type=int, action="append", help="play this set, and write no ledger")
    args = parser.parse_args(arguments)
    console = long_runs.console()
    with tempfile.TemporaryDirectory() as folder, DoorsCluster(Path(folder)) as cluster:
        now = list(_rounds(cluster, args, console))
    _show(console, {"this run": now, "whole ledger": long_runs.read(LEDGER, Round)})
    return int(any(played.differences for played in now))


def _rounds(cluster: DoorsCluster, args: argparse.Namespace, console: Console) -> Iterator[Round]:
    with long_runs.progress(console, args.minutes) as say:
        for number, seed in enumerate(_seeds(args), start=1):
            played = play_round(cluster, seed)
            if not args.seed:
                long_runs.append(LEDGER, played)
            _tell(console, played)
            say(f"{number:,} sets")
            yield played


def _seeds(args: argparse.Namespace) -> Iterator[int]:
    if args.seed:
        yield from args.seed
        return
    end, played = time.monotonic() + args.minutes * 60, 0
    while played < args.count if args.count else time.monotonic() < end:
        yield secrets.randbits(32)
        played += 1


def _tell(console: Console, played: Round) -> None:
    """A set that differs or can't be played, and the command that plays it again."""
    lines = [*played.differences]
    if lines:
        lines = [f"DIFFERENT {played.seed}, kept in {FOUND.name}/{played.seed}", *lines]
    elif played.unplayable:
        lines = [f"not playable {played.seed}: {played.unplayable}"]
    if lines:
        lines.append(f"again: python -m tests.laboratories.doors --seed {played.seed}")
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _show(console: Console, runs: dict[str, Iterable[Round]]) -> None:
    """The sums of each run."""
    table = Table(box=None, pad_edge=False)
    for title in ("", "sets", "not playable", "pods", "placed", "answers", "different", "seconds"):
        table.add_column(title, justify="right" if title else "left")
    for name, rounds in runs.items():
        played = list(rounds)
        table.add_row(
            name,
            f"{len(played):,}",
            f"{sum(bool(one.unplayable) for one in played):,}",
            f"{sum(one.pods for one in played):,}",
            f"{sum(one.placed for one in played):,}",
            f"{sum(one.asked for one in played):,}",
            f"{sum(bool(one.differences) for one in played):,}",
            f"{sum(one.seconds for one in played):,.0f}",
        )
    console.print(table)


if __name__ == "__main__":
    raise SystemExit(main())
