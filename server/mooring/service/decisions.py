"""DecisionService: the decisions of this process, why they ended as they did, and its queue."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeVar

import grpc

from mooring.decisions.asking import UndecidedPods
from mooring.decisions.decisions import Decisions
from mooring.decisions.filters import DecisionFilter
from mooring.decisions.journal import DecisionJournal
from mooring.decisions.life import PodMoment, life_of
from mooring.decisions.listed_pod import ListedPod
from mooring.decisions.records import DecisionResult, Record
from mooring.decisions.repeating import Repeater, decision_not_found
from mooring.decisions.summary import ReasonGroup, UnplacedPod, grouped, summarize
from mooring.decisions.time_line import TimeSpan, percentile, time_line
from mooring.framework import Pod
from mooring.framework.args import FieldError
from mooring.framework.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    PluginFailureError,
    UnimplementedError,
)
from mooring.framework.label_selector import LabelMatcher
from mooring.runtime.answers import Progress
from mooring.service.backend import Backend
from mooring.service.calls.pages import PAGE_BYTES, FoundList, fill
from mooring.service.calls.slots import SlotProgress, in_slot
from mooring.service.change_answer import option_message
from mooring.service.decision_differences import differences_of, differing_fields, node_differences
from mooring.service.wire.decision_messages import (
    decision_message,
    duration,
    explanation_message,
    filter_of,
    reference,
    result_message,
    timestamp,
)
from mooring.service.wire.objects import label_matcher, pod_reference, referenced_pod
from mooring.service.wire.parts import parts
from mooring.serving.calls.threads import waiting
from mooring.sessions.change.advice import SECONDS, Advisor
from mooring.sessions.work_trees import Work
from mooring_client.v1 import decision_service_pb2 as pb
from mooring_client.v1 import nodes_pb2, objects_pb2
from mooring_client.v1 import scheduling_service_pb2 as scheduling_pb
from mooring_client.v1.decision_service_pb2_grpc import DecisionServiceServicer

Response = TypeVar("Response")

LONGEST_WAIT_SECONDS = 20.0
"""How long ListDecisions waits for a decision at most."""

MOST_WAITING = 8
"""Callers that may wait at a time; others are answered at once, so that followers of the decisions never
take all threads."""

MOST_LISTED = 1_000
WATCHED_TOGETHER = 256
"""Decisions that a watch sends together at most."""

MOST_QUEUED = 100_000
EXAMPLES = 3
MOST_CAUSES = 10
"""Causes of a span that are listed,"""
LONGEST_LINE_SECONDS = 30 * 86_400.0
"""and how long all spans may be."""
ADVISING_SECONDS = 1.0
"""How long SummarizeReasons looks for advice at most."""
PLACES = {
    "active": pb.QUEUE_PLACE_ACTIVE,
    "backoff": pb.QUEUE_PLACE_BACKOFF,
    "unschedulable": pb.QUEUE_PLACE_UNSCHEDULABLE,
    "gated": pb.QUEUE_PLACE_GATED,
    "in_flight": pb.QUEUE_PLACE_IN_FLIGHT,
}
"""By the queue's word, the places on the wire."""

_FORMS = (nodes_pb2.NODE_FORM_UNSPECIFIED, nodes_pb2.NODE_FORM_NAMES, nodes_pb2.NODE_FORM_JOINED_NAMES)


class DecisionServicer(DecisionServiceServicer):
    """Answers from one backend. What is computed again runs in the slots of sessions, which give way."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._asking = UndecidedPods(backend.engine)
        self._waiters = threading.BoundedSemaphore(MOST_WAITING)

    def ListDecisions(
        self, request: pb.ListDecisionsRequest, context: grpc.ServicerContext
    ) -> pb.ListDecisionsResponse:
        decisions, where = self._decisions(), filter_of(request.filter)
        limit = _limit(request.limit, MOST_LISTED)
        seconds = request.wait.ToNanoseconds() / 1e9
        _check_wait(request, seconds)
        journal, rejected, missed = decisions.journal, False, 0
        before = request.before_seq if request.HasField("before_seq") else None
        after = request.after_seq if request.HasField("after_seq") else None
        if after is None:
            last = journal.last
            found, looked = journal.newest(limit, where, before), last
        else:
            end = time.monotonic() + seconds
            found, looked, missed = journal.after(after, limit, where, before)
            if not found and seconds:
                with self._turn_to_wait() as may:
                    rejected = not may
                    while may and not found and (left := end - time.monotonic()) > 0 and context.is_active():
                        journal.wait(looked, min(left, 1.0))
                        found, looked, more = journal.after(looked, limit, where)
                        missed += more
        fitting = self._fitting(decisions, found if after is not None else reversed(found))
        if after is None:
            fitting.reverse()
        elif len(fitting) < len(found):
            looked = fitting[-1].seq
        return pb.ListDecisionsResponse(
            decisions=fitting,
            next_after_seq=looked,
            first_seq=journal.first,
            last_seq=journal.last,
            missed_count=missed,
            dropped_count=journal.dropped,
            journal_id=journal.id,
            wait_refused=rejected,
        )

    def WatchDecisions(
        self, request: pb.WatchDecisionsRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.WatchDecisionsResponse]:
        decisions, where = self._decisions(), filter_of(request.filter)
        journal = decisions.journal
        after = request.after_seq if request.HasField("after_seq") else journal.last
        if request.journal_id not in ("", journal.id):
            after = 0
        first = True
        while True:
            found, looked, missed = journal.after(after, WATCHED_TOGETHER, where)
            fitting = self._fitting(decisions, found)
            after = fitting[-1].seq if len(fitting) < len(found) else looked
            if first or fitting or missed:
                first = False
                yield pb.WatchDecisionsResponse(
                    decisions=fitting, next_after_seq=after, missed_count=missed, journal_id=journal.id
                )
            if not self._backend.streams.wait(partial(_is_after, journal, after), context):
                return

    def GetDecision(
        self, request: pb.GetDecisionRequest, context: grpc.ServicerContext
    ) -> pb.GetDecisionResponse:
        decisions = self._decisions()
        record = _found(decisions, request.seq)
        kept = decisions.explanations.get(request.seq) if decisions.explanations is not None else None
        answer = pb.GetDecisionResponse(
            decision=decision_message(request.seq, record, explained=kept is not None)
        )
        if kept is not None:
            answer.explanation.ParseFromString(kept)
        return answer

    def ExplainAt(self, request: pb.ExplainAtRequest, context: grpc.ServicerContext) -> pb.ExplainAtResponse:
        decisions = self._decisions()
        record = _found(decisions, request.seq)
        if request.answer_form not in _FORMS:
            raise InvalidArgumentError.at("answer_form", "must be names or joined names: the epoch is over")
        joined = request.answer_form == nodes_pb2.NODE_FORM_JOINED_NAMES

        def explain(progress: SlotProgress) -> pb.ExplainAtResponse:
            repeat = self._repeater().repeat
            again, explained = repeat(request.seq, progress, all_rejections=request.all_rejections)
            differences = differences_of(record, again)
            return pb.ExplainAtResponse(
                decision=self._message(decisions, request.seq, record),
                explanation=explanation_message(explained, record, joined=joined),
                agrees=not differences,
                differences=differences,
            )

        return self._run(context, explain)

    def ExplainAtStream(
        self, request: pb.ExplainAtStreamRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.ExplainAtStreamResponse]:
        asked = request.request
        if asked.answer_form == nodes_pb2.NODE_FORM_JOINED_NAMES:
            asked.answer_form = nodes_pb2.NODE_FORM_NAMES
        for part in parts(self.ExplainAt(asked, context), PAGE_BYTES):
            yield pb.ExplainAtStreamResponse(part=part)

    def SummarizeReasons(
        self, request: pb.SummarizeReasonsRequest, context: grpc.ServicerContext
    ) -> pb.SummarizeReasonsResponse:
        journal, limit = self._decisions().journal, _limit(request.limit, MOST_LISTED)
        window = request.window.ToNanoseconds() / 1e9
        if window < 0:
            raise InvalidArgumentError.at("window", "must be 0 or more")
        matcher = label_matcher(request.label_selector, "label_selector")
        now = time.time()
        begin = now - window if window else 0.0
        is_pending = self._is_pending if matcher.empty else partial(self._is_pending_with, matcher)
        found = summarize(journal, begin, is_pending, namespace=request.namespace, profile=request.profile)
        first = found.begin or now
        remembered = [pod for group in found.groups for pod in group.pods]
        unexplained = self._unexplained(request, matcher, {pod.newest.uid for pod in remembered})
        asked: list[UnplacedPod] = []
        if unexplained and request.ask_now:
            asked = self._run(context, partial(self._asking.ask, unexplained))
        groups = grouped([*remembered, *asked])
        messages = [group_message(group, first, now) for group in groups[:limit]]
        if request.advise and groups:
            self._run(context, partial(self._advise, list(zip(groups, messages, strict=False))))
        return pb.SummarizeReasonsResponse(
            groups=messages,
            group_count=len(groups),
            pod_count=len(remembered) + len(asked),
            decision_count=found.decisions,
            window=duration(max(0.0, now - first)),
            asked_count=len(asked),
            unexplained_count=len(unexplained) - len(asked),
        )

    def _advise(self, groups: Sequence[tuple[ReasonGroup, pb.ReasonGroup]], progress: SlotProgress) -> None:
        """Add to each group what would help its first pod, as far as the time suffices."""
        end = time.monotonic() + ADVISING_SECONDS
        with self._backend.sessions.asking(progress) as work:
            for group, message in groups:
                seconds = min(SECONDS, end - time.monotonic())
                advise(self._backend.advisor, work, group, message, progress, seconds=seconds)

    def _unexplained(
        self, request: pb.SummarizeReasonsRequest, matcher: LabelMatcher, known: Collection[str]
    ) -> list[Pod]:
        """Return the wanted pods of the state that have no node and are not among the known ones."""
        return [
            pod
            for pod in self._backend.engine.state.snapshot.pods.pending()
            if pod.metadata.uid not in known
            and request.namespace in ("", pod.metadata.namespace)
            and request.profile in ("", pod.spec.scheduler_name)
            and matcher.matches(pod.metadata.labels)
        ]

    def CompareDecisions(
        self, request: pb.CompareDecisionsRequest, context: grpc.ServicerContext
    ) -> pb.CompareDecisionsResponse:
        decisions, limit = self._decisions(), _limit(request.limit, MOST_LISTED)
        seqs = request.first_seq, request.second_seq
        first, second = (self._message(decisions, seq, _found(decisions, seq)) for seq in seqs)

        def compare(progress: SlotProgress) -> pb.CompareDecisionsResponse:
            answer = pb.CompareDecisionsResponse(
                first=first, second=second, fields=differing_fields(first, second)
            )
            try:
                one, other = (self._explanation(decisions, seq, progress) for seq in seqs)
            except (FailedPreconditionError, UnimplementedError) as error:
                answer.unexplained = error.message
                return answer
            nodes = node_differences(one, other)
            answer.nodes.extend(nodes[:limit])
            answer.node_count = len(nodes)
            with suppress(FailedPreconditionError, UnimplementedError):
                moved = self._repeater().moved_by(request.first_seq, request.second_seq, progress)
                answer.moved_by.extend(pb.MovedInputs(inputs=inputs) for inputs in moved)
            return answer

        return self._run(context, compare)

    def GetPodHistory(
        self, request: pb.GetPodHistoryRequest, context: grpc.ServicerContext
    ) -> pb.GetPodHistoryResponse:
        missing = [field for field in ("namespace", "name") if not getattr(request, field)]
        InvalidArgumentError.raise_if_any([FieldError(field, "is missing") for field in missing])
        where = DecisionFilter(namespace=request.namespace, pod=request.name)
        found = self._decisions().journal.newest(MOST_LISTED, where)
        reference_ = objects_pb2.PodReference(namespace=request.namespace, name=request.name)
        pod = referenced_pod(self._backend.engine.state, reference_, "")
        key = f"{request.namespace}/{request.name}"
        queue = self._backend.queue() if self._backend.queue is not None else ()
        queued = next((each for each in queue if each.pod.key == key), None)
        moments = life_of(found, pod, queued)
        last = next((record for _, record in reversed(found) if record.state_version), None)
        waits = last is not None and last.result is not DecisionResult.SCHEDULED
        repeater = self._backend.repeater
        since = repeater.since(last.state_version) if waits and last is not None and repeater else ()
        return pb.GetPodHistoryResponse(moments=map(_moment, moments), since=since)

    def GetTimeLine(
        self, request: pb.GetTimeLineRequest, context: grpc.ServicerContext
    ) -> pb.GetTimeLineResponse:
        journal, count = self._decisions().journal, _limit(request.span_count, MOST_LISTED, default=60)
        window = request.window.ToNanoseconds() / 1e9 or 3_600.0
        if not 0 < window <= LONGEST_LINE_SECONDS:
            raise InvalidArgumentError.at("window", "must be between 0 and 30 days")
        now, where = time.time(), {"namespace": request.namespace, "profile": request.profile}
        spans = time_line(journal, now - window, now, count, known=self._is_pending, **where)
        response = pb.GetTimeLineResponse(spans=map(_span, spans))
        first = next(journal.entries_after(0), None)
        if first is not None:
            response.first_time.CopyFrom(timestamp(first[1].time))
        return response

    def ListQueue(self, request: pb.ListQueueRequest, context: grpc.ServicerContext) -> pb.ListQueueResponse:
        if self._backend.queue is None:
            raise UnimplementedError("this process has no queue; ask the scheduler")
        limit = _limit(request.limit, MOST_QUEUED, default=1_000)
        places = set(request.places) or set(PLACES.values())
        if unknown := places.difference(PLACES.values()):
            raise InvalidArgumentError.at("places", f"{min(unknown)} is not a QueuePlace")
        page = self._backend.pages.page(request, lambda: self._queue(request.namespace, places, limit))
        counts, last = page.listing.head
        response = pb.ListQueueResponse(
            counts=[pb.QueueCount(place=place, pod_count=count) for place, count in counts.items()]
        )
        end = fill(page, response.pods, lambda pod: _queued(pod, last.get(pod.pod.metadata.uid, 0)))
        response.next_page_token = self._backend.pages.next_token(page, end, request)
        return response

    def _queue(
        self, namespace: str, places: Collection[int], limit: int
    ) -> FoundList[tuple[dict[pb.QueuePlace.ValueType, int], dict[str, int]], ListedPod]:
        """Return pods of some places, at most ``limit`` of each, with all counts and the last decisions."""
        counts = dict.fromkeys(PLACES.values(), 0)
        listed = dict.fromkeys(PLACES.values(), 0)
        pods: list[ListedPod] = []
        for pod in self._backend.queue() if self._backend.queue is not None else ():
            place = PLACES[pod.place]
            counts[place] += 1
            if place in places and namespace in ("", pod.pod.metadata.namespace) and listed[place] < limit:
                listed[place] += 1
                pods.append(pod)
        return FoundList((counts, self._last_seqs()), pods)

    def _fitting(self, decisions: Decisions, found: Iterable[tuple[int, Record]]) -> list[pb.Decision]:
        """Return the first of some decisions that fit into a page, at least one if there is any."""
        fitting: list[pb.Decision] = []
        room = PAGE_BYTES
        for one in found:
            message = self._message(decisions, *one)
            room -= message.ByteSize() + 6
            if room < 0 and fitting:
                break
            fitting.append(message)
        return fitting

    def _last_seqs(self) -> dict[str, int]:
        """Return the newest decision about each pod, by UID, of those that were decided about alone."""
        decisions = self._backend.decisions
        if decisions is None:
            return {}
        entries = decisions.journal.entries_after(0)
        return {entry.uid: first for first, entry in entries if isinstance(entry, Record)}

    def _decisions(self) -> Decisions:
        decisions = self._backend.decisions
        if decisions is None:
            raise UnimplementedError("the journal of decisions is off; give --decision-journal-bytes")
        return decisions

    def _repeater(self) -> Repeater:
        repeater = self._backend.repeater
        if repeater is None:
            raise UnimplementedError("decisions are not made again; give --decision-undo-bytes")
        return repeater

    def _message(self, decisions: Decisions, seq: int, record: Record) -> pb.Decision:
        kept = decisions.explanations
        return decision_message(seq, record, explained=kept is not None and seq in kept)

    def _explanation(
        self, decisions: Decisions, seq: int, progress: SlotProgress
    ) -> scheduling_pb.ExplainResponse:
        """Return the explanation of a decision: as it was kept, or of the decision that is made again."""
        kept = decisions.explanations.get(seq) if decisions.explanations is not None else None
        if kept is not None:
            return scheduling_pb.ExplainResponse.FromString(kept)
        record = _found(decisions, seq)
        _, explained = self._repeater().repeat(seq, progress)
        return explanation_message(explained, record, joined=False)

    def _is_pending(self, record: Record) -> bool:
        """Return whether the pod of a decision has no node in the state."""
        known = self._backend.engine.state.snapshot.pods.get(record.uid)
        if known is None:
            # One that came with a call is not in the state; one from the queue is gone.
            return not record.details.attempt
        return not known.node_name

    def _is_pending_with(self, matcher: LabelMatcher, record: Record) -> bool:
        """Return whether the state has the pod of a decision with such labels, and without a node."""
        known = self._backend.engine.state.snapshot.pods.get(record.uid)
        return known is not None and not known.node_name and matcher.matches(known.pod.metadata.labels)

    def _run(self, context: grpc.ServicerContext, work: Callable[[SlotProgress], Response]) -> Response:
        self._backend.require_synced()
        return in_slot(self._backend.session_slots, context, work)

    @contextmanager
    def _turn_to_wait(self) -> Iterator[bool]:
        """Let the caller wait while others are answered, unless too many do already."""
        if not self._waiters.acquire(blocking=False):
            yield False
            return
        try:
            with waiting():
                yield True
        finally:
            self._waiters.release()


def _is_after(journal: DecisionJournal, seq: int) -> bool:
    return journal.last > seq


def _found(decisions: Decisions, seq: int) -> Record:
    record = decisions.journal.find(seq)
    if record is None:
        raise decision_not_found(seq, decisions.journal)
    return record


def _limit(asked: int, most: int, default: int = 100) -> int:
    if asked > most:
        raise InvalidArgumentError.at("limit", f"{asked} is more than {most}")
    return asked or default


def _check_wait(request: pb.ListDecisionsRequest, seconds: float) -> None:
    """Raise InvalidArgumentError where waiting makes no sense."""
    faults = []
    if not 0 <= seconds <= LONGEST_WAIT_SECONDS:
        faults.append(FieldError("wait", f"must be between 0 and {LONGEST_WAIT_SECONDS:g} s"))
    if seconds and not request.HasField("after_seq"):
        faults.append(FieldError("wait", "needs after_seq"))
    if seconds and request.HasField("before_seq"):
        faults.append(FieldError("wait", "can't be given together with before_seq"))
    InvalidArgumentError.raise_if_any(faults)


def group_message(group: ReasonGroup, begin: float, end: float) -> pb.ReasonGroup:
    """Encode a group of pods, with its trend from ``begin`` to ``end``."""
    newest = group.pods[0]
    why = newest.newest.why
    dominant = why.dominant if why is not None else None
    message = pb.ReasonGroup(
        namespace=group.namespace,
        controller_kind=group.owner[0],
        controller_name=group.owner[1],
        reason=pb.NodeRejections(
            plugin=group.plugin, reason=group.reason, node_count=dominant.count if dominant else 0
        ),
        result=result_message(group.result),
        pod_count=len(group.pods),
        examples=[reference(pod.newest) for pod in group.pods[:EXAMPLES]],
        newest_time=timestamp(newest.newest.time),
        last_seq=newest.seq,
        trend=group.trend(begin, end),
        message=why.message if why is not None else "",
        nominated_count=sum(bool(pod.newest.details.nominated) for pod in group.pods),
    )
    if known := [pod.since for pod in group.pods if pod.since]:
        message.oldest_time.CopyFrom(timestamp(min(known)))
    return message


def advise(
    advisor: Advisor,
    work: Work,
    group: ReasonGroup,
    message: pb.ReasonGroup,
    progress: Progress,
    *,
    seconds: float = SECONDS,
) -> None:
    """Add what would help the first pod of a group, unless preemption will.

    With no ``seconds`` left, only what is remembered is added.
    """
    newest = group.pods[0].newest
    if newest.details.nominated or newest.why is None or group.result is DecisionResult.SCHEDULED:
        return
    try:
        found = advisor.advise(work, newest.subject().on_node(""), newest.profile, progress, seconds=seconds)
    except (NotFoundError, FailedPreconditionError, PluginFailureError):
        return
    message.advice_partial = not found.complete
    if found.options and found.options[0].steps:
        message.advice.CopyFrom(option_message(found.options[0]))


def _moment(moment: PodMoment) -> pb.PodMoment:
    kind = pb.PodMomentKind.Value(f"POD_MOMENT_KIND_{moment.kind.name}")
    return pb.PodMoment(time=timestamp(moment.time), kind=kind, text=moment.text, seq=moment.seq)


def _span(span: TimeSpan) -> pb.TimeSpan:
    message = pb.TimeSpan(
        begin_time=timestamp(span.begin),
        decision_count=span.decided,
        placed_count=span.placed,
        pending_count=span.pending.total(),
        causes=[
            pb.PendingCause(plugin=plugin, reason=reason, pod_count=count)
            for (plugin, reason), count in span.pending.most_common(MOST_CAUSES)
        ],
    )
    if span.durations:
        message.duration_p50.CopyFrom(duration(percentile(span.durations, 50)))
        message.duration_p99.CopyFrom(duration(percentile(span.durations, 99)))
    if span.waits:
        message.wait_p50.CopyFrom(duration(percentile(span.waits, 50)))
        message.wait_p99.CopyFrom(duration(percentile(span.waits, 99)))
    return message


def _queued(waiting_pod: ListedPod, last_seq: int) -> pb.QueuedPod:
    pod = waiting_pod.pod
    message = pb.QueuedPod(
        pod=pod_reference(pod),
        place=PLACES[waiting_pod.place],
        priority=pod.spec.priority or 0,
        attempts=waiting_pod.attempts,
        added_time=timestamp(waiting_pod.added),
        place_time=timestamp(waiting_pod.placed),
        wakes=[pb.WakingEvents(plugin=plugin, events=events) for plugin, events in waiting_pod.wakes.items()],
        pod_group=pod.group[1] if pod.group is not None else "",
        last_seq=last_seq,
    )
    if waiting_pod.ready:
        message.ready_time.CopyFrom(timestamp(waiting_pod.ready))
    if waiting_pod.swept:
        message.sweep_time.CopyFrom(timestamp(waiting_pod.swept))
    return message
