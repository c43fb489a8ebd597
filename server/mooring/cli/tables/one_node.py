"""One node in an explanation: why it was not selected, next to another one, and what would change that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from mooring.cli.console import print_line, print_table
from mooring.cli.tables.names import ShortNames
from mooring.cli.tables.preemption import no_room_on, price_of
from mooring.cli.tables.rejected import named, said_of
from mooring.serving.logs import printable

Document = dict[str, Any]


def print_node(document: Document, name: str) -> None:
    """Print all that is known of one node: what rejects it, or its scores next to the selected node's."""
    node, selected = document["nodes"][name], document["selected"]
    if is_rejected(node):
        print_line(f"{name}: rejected", "red")
        print_table(
            ("REJECTED BY", "REASON"),
            [(plugin, Text(printable(said), "red")) for plugin, said in said_of(node)],
        )
        for finding in document.get("findings", ()):
            print_line(f"whatever the node: {finding['plugin']}: {finding['text']}", "red")
        if pods := document["nominated"].get(name):
            print_line(f"{name} keeps room for {named(pods)}")
        _print_changes(node)
        for candidate in (document["preemption"] or {}).get("candidates", ()):
            if candidate["node"] == name:
                print_line(f"room could be made on {name}: {price_of(candidate)}")
        if why := no_room_on(node):
            print_line(f"preemption: {why}")
        return
    if name == selected or selected is None:
        print_line(f"{name}: {'selected' if selected else 'feasible'}{_total(node)}", "green")
        rows = [(plugin, str(score["weighted"])) for plugin, score in node["scores"].items()]
        if rows:
            print_table(("PLUGIN", "#SCORE"), rows)
        return
    if name in document["ties"]:
        print_line(f"{name}: feasible, and {node['total']} is the highest total; the seed decides", "green")
    else:
        print_line(f"{name}: feasible, {_rank(document, name)}", "green")
    print_comparison(document, name, selected)


def _print_changes(node: Document) -> None:
    """Print the smallest change on either side that ends each thing in the way."""
    rows = [
        (each["subject"], each["podChange"] or "-", each["nodeChange"] or "-")
        for each in node.get("findings", ())
        if each["podChange"] or each["nodeChange"]
    ]
    if rows:
        print_table(("IN THE WAY", "CHANGE OF THE POD", "OR OF THE NODE"), rows)


def print_comparison(document: Document, first: str, second: str) -> None:
    """Print the scores of two nodes side by side, and what rejects one of them."""
    nodes = document["nodes"]
    for name in (first, second):
        if is_rejected(nodes[name]):
            said = "; ".join(f"{plugin}: {text}".removeprefix(": ") for plugin, text in said_of(nodes[name]))
            print_line(f"{name}: rejected: {printable(said)}", "red")
    mine, other = nodes[first]["scores"], nodes[second]["scores"]
    if not (mine and other):
        return
    gaps = {plugin: score["weighted"] - other[plugin]["weighted"] for plugin, score in mine.items()}
    rows = [
        (plugin, str(mine[plugin]["weighted"]), str(other[plugin]["weighted"]), f"{gap:+}")
        for plugin, gap in sorted(gaps.items(), key=lambda item: -abs(item[1]))
    ]
    totals = nodes[first]["total"], nodes[second]["total"]
    rows.append(("TOTAL", str(totals[0]), str(totals[1]), f"{totals[0] - totals[1]:+}"))
    names = ShortNames.of((first, second))
    heads = [f"#{names.short(name)}" for name in (first, second)]
    print_table(("PLUGIN", *heads, "#DIFFERENCE"), rows)


def print_what_it_takes(document: Document, name: str) -> None:
    """Print what would have to change for the pod to go to this node, which takes it."""
    node = document["nodes"][name]
    if name == document["selected"]:
        print_line(f"{name} is selected already", "green")
        return
    best = document["nodes"][document["selected"]]["total"] if document["selected"] else None
    if best is None or node["total"] is None:
        print_line(f"{name} is feasible, and not scored")
        return
    if name in document["ties"]:
        print_line(f"{name} has the highest total, too: another seed selects it")
        return
    print_line(f"{name} takes {best - node['total'] + 1} more points to have the highest total alone")
    rows = [
        (plugin, str(node["scores"][plugin]["weight"]), str(weight))
        for plugin, weight in _winning_weights(document, name)
    ]
    if rows:
        print_line("or one of these weights:")
        print_table(("PLUGIN", "#WEIGHT NOW", "#WEIGHT FROM WHICH ON IT WINS"), rows)
    else:
        print_line("no plugin's weight alone would do")


def is_rejected(node: Document) -> bool:
    """Return whether a node is not feasible."""
    return bool(node["status"]["code"] != "Success")


def _total(node: Document) -> str:
    return "" if node["total"] is None else f", total {node['total']}"


def _rank(document: Document, name: str) -> str:
    totals = [node["total"] for node in document["nodes"].values() if node["total"] is not None]
    mine = document["nodes"][name]["total"]
    if mine is None:
        return "not scored"
    return f"number {1 + sum(total > mine for total in totals)} of {len(totals)}"


def _winning_weights(document: Document, name: str) -> Iterator[tuple[str, int]]:
    """Yield the plugins whose weight could be raised until the node is the best, each with the least such
    weight, everything else being equal.
    """
    mine = document["nodes"][name]
    others = [
        node for other, node in document["nodes"].items() if other != name and node["total"] is not None
    ]
    for plugin, score in mine["scores"].items():
        # By how much each other node is ahead, and by how much each more of the weight brings it nearer.
        races = [
            (
                other["total"] - mine["total"],
                score["normalized"] - other["scores"][plugin]["normalized"],
            )
            for other in others
        ]
        added = max((lead // gain + 1 for lead, gain in races if gain > 0), default=0)
        if all(lead - gain * max(added, 0) < 0 for lead, gain in races):
            yield plugin, score["weight"] + added
