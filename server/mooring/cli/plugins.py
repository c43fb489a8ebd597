"""``mooring plugins`` and ``mooring plugins new NAME``; ``plugin_check`` has the other verbs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.prompt import Prompt

from mooring.app.embedding import Option
from mooring.cli.console import print_line, print_table
from mooring.cli.flags import (
    Commands,
    Flags,
    add_command,
    add_output,
    add_plugins,
    add_verbosity,
    engine_options,
)
from mooring.cli.output import Exit, print_document
from mooring.cli.plugin_check import add_verbs
from mooring.cli.plugin_kinds import HOST_KINDS, KINDS, LANGUAGES
from mooring.cli.values import one_of

if TYPE_CHECKING:
    from mooring.service.backend import PluginEntry


_EXAMPLES = """examples:
  mooring plugins                                        list the plugins and their origins
  mooring plugins new RackAffinity --kind counting       a package to begin with
  mooring plugins new RackAffinity --language go         a process of its own, in another language
  mooring plugins check rack:RackAffinity                its faults"""


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "list the plugins, begin a new one, check or measure one"
    parser = add_command(commands, "plugins", text, _EXAMPLES)
    flags = Flags(parser)
    add_plugins(flags)
    add_output(flags)
    add_verbosity(flags)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    text = "list the plugins, as without a verb"
    listing = Flags(add_command(verbs, "list", text))
    add_plugins(listing)
    add_output(listing)
    text = "write an installable package with a plugin and its test"
    new = add_command(verbs, "new", text)
    new.add_argument("name", metavar="NAME", help="the plugin's name in PascalCase, such as RackAffinity")
    flags = Flags(new)
    kinds = "; ".join(f"{name} {kind.does}" for name, kind in KINDS.items())
    flags.add("kind", "KIND", "", f"{kinds}. On a terminal the command asks", one_of("", *KINDS))
    languages = (
        "go, ts, java or rust: write a host in that language instead; it can have any kind but holding"
    )
    flags.add("language", "LANGUAGE", "", languages, one_of("", *LANGUAGES))
    flags.add("directory", "DIR", ".", "where to write it")
    parser.set_defaults(run=run)
    add_verbs(verbs)


def run(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    """Carry it out."""
    from mooring.app.bridge import plugin_entries
    from mooring.app.engine import registry_of

    registry = registry_of(engine_options(args, options))
    if args.verb == "new":
        from mooring.cli.scaffold import write_host, write_package

        kind = args.kind or _asked_kind(HOST_KINDS if args.language else tuple(KINDS))
        if args.language:
            folder = write_host(args.name, args.language, kind, Path(args.directory), registry)
            print(f"wrote {folder}; next: {folder}/README.md")
            return Exit.OK
        folder = write_package(args.name, KINDS[kind], Path(args.directory), registry)
        print(f"wrote {folder}; next: pip install --editable {folder} pytest && pytest {folder}")
        return Exit.OK
    entries = sorted(plugin_entries(registry), key=lambda entry: entry.name.lower())
    if args.output != "table":
        print_document(args.output, [_document(entry) for entry in entries])
        return Exit.OK
    print_table(
        ("NAME", "POINTS", "SOURCE", "STATE"),
        [(entry.name, " ".join(entry.points), entry.source, _state(entry)) for entry in entries],
    )
    for entry in entries:
        if entry.load_error:
            print_line(entry.load_error, "red")
    return Exit.OK


def _asked_kind(kinds: Sequence[str]) -> str:
    """Ask which of ``kinds`` a new plugin has; without a terminal it is the first one."""
    if not sys.stdin.isatty():
        return kinds[0]
    print_table(("KIND", "THE PLUGIN"), [(name, KINDS[name].does) for name in kinds])
    return Prompt.ask("kind", choices=list(kinds), default=kinds[0])


def _state(entry: PluginEntry) -> str:
    if entry.load_error:
        return "failed"
    return "available" if entry.supported else "unsupported"


def _document(entry: PluginEntry) -> dict[str, object]:
    return {
        "name": entry.name,
        "points": list(entry.points),
        "source": entry.source,
        "supported": entry.supported,
        "loadError": entry.load_error or None,
    }
