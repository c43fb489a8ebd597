"""What commands print: tables that fit the terminal, JSON for programs."""

from __future__ import annotations

import json
import os
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
"""Columns when the output is no terminal and COLUMNS is not set."""


def console() -> Console:
    """Standard output; colour only on a terminal."""
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(width=None if known else PLAIN_WIDTH, highlight=False)


def printable(text: str) -> str:
    """``text`` with control characters escaped: names and reasons from elsewhere stay one plain line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def print_line(text: str, style: str = "") -> None:
    """One line, wrapped at the terminal's width."""
    console().print(Text(printable(text), style=style))


def table_of(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> Table:
    """A table whose numbers (columns that begin with ``#``) are right-aligned.

    A cell is plain text or already styled; the first column is not folded below 12 characters.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    for at, column in enumerate(columns):
        numeric = column.startswith("#")
        table.add_column(
            Text(column.removeprefix("#")),
            justify="right" if numeric else "left",
            overflow="fold",
            vertical="bottom" if numeric else "top",
            min_width=12 if at == 0 else None,
        )
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(printable(cell)) for cell in row))
    return table


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    """Print ``table_of`` the same arguments."""
    console().print(table_of(columns, rows))


def print_json(document: Any) -> None:
    """A document, indented, on standard output."""
    print(json.dumps(document, indent=2, ensure_ascii=False))


def complain(text: object) -> None:
    """An error on standard error; each line of it can stand alone."""
    for line in str(text).splitlines():
        print(f"mooring: {printable(line)}", file=sys.stderr)
