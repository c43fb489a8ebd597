"""``mooring schedule --manifests``: place the pending pods, offline."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from functools import cmp_to_key, partial
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.text import Text

from mooring.cli.console import FAILED_STYLE, print_line, print_table
from mooring.cli.flags import Commands, Flags, add_deciding, add_manifests, add_output, seed
from mooring.cli.manifests import engine_over
from mooring.cli.options import Option
from mooring.cli.output import EXIT_FAILED, EXIT_OK, EXIT_UNSCHEDULED, print_json
from mooring.framework import Code, Pod
from mooring.framework.errors import MooringError, PluginFailureError
from mooring.runtime.engine import Engine
from mooring.runtime.simulation import Result, Simulation
from mooring_extender.logs import printable


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "place the pending pods of the manifests, offline"
    parser = commands.add_parser("schedule", help=text, description=text, allow_abbrev=False)
    flags = Flags(parser)
    add_manifests(flags, required=True)
    flags.add("profile", "NAME", "", "the profile of every pod; default the one that each names")
    flags.add("seed", "NUMBER", "0", "decides between nodes of equal totals", seed)
    add_output(flags)
    add_deciding(flags)
    parser.set_defaults(run=run)


MANY_PODS = 200
"""From here on a progress bar is shown."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one pod."""

    pod: str
    code: Code
    node: str | None = None
    total: int | None = None
    message: str = ""

    @property
    def failed(self) -> bool:
        """Whether a plugin failed, which says nothing about whether the pod fits."""
        return self.code is Code.ERROR

    def document(self) -> dict[str, Any]:
        """For programs."""
        return {
            "pod": self.pod,
            "node": self.node,
            "total": self.total,
            "code": self.code.label,
            "message": self.message,
        }


def run(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    """Carry it out."""
    engine, manifests = engine_over(args, options)
    if args.profile:
        engine.profile(args.profile)
    pending = [pod for pod in manifests.pods if not pod.spec.node_name and not pod.finished]
    queue = queued(engine, pending)
    simulation = Simulation(engine, partial(engine.profile, args.profile), seed=args.seed)
    tried = track(
        simulation.place(queue),
        total=len(queue),
        description="placing",
        console=Console(stderr=True),
        transient=True,
        disable=len(pending) < MANY_PODS or not sys.stderr.isatty(),
    )
    for _ in tried:
        pass
    outcomes = [_outcome(pod, simulation.result(pod)) for pod in queue]
    if args.output == "json":
        print_json([outcome.document() for outcome in outcomes])
    else:
        _print(outcomes)
    if any(outcome.failed for outcome in outcomes):
        return EXIT_FAILED
    return EXIT_OK if all(outcome.node for outcome in outcomes) else EXIT_UNSCHEDULED


def queued(engine: Engine, pods: list[Pod]) -> list[Pod]:
    """``pods`` in the order in which the QueueSort plugin takes them; it is the same in every profile."""
    sorter = next(iter(engine.profiles.values())).queue_sort[0].plugin
    position = {id(pod): float(at) for at, pod in enumerate(pods)}

    def compare(first: Pod, second: Pod) -> int:
        if sorter.less(first, position[id(first)], second, position[id(second)]):
            return -1
        return int(sorter.less(second, position[id(second)], first, position[id(first)]))

    return sorted(pods, key=cmp_to_key(compare))


def _outcome(pod: Pod, result: Result) -> Outcome:
    if isinstance(result, PluginFailureError):
        return Outcome(pod.key, Code.ERROR, message=str(result))
    if isinstance(result, MooringError):
        return Outcome(pod.key, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, message=str(result))
    choice, status = result.choice, result.status
    if not status.ok:
        return Outcome(pod.key, status.code, message=choice.message or status.message)
    return Outcome(pod.key, status.code, choice.node_name, choice.total if choice.feasible > 1 else None)


def _print(outcomes: list[Outcome]) -> None:
    rows = [
        (
            outcome.pod,
            Text(outcome.node or "-", style=_style(outcome)),
            "" if outcome.total is None else str(outcome.total),
            Text(f"failed: {printable(outcome.message)}", FAILED_STYLE)
            if outcome.failed
            else outcome.message,
        )
        for outcome in outcomes
    ]
    if rows:
        print_table(("POD", "NODE", "#TOTAL", "REASON"), rows)
    placed = sum(outcome.node is not None for outcome in outcomes)
    failed = sum(outcome.failed for outcome in outcomes)
    print_line(f"{placed} of {len(outcomes)} pending pods placed" + (f", {failed} failed" if failed else ""))


def _style(outcome: Outcome) -> str:
    if outcome.failed:
        return FAILED_STYLE
    return "green" if outcome.node else "red"
