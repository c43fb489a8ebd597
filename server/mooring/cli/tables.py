"""An explanation as tables: the feasible nodes by plugins, then the rejected ones with their reasons."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from mooring.cli.console import FAILED_STYLE, console, print_line, print_table, put, table_of
from mooring.framework import Code
from mooring.serving.logs import printable

SHOWN_NODES = 20
"""The nodes of each table that are shown without ``--all``."""

Node = tuple[str, dict[str, Any]]


def print_explanation(document: dict[str, Any], *, all_nodes: bool = False) -> None:
    """Print the document of ``mooring explain -o json`` for people."""
    profile = f"  profile {document['profile']}" if document["profile"] else ""
    print_line(f"pod {document['pod']}{profile}  seed {document['seed']}")
    for plugin, outcome in document["prefilter"].items():
        if outcome["code"] != "Success" or outcome["nodes"] is not None:
            only = "" if outcome["nodes"] is None else f" only {', '.join(outcome['nodes'])}"
            print_line(f"PreFilter {plugin}: {outcome['code']} {', '.join(outcome['reasons'])}{only}")
    nodes = sorted(document["nodes"].items(), key=_rank)
    feasible = [node for node in nodes if node[1]["status"]["code"] == "Success"]
    rejected = nodes[len(feasible) :]
    most = len(nodes) if all_nodes else SHOWN_NODES
    if feasible:
        _print_feasible(feasible[:most], document["selected"])
        _print_rest(len(feasible) - most, "feasible")
    if rejected:
        print_table(
            ("NODE", "REJECTED BY"), [(name, Text(_rejection(node), "red")) for name, node in rejected[:most]]
        )
        _print_rest(len(rejected) - most, "rejected")
    print_line(*_verdict(document))
    for warning in document["warnings"]:
        print_line(f"warning: {warning}", "yellow")


def _rank(item: Node) -> tuple[bool, int, str]:
    name, node = item
    return node["status"]["code"] != "Success", -(node["total"] or 0), name


def _print_feasible(nodes: Sequence[Node], selected: str | None) -> None:
    """With each score's making where that fits the terminal, else with the weighted scores alone."""
    out = console()
    full = _feasible(nodes, selected, short=False)
    if Measurement.get(out, out.options.update(max_width=10_000), full).maximum <= out.width:
        put(full)
        return
    put(_feasible(nodes, selected, short=True))
    print_line("weighted scores; a wider terminal or -o json shows raw and normalised ones")


def _feasible(nodes: Sequence[Node], selected: str | None, *, short: bool) -> Table:
    weights = {plugin: score["weight"] for _, node in nodes for plugin, score in node["scores"].items()}
    heads = [f"#{_head(plugin, weight) if short else plugin}" for plugin, weight in weights.items()]
    rows: list[list[str | Text]] = []
    for name, node in nodes:
        style = "bold green" if name == selected else "green"
        scores = [_score(node["scores"].get(plugin), short=short) for plugin in weights]
        total = "" if node["total"] is None else str(node["total"])
        mark = "→ " if name == selected else "  "
        rows.append([Text(mark + printable(name), style=style), *scores, Text(total, style=style)])
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


def _rejection(node: dict[str, Any]) -> str:
    rejections = node.get("rejections") or [node["status"]]
    texts = (f"{rejection['plugin']}: {', '.join(rejection['reasons'])}" for rejection in rejections)
    return printable("; ".join(text.removeprefix(": ") for text in texts))


def _print_rest(count: int, what: str) -> None:
    if count > 0:
        print_line(f"... and {count} more {what} nodes; --all shows them")


def _verdict(document: dict[str, Any]) -> tuple[str, str]:
    if document["selected"] is None:
        status = document["status"]
        said = status["message"] or ", ".join(status["reasons"])
        if status["code"] == Code.ERROR.label:
            return f"failed: {said}", FAILED_STYLE
        return f"unschedulable: {said}", "bold red"
    ties = len(document["ties"])
    tied = f", one of {ties} with the same total" if ties > 1 else ""
    counts = f"({document['evaluated']} evaluated, {document['feasible']} feasible)"
    return f"selected: {document['selected']}{tied} {counts}", "bold green"
