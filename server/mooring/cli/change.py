"""The changes that would make a pod or group fit: for ``what-if change`` and ``explain``."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mooring.app.embedding import Option
from mooring.cli import remote
from mooring.cli.console import print_line, print_table
from mooring.cli.tables.names import ShortNames
from mooring.cli.what_if_answers import answer

if TYPE_CHECKING:
    from mooring_client.v1 import simulation_service_pb2 as pb

KINDS = ("toleration", "label", "request", "move", "node", "end")

GROUP = "podgroup"
"""The prefix of a group's name."""

ADVICE_MILLISECONDS = 150
"""How long a server looks for advice."""

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

    A server decides by its own release, gates and configuration, or ``by_flags``. Raises MooringError if
    there is no such pod, group, node or profile, or the server rejects the call.
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


def suggested(args: argparse.Namespace, key: str) -> pb.SuggestChangesResponse | None:
    """Return what a server advises for a pod; None if it can't say."""
    from mooring_client.v1 import simulation_service_pb2 as pb
    from mooring_client.v1.simulation_service_pb2_grpc import SimulationServiceStub

    request = pb.SuggestChangesRequest(pod=remote.reference(key), profile=args.profile)
    request.time_limit.FromMilliseconds(ADVICE_MILLISECONDS)
    try:
        with remote.calling(args) as channel:
            found = SimulationServiceStub(channel).SuggestChanges(request, timeout=remote.TIMEOUT_SECONDS)
    except remote.CallError:
        # Without advice there still is the explanation.
        return None
    return found


def advice_of(found: pb.SuggestChangesResponse | None) -> Document:
    """Return what there is to advise as a part of a document; None = nothing was looked for.

    Keys: ``advice``, the easiest set of changes, or null; ``nothingHelps``, whether all was tried in vain;
    ``adviceUnfinished``, whether the time was over before any was found.
    """
    first = found.options[0] if found is not None and found.options else None
    complete, none = found is not None and found.complete, found is not None and first is None
    return {
        "advice": {**option_document(first), "complete": complete} if first and first.steps else None,
        "nothingHelps": none and complete,
        "adviceUnfinished": none and not complete,
    }


NOTHING_HELPS = (
    "no toleration, label of a node, smaller request, moved or ended pod, or new node would make it fit"
)
UNFINISHED = "there was no time to find what would make it fit"


def print_advice(pod: str, document: Document) -> None:
    """Print what ``advice_of`` has about a pod as a line, if there is anything to advise."""
    if advice := document["advice"]:
        doubt = "" if advice["complete"] else "; there was no time to try everything"
        print_line(f"pod {pod} would fit with this: {advice['text']}{doubt}", "bold yellow")
    elif document["nothingHelps"]:
        print_line(f"pod {pod}: {NOTHING_HELPS}", "yellow")
    elif document["adviceUnfinished"]:
        print_line(f"pod {pod}: {UNFINISHED}: mooring what-if change {pod}", "yellow")


def _numbers(kinds: Sequence[str]) -> list[pb.ChangeKind.ValueType]:
    from mooring_client.v1 import simulation_service_pb2 as pb

    return [pb.ChangeKind.Value(f"CHANGE_KIND_{kind.upper()}") for kind in kinds]


def print_options(document: Document) -> None:
    """Print the sets of changes, the cheapest first."""
    names = ShortNames.of({node for each in document["options"] for node in _nodes(each)})
    rows = [
        (str(len(each["changes"])), _shortened(each["text"], names), _taken(each, names))
        for each in document["options"]
    ]
    if rows and "group" not in document:
        print_table(("#CHANGES", "WHAT TO DO"), [row[:2] for row in rows])
    elif rows:
        print_table(("#CHANGES", "WHAT TO DO", "NODES"), rows)
    names.print_ending()
    if not document["complete"]:
        print_line("not all was tried that might be cheaper: there is too much of it", "yellow")


def _shortened(text: str, names: ShortNames) -> str:
    return text.replace(names.ending, "") if names.ending else text


def _taken(option: Document, names: ShortNames) -> str:
    """Return how many pods of a group each node gets."""
    return ", ".join(f"{count} on {names.short(node)}" for node, count in _nodes(option).items())


def _nodes(option: Document) -> dict[str, int]:
    """Return the nodes that take pods, and how many each gets."""
    if "landings" not in option:
        return {option["node"]: 1}
    return dict(Counter(landing["node"] for landing in option["landings"]))


def _document(response: pb.SuggestChangesResponse) -> Document:
    from mooring.runtime.answers import preemption_document
    from mooring.service.wire.objects import candidate_of
    from mooring_client.v1 import verdicts_pb2

    candidates = list(map(candidate_of, response.candidates))
    return {
        "fits": response.verdict.code == verdicts_pb2.VERDICT_CODE_SUCCESS,
        "message": response.verdict.message,
        "preemption": preemption_document(response.preemption_node, candidates),
        "options": list(map(option_document, response.options)),
        "complete": response.complete,
        "warnings": list(response.warnings),
    }


def option_document(option: pb.ChangeOption) -> Document:
    """Return a set of changes as JSON."""
    return {**_places(option), "changes": list(map(_change, option.steps)), "text": option.text}


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
        case "end":
            return {"kind": kind, "pod": f"{step.end.namespace}/{step.end.name}"}
        case "move":
            pod = step.move.pod
            return {"kind": kind, "pod": f"{pod.namespace}/{pod.name}", "node": step.move.node}
        case _:
            return {"kind": "node", "node": step.node.node, "like": step.node.like}
