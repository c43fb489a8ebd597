"""The table at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from tests.laboratories.histories.ledger import Total, totals
from tests.laboratories.histories.rounds import Form, Played

COLUMNS = ("histories", "sessions", "comparisons", "decisions", "cached", "seconds", "mismatches")


def show(console: Console, forms: Mapping[str, Form], now: Sequence[Played], ever: Sequence[Played]) -> None:
    """By form the sums over the whole ledger, and those of this run."""
    table = Table(box=None, pad_edge=False)
    for title in ("form", "", *COLUMNS):
        table.add_column(title, justify="right" if title in COLUMNS else "left")
    by_form = totals(ever)
    for form in forms.values():
        table.add_row(form.id, form.title, *_cells(by_form.get(form.id, Total())))
    table.add_section()
    for title, histories in (("this run", now), ("whole ledger", ever)):
        total = Total()
        for played in histories:
            total.add(played)
        table.add_row("", title, *_cells(total))
    console.print(table)


def tell(console: Console, played: Played, *, rules: bool) -> None:
    """Print a mismatch, and the command that plays it again: if each history had ``rules``, with them."""
    again = f"{played.again}{' --rules' if rules else ''}"
    for line in (f"MISMATCH {played.mismatch}", f"  again: {again}"):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _cells(total: Total) -> tuple[str, ...]:
    return tuple(f"{getattr(total, column):,.0f}" for column in COLUMNS)
