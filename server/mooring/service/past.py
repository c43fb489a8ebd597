"""Past decisions: DecisionService.GetPodHistory and GetTimeLine."""

from __future__ import annotations

import time
from functools import partial
from itertools import islice

from mooring.decisions.filters import DecisionFilter
from mooring.decisions.journal import DecisionJournal
from mooring.decisions.life import PodMoment, life_of
from mooring.decisions.records import DecisionResult
from mooring.decisions.summary import worded
from mooring.decisions.time_line import TimeSpan, percentile, time_line
from mooring.framework import ReasonCode
from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError
from mooring.service.backend import Backend
from mooring.service.calls.pages import MOST_LISTED, list_limit
from mooring.service.reasons import still_pending
from mooring.service.wire.decision_messages import duration, timestamp
from mooring.service.wire.findings import code_value
from mooring.service.wire.objects import referenced_pod
from mooring_client.v1 import decision_service_pb2 as pb
from mooring_client.v1 import objects_pb2

MOST_CAUSES = 10
"""Causes of a span that are listed."""

LONGEST_SECONDS = 30 * 86_400.0
"""How long all spans may be together."""


def pod_history(
    backend: Backend, journal: DecisionJournal, request: pb.GetPodHistoryRequest
) -> pb.GetPodHistoryResponse:
    """Answer GetPodHistory. Raises InvalidArgumentError if the pod is not named."""
    missing = [field for field in ("namespace", "name") if not getattr(request, field)]
    InvalidArgumentError.raise_if_any([FieldError(field, "is missing") for field in missing])
    found = journal.newest(MOST_LISTED, DecisionFilter(namespace=request.namespace, pod=request.name))
    asked = objects_pb2.PodReference(namespace=request.namespace, name=request.name)
    pod = referenced_pod(backend.engine.state, asked, "")
    key = f"{request.namespace}/{request.name}"
    queue = backend.queue() if backend.queue is not None else ()
    queued = next((each for each in queue if each.pod.key == key), None)
    moments = life_of(found, pod, queued)
    last = next((record for _, record in reversed(found) if record.state_version), None)
    waits = last is not None and last.result is not DecisionResult.SCHEDULED
    repeater = backend.repeater
    since = repeater.since(last.state_version) if waits and last is not None and repeater else ()
    return pb.GetPodHistoryResponse(moments=map(_moment, moments), since=since)


def time_line_of(
    backend: Backend, journal: DecisionJournal, request: pb.GetTimeLineRequest
) -> pb.GetTimeLineResponse:
    """Answer GetTimeLine. Raises InvalidArgumentError if the window or the number of spans is out of
    range.
    """
    count = list_limit(request.span_count, "span_count", default=60)
    window = request.window.ToNanoseconds() / 1e9 or 3_600.0
    if not 0 < window <= LONGEST_SECONDS:
        raise InvalidArgumentError.at("window", "must be between 0 and 30 days")
    now, known = time.time(), partial(still_pending, backend.engine.state)
    where = {"namespace": request.namespace, "profile": request.profile}
    spans = time_line(journal, now - window, now, count, known=known, **where)
    response = pb.GetTimeLineResponse(spans=map(_span, spans))
    first = next(journal.entries_after(0), None)
    if first is not None:
        response.first_time.CopyFrom(timestamp(first[1].time))
    return response


def _moment(moment: PodMoment) -> pb.PodMoment:
    kind = pb.PodMomentKind.Value(f"POD_MOMENT_KIND_{moment.kind.name}")
    return pb.PodMoment(time=timestamp(moment.time), kind=kind, text=moment.text, seq=moment.seq)


def _span(span: TimeSpan) -> pb.TimeSpan:
    message = pb.TimeSpan(
        begin_time=timestamp(span.begin),
        decision_count=span.decided,
        placed_count=span.placed,
        pending_count=sum(map(len, span.pending.values())),
        causes=[
            pb.PendingCause(
                plugin=plugin,
                reason=worded(plugin, reasons),
                pod_count=len(reasons),
                code=code_value(cause if isinstance(cause, ReasonCode) else None),
            )
            for (plugin, cause), reasons in islice(span.pending.items(), MOST_CAUSES)
        ],
    )
    if span.durations:
        message.duration_p50.CopyFrom(duration(percentile(span.durations, 50)))
        message.duration_p99.CopyFrom(duration(percentile(span.durations, 99)))
    if span.waits:
        message.wait_p50.CopyFrom(duration(percentile(span.waits, 50)))
        message.wait_p99.CopyFrom(duration(percentile(span.waits, 99)))
    return message
