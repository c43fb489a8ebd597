"""The inputs that cost a decision: for ``explain --blame``."""

from __future__ import annotations

import argparse
from typing import Any

from mooring.app.embedding import Option
from mooring.cli import remote
from mooring.cli.console import print_line, print_table
from mooring.cli.output import Exit, print_document
from mooring.cli.what_if_answers import answer

Document = dict[str, Any]


def show_blame(args: argparse.Namespace, options: tuple[Option, ...], pod: str) -> int:
    """Print which pods, rules, gates and configuration cost the decision about a pod. Raises MooringError if
    there is no such pod, node or profile, or the server rejects the call.
    """
    from mooring_client.v1 import simulation_service_pb2 as pb

    request = pb.AssignBlameRequest(
        pod=remote.reference(pod), node=args.node, profile=args.profile, seed=args.seed
    )
    found = answer(args, options, request, by_flags=False)
    document = {
        "pod": pod,
        "node": found.node or None,
        "message": found.verdict.message,
        "sets": [_set(each) for each in found.sets],
        "complete": found.complete,
    }
    if args.output in ("json", "yaml"):
        print_document(args.output, document)
    else:
        _print(document, args.node)
    return Exit.OK if found.node else Exit.UNSCHEDULED


def _set(found: Any) -> Document:
    from mooring_client.v1 import simulation_service_pb2 as pb

    kinds = {kind: name.removeprefix("BLAMED_KIND_").lower() for name, kind in pb.BlamedKind.items()}
    inputs = [
        {"kind": kinds[each.kind], "name": each.name, **({"node": each.node} if each.node else {})}
        for each in found.inputs
    ]
    return {"inputs": inputs, "nodes": list(found.nodes), "nodeCount": found.node_count}


def _print(document: Document, asked: str) -> None:
    where = f"goes to {document['node']}" if document["node"] else f"has no node: {document['message']}"
    if asked and document["message"]:
        where = f"does not go to {asked}: {document['message']}"
    print_line(f"pod {document['pod']} {where}")
    head = "THEN BEST" if document["node"] else "THEN FITS ON"
    rows = [
        (" and ".join(map(_words, each["inputs"])), _nodes(each["nodes"], each["nodeCount"]))
        for each in document["sets"]
    ]
    if rows:
        print_table(("WITHOUT", head), rows)
    else:
        print_line("no two inputs would change that")
    if not document["complete"]:
        print_line("not all pods were tried: there are too many", "yellow")


def _words(each: Document) -> str:
    return f"{each['kind']} {each['name']}{' on ' + each['node'] if 'node' in each else ''}"


def _nodes(names: list[str], count: int) -> str:
    more = f" and {count - len(names)} more" if count > len(names) else ""
    return ", ".join(names) + more
