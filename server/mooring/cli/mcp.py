"""``mooring mcp``: answers an assistant's questions about a running mooring, on standard input."""

from __future__ import annotations

import argparse

from mooring.app.embedding import Option
from mooring.cli import remote
from mooring.cli.flags import Commands, Flags, add_command
from mooring.cli.output import Exit

_EXAMPLES = """examples:
  mooring mcp --server 127.0.0.1:50051                   as an assistant starts it"""


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "answer an assistant over the Model Context Protocol; reads only"
    parser = add_command(commands, "mcp", text, _EXAMPLES)
    remote.add_server(Flags(parser), remote.DEFAULT_SERVER)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace, _options: tuple[Option, ...]) -> int:
    from mooring.mcp.server import new_server
    from mooring.mcp.tools import Tools

    with remote.channel_to(args) as channel:
        new_server(Tools(channel)).run("stdio")
    return Exit.OK
