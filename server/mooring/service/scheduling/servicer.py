"""SchedulingService: from requests to the engine, and from its answers to responses."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any, TypeVar

import grpc

from mooring.framework.errors import (
    DeadlineExceededError,
    UnavailableError,
)
from mooring.runtime.answers import NEEDS_PLUGINS, NeedsPlugins, NoDeadline, Progress
from mooring.service.backend import Backend
from mooring.service.calls.access import asks_place
from mooring.service.calls.pages import PAGE_BYTES
from mooring.service.calls.slots import SlotProgress, in_slot
from mooring.service.scheduling import commits
from mooring.service.scheduling.groups import schedule_groups
from mooring.service.scheduling.pod_queries import AboutNodes, PodQueries, PodQuestion, decided
from mooring.service.scheduling.preempt import preempt
from mooring.service.scheduling.schedule import Schedule
from mooring.service.wire.parts import parts
from mooring.serving.access.access import asking_client
from mooring_client.v1 import nodes_pb2
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceServicer

log = logging.getLogger(__name__)

PROVENANCE = logging.INFO - 5
"""The level, verbosity 5, at which an answer says whether the evaluation cache gave it."""

Response = TypeVar("Response")


Answer = (
    pb.FilterResponse
    | pb.ScoreResponse
    | pb.NormalizeScoreResponse
    | pb.ScheduleResponse
    | pb.ScheduleGroupsResponse
    | pb.PreemptResponse
    | pb.ExplainResponse
)
"""A response that can warn."""

InSession = (
    pb.FilterRequest
    | pb.ScoreRequest
    | pb.NormalizeScoreRequest
    | pb.ScheduleRequest
    | pb.ScheduleGroupsRequest
    | pb.PreemptRequest
    | pb.ExplainRequest
)
"""A request that may be about a session."""

CurrentCall = TypeVar("CurrentCall", pb.FilterRequest, pb.ScoreRequest, pb.ExplainRequest)

Answering = Callable[[Any, PodQuestion, Progress], Response | NeedsPlugins]
"""Answers a decoded request, where plugins may be called or are not needed."""


class SchedulingServicer(SchedulingServiceServicer):
    """Answers from one backend. Plugins run in its slots, never in the calling thread."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._queries = PodQueries(backend)

    def Filter(self, request: pb.FilterRequest, context: grpc.ServicerContext) -> pb.FilterResponse:
        if request.session:
            return self._in_session(context, request, _filter)
        return _answered(self.begin_filter(request, context))

    def Score(self, request: pb.ScoreRequest, context: grpc.ServicerContext) -> pb.ScoreResponse:
        if request.session:
            return self._in_session(context, request, _score)
        return _answered(self.begin_score(request, context))

    def begin_filter(
        self, request: pb.FilterRequest, context: grpc.ServicerContext
    ) -> pb.FilterResponse | Callable[[], pb.FilterResponse]:
        """``Filter`` for callers that can't wait: the answer, or what finds it if plugins must be called or
        pods in flight be waited for.
        """
        flights = self._backend.in_flight
        if request.in_scheduling_cycle and flights is not None and flights.matter:
            return self._begin(context, request, partial(self._queries.filter_in_cycle, flights))
        return self._begin(context, request, self._queries.filter)

    def begin_score(
        self, request: pb.ScoreRequest, context: grpc.ServicerContext
    ) -> pb.ScoreResponse | Callable[[], pb.ScoreResponse]:
        """``Score``, as ``begin_filter``."""
        return self._begin(context, request, self._queries.score)

    def NormalizeScore(
        self, request: pb.NormalizeScoreRequest, context: grpc.ServicerContext
    ) -> pb.NormalizeScoreResponse:
        if request.session:
            return self._in_session(
                context, request, lambda there, *asked: PodQueries(there).normalize(*asked)
            )
        return self._run(context, partial(self._queries.normalize, request))

    def Bind(self, request: pb.BindRequest, context: grpc.ServicerContext) -> pb.BindResponse:
        flights = self._backend.in_flight
        with nullcontext() if flights is None else flights.binding(request.pod.uid, request.node):
            return self._commit(context, partial(commits.bind, self._backend, request))

    def Schedule(self, request: pb.ScheduleRequest, context: grpc.ServicerContext) -> pb.ScheduleResponse:
        if request.session:
            return self._in_session(context, request, _schedule, placing=asks_place(request))
        if not asks_place(request):
            return _answered(self._begin_deciding(context, Schedule(self._backend, request).decide))
        call = Schedule(self._backend, request)
        try:
            return self._commit(
                context,
                lambda progress: decided(call.decide(progress)),
                partial(call.decide, _AtOnce(context)),
            )
        except DeadlineExceededError:
            unfinished = call.unfinished()
            if unfinished is None:
                raise
            return unfinished

    def ScheduleGroups(
        self, request: pb.ScheduleGroupsRequest, context: grpc.ServicerContext
    ) -> pb.ScheduleGroupsResponse:
        if request.session:
            return self._in_session(context, request, schedule_groups, placing=asks_place(request))
        run = self._commit if asks_place(request) else self._run
        return run(context, partial(schedule_groups, self._backend, request))

    def Explain(self, request: pb.ExplainRequest, context: grpc.ServicerContext) -> pb.ExplainResponse:
        if request.session:
            return self._in_session(context, request, lambda there, *asked: PodQueries(there).explain(*asked))
        return self._run(context, partial(self._queries.explain, request))

    def Reserve(self, request: pb.ReserveRequest, context: grpc.ServicerContext) -> pb.ReserveResponse:
        return self._commit(context, partial(commits.reserve, self._backend, request))

    def Unreserve(self, request: pb.UnreserveRequest, context: grpc.ServicerContext) -> pb.UnreserveResponse:
        return self._commit_anyway(context, partial(commits.unreserve, self._backend, request))

    def UnreserveMany(
        self, request: pb.UnreserveManyRequest, context: grpc.ServicerContext
    ) -> pb.UnreserveManyResponse:
        return self._commit_anyway(context, partial(commits.unreserve_many, self._backend, request))

    def ListReservations(
        self, request: pb.ListReservationsRequest, context: grpc.ServicerContext
    ) -> pb.ListReservationsResponse:
        return commits.list_reservations(self._backend, request)

    def FilterStream(
        self, request: pb.FilterStreamRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.FilterStreamResponse]:
        for part in parts(self.Filter(_with_names(request.request), context), PAGE_BYTES):
            yield pb.FilterStreamResponse(part=part)

    def ScoreStream(
        self, request: pb.ScoreStreamRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.ScoreStreamResponse]:
        for part in parts(self.Score(_with_names(request.request), context), PAGE_BYTES):
            yield pb.ScoreStreamResponse(part=part)

    def ExplainStream(
        self, request: pb.ExplainStreamRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.ExplainStreamResponse]:
        for part in parts(self.Explain(_with_names(request.request), context), PAGE_BYTES):
            yield pb.ExplainStreamResponse(part=part)

    def Preempt(self, request: pb.PreemptRequest, context: grpc.ServicerContext) -> pb.PreemptResponse:
        if request.session:
            return self._in_session(context, request, preempt)
        return self._run(context, partial(preempt, self._backend, request))

    def _run(self, context: grpc.ServicerContext, work: Callable[[SlotProgress], Response]) -> Response:
        """Run ``work`` in a slot."""
        self._backend.require_synced()
        return self._warned(in_slot(self._backend.slots, context, work))

    def _in_session(
        self,
        context: grpc.ServicerContext,
        request: InSession,
        answer: Callable[[Backend, Any, SlotProgress], Response],
        *,
        placing: bool = False,
    ) -> Response:
        """``answer`` a request about a session, given what answers from its work tree.

        With ``placing``, what that places is in the session from then on.
        """
        backend, sessions, owner = self._backend, self._backend.sessions, asking_client().name

        def work(progress: SlotProgress) -> Response:
            session = sessions.find(request.session, owner)
            lent = (
                sessions.working(session, progress, request.ByteSize())
                if placing
                else sessions.trying(session, progress)
            )
            with lent as there:
                return answer(backend.over(there), request, progress)

        return backend.in_session_slot(context, work)

    def _begin(
        self, context: grpc.ServicerContext, request: AboutNodes, answer: Answering[Response]
    ) -> Response | Callable[[], Response]:
        """``answer`` the request, which is decoded once: here, unless nodes or pods were sent along."""
        asked: PodQuestion | None = None

        def decide(progress: Progress) -> Response | NeedsPlugins:
            nonlocal asked
            if asked is None:
                if not progress.may_call_plugins and (
                    request.nodes.HasField("inline") or request.nodes.assumed_pods
                ):
                    return NEEDS_PLUGINS
                asked = self._queries.question(request)
            return answer(request, asked, progress)

        return self._begin_deciding(context, decide)

    def _begin_deciding(
        self, context: grpc.ServicerContext, decide: Callable[[Progress], Response | NeedsPlugins]
    ) -> Response | Callable[[], Response]:
        """Return what ``decide`` gives without plugins; otherwise a callable that runs it in a slot with
        them.

        At verbosity 5 the trailing metadata ``mooring-answered-by`` says ``cache``, or ``full`` and why.
        """

        def with_provenance(progress: Progress) -> Response | NeedsPlugins:
            response = decide(progress)
            if response is not NEEDS_PLUGINS and log.isEnabledFor(PROVENANCE):
                log.log(PROVENANCE, "answered by %s", progress.answered_by or "full")
                context.set_trailing_metadata((("mooring-answered-by", progress.answered_by or "full"),))
            return response

        self._backend.require_synced()
        self._backend.slots.check()
        response = with_provenance(_no_plugins())
        if not isinstance(response, NeedsPlugins):
            return self._warned(response)
        return partial(self._run, context, lambda progress: decided(with_provenance(progress)))

    def _warned(self, response: Response) -> Response:
        """``response``, with a warning where the state may be behind the cluster."""
        if stale := self._backend.stale():
            self._backend.metrics.stale_decisions.inc()
            if isinstance(response, Answer):
                response.warnings.append(stale)
        return response

    def _commit(
        self,
        context: grpc.ServicerContext,
        work: Callable[[SlotProgress], Response],
        at_once: Callable[[], Response | NeedsPlugins] = lambda: NEEDS_PLUGINS,
    ) -> Response:
        """Nothing is committed on a state that may be behind the cluster; only giving back is harmless.

        ``at_once`` does all of it in this thread if no plugin is called; the rest is left to ``work``.
        """
        if stale := self._backend.stale():
            raise UnavailableError(f"{stale}; retry in a moment", reason="STATE_STALE")
        return self._commit_anyway(context, work, at_once)

    def _commit_anyway(
        self,
        context: grpc.ServicerContext,
        work: Callable[[SlotProgress], Response],
        at_once: Callable[[], Response | NeedsPlugins] = lambda: NEEDS_PLUGINS,
    ) -> Response:
        self._backend.require_synced()
        self._backend.commit_slots.check()
        response = at_once()
        if isinstance(response, NeedsPlugins):
            return in_slot(self._backend.commit_slots, context, work)
        return response


def _with_names(request: CurrentCall) -> CurrentCall:
    """Let the answer to a request have a list of names: joined names can't be sent in parts."""
    nodes = request.nodes
    joined = nodes.answer_form == nodes_pb2.NODE_FORM_JOINED_NAMES
    as_asked = nodes.answer_form == nodes_pb2.NODE_FORM_UNSPECIFIED
    if joined or (as_asked and nodes.WhichOneof("selection") == "joined_names"):
        nodes.answer_form = nodes_pb2.NODE_FORM_NAMES
    return request


def _filter(there: Backend, request: pb.FilterRequest, progress: SlotProgress) -> pb.FilterResponse:
    queries = PodQueries(there)
    return decided(queries.filter(request, queries.question(request), progress))


def _score(there: Backend, request: pb.ScoreRequest, progress: SlotProgress) -> pb.ScoreResponse:
    queries = PodQueries(there)
    return decided(queries.score(request, queries.question(request), progress))


def _schedule(there: Backend, request: pb.ScheduleRequest, progress: SlotProgress) -> pb.ScheduleResponse:
    return decided(Schedule(there, request).decide(progress))


def _answered(begun: Response | Callable[[], Response]) -> Response:
    """Return the answer, from a slot if it needs one."""
    return begun() if callable(begun) else begun


class _AtOnce(NoDeadline):
    """The progress of a commit that calls no plugin, while its caller waits."""

    def __init__(self, context: grpc.ServicerContext) -> None:
        super().__init__(may_call_plugins=False)
        self._context = context

    def check(self) -> None:
        if not self._context.is_active():
            raise DeadlineExceededError("the call had ended before its pods got places")


def _no_plugins() -> Progress:
    """Return the progress of a decision that calls no plugin."""
    return NoDeadline(may_call_plugins=False)
