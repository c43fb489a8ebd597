"""The report of every benchmark: a table on the terminal, and a folder with tables, pictures and JSON lines.

``figures.jsonl`` has the machine first and then a figure a line, with every repeat; ``report.md`` has the
tables and shows the pictures. Workloads of one group, which is their name's first part, that measure the same
are one table: a cell is the median, with the lowest and the highest repeat. The tables of whole benchmarks
are written into docs/figures as well: a page for each command, each table between the markers of its section.
"""

from __future__ import annotations

import itertools
import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.laboratories.bench import machine
from tests.laboratories.bench.numbers import middle
from tests.laboratories.bench.workload import Figure

FOLDER = Path(__file__).parents[3] / ".cache" / "bench"
"""The default folder of reports; git ignores it."""

PAGES = Path(__file__).parents[3] / "docs" / "figures"
"""The pages of the documents with the tables, one for each command."""

WIDE = 200
"""Columns of the table without a terminal."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: its header, and rows as long as that."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def publish(title: str, figures: Sequence[Figure], folder: Path, section: str = "") -> None:
    """Print the tables and write the report into ``folder``; what an earlier run left there is replaced.

    With ``section``, the tables also take the place of that section's page in docs/figures.
    """
    about = machine.describe()
    _show(title, about, figures)
    folder.mkdir(parents=True, exist_ok=True)
    lines = [{"machine": about}, *map(_document, figures)]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (folder / "figures.jsonl").write_text(text, encoding="utf-8")
    for old in folder.glob("*.svg"):
        old.unlink()
    pictures = _draw(figures, folder)
    (folder / "report.md").write_text(_markdown(title, about, figures, pictures), encoding="utf-8")
    print(f"written to {folder}")
    if section:
        print(f"written to {record(section, about, figures)}")


def record(section: str, about: dict[str, Any], figures: Sequence[Figure], pages: Path = PAGES) -> Path:
    """Put the tables, the date and the machine between the section's markers, and return their page.

    The first word of ``section`` is the command, whose page in ``pages`` has its name.

    Raises:
        ValueError: The page has no such section.
    """
    page = pages / f"{section.split(maxsplit=1)[0]}.md"
    text = page.read_text(encoding="utf-8")
    begin, end = (f"<!-- {section}: {mark} -->" for mark in ("begin", "end"))
    before, found, rest = text.partition(f"{begin}\n")
    _, closed, after = rest.partition(end)
    if not found or not closed:
        message = f"{page} has no section {begin} ... {end}: add it where its tables belong"
        raise ValueError(message)
    today = datetime.now(UTC).date().isoformat()
    head = textwrap.fill(f"*{today}, {_machine(about)}.*", 120, break_on_hyphens=False) + "\n"
    page.write_text(f"{before}{found}{chr(10).join([head, *_tables(figures)])}{end}{after}", encoding="utf-8")
    return page


def grids(figures: Sequence[Figure]) -> list[Grid]:
    """Return the tables: a row per workload, columns per metric."""
    workloads = [list(found) for _, found in itertools.groupby(figures, lambda figure: figure.workload)]
    return [_grid(list(same)) for _, same in itertools.groupby(workloads, _measured)]


def _measured(workload: Sequence[Figure]) -> tuple[str, ...]:
    return (workload[0].group, *(figure.metric for figure in workload))


def _grid(workloads: Sequence[Sequence[Figure]]) -> Grid:
    columns = list(zip(*workloads, strict=True))
    targeted = [any(figure.target for figure in column) for column in columns]
    compared = [any(figure.peer for figure in column) for column in columns]

    def spread_out(cells: Iterator[tuple[str, str, str]]) -> Iterator[str]:
        for (value, target, peer), aimed, beside in zip(cells, targeted, compared, strict=True):
            yield value
            if aimed:
                yield target
            if beside:
                yield peer

    names = (
        (column[0].metric, "least / aim", "kube-scheduler elsewhere: all / sampled") for column in columns
    )
    noted = any(workload[0].note for workload in workloads)
    header = ("workload", *spread_out(iter(names)), *(("note",) if noted else ()))
    rows = []
    for workload in workloads:
        cells = ((middle(figure.values), figure.target, figure.peer) for figure in workload)
        note = (workload[0].note,) if noted else ()
        rows.append((workload[0].workload, *spread_out(iter(cells)), *note))
    return Grid(header, tuple(rows))


def _show(title: str, about: dict[str, Any], figures: Sequence[Figure]) -> None:
    console = Console(width=None if Console().is_terminal else WIDE)
    console.print(f"[bold]{title}[/bold], medians (lowest - highest)", highlight=False)
    console.print(_machine(about), highlight=False, markup=False)
    for grid in grids(figures):
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        longest = max(len(row[0]) for row in grid.rows)
        table.add_column(grid.header[0], overflow="fold", min_width=min(longest, console.width // 3))
        for name in grid.header[1:]:
            table.add_column(name, justify="left" if name == "note" else "right", overflow="fold")
        for row in grid.rows:
            table.add_row(*row)
        console.print()
        console.print(table)


def _machine(about: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    hardware = f"{about['cpu']}, {about['cores']} cores, {about['memory_gib']} GiB, load {about['load']}"
    return f"{hardware}, {about['system']}, {about['python']}, {versions}"


def _document(figure: Figure) -> dict[str, Any]:
    return {
        "workload": figure.workload,
        "metric": figure.metric,
        "median": figure.median,
        "min": min(figure.values),
        "max": max(figure.values),
        "values": list(figure.values),
        "target": figure.target,
        "peer": figure.peer,
        "note": figure.note,
    }


def _draw(figures: Sequence[Figure], folder: Path) -> list[Path]:
    # Only who draws waits for the library.
    from tests.laboratories.bench.plots import draw

    pictures = []
    for group in dict.fromkeys(figure.group for figure in figures):
        path = folder / f"{group}.svg"
        draw(group, [figure for figure in figures if figure.group == group], path)
        pictures.append(path)
    return pictures


def _markdown(title: str, about: dict[str, Any], figures: Sequence[Figure], pictures: Sequence[Path]) -> str:
    parts = [
        f"# {title}\n",
        f"{_machine(about)}\n",
        "Medians, in brackets the lowest and the highest repeat.\n",
    ]
    parts += _tables(figures)
    parts += [f"![{path.stem}]({path.name})\n" for path in pictures]
    return "\n".join(parts)


def _tables(figures: Sequence[Figure]) -> Iterator[str]:
    for grid in grids(figures):
        marks = ("---", *("---" if name == "note" else "---:" for name in grid.header[1:]))
        yield "".join(f"| {' | '.join(row)} |\n" for row in (grid.header, marks, *grid.rows))
