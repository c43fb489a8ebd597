"""The past: the life of a pod, the last hours, and the inputs that moved a decision."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mooring.cli import remote
from mooring.cli.console import print_line, print_table
from mooring.cli.flags import pod_key
from mooring.cli.output import Exit, print_document

if TYPE_CHECKING:
    from google.protobuf.timestamp_pb2 import Timestamp

    from mooring_client.v1 import decision_service_pb2 as pb

SPANS = 12
"""Into how many spans the last hours are divided."""

CHANGED = 10
"""The nodes of a comparison that are printed."""


def show_history(args: argparse.Namespace) -> int:
    """Print the life of a pod. Raises CallError if the server does not answer, or rejects the call."""
    from mooring_client.v1 import decision_service_pb2 as pb

    namespace, _, name = pod_key(args.pod, args.namespace).rpartition("/")
    found = remote.decide(args, "GetPodHistory", pb.GetPodHistoryRequest(namespace=namespace, name=name))
    moments = [
        {
            "time": each.time.ToJsonString(),
            "kind": pb.PodMomentKind.Name(each.kind).removeprefix("POD_MOMENT_KIND_").lower(),
            "text": each.text,
            "seq": each.seq or None,
        }
        for each in found.moments
    ]
    if args.output != "table":
        print_document(args.output, {"moments": moments, "since": list(found.since)})
    elif not moments:
        print_line(f"nothing is known of pod {namespace}/{name}")
    else:
        rows = [
            (_time_text(each.time), row["kind"], row["text"], str(row["seq"] or ""))
            for each, row in zip(found.moments, moments, strict=True)
        ]
        print_table(("TIME", "WHAT", "WHY", "#DECISION"), rows)
        if found.since:
            print_line(f"since the last decision: {', '.join(found.since)}")
    return Exit.OK


def show_time_line(args: argparse.Namespace, namespace: str) -> int:
    """Print the last ``args.over`` seconds in spans. Raises CallError as ``show_history`` does."""
    from mooring_client.v1 import decision_service_pb2 as pb

    request = pb.GetTimeLineRequest(span_count=SPANS, namespace=namespace, profile=args.profile)
    request.window.FromNanoseconds(int(args.over * 1e9))
    found = remote.decide(args, "GetTimeLine", request)
    spans = [_span(each) for each in found.spans]
    if args.output not in ("table", "wide"):
        print_document(args.output, spans)
        return Exit.OK
    rows = [
        (
            _time_text(each.begin_time),
            str(each.decision_count),
            str(each.placed_count),
            _milliseconds(span["seconds"]["p99"]),
            str(each.pending_count),
            _first_cause(span["causes"]),
        )
        for each, span in zip(found.spans, spans, strict=True)
    ]
    print_table(("FROM", "#DECISIONS", "#PLACED", "#P99", "#PENDING", "MOST OF THEM BECAUSE OF"), rows)
    if found.HasField("first_time"):
        print_line(f"decisions are remembered since {_time_text(found.first_time)}")
    return Exit.OK


def _span(span: pb.TimeSpan) -> dict[str, Any]:
    def seconds(field: str) -> float | None:
        return getattr(span, field).ToNanoseconds() / 1e9 if span.HasField(field) else None  # type: ignore[arg-type]  # stubs know literals alone

    return {
        "from": span.begin_time.ToJsonString(),
        "decisions": span.decision_count,
        "placed": span.placed_count,
        "pending": span.pending_count,
        "seconds": {"p50": seconds("duration_p50"), "p99": seconds("duration_p99")},
        "readySeconds": {"p50": seconds("wait_p50"), "p99": seconds("wait_p99")},
        "causes": [
            {"plugin": each.plugin, "reason": each.reason, "pods": each.pod_count} for each in span.causes
        ],
    }


def _first_cause(causes: list[dict[str, Any]]) -> str:
    if not causes:
        return ""
    first = causes[0]
    return f"{first['plugin']}: {first['reason']} ({first['pods']})".removeprefix(": ")


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e3 * seconds:.1f} ms"


def show_comparison(args: argparse.Namespace) -> int:
    """Print in what the decisions ``args.compare`` differ, and which inputs moved the outcome. Raises
    CallError as ``show_history`` does, or if a decision was forgotten.
    """
    from mooring.cli.decisions import document_of
    from mooring_client.v1 import decision_service_pb2 as pb

    first, second = args.compare
    found = remote.decide(
        args, "CompareDecisions", pb.CompareDecisionsRequest(first_seq=first, second_seq=second)
    )
    fields = [
        {"field": name, "first": one, "second": other}
        for field in found.fields
        for name, one, other in _values(field, found.first, found.second)
    ]
    document: dict[str, Any] = {
        "first": document_of(found.first),
        "second": document_of(found.second),
        "fields": fields,
        "movedBy": [list(each.inputs) for each in found.moved_by],
        "nodes": [each.node for each in found.nodes],
        "unexplained": found.unexplained or None,
    }
    if args.output not in ("table", "wide"):
        print_document(args.output, document)
    else:
        _print_comparison(document, first, second, found.node_count)
    return Exit.OK


def _print_comparison(document: dict[str, Any], first: int, second: int, node_count: int) -> None:
    if document["fields"]:
        rows = [(each["field"], each["first"], each["second"]) for each in document["fields"]]
        print_table(("DIFFERENT", f"IN {first}", f"IN {second}"), rows)
    else:
        print_line("the two decisions do not differ")
    for inputs in document["movedBy"]:
        print_line(f"moved by: {' and '.join(inputs)}")
    if node_count:
        more = f" and {node_count - CHANGED} more" if node_count > CHANGED else ""
        print_line(f"nodes that differ: {', '.join(document['nodes'][:CHANGED])}{more}")
    if document["unexplained"]:
        print_line(f"nodes can't be compared: {document['unexplained']}", "yellow")


def _values(field: str, first: pb.Decision, second: pb.Decision) -> list[tuple[str, str, str]]:
    """Return the name of a field and both values; of a message, the fields in which the two differ."""
    one, other = getattr(first, field), getattr(second, field)
    if not hasattr(one, "DESCRIPTOR"):
        return [(field, _text(one), _text(other))]
    parts = [
        (part.name, getattr(one, part.name), getattr(other, part.name)) for part in one.DESCRIPTOR.fields
    ]
    return [(name, _text(then), _text(now)) for name, then, now in parts if then != now]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else " ".join(str(value).split())


def _time_text(time: Timestamp) -> str:
    return time.ToJsonString()[:19].replace("T", " ")
