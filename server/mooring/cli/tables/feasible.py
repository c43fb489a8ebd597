"""The feasible nodes by plugins, as wide as the terminal allows."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from mooring.cli.console import console, print_line, put, table_of
from mooring.cli.tables.names import ShortNames
from mooring.serving.logs import printable

Node = tuple[str, dict[str, Any]]


def print_feasible(
    feasible: Sequence[Node], most: int, selected: str | None, names: ShortNames, *, wide: bool
) -> None:
    """Print up to ``most`` nodes: each score with its parts if they fit; else without the plugins whose
    weighted scores are equal on all feasible nodes; else the weighted scores alone.
    """
    nodes = feasible[:most]
    plugins = list(dict.fromkeys(plugin for _, node in nodes for plugin in node["scores"]))
    full = _table(nodes, plugins, selected, names, short=False)
    if wide or _fits(full):
        put(full, wide=wide)
        return
    equal = _equal_everywhere(feasible, plugins)
    telling = [plugin for plugin in plugins if plugin not in equal]
    less = _table(nodes, telling, selected, names, short=False)
    if _fits(less):
        put(less)
    else:
        put(_table(nodes, telling, selected, names, short=True))
        print_line("weighted scores; -o wide or -o json shows raw and normalised ones")
    if equal:
        scores = ", ".join(f"{plugin} {score}" for plugin, score in equal.items())
        print_line(f"equal on all: {scores}")


def _fits(table: Table) -> bool:
    out = console()
    return Measurement.get(out, out.options.update(max_width=10_000), table).maximum <= out.width


def _equal_everywhere(nodes: Sequence[Node], plugins: Sequence[str]) -> dict[str, int]:
    """Return the plugins whose weighted scores are equal on all of several nodes, each with its score."""
    found = {}
    for plugin in plugins if len(nodes) > 1 else ():
        scores = {node["scores"].get(plugin, {}).get("weighted") for _, node in nodes}
        if len(scores) == 1 and None not in scores:
            found[plugin] = scores.pop()
    return found


def _table(
    nodes: Sequence[Node], plugins: Collection[str], selected: str | None, names: ShortNames, *, short: bool
) -> Table:
    weights = {plugin: score["weight"] for _, node in nodes for plugin, score in node["scores"].items()}
    heads = [f"#{_head(plugin, weights[plugin]) if short else plugin}" for plugin in plugins]
    rows: list[list[str | Text]] = []
    for name, node in nodes:
        style = "bold green" if name == selected else "green"
        scores = [_score(node["scores"].get(plugin), short=short) for plugin in plugins]
        total = "" if node["total"] is None else str(node["total"])
        mark = "→ " if name == selected else "  "
        rows.append(
            [Text(mark + printable(names.short(name)), style=style), *scores, Text(total, style=style)]
        )
    return table_of(("  NODE", *heads, "#TOTAL"), rows)


def _head(plugin: str, weight: int) -> str:
    """Return the plugin's name with a line for each of its words, and the weight."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "\n", plugin)
    return f"{words}\n× {weight}"


def _score(score: dict[str, int] | None, *, short: bool) -> str:
    if score is None:
        return ""
    if short:
        return str(score["weighted"])
    raw = "" if score["raw"] == score["normalized"] else f"{score['raw']} → "
    return f"{raw}{score['normalized']} × {score['weight']} = {score['weighted']}"
