"""The rejected nodes: a row for each reason, or for each node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.text import Text

from mooring.cli.console import print_table
from mooring.cli.tables.amounts import lacking_resource
from mooring.cli.tables.names import ShortNames
from mooring.framework.resources import amount
from mooring.serving.logs import printable

EXAMPLES = 3
"""The nodes that are named for each reason."""

Node = tuple[str, dict[str, Any]]
Reason = tuple[str, str]
"""A plugin, and what it said."""


def print_reasons(nodes: Sequence[Node], resources: Mapping[str, Any], names: ShortNames) -> None:
    """Print each reason with the number of nodes, some of them, and the one that is closest to fit."""
    groups: dict[Reason, list[str]] = {}
    alone: dict[Reason, str] = {}
    for name, node in nodes:
        found = list(reasons_of(node))
        for pair in found:
            groups.setdefault(pair, []).append(name)
        if len(found) == 1 and "rejections" in node:
            alone.setdefault(found[0], name)
    rows = []
    for (plugin, reason), those in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        said = printable(f"{plugin}: {reason}".removeprefix(": "))
        shown = " ".join(names.short(name) for name in those[:EXAMPLES])
        more = " ..." if len(those) > EXAMPLES else ""
        only = alone.get((plugin, reason))
        closest = _closest(reason, those, resources, names) or (
            f"{names.short(only)}: nothing else rejects it" if only else ""
        )
        rows.append((str(len(those)), Text(said, "red"), closest, shown + more))
    if any(row[2] for row in rows):
        print_table(("NODES", "REJECTED BY", "CLOSEST", "SUCH AS"), rows)
    else:
        print_table(("NODES", "REJECTED BY", "SUCH AS"), [(row[0], row[1], row[3]) for row in rows])


def print_nodes(nodes: Sequence[Node], names: ShortNames) -> None:
    """Print each node with its reasons."""
    print_table(
        ("NODE", "REJECTED BY"), [(names.short(name), Text(_rejection(node), "red")) for name, node in nodes]
    )


def rejections_of(node: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every rejection that is known of a node: the first one unless all were asked for."""
    return node.get("rejections") or [node["status"]]


def reasons_of(node: dict[str, Any]) -> Iterator[Reason]:
    """Yield each reason why a node is rejected."""
    for rejection in rejections_of(node):
        for reason in rejection["reasons"] or [""]:
            yield rejection["plugin"], reason


def _rejection(node: dict[str, Any]) -> str:
    texts = (f"{rejection['plugin']}: {', '.join(rejection['reasons'])}" for rejection in rejections_of(node))
    return printable("; ".join(text.removeprefix(": ") for text in texts))


def _closest(reason: str, nodes: Sequence[str], resources: Mapping[str, Any], names: ShortNames) -> str:
    """Return how much of a resource is needed, and the most that one of the nodes has left."""
    name = lacking_resource(reason)
    if name not in resources:
        return ""
    free = resources[name]["free"]
    best = max(nodes, key=lambda node: free.get(node, 0))
    needed, kept = amount(name, resources[name]["requested"]), resources[name]["kept"].get(best, 0)
    there = amount(name, max(free.get(best, 0) + kept, 0))
    if kept:
        return f"needs {needed} {name}; {there} free, {amount(name, kept)} kept ({names.short(best)})"
    return f"needs {needed} {name}, largest free {there} ({names.short(best)})"


def named(nominated: Sequence[dict[str, Any]]) -> str:
    """Return the pods that keep room on a node."""
    pods = (f"{each['pod']} (nominated, priority {each['priority']})" for each in nominated)
    return ", ".join(pods)
