"""``mooring record``: writes down what happens in a live cluster, with whatever scheduler it has."""

from __future__ import annotations

import argparse

from mooring.app.embedding import Option
from mooring.app.signals import stop_signal
from mooring.cli.console import print_line
from mooring.cli.flags import CLUSTER, Commands, Flags, add_command, add_deciding, engine_options
from mooring.cli.output import Exit
from mooring.cli.serving_flags import add_recording, recording_options

_EXAMPLES = """examples:
  mooring record night --kubeconfig ~/.kube/config       until Ctrl-C"""


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "record a live cluster and what its scheduler decides, until Ctrl-C; reads only"
    parser = add_command(commands, "record", text, _EXAMPLES)
    parser.add_argument("directory", metavar="DIR", help="where the recording goes")
    flags = Flags(parser)
    flags.group(CLUSTER).add("kubeconfig", "FILE", "", "the cluster; default that of the pod, else kubectl's")
    add_recording(flags, required=True)
    add_deciding(flags)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    """Carry it out."""
    from mooring.app.recording import observe
    from mooring.app.sources import api_server_to_read

    recorder = observe(
        recording_options(args, args.directory),
        engine_options(args, options),
        api_server_to_read(args.kubeconfig),
        stop_signal(),
        lambda: print(f"mooring ready: recording={args.directory}", flush=True),
    )
    print_line(f"{recorder.entries:,} entries, {recorder.size:,} bytes, {recorder.dropped:,} changes missing")
    return Exit.OK
