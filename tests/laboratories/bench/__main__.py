"""``make bench``: what decisions, calls and memory cost on this machine."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tests.laboratories.bench import (
    beside_sessions,
    extender,
    first_list,
    futures,
    groups,
    in_process,
    lives,
    memory,
    own_rules,
    remote,
    report,
    scheduler_perf,
    traces,
    variety,
)
from tests.laboratories.bench.steps import measure_all
from tests.laboratories.bench.workload import QUICK, Size, Workload

REPORT = report.FOLDER / "bench"


def workloads(size: Size) -> list[Workload]:
    """All there are, in the order of the report."""
    kinds = (
        in_process,
        traces,
        variety,
        scheduler_perf,
        groups,
        futures,
        remote,
        beside_sessions,
        extender,
        own_rules,
        memory,
        first_list,
        lives,
    )
    return [workload for kind in kinds for workload in kind.workloads(size)]


def main(arguments: Sequence[str] | None = None, folder: Path = REPORT) -> int:
    """Measure, print and write the report; a run of everything also writes docs/figures.

    Returns:
        0; 2 if no workload has the wanted name.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.laboratories.bench", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--only", metavar="NAME", action="append", help="workloads with NAME in their name")
    parser.add_argument("--quick", action="store_true", help="show that it works; the figures mean nothing")
    parser.add_argument("--repeats", type=int, default=0, metavar="COUNT", help="repeats of each workload")
    args = parser.parse_args(arguments)
    size = QUICK if args.quick else Size()
    known = workloads(size)
    chosen = [w for w in known if not args.only or any(part in w.name for part in args.only)]
    if not chosen:
        names = "\n  ".join(workload.name for workload in known)
        parser.error(f"no workload has {' or '.join(args.only)} in its name; there are:\n  {names}")
    figures = measure_all(chosen, args.repeats if args.repeats > 0 else size.repeats)
    # A part of the workloads, or few of everything, is nothing to be remembered.
    section = "" if args.quick or args.only else "bench"
    report.publish("mooring: what decisions, calls and memory cost", figures, folder, section)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
