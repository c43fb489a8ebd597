"""What commands print: tables that fit the terminal, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

EXIT_OK = 0
EXIT_INVALID = 1
EXIT_USAGE = 2
EXIT_UNSCHEDULED = 3

PLAIN_WIDTH = 160
"""Columns when the output is no terminal."""


def console() -> Console:
    """Standard output; colour only on a terminal."""
    return Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False, soft_wrap=False)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]], title: str = "") -> None:
    """A table whose numbers (columns that begin with ``#``) are right-aligned."""
    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in columns:
        numeric = column.startswith("#")
        table.add_column(column.removeprefix("#"), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def print_json(document: Any) -> None:
    """A document, indented, on standard output."""
    print(json.dumps(document, indent=2, ensure_ascii=False))


def complain(text: object) -> None:
    """An error on standard error."""
    print(f"mooring: {text}", file=sys.stderr)
