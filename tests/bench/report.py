"""Figures as a table for people, as JSON lines for programs, and as Markdown for documents."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.bench.workload import Figure

PEER = "kube-scheduler elsewhere: all / sampled"
COLUMNS = ("workload", "metric", "median", "spread", "target: least / aim", PEER)


def write(folder: Path, machine: dict[str, Any], figures: Sequence[Figure]) -> None:
    """Write ``figures.jsonl``, the machine first, and ``figures.md``."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [{"machine": machine}, *map(_document, figures)]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (folder / "figures.jsonl").write_text(text, encoding="utf-8")
    (folder / "figures.md").write_text(_markdown(figures), encoding="utf-8")


def show(machine: dict[str, Any], figures: Sequence[Figure]) -> None:
    """Print the table, under a line that names the machine."""
    console = Console(width=None if Console().is_terminal else 160)
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    console.print(f"{machine['cpu']}, {machine['cores']} cores, load {machine['load']}, {machine['system']}")
    console.print(f"{machine['python']}, {versions}")
    table = Table(box=None, pad_edge=False)
    for title in COLUMNS:
        table.add_column(title, justify="right" if title in ("median", "spread") else "left")
    for figure in figures:
        table.add_row(*_cells(figure))
    console.print(table)


def _document(figure: Figure) -> dict[str, Any]:
    return {
        "workload": figure.workload,
        "metric": figure.metric,
        "median": figure.median,
        "min": min(figure.values),
        "max": max(figure.values),
        "values": list(figure.values),
        "peer": figure.peer,
    }


def _cells(figure: Figure) -> tuple[str, ...]:
    spread = f"{_number(min(figure.values))} - {_number(max(figure.values))}"
    return figure.workload, figure.metric, _number(figure.median), spread, figure.target, figure.peer


def _markdown(figures: Sequence[Figure]) -> str:
    rows = [COLUMNS, ("---", "---", "---:", "---:", "---", "---"), *map(_cells, figures)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _number(value: float) -> str:
    """Three digits that count, thousands apart."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
