"""``mooring conformance``: whether a client of mooring does what all clients do."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from mooring.app.embedding import Option
from mooring.cli.console import print_line, with_bar
from mooring.cli.flags import Commands, Flags, add_command, add_output
from mooring.cli.output import Exit, print_document
from mooring.cli.values import positive

if TYPE_CHECKING:
    from mooring.client_check.cases import ContractCase

_CLIENT = """examples:
  mooring conformance client -- ./driver
  mooring conformance client --case schedule-template --record talk.json -- node driver.js
  mooring conformance client --judge talk.json"""


def add(commands: Commands) -> None:
    """Declare the command and its verb."""
    text = "check that a client of mooring does what all clients do"
    verbs: Commands = add_command(commands, "conformance", text).add_subparsers(
        dest="verb", required=True, metavar="VERB"
    )
    parser = add_command(verbs, "client", "play the contract suite with a client's driver", _CLIENT)
    parser.add_argument("driver", nargs="*", metavar="COMMAND", help="starts the driver")
    flags = Flags(parser)
    flags.add("case", "NAME", "", "cases whose names begin with this; default: all")
    flags.add("jobs", "COUNT", "4", "cases at once", positive)
    flags.add("record", "FILE", "", "write there what happened")
    flags.add("judge", "FILE", "", "judge what happened at another time, and start no driver")
    flags.add("junit", "FILE", "", "write there a report as JUnit has it")
    add_output(flags)
    parser.set_defaults(run=_client)


def _client(args: argparse.Namespace, _options: tuple[Option, ...]) -> int:
    import msgspec

    from mooring.client_check.cases import cases
    from mooring.client_check.playing import CasePlayer, Played, faults, junit

    wanted = [case for case in cases() if case.name.startswith(args.case)]
    if args.judge:
        played = msgspec.json.decode(Path(args.judge).read_bytes(), type=list[Played])
    else:
        with CasePlayer(args.driver) as stage:
            played = list(with_bar(stage.all_played(wanted, args.jobs), len(wanted), "playing", many=1))
    if args.record:
        Path(args.record).write_bytes(msgspec.json.encode(played))
    by_name = {each.case: each for each in played}
    found = {case.name: list(faults(case, by_name.get(case.name))) for case in wanted}
    if args.junit:
        Path(args.junit).write_text(junit(wanted, found), encoding="utf-8")
    if args.output == "table":
        _show(wanted, found)
    else:
        print_document(
            args.output, {"cases": [{"name": name, "faults": each} for name, each in found.items()]}
        )
    return Exit.FAILED if any(found.values()) else Exit.OK


def _show(cases: Iterable[ContractCase], found: dict[str, list[str]]) -> None:
    for case in cases:
        if found[case.name]:
            print_line(f"{case.name}: {case.about}", "bold")
            for fault in found[case.name]:
                print_line(f"  {fault}")
    failed = sum(map(bool, found.values()))
    print_line(f"{len(found) - failed} of {len(found)} cases passed")
