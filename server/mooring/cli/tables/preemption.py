"""Nodes where preemption could make room for a pod, with the victims there."""

from __future__ import annotations

import re
from typing import Any

from rich.text import Text

from mooring.cli.console import print_line, print_table
from mooring.cli.tables.names import ShortNames
from mooring.framework import ReasonCode
from mooring.serving.logs import printable

Document = dict[str, Any]
"""As ``preemption_document`` has it."""

SHOWN_VICTIMS = 3
"""How many victims of each candidate are named."""

_NOTHING_FOUND = re.compile(r"(?<=\.) preemption: 0/\d+ nodes are available: .*$", re.DOTALL)


def node_of(found: Document | None) -> str:
    """Return the node on which preemption makes room for the pod; "" = none."""
    return (found or {}).get("node") or ""


def first_sentence(message: str) -> str:
    """Return a pod's message without the sentence that lists all nodes again because preemption found
    no room.
    """
    return _NOTHING_FOUND.sub("", message)


SHOWN_NODES = 3
"""The nodes that are named for each reason."""

_WITH_PODS = frozenset(
    code.label for code in (ReasonCode.PREEMPTION_WITHOUT_VICTIMS, ReasonCode.PREEMPTION_NOT_ENOUGH)
)

SHOWN_CANDIDATES = 20
"""The candidates that are shown unless more or fewer are wanted."""


def print_preemption(
    found: Document | None,
    most: int = SHOWN_CANDIDATES,
    names: ShortNames | None = None,
    nodes: Document | None = None,
) -> None:
    """Print at most ``most`` candidates, the selected one first, each with its victims; nothing for None.

    The ``nodes`` of an explanation say why the others are not selected.
    """
    if found is None:
        return
    names = names or ShortNames.of(each["node"] for each in found["candidates"])
    candidates = sorted(found["candidates"], key=lambda each: (each["node"] != found["node"], each["node"]))
    rows = []
    for each in candidates[:most]:
        taken = each["node"] == found["node"]
        node = f"{'→' if taken else ' '} {printable(names.short(each['node']))}"
        style = "bold yellow" if taken else ""
        rows.append((Text(node, style), _victims(each["victims"]), _violations(each)))
    print_table(("  ROOM COULD BE MADE ON", "BY PREEMPTING", "BUDGET VIOLATIONS"), rows)
    others: dict[str, list[str]] = {}
    for each in candidates[:most]:
        if why := _why_no_room((nodes or {}).get(each["node"], {})).get("present"):
            others.setdefault(why, []).append(names.short(each["node"]))
    for why, some in others.items():
        more = " ..." if len(some) > SHOWN_NODES else ""
        taken = names.short(found["node"])
        print_line(f"{taken} is preferred to {', '.join(some[:SHOWN_NODES])}{more}: {why}")
    if len(candidates) > most:
        print_line(f"... and {len(candidates) - most} more candidates; --all shows them")


def print_no_room(document: Document, names: ShortNames) -> None:
    """Print why less important pods make no room for the pod of an explanation, if there are any."""
    for finding in document["preemptionFindings"]:
        print_line(f"no room is made: {finding['text']}")
    groups: dict[str, list[tuple[str, Document]]] = {}
    for name, node in document["nodes"].items():
        finding = _why_no_room(node)
        # On other nodes the reasons say enough.
        if finding and finding["code"] in _WITH_PODS and finding["holders"]:
            groups.setdefault(finding["code"], []).append((name, finding))
    rows = []
    for some in groups.values():
        name, closest = min(some, key=lambda each: len(each[1]["holders"]) + each[1]["otherHolders"])
        shown = " ".join(names.short(each) for each, _ in some[:SHOWN_NODES])
        text = printable(f"{closest['text']} ({names.short(name)})")
        rows.append((str(len(some)), text, f"{shown} ..." if len(some) > SHOWN_NODES else shown))
    if rows:
        print_table(("NODES", "WHY PREEMPTION MAKES NO ROOM", "SUCH AS"), rows)


def no_room_on(node: Document) -> str:
    """Return why preemption makes no room on a node of an explanation, or not there; "" = nothing to say."""
    finding = _why_no_room(node)
    return str(finding["text"]) if finding.get("holders") else ""


def _why_no_room(node: Document) -> Document:
    return next(iter(node.get("preemption", ())), {})


def price_of(candidate: Document) -> str:
    """Return the victims, how many of them a disruption budget protects, and which budgets these are."""
    what = "budget violation" if candidate["violations"] == 1 else "budget violations"
    return f"{_victims(candidate['victims'])} would go, {what}: {_violations(candidate)}"


def _violations(candidate: Document) -> str:
    named = f" ({', '.join(candidate['budgets'])})" if candidate["budgets"] else ""
    return f"{candidate['violations']}{named}"


def _victims(victims: list[Document]) -> str:
    shown = ", ".join(f"{each['pod']} (priority {each['priority']})" for each in victims[:SHOWN_VICTIMS])
    more = len(victims) - SHOWN_VICTIMS
    return f"{shown} and {more} more" if more > 0 else shown
