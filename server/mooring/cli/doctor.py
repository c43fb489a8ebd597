"""``mooring doctor``: what is missing in a cluster for mooring, and what to do about it."""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.text import Text

from mooring.app.embedding import Option
from mooring.cli.console import print_line, put, status_line, table_of
from mooring.cli.flags import (
    CLUSTER,
    Commands,
    Flags,
    add_command,
    add_deciding,
    add_output,
    engine_options,
)
from mooring.cli.output import Exit, print_document
from mooring.cli.values import one_of

if TYPE_CHECKING:
    from mooring.app.doctor.findings import Diagnosis

_EXAMPLES = """examples:
  mooring doctor --config mine.yaml                      as the user of the current context
  mooring doctor --as system:serviceaccount:mooring-system:mooring-scheduler
  mooring doctor --mode extender --extenders kube-scheduler.yaml --certificate tls.crt"""

NAMESPACE = "mooring-system"

_STYLES = {"ok": "green", "warning": "yellow", "fault": "red", "unknown": "magenta"}
_ORDER = ("fault", "unknown", "warning", "ok")


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "check rights, versions, clocks, certificates, metrics and rivals in a cluster, and say what to do"
    parser = add_command(commands, "doctor", text, _EXAMPLES)
    flags = Flags(parser)
    cluster = flags.group(CLUSTER)
    cluster.add("kubeconfig", "FILE", "", "the cluster; default that of the pod, else kubectl's")
    cluster.add("context", "NAME", "", "a context of that file; default its current one")
    cluster.add("namespace", "NAMESPACE", NAMESPACE, "where mooring runs", short="n")
    modes = ("second-scheduler", "extender", "extender-loopback")
    flags.add("mode", "MODE", modes[0], f"how mooring runs: {', '.join(modes)}", one_of(*modes))
    flags.add("as", "USER", "", "check this user's rights; default your own")
    flags.many("certificate", "FILE", "check the expiry of this certificate too, PEM")
    flags.add("extenders", "FILE", "", "call the extenders of this configuration of kube-scheduler")
    add_output(flags)
    add_deciding(flags)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    """Carry it out."""
    from mooring.app.doctor.examination import DoctorOptions, examined
    from mooring.app.sources import api_server_to_read

    asked = DoctorOptions(
        engine_options(args, options),
        args.mode,
        args.namespace,
        user=getattr(args, "as"),
        certificates=tuple(args.certificate),
        extenders=args.extenders,
    )
    api = api_server_to_read(args.kubeconfig, args.context)
    with status_line("asking the API server"):
        found = list(examined(api, asked))
    if args.output == "table":
        _print(found)
    else:
        print_document(args.output, [asdict(each) for each in found])
    return Exit.INVALID if any(each.state == "fault" for each in found) else Exit.OK


def _print(found: list[Diagnosis]) -> None:
    """Print a row for each finding, the worst first."""
    rows = [
        (Text(each.state.value, _STYLES[each.state.value]), each.check, each.said, each.do)
        for each in sorted(found, key=lambda each: _ORDER.index(each.state.value))
    ]
    put(table_of(("STATE", "CHECK", "FOUND", "WHAT TO DO"), rows))
    counts = Counter(each.state.value for each in found)
    print_line(", ".join(f"{counts[state]} {state}" for state in _ORDER if counts[state]))
