"""An explanation as a table: nodes by plugins."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from mooring.cli.output import console, print_table

SHOWN_NODES = 20
"""So many nodes are shown unless all are asked for."""


def print_explanation(document: dict[str, Any], *, all_nodes: bool = False) -> None:
    """The document of ``mooring explain -o json`` for people."""
    out = console()
    out.print(Text(f"pod {document['pod']}  profile {document['profile']}  seed {document['seed']}"))
    for plugin, outcome in document["prefilter"].items():
        if outcome["code"] != "Success" or outcome["nodes"] is not None:
            nodes = "" if outcome["nodes"] is None else f" only {', '.join(outcome['nodes'])}"
            out.print(Text(f"PreFilter {plugin}: {outcome['code']} {', '.join(outcome['reasons'])}{nodes}"))
    _print_nodes(document, all_nodes=all_nodes)
    out.print(_verdict(document))
    for warning in document["warnings"]:
        out.print(Text(f"warning: {warning}", style="yellow"))


def _print_nodes(document: dict[str, Any], *, all_nodes: bool) -> None:
    nodes = sorted(document["nodes"].items(), key=_rank)
    shown = nodes if all_nodes else nodes[:SHOWN_NODES]
    plugins = list(dict.fromkeys(plugin for _, node in shown for plugin in node["scores"]))
    print_table(
        ("NODE", "VERDICT", *(f"#{plugin}" for plugin in plugins), "#TOTAL"),
        [_row(name, node, plugins, name == document["selected"]) for name, node in shown],
    )
    if len(shown) < len(nodes):
        console().print(Text(f"... and {len(nodes) - len(shown)} more nodes; --all shows them"))


def _rank(item: tuple[str, dict[str, Any]]) -> tuple[bool, int, str]:
    name, node = item
    return node["status"]["code"] != "Success", -(node["total"] or 0), name


def _row(name: str, node: dict[str, Any], plugins: list[str], chosen: bool) -> list[str | Text]:
    status = node["status"]
    if status["code"] == "Success":
        verdict = Text("chosen" if chosen else "feasible", style="bold green" if chosen else "green")
    else:
        verdict = Text(_refusal(node), style="red")
    scores = [_score(node["scores"].get(plugin)) for plugin in plugins]
    total = "" if node["total"] is None else str(node["total"])
    return [Text(name, style="bold" if chosen else ""), verdict, *scores, total]


def _refusal(node: dict[str, Any]) -> str:
    refusals = node.get("rejections") or [node["status"]]
    texts = (f"{refusal['plugin']}: {', '.join(refusal['reasons'])}" for refusal in refusals)
    return "; ".join(text.removeprefix(": ") for text in texts)


def _score(score: dict[str, int] | None) -> str:
    if score is None:
        return ""
    raw = "" if score["raw"] == score["normalized"] else f"{score['raw']} → "
    return f"{raw}{score['normalized']} × {score['weight']} = {score['weighted']}"


def _verdict(document: dict[str, Any]) -> Text:
    if document["selected"] is None:
        status = document["status"]
        return Text(f"unschedulable: {status['message'] or ', '.join(status['reasons'])}", style="bold red")
    ties = len(document["ties"])
    tied = f", one of {ties} with the same total" if ties > 1 else ""
    return Text(
        f"chosen: {document['selected']}{tied} "
        f"({document['evaluated']} looked at, {document['feasible']} feasible)",
        style="bold green",
    )
