"""The entry point of the ``mooring`` script and of programs that embed it."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from mooring import __version__
from mooring.cli import logs
from mooring.cli.options import Option
from mooring.cli.output import EXIT_INVALID, EXIT_OK, complain
from mooring.cli.remote import CallError
from mooring.config import ConfigError
from mooring.framework.errors import MooringError
from mooring.runtime.registry import RegistryError
from mooring.runtime.signatures import PluginDefinitionError

COMMANDS = ("serve", "run", "schedule", "explain", "config", "plugins")
"""Each is the module of the same name here, which declares it with ``add``."""


def main(*options: Option, argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        options: Plugins of the embedding program, for example ``with_plugin("Mine", Mine)``.
        argv: The arguments; default those of the process.

    Returns:
        0; 1 for invalid input; 3 when a pod stayed unschedulable. Wrong usage exits with 2.
    """
    args = _parser().parse_args(argv)
    logs.configure(getattr(args, "v", 0))
    try:
        code: int = args.run(args, options)
    except (ConfigError, RegistryError, PluginDefinitionError, MooringError, CallError, OSError) as error:
        complain(error)
        return EXIT_INVALID
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mooring",
        description="On which node should this pod run, and why?",
        epilog="Each flag has a twin in the environment: --health-listen is MOORING_HEALTH_LISTEN. "
        "Exit codes: 0 done, 1 invalid input, 2 wrong usage, 3 something stayed unschedulable.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in COMMANDS:
        importlib.import_module(f"mooring.cli.{name}").add(commands)
    version = commands.add_parser("version", help="print the version")
    version.set_defaults(run=_print_version)
    return parser


def _print_version(*_: object) -> int:
    print(f"mooring {__version__} (Python {sys.version.split()[0]})")
    return EXIT_OK
