"""``mooring sweep``: the pending pods placed by many configurations, with many seeds, in many clusters."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mooring.app.embedding import Option
from mooring.cli.console import print_line, print_table, with_bar
from mooring.cli.flags import (
    Commands,
    Flags,
    add_command,
    add_manifests,
    add_output,
    add_plugins,
    add_release,
    add_verbosity,
    engine_options,
)
from mooring.cli.output import Exit, UsageError, complain, print_document
from mooring.cli.values import positive, seed

if TYPE_CHECKING:
    from mooring.sweeps.results import Results, Spread
    from mooring.sweeps.workers import Workers

PROCESSES = "processes"


_EXAMPLES = """examples:
  mooring sweep --manifests cluster.yaml --config mine.yaml --seeds 1-3
  mooring sweep --workload cluster.yaml --config now=config.yaml --config new=mine.yaml"""


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "place the pending pods of manifests by each configuration with each seed, and compare"
    parser = add_command(commands, "sweep", text, _EXAMPLES)
    flags = Flags(parser)
    flags.many("workload", "[NAME=]PATH[:PATH]", "manifests with nodes and pending pods")
    add_manifests(flags)
    flags.many("config", "[NAME=]FILE", "KubeSchedulerConfiguration file; default: the default profile")
    flags.add(
        "seeds", "FIRST-LAST", "0", "such as 42-51 or 1,2,3: nodes of equal totals, random arrivals", _seeds
    )
    flags.switch("shuffle", "let the pods come in an order that the seed decides")
    text = "let random pods come again until this much of a resource is requested, such as cpu=130%%"
    flags.add("fill", "RESOURCE=PERCENT", "", text, _filling)
    flags.add("workers", "COUNT", str(os.cpu_count() or 1), "processes of this machine", positive)
    flags.add("on", "WHERE", PROCESSES, f"{PROCESSES}, or a Ray cluster: ray://HOST:PORT, or auto")
    flags.add("to", "FILE", "", "write a row for each run: FILE.csv or FILE.parquet")
    add_output(flags)
    add_plugins(flags)
    add_release(flags)
    add_verbosity(flags)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    """Carry it out."""
    from mooring.sweeps.arrivals import PodArrivals
    from mooring.sweeps.plan import SweepPlan
    from mooring.sweeps.results import Results

    workloads = [*args.workload, *([":".join(args.manifests)] if args.manifests else [])]
    if not workloads:
        raise UsageError("--workload: name the manifests to place pods of")
    resource, percent = args.fill
    sweep = SweepPlan(
        {name: tuple(paths.split(":")) for name, paths in map(_named, workloads)},
        dict(map(_named, args.config)) or {"default": ""},
        args.seeds,
        PodArrivals(args.shuffle, resource, percent),
        replace(engine_options(args, options), config=""),
    )
    runs = sweep.runs
    ended = with_bar(_workers(args).work(sweep, runs), len(runs), doing="placing", many=2)
    results = Results.of(runs, list(ended))
    if args.to:
        results.write(Path(args.to))
    _show(results, args.output)
    for each, why in results.failures.items():
        complain(f"{each.workload}, {each.config}, seed {each.seed}: {why}")
    return Exit.FAILED if results.failures else Exit.OK


def _workers(args: argparse.Namespace) -> Workers:
    from mooring.sweeps.workers import LocalWorkers, RayWorkers

    return LocalWorkers(args.workers) if args.on == PROCESSES else RayWorkers(args.on)


def _named(text: str) -> tuple[str, str]:
    """Return a name and what it stands for; without a name it is that of the first file or folder."""
    name, equals, value = text.partition("=")
    return (name, value) if equals else (Path(text.split(":", maxsplit=1)[0]).stem, text)


def _seeds(text: str) -> list[int]:
    """Parse seeds: numbers and ranges, separated by commas."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        found += range(seed(first), seed(last) + 1) if dash else [seed(first)]
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} has no seed: the first is above the last")
    return found


def _filling(text: str) -> tuple[str, float]:
    """Parse a resource and a percentage; "" = neither."""
    if not text:
        return "", 0.0
    resource, _, percent = text.removesuffix("%").rpartition("=")
    if not (resource and percent.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not RESOURCE=PERCENT, such as cpu=130%")
    return resource, float(percent)


def _show(results: Results, form: str) -> None:
    """Print a row for each figure, with the mean of all seeds by configuration, and half of their range."""
    if form != "table":
        print_document(form, _documents(results))
        return
    configs = list(dict.fromkeys(run.config for run in results.figures))
    rows = []
    for measure in results.measures:
        spread = results.spread(measure)
        for workload in dict.fromkeys(name for name, _ in spread):
            cells = [_cell(spread.get((workload, config))) for config in configs]
            rows.append((workload, measure, *cells))
    if rows:
        print_table(("WORKLOAD", "FIGURE", *(f"#{config}" for config in configs)), rows)
    failed = len(results.failures)
    print_line(f"{len(results.figures)} runs" + (f", {failed} failed" if failed else ""))


def _cell(of: Spread | None) -> str:
    if of is None:
        return ""
    half = (of.highest - of.lowest) / 2
    return f"{of.mean:.2f} ±{half:.2f}" if half else f"{of.mean:.2f}"


def _documents(results: Results) -> list[dict[str, Any]]:
    """For programs: a document for each run."""
    columns = results.columns
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
