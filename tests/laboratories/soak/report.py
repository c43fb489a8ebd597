"""The table at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from tests.laboratories.soak.ledger import Total, totals
from tests.laboratories.soak.rounds import Played, Row

COLUMNS = ("seeds", "binds", "faults", "inputs", "seconds", "violations")


def show(console: Console, rows: Mapping[str, Row], now: Sequence[Played], ever: Sequence[Played]) -> None:
    """By row the sums over the whole ledger, those of this run, and how to see violations again."""
    table = Table(box=None, pad_edge=False)
    table.add_column("row")
    table.add_column("")
    for title in COLUMNS:
        table.add_column(title, justify="right")
    by_row = totals(ever)
    for row in rows.values():
        table.add_row(row.id, row.title, *_cells(by_row.get(row.id, Total())))
    table.add_section()
    table.add_row("", "this run", *_cells(_sum(now)))
    table.add_row("", "whole ledger", *_cells(_sum(ever)))
    console.print(table)
    for played in ever:
        if played.violation:
            console.print(f"VIOLATION {played.violation}", markup=False, highlight=False, soft_wrap=True)
            asked = f"--row {played.row} --seed {played.seed} --size {played.size:g}"
            console.print(
                f"  again: python -m tests.laboratories.soak {asked}",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )


def _sum(rounds: Sequence[Played]) -> Total:
    total = Total()
    for played in rounds:
        total.add(played)
    return total


def _cells(total: Total) -> tuple[str, ...]:
    counted = (total.rounds, total.binds, total.faults, total.inputs, total.seconds, total.violations)
    return tuple(f"{number:,.0f}" for number in counted)
