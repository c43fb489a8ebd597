"""An explanation as tables: the feasible nodes by plugins, then the reasons why the others are rejected."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from mooring.cli.console import FAILED_STYLE, print_line
from mooring.cli.tables.feasible import print_feasible
from mooring.cli.tables.names import ShortNames
from mooring.cli.tables.preemption import node_of, print_no_room, print_preemption
from mooring.cli.tables.rejected import named, print_nodes, print_reasons
from mooring.framework import Code

SHOWN_NODES = 20
"""The nodes of each table that are shown without ``--all`` and ``--top``."""


@dataclass(frozen=True, slots=True)
class View:
    """How much of an explanation is shown.

    Attributes:
        most: The nodes of each table; None = all.
        by_node: The rejected nodes one by one, instead of a row for each reason.
        wide: Each score with its making, whatever the terminal's width, and whole names.
    """

    most: int | None = SHOWN_NODES
    by_node: bool = False
    wide: bool = False


def print_explanation(document: dict[str, Any], view: View | None = None) -> None:
    """Print the document of ``mooring explain -o json`` for people."""
    view = view or View()
    profile = f"  profile {document['profile']}" if document["profile"] else ""
    print_line(f"pod {document['pod']}{profile}  seed {document['seed']}")
    for plugin, outcome in document["prefilter"].items():
        if outcome["code"] != "Success" or outcome["nodes"] is not None:
            only = "" if outcome["nodes"] is None else f" only {', '.join(outcome['nodes'])}"
            print_line(f"PreFilter {plugin}: {outcome['code']} {', '.join(outcome['reasons'])}{only}")
    for finding in document.get("findings", ()):
        print_line(f"whatever the node: {finding['plugin']}: {finding['text']}", "red")
    names = ShortNames.of(document["nodes"], whole=view.wide)
    selected = but_for_that(document)["selected"]
    nodes = sorted(document["nodes"].items(), key=partial(_rank, selected))
    feasible = [node for node in nodes if node[1]["status"]["code"] == "Success"]
    rejected = nodes[len(feasible) :]
    most = len(nodes) if view.most is None else view.most
    if feasible:
        print_feasible(feasible, most, selected, names, wide=view.wide)
        _print_rest(len(feasible) - most, "feasible")
    if rejected and view.by_node:
        print_nodes(rejected[:most], names)
        _print_rest(len(rejected) - most, "rejected")
    elif rejected:
        print_reasons(rejected, names)
    for node, pods in islice(((name, document["nominated"].get(name)) for name, _ in rejected), most):
        if pods:
            print_line(f"{names.short(node)} keeps room for {named(pods)}")
    print_preemption(document["preemption"], most, names, document["nodes"])
    print_no_room(document, names)
    names.print_ending()
    print_verdict(document)


def _rank(selected: str | None, item: tuple[str, dict[str, Any]]) -> tuple[bool, int, bool, str]:
    name, node = item
    return node["status"]["code"] != "Success", -(node["total"] or 0), name != selected, name


def _print_rest(count: int, what: str) -> None:
    if count > 0:
        print_line(f"... and {count} more {what} nodes; --all shows them")


def print_verdict(document: dict[str, Any]) -> None:
    """Print where the pod goes, or why nowhere, and the warnings."""
    if document["assignedNode"]:
        print_line(_assigned(document))
    print_line(*_verdict(document))
    if document["otherwise"]:
        said, style = _verdict(but_for_that(document))
        print_line(f"otherwise: {said}", style)
    if count := document["otherPending"]:
        others = "1 other pending pod is" if count == 1 else f"{count} other pending pods are"
        print_line(f"{others} not placed here; mooring schedule places all in the order of the queue")
    for warning in document["warnings"]:
        print_line(f"warning: {warning}", "yellow")


def but_for_that(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document as it would be if neither gates nor its group kept the pod back."""
    return {**document, **(document["otherwise"] or {}), "otherwise": None}


def _assigned(document: dict[str, Any]) -> str:
    """Return where the pod runs, and whether it would go there today."""
    node, since = document["assignedNode"], document["startTime"]
    said = f"runs on {node}{f' since {since}' if since else ''}"
    if node == document["selected"]:
        return f"{said}, where it would go today"
    if node in document["ties"]:
        return f"{said}, one of the nodes where it could go today"
    if node not in document["nodes"]:
        return f"{said}, which no longer exists"
    there = document["nodes"][node]
    if there["status"]["code"] != Code.SUCCESS.label:
        return f"{said}, which would reject it today: {', '.join(there['status']['reasons'])}"
    best = max(each["total"] or 0 for each in document["nodes"].values())
    return f"{said}; today another node is better ({best} to {there['total']})"


def _verdict(document: dict[str, Any]) -> tuple[str, str]:
    if document["selected"] is None:
        status = document["status"]
        said = status["message"] or ", ".join(status["reasons"])
        if status["code"] == Code.ERROR.label:
            return f"failed: {said}", FAILED_STYLE
        if not document["otherwise"] and (node := node_of(document["preemption"])):
            return f"will run on {node} after preemption: {said}", "bold yellow"
        return f"unschedulable: {said}", "bold red"
    ties = len(document["ties"])
    tied = f", one of {ties} with the same total" if ties > 1 else ""
    counts = f"({document['evaluated']} evaluated, {document['feasible']} feasible)"
    return f"selected: {document['selected']}{tied} {counts}", "bold green"
