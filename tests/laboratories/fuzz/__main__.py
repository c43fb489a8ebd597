"""``make fuzz MINUTES=n``: inputs that are nearly right, at every door by which others' bytes come in."""

from __future__ import annotations

import argparse
import secrets
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from tests.laboratories import long_runs
from tests.laboratories.fuzz import play as process
from tests.laboratories.fuzz.judging import Target, watched
from tests.laboratories.fuzz.rounds import Played, named, play, read_note, tried
from tests.laboratories.fuzz.targets import TARGETS

LEDGER = long_runs.LEDGERS / "fuzz" / "ledger.jsonl"

LONGEST = process.SECONDS + 570.0
"""Seconds after which a process counts as hanging; its last round has to be over by then."""

SEEDS = 100
"""More than a process plays in its time."""

COLUMNS = ("rounds", "inputs", "taken", "seconds", "slowest", "findings")


def rounds_of(target: str, folder: Path) -> list[Played]:
    """Rounds in a process of their own; what found something stays in ``folder``, by target."""
    seeds = [secrets.randbits(32) for _ in range(SEEDS)]
    found = folder / "found" / target
    found.mkdir(parents=True, exist_ok=True)
    note, log = folder / f"{target}-{seeds[0]}.note", folder / f"{target}-{seeds[0]}.log"
    began = time.monotonic()
    lines, code = long_runs.lines_of(
        "tests.laboratories.fuzz.play", [target, note, found, *seeds], log, LONGEST
    )
    played = [msgspec.json.decode(line, type=Played) for line in lines]
    if code:
        name = f"ended-with-{code}-{seeds[len(played)]}"
        (found / name).write_bytes(read_note(note.read_bytes()))
        seconds = round(time.monotonic() - began, 3)
        why = f"{name}: the process ended, see {log}"
        played.append(Played(target, seeds[len(played)], 0, 0, seconds, 0.0, (why,)))
    else:
        log.unlink()
    note.unlink()
    return played


def fuzz(
    targets: Sequence[Target], minutes: float, workers: int, file: Path, console: Console
) -> list[Played]:
    """Play until the time is over, but each target at least once; returns what was played now."""
    now = list[Played]()
    with long_runs.progress(console, minutes) as say:
        for played in _rounds([target.id for target in targets], minutes, workers, file):
            long_runs.append(file, played)
            now.append(played)
            say(f"{sum(one.inputs for one in now):,} inputs")
    return now


def _rounds(targets: Sequence[str], minutes: float, workers: int, file: Path) -> Iterator[Played]:
    """The target that got the least time in this run is next, then the one with the least in the ledger."""
    ever = dict.fromkeys(targets, 0.0)
    for played in long_runs.read(file, Played):
        ever[played.target] = ever.get(played.target, 0.0) + played.seconds
    spent = dict.fromkeys(targets, 0.0)
    end = time.monotonic() + minutes * 60
    with ThreadPoolExecutor(workers) as pool:
        running: set[Future[list[Played]]] = set()
        while running or time.monotonic() < end or not all(spent.values()):
            while len(running) < workers and (time.monotonic() < end or not all(spent.values())):
                target = min(targets, key=lambda name: (spent[name], ever[name]))
                spent[target] += process.SECONDS
                running.add(pool.submit(rounds_of, target, file.parent))
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield from future.result()


def show(console: Console, now: Sequence[Played], ever: Sequence[Played], folder: Path) -> None:
    """By target the sums over the whole ledger, those of this run, and what this run found."""
    table = Table(box=None, pad_edge=False)
    for title in ("target", "", *COLUMNS):
        table.add_column(title, justify="right" if title in COLUMNS else "left")
    for target in TARGETS.values():
        table.add_row(target.id, target.title, *_cells([one for one in ever if one.target == target.id]))
    table.add_section()
    table.add_row("", "this run", *_cells(now))
    table.add_row("", "whole ledger", *_cells(ever))
    console.print(table)
    for played in now:
        for finding in played.findings:
            name = finding.partition(":")[0]
            file = folder / "found" / played.target / name
            again = f"python -m tests.laboratories.fuzz --target {played.target}"
            for line in (
                f"FOUND {played.target} {finding}",
                f"  again: {again} --input {file}, or with --seed {played.seed}",
                f"  once mended, it becomes a case as tests/laboratories/fuzz/corpus/{played.target}/{name}",
            ):
                console.print(line, markup=False, highlight=False, soft_wrap=True)


def _cells(rounds: Sequence[Played]) -> tuple[str, ...]:
    return (
        f"{len(rounds):,}",
        *(f"{sum(getattr(one, name) for one in rounds):,.0f}" for name in ("inputs", "taken", "seconds")),
        f"{max((one.slowest for one in rounds), default=0.0):.2f}",
        f"{sum(len(one.findings) for one in rounds):,}",
    )


def again(target: Target, file: Path) -> int:
    """Try one input from a file. Its finding is raised.

    Returns:
        0: it finds nothing.
    """
    with target.judging() as judge, watched(judge) as watching:
        _, seconds, error = tried(watching, file.read_bytes())
    if error is not None:
        print(named(error))
        raise error
    print(f"nothing was found, {seconds:.3f} s")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz, and print the totals of the whole ledger.

    Returns:
        0; 1 if something was found in this run.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.laboratories.fuzz", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="no process begins after that (10)")
    parser.add_argument("--target", choices=TARGETS, metavar="TARGET", action="append", help="this one alone")
    parser.add_argument("--seed", type=int, help="play one round of --target, and write no ledger")
    parser.add_argument("--input", type=Path, help="try this file on --target, and nothing else")
    parser.add_argument("--workers", type=int, default=2, help="processes at the same time (2)")
    parser.add_argument("--ledger", type=Path, default=LEDGER, help="JSON lines that are gone on from")
    args = parser.parse_args(arguments)
    targets = [TARGETS[name] for name in args.target or TARGETS]
    if args.input is not None:
        return again(targets[0], args.input)
    console = long_runs.console()
    folder = args.ledger.parent
    if args.seed is None:
        folder.mkdir(parents=True, exist_ok=True)
        now = fuzz(targets, args.minutes, args.workers, args.ledger, console)
        ever = long_runs.read(args.ledger, Played)
    else:
        now = ever = []
        for target in targets:
            played, kept = play(target, args.seed)
            now.append(played)
            for one in kept:
                (folder / "found" / target.id).mkdir(parents=True, exist_ok=True)
                (folder / "found" / target.id / one.name).write_bytes(one.data)
    show(console, now, ever, folder)
    return int(any(played.findings for played in now))


if __name__ == "__main__":
    raise SystemExit(main())
