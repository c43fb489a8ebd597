"""Pods with the nodes that they go to, a row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text

from mooring.cli.console import FAILED_STYLE, print_table
from mooring.cli.tables.names import ShortNames
from mooring.cli.tables.preemption import first_sentence
from mooring.serving.logs import printable


class PodRow(NamedTuple):
    """A pod, its node and that node's total, or why it has none; ``failed`` if a plugin failed, and
    ``room_on``, the node on which preemption makes room.
    """

    pod: str
    node: str | None
    total: int | None
    message: str
    failed: bool = False
    room_on: str = ""


def print_pods(rows: Sequence[PodRow], *, wide: bool = False) -> None:
    """Print the pods."""
    if not rows:
        return
    names = ShortNames.of({name for row in rows for name in (row.node, row.room_on) if name}, whole=wide)
    print_table(("POD", "NODE", "#TOTAL", "REASON"), [_cells(row, names) for row in rows])
    names.print_ending()


def _cells(row: PodRow, names: ShortNames) -> tuple[str | Text, ...]:
    style = FAILED_STYLE if row.failed else "green" if row.node else "yellow" if row.room_on else "red"
    place = names.short(row.node) if row.node else f"({names.short(row.room_on)})" if row.room_on else "-"
    node = Text(printable(place), style=style)
    told = first_sentence(row.message)
    reason = Text(f"failed: {printable(told)}", FAILED_STYLE) if row.failed else told
    return row.pod, node, "" if row.total is None else str(row.total), reason
