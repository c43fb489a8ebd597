"""The changes that would make a pod or group fit: for ``what-if change`` and ``explain``."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mooring.app.embedding import Option
from mooring.cli import remote
from mooring.cli.console import print_line, print_table
from mooring.cli.tables.amounts import amount
from mooring.cli.tables.names import ShortNames
from mooring.cli.what_if_answers import answer

if TYPE_CHECKING:
    from mooring_client.v1 import simulation_service_pb2 as pb

KINDS = ("toleration", "label", "request", "move", "node")
"""The kinds of change, the mildest first."""

GROUP = "podgroup"
"""The prefix of a group's name."""

Document = dict[str, Any]


def ask(
    args: argparse.Namespace,
    options: tuple[Option, ...],
    key: str,
    nodes: Sequence[str] = (),
    kinds: Sequence[str] = (),
    *,
    group: bool = False,
    by_flags: bool = True,
) -> Document:
    """Return the changes that would make a pod, or a group, fit on one of the nodes or on any, as a document.

    A server decides by its own release, gates and configuration, or ``by_flags``.

    Raises:
        MooringError: There is no such pod, group, node or profile, or the server rejects the call.
    """
    from mooring_client.v1 import simulation_service_pb2 as pb

    request = pb.SuggestChangesRequest(
        nodes=nodes, kinds=_numbers(kinds), profile=args.profile, seed=args.seed
    )
    if group:
        request.group.namespace, _, request.group.name = key.partition("/")
    else:
        request.pod.CopyFrom(remote.reference(key))
    response = answer(args, options, request, by_flags=by_flags)
    return {"group" if group else "pod": key, **_document(response)}


def _numbers(kinds: Sequence[str]) -> list[pb.ChangeKind.ValueType]:
    from mooring_client.v1 import simulation_service_pb2 as pb

    return [pb.ChangeKind.Value(f"CHANGE_KIND_{kind.upper()}") for kind in kinds]


def print_options(document: Document) -> None:
    """Print the sets of changes, the cheapest first."""
    said = "each pod" if "group" in document else "the pod"
    names = ShortNames.of({node for each in document["options"] for node in _nodes(each)})
    rows = [
        (
            str(len(each["changes"])),
            "; ".join(_sentence(change, said) for change in each["changes"]),
            ", ".join(
                f"{count} on {names.short(node)}" if count else names.short(node)
                for node, count in _nodes(each).items()
            ),
        )
        for each in document["options"]
    ]
    if rows:
        print_table(("#CHANGES", "WHAT CHANGES", "NODES" if "group" in document else "NODE"), rows)
    names.print_ending()
    if not document["complete"]:
        print_line("not all was tried that might be cheaper: there is too much of it", "yellow")


def _nodes(option: Document) -> dict[str, int]:
    """Return the nodes that take pods, and how many each of a group's."""
    if "landings" not in option:
        return {option["node"]: 0}
    return dict(Counter(landing["node"] for landing in option["landings"]))


def _sentence(step: Document, pod: str) -> str:
    match step["kind"]:
        case "toleration":
            value = f"={step['value']}" if step["value"] else ""
            return f"{pod} tolerates {step['key']}{value}:{step['effect']}"
        case "label" if step["value"] is None:
            return f"{step['node']} loses the label {step['key']}"
        case "label":
            return f"{step['node']} gets the label {step['key']}={step['value']}"
        case "request":
            resource = step["resource"]
            less, before = amount(resource, step["after"]), amount(resource, step["before"])
            return f"{pod} requests {less} {resource} instead of {before}"
        case "move":
            return f"{step['pod']} goes to {step['node']}"
        case _:
            return f"one more node like {step['like']}"


def _document(response: pb.SuggestChangesResponse) -> Document:
    from mooring.runtime.answers import preemption_document
    from mooring.service.wire.objects import candidate_of
    from mooring_client.v1 import verdicts_pb2

    candidates = list(map(candidate_of, response.candidates))
    return {
        "fits": response.verdict.code == verdicts_pb2.VERDICT_CODE_SUCCESS,
        "message": response.verdict.message,
        "preemption": preemption_document(response.preemption_node, candidates),
        "options": [
            {**_places(option), "changes": list(map(_change, option.steps))} for option in response.options
        ],
        "complete": response.complete,
        "warnings": list(response.warnings),
    }


def _places(option: pb.ChangeOption) -> Document:
    """Return the node that takes the pod, or where the pods of a group go."""
    if option.node:
        return {"node": option.node}
    return {
        "landings": [
            {"pod": f"{each.pod.namespace}/{each.pod.name}", "node": each.node} for each in option.landings
        ]
    }


def _change(step: pb.ChangeStep) -> Document:
    kind = step.WhichOneof("step")
    match kind:
        case "toleration":
            taint = step.toleration
            return {"kind": kind, "key": taint.key, "value": taint.value, "effect": taint.effect}
        case "label":
            label = step.label
            value = label.value if label.HasField("value") else None
            return {"kind": kind, "node": label.node, "key": label.key, "value": value}
        case "request":
            less = step.request
            return {"kind": kind, "resource": less.resource, "before": less.before, "after": less.after}
        case "move":
            pod = step.move.pod
            return {"kind": kind, "pod": f"{pod.namespace}/{pod.name}", "node": step.move.node}
        case _:
            return {"kind": "node", "node": step.node.node, "like": step.node.like}
