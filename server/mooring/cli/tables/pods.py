"""Pods with the nodes that they go to, a row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text

from mooring.cli.console import FAILED_STYLE, print_line, print_table
from mooring.cli.tables.names import ShortNames
from mooring.serving.logs import printable


class PodRow(NamedTuple):
    """A pod, its node and that node's total, or why it has none; ``failed`` where a plugin failed."""

    pod: str
    node: str | None
    total: int | None
    message: str
    failed: bool = False


def print_pods(rows: Sequence[PodRow], *, wide: bool = False) -> None:
    """Print the pods."""
    if not rows:
        return
    names = ShortNames.of({row.node for row in rows if row.node}, whole=wide)
    print_table(("POD", "NODE", "#TOTAL", "REASON"), [_cells(row, names) for row in rows])
    if names.ending:
        print_line(f"the names of nodes go on with {names.ending}")


def _cells(row: PodRow, names: ShortNames) -> tuple[str | Text, ...]:
    style = FAILED_STYLE if row.failed else "green" if row.node else "red"
    node = Text(printable(names.short(row.node)) if row.node else "-", style=style)
    # What preemption says of all nodes once more helps nobody who reads a table.
    told = row.message.partition(" preemption: ")[0]
    reason = Text(f"failed: {printable(told)}", FAILED_STYLE) if row.failed else told
    return row.pod, node, "" if row.total is None else str(row.total), reason
