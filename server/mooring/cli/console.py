"""Lines and tables: folded to fit a terminal, and for programs a whole line for each row."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from rich.console import Console, RenderableType
from rich.progress import Progress, track
from rich.table import Table
from rich.text import Text

from mooring.serving.logs import printable

T = TypeVar("T")

PLAIN_WIDTH = 2**20
"""Columns when the output is not a terminal and COLUMNS is not set: more than any line has."""

NAME_WIDTH = 32
"""Names up to this long stay in one piece."""

PATIENCE_SECONDS = 1.0
"""Work that takes longer shows its progress."""

WORD_WIDTH = 12
"""Other words up to this long do too."""


FAILED_STYLE = "bold magenta"
"""The style of failed decisions. Red is for pods that don't fit, which a failure doesn't show."""


def is_width_known() -> bool:
    """Return whether lines have to fit, as on a terminal."""
    return sys.stdout.isatty() or "COLUMNS" in os.environ


def console(*, wide: bool = False) -> Console:
    """Return standard output; with colour only on a terminal. With ``wide`` lines may be of any length."""
    return Console(width=None if is_width_known() and not wide else PLAIN_WIDTH, highlight=False)


def put(shown: RenderableType, *, wide: bool = False) -> None:
    """Print it."""
    out = console(wide=wide)
    if out.is_terminal:
        out.print(shown)
        return
    with out.capture() as captured:
        out.print(shown)
    for line in captured.get().splitlines():
        print(line.rstrip())


def print_line(text: str, style: str = "") -> None:
    """One line, wrapped at the terminal's width."""
    put(Text(printable(text), style=style))


def table_of(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> Table:
    """Return a table whose numbers (columns that begin with ``#``) are right-aligned.

    A cell is plain text or already styled. The first column holds names.
    """
    cells = [[cell if isinstance(cell, Text) else Text(printable(cell)) for cell in row] for row in rows]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for at, column in enumerate(columns):
        numeric = column.startswith("#")
        table.add_column(
            Text(column.removeprefix("#")),
            justify="right" if numeric else "left",
            overflow="fold",
            no_wrap=not numeric and all(_is_word(row[at], WORD_WIDTH if at else NAME_WIDTH) for row in cells),
        )
    for row in cells:
        table.add_row(*row)
    return table


def _is_word(cell: Text, most: int) -> bool:
    """Return whether a cell is one word that is not longer than ``most``; a mark may stand in front."""
    return cell.cell_len <= most and len(cell.plain.lstrip("→ ").split()) <= 1


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    """Print ``table_of`` the same arguments."""
    put(table_of(columns, rows))


@contextmanager
def status_line(doing: str) -> Iterator[Callable[[], None]]:
    """Say on a terminal what takes longer than a second, for as long as it goes on, or until what is yielded
    is called.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    done = threading.Event()

    def show() -> None:
        if not done.wait(PATIENCE_SECONDS):
            with Console(stderr=True).status(doing):
                done.wait()

    shower = threading.Thread(target=show, daemon=True)

    def end() -> None:
        done.set()
        shower.join()

    shower.start()
    try:
        yield end
    finally:
        end()


MANY_PODS = 200
"""Pods from which on their progress is shown as a bar."""


@contextmanager
def read_and_shown(doing: str) -> Iterator[Callable[[Iterable[T], int], Iterable[T]]]:
    """Say that the cluster is read, and yield what shows the progress of the steps that follow, one for each
    pod; see ``with_bar``.
    """
    with status_line("reading the cluster") as end:

        def shown(steps: Iterable[T], count: int) -> Iterable[T]:
            end()
            return with_bar(steps, count, doing, many=MANY_PODS)

        yield shown


def with_bar(steps: Iterable[T], count: int, doing: str, *, many: int) -> Iterable[T]:
    """Yield the steps, with a progress bar on a terminal when there are ``many``."""
    return track(
        steps,
        total=count,
        description=doing,
        console=Console(stderr=True),
        transient=True,
        disable=count < many or not sys.stderr.isatty(),
    )


@contextmanager
def bar_of(total: int, doing: str, *, many: int) -> Iterator[Callable[[int], object]]:
    """Show a progress bar on a terminal while the block runs, when ``total`` is ``many``; gives what moves it
    on.
    """
    hidden = total < many or not sys.stderr.isatty()
    with Progress(console=Console(stderr=True), transient=True, disable=hidden) as progress:
        yield partial(progress.advance, progress.add_task(doing, total=total))
