"""``make histories MINUTES=n``: long random histories of a cluster, each cached answer compared with a full
evaluation.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path

from rich.console import Console

from tests.laboratories import long_runs
from tests.laboratories.histories import ledger, report
from tests.laboratories.histories.forms import FORMS
from tests.laboratories.histories.rounds import Form, Played, play
from tests.laboratories.histories.workers import begin, play_some, with_rules

LEDGERS = long_runs.LEDGERS / "histories"

AT_A_TIME = 5
"""Histories that a process plays before it is given more."""


def histories(forms: Sequence[Form], minutes: float, workers: int, *, rules: bool) -> Iterator[list[Played]]:
    """Play until the time is over; the form that got the least of its share is next."""
    end, spent = time.monotonic() + minutes * 60, dict.fromkeys((form.id for form in forms), 0.0)
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=begin, initargs=(rules,)) as pool:
        running: set[Future[list[Played]]] = set()
        while running or time.monotonic() < end:
            while time.monotonic() < end and len(running) < workers:
                form = min(spent, key=lambda name: spent[name] / FORMS[name].share)
                spent[form] += 0.1
                running.add(pool.submit(play_some, form, [secrets.randbits(32) for _ in range(AT_A_TIME)]))
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                played = future.result()
                spent[played[0].form] += sum(one.seconds for one in played)
                yield played


def run(
    forms: Sequence[Form], minutes: float, workers: int, file: Path, console: Console, *, rules: bool
) -> list[Played]:
    """Play, and write the results; mismatches are printed at once."""
    now = list[Played]()
    with long_runs.progress(console, minutes) as say:
        for some in histories(forms, minutes, workers, rules=rules):
            for played in some:
                long_runs.append(file, played)
                now.append(played)
                if played.mismatch:
                    report.tell(console, played, rules=rules)
            say(f"{len(now):,} histories, {sum(one.comparisons for one in now):,} comparisons")
    return now


def main(arguments: Sequence[str] | None = None) -> int:
    """Play histories, and print the totals of the whole ledger.

    Returns:
        0; 1 if something was not the same in this run.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.laboratories.histories", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="no history begins after that (10)")
    parser.add_argument("--form", choices=FORMS, metavar="FORM", action="append", help="this form alone")
    parser.add_argument("--seed", type=int, help="play one history of --form, and write no ledger")
    parser.add_argument("--steps", help="of --seed, these steps alone, such as 3,17,20")
    parser.add_argument("--workers", type=int, default=2, help="processes that play at the same time (2)")
    parser.add_argument("--rules", action="store_true", help="each history has generated rules")
    parser.add_argument("--ledger", type=Path, help="JSON lines that are gone on from")
    args = parser.parse_args(arguments)
    forms = {name: FORMS[name] for name in args.form or FORMS}
    file = args.ledger or LEDGERS / ("rules.jsonl" if args.rules else "ledger.jsonl")
    console = long_runs.console()
    if args.seed is None:
        now = run(list(forms.values()), args.minutes, args.workers, file, console, rules=args.rules)
        ever = ledger.read(file)
    else:
        if args.rules:
            with_rules()
        steps = [int(step) for step in args.steps.split(",")] if args.steps else None
        now = ever = [play(form, args.seed, steps) for form in forms.values()]
        for played in now:
            if played.mismatch:
                report.tell(console, played, rules=args.rules)
    report.show(console, forms, now, ever)
    return int(any(played.mismatch for played in now))


if __name__ == "__main__":
    raise SystemExit(main())
