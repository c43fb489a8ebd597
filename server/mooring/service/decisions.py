"""DecisionService: the decisions of this process, why they ended as they did, and its queue."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

import grpc

from mooring.decisions.decisions import Decisions
from mooring.decisions.journal import DecisionJournal
from mooring.decisions.listed_pod import ListedPod
from mooring.decisions.records import Record
from mooring.decisions.repeating import Repeater, decision_not_found
from mooring.framework.args import FieldError
from mooring.framework.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    UnimplementedError,
)
from mooring.service.backend import Backend
from mooring.service.calls.pages import PAGE_BYTES, FoundList, fill, list_limit
from mooring.service.calls.slots import SlotProgress
from mooring.service.decision_differences import differences_of, differing_fields, node_differences
from mooring.service.past import pod_history, time_line_of
from mooring.service.reasons import PendingReasons
from mooring.service.wire.decision_messages import (
    decision_message,
    explanation_message,
    filter_of,
    timestamp,
)
from mooring.service.wire.objects import pod_reference
from mooring.service.wire.parts import parts
from mooring.serving.calls.threads import waiting
from mooring_client.v1 import decision_service_pb2 as pb
from mooring_client.v1 import nodes_pb2
from mooring_client.v1 import scheduling_service_pb2 as scheduling_pb
from mooring_client.v1.decision_service_pb2_grpc import DecisionServiceServicer

LONGEST_WAIT_SECONDS = 20.0
"""How long ListDecisions waits for a decision at most."""

MOST_WAITING = 8
"""Callers that may wait at a time; others are answered at once, so that followers of the decisions never
take all threads."""

WATCHED_TOGETHER = 256
"""Decisions that a watch sends together at most."""

MOST_QUEUED = 100_000
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
    """Answers from one backend. A repeated computation runs in the slots of sessions, which give way."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._reasons = PendingReasons(backend)
        self._waiters = threading.BoundedSemaphore(MOST_WAITING)

    def ListDecisions(
        self, request: pb.ListDecisionsRequest, context: grpc.ServicerContext
    ) -> pb.ListDecisionsResponse:
        decisions, where = self._decisions(), filter_of(request.filter)
        limit = list_limit(request.limit)
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

        return self._backend.in_session_slot(context, explain)

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
        return self._reasons.summarize(self._decisions().journal, request, context)

    def CompareDecisions(
        self, request: pb.CompareDecisionsRequest, context: grpc.ServicerContext
    ) -> pb.CompareDecisionsResponse:
        decisions, limit = self._decisions(), list_limit(request.limit)
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

        return self._backend.in_session_slot(context, compare)

    def GetPodHistory(
        self, request: pb.GetPodHistoryRequest, context: grpc.ServicerContext
    ) -> pb.GetPodHistoryResponse:
        return pod_history(self._backend, self._decisions().journal, request)

    def GetTimeLine(
        self, request: pb.GetTimeLineRequest, context: grpc.ServicerContext
    ) -> pb.GetTimeLineResponse:
        return time_line_of(self._backend, self._decisions().journal, request)

    def ListQueue(self, request: pb.ListQueueRequest, context: grpc.ServicerContext) -> pb.ListQueueResponse:
        if self._backend.queue is None:
            raise UnimplementedError("this process has no queue; ask the scheduler")
        limit = list_limit(request.limit, most=MOST_QUEUED, default=1_000)
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
