"""Nodes where preemption could make room for a pod, with the victims there."""

from __future__ import annotations

import re
from typing import Any

from rich.text import Text

from mooring.cli.console import print_line, print_table
from mooring.cli.tables.names import ShortNames
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


SHOWN_CANDIDATES = 20
"""The candidates that are shown unless more or fewer are wanted."""


def print_preemption(
    found: Document | None, most: int = SHOWN_CANDIDATES, names: ShortNames | None = None
) -> None:
    """Print at most ``most`` candidates, the selected one first, each with its victims; nothing for None."""
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
    if len(candidates) > most:
        print_line(f"... and {len(candidates) - most} more candidates; --all shows them")


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
