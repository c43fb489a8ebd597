"""``mooring schedule --manifests``: place the pending pods, offline."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.text import Text

from mooring.app.embedding import Option
from mooring.cli.console import FAILED_STYLE, print_line, print_table, with_bar
from mooring.cli.flags import (
    Commands,
    Flags,
    add_deciding,
    add_manifests,
    add_output,
    add_unknown_plugins,
    engine_options,
)
from mooring.cli.output import EXIT_FAILED, EXIT_OK, EXIT_UNSCHEDULED, print_document
from mooring.cli.values import seed
from mooring.serving.logs import printable

if TYPE_CHECKING:
    from mooring.app.offline import Outcome


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "place the pending pods of the manifests, offline"
    parser = commands.add_parser("schedule", help=text, description=text, allow_abbrev=False)
    flags = Flags(parser)
    add_manifests(flags, required=True)
    flags.add("profile", "NAME", "", "the profile of every pod; default that of each pod's schedulerName")
    flags.add("seed", "NUMBER", "0", "decides between nodes of equal totals", seed)
    add_output(flags)
    add_deciding(flags)
    add_unknown_plugins(flags)
    parser.set_defaults(run=run)


MANY_PODS = 200
"""From here on a progress bar is shown."""


def run(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    """Carry it out."""
    from mooring.app.offline import place_pending

    outcomes = place_pending(
        engine_options(args, options),
        args.manifests,
        partial(with_bar, doing="placing", many=MANY_PODS),
        profile=args.profile,
        seed=args.seed,
    )
    if args.output != "table":
        print_document(args.output, [_document(outcome) for outcome in outcomes])
    else:
        _print(outcomes)
    if any(outcome.failed for outcome in outcomes):
        return EXIT_FAILED
    return EXIT_OK if all(outcome.node for outcome in outcomes) else EXIT_UNSCHEDULED


def _document(outcome: Outcome) -> dict[str, Any]:
    """For programs."""
    return {
        "pod": outcome.pod,
        "node": outcome.node,
        "total": outcome.total,
        "code": outcome.code.label,
        "message": outcome.message,
    }


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
