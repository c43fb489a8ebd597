"""The rejected nodes: a row for each reason, or for each node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.text import Text

from mooring.cli.console import print_table
from mooring.cli.tables.names import ShortNames
from mooring.serving.logs import printable

EXAMPLES = 3
"""The nodes that are named for each reason."""

Node = tuple[str, dict[str, Any]]
Reason = tuple[str, str]
"""A plugin, and what it said."""
Cause = tuple[str, str, str]
"""A plugin, with the code and the subject of a finding, or with a reason."""


def print_reasons(nodes: Sequence[Node], names: ShortNames) -> None:
    """Print each cause with the number of nodes, some of them, and the one that is closest to fit."""
    groups: dict[Cause, list[tuple[Node, dict[str, Any]]]] = {}
    for name, node in nodes:
        for cause, finding in _causes(node):
            groups.setdefault(cause, []).append(((name, node), finding))
    rows = [
        _row(some, names) for _, some in sorted(groups.items(), key=lambda each: (-len(each[1]), each[0]))
    ]
    if any(row[2] for row in rows):
        print_table(("NODES", "REJECTED BY", "CLOSEST", "SUCH AS"), rows)
    else:
        print_table(("NODES", "REJECTED BY", "SUCH AS"), [(row[0], row[1], row[3]) for row in rows])


def _row(some: Sequence[tuple[Node, dict[str, Any]]], names: ShortNames) -> tuple[str, Text, str, str]:
    """Return the row of the nodes that one cause rejects."""
    (name, node), finding = min(some, key=lambda each: (_things_in_the_way(each[0][1]), _missing(each[1])))
    same = not finding.get("amounts") and len({each["message"] for _, each in some}) == 1
    said = finding["message"] if same else _title(finding)
    closest = "" if same else f"{finding['message']} ({names.short(name)})"
    if not closest and "rejections" in node and _things_in_the_way(node) == 1:
        closest = f"{names.short(name)}: nothing else rejects it"
    shown = " ".join(names.short(each) for (each, _), _ in some[:EXAMPLES])
    more = " ..." if len(some) > EXAMPLES else ""
    plugin = finding["plugin"]
    text = Text(printable(f"{plugin}: {said}".removeprefix(": ")), "red")
    return str(len(some)), text, closest, shown + more


def _title(finding: dict[str, Any]) -> str:
    """Return the reason of a finding, with its subject."""
    reason, subject = finding["reason"], finding["subject"]
    return f"{reason}: {subject}" if subject and subject not in reason else reason


def _causes(node: dict[str, Any]) -> Iterator[tuple[Cause, dict[str, Any]]]:
    """Yield the causes that reject a node; those of plugins that found nothing are their reasons."""
    for rejection in rejections_of(node):
        plugin, reasons = rejection["plugin"], rejection["reasons"] or [""]
        found = [each for each in node.get("findings", ()) if plugin in ("", each["plugin"])]
        for each in found:
            about = (reason for reason in reasons if each["subject"] and reason.endswith(each["subject"]))
            # Nodes that lack different amounts of one thing share a row.
            code = "" if each["amounts"] else each["code"]
            yield (each["plugin"], code, each["subject"]), {**each, "reason": next(about, reasons[0])}
        for reason in () if found else reasons:
            yield (plugin, reason, ""), {"plugin": plugin, "message": reason, "reason": reason}


def _things_in_the_way(node: dict[str, Any]) -> int:
    return sum(1 for _ in _causes(node))


def _missing(finding: dict[str, Any]) -> tuple[float, int]:
    """Return the missing part of a request, and minus the limit for nodes that miss equally much."""
    amounts = finding.get("amounts")
    if not amounts or not amounts["asked"]:
        return 0.0, 0
    return (amounts["asked"] + amounts["taken"] - amounts["limit"]) / amounts["asked"], -amounts["limit"]


def print_nodes(nodes: Sequence[Node], names: ShortNames) -> None:
    """Print each node with its reasons."""
    print_table(
        ("NODE", "REJECTED BY"), [(names.short(name), Text(_rejection(node), "red")) for name, node in nodes]
    )


def rejections_of(node: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every known rejection of a node: the first one, or all with ``--all-rejections``."""
    return node.get("rejections") or [node["status"]]


def said_of(node: dict[str, Any]) -> Iterator[Reason]:
    """Yield each rejecting plugin with its findings, or with its reason if there are none."""
    for (plugin, _, _), finding in _causes(node):
        yield plugin, finding.get("text") or finding["message"]


def _rejection(node: dict[str, Any]) -> str:
    texts = (f"{plugin}: {said}" for plugin, said in said_of(node))
    return printable("; ".join(text.removeprefix(": ") for text in texts))


def named(nominated: Sequence[dict[str, Any]]) -> str:
    """Return the pods that keep room on a node."""
    pods = (f"{each['pod']} (nominated, priority {each['priority']})" for each in nominated)
    return ", ".join(pods)
