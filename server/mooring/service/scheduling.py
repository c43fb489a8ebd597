"""SchedulingService: from requests to the engine, and from its answers to responses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import grpc

from mooring.framework import Pod
from mooring.framework.errors import (
    DeadlineExceededError,
    UnavailableError,
)
from mooring.framework.view import NodesChangedError
from mooring.runtime.answering import look_filters, look_totals
from mooring.runtime.cycle import CycleOptions, evaluate_scores
from mooring.runtime.evaluation import Evaluation
from mooring.runtime.kept.standing import PluginsNeededError
from mooring.runtime.normalizing import evaluate_normalized
from mooring.runtime.profile import Profile
from mooring.service import commits
from mooring.service.answers import ordered_verdicts, score_message, score_verdicts, selected_scores
from mooring.service.backend import Backend
from mooring.service.batch import asks_commit
from mooring.service.columns import put
from mooring.service.explanation import explain_response
from mooring.service.given_scores import known_only, raw_columns
from mooring.service.interceptors import time_limit
from mooring.service.objects import status_message, subject, verdicts
from mooring.service.preempt import preempt
from mooring.service.schedule import Schedule
from mooring.service.selection import Listing, Selection
from mooring.service.sent_nodes import SentNodes
from mooring.service.slots import Progress
from mooring.v1 import objects_pb2
from mooring.v1 import scheduling_service_pb2 as pb
from mooring.v1.scheduling_service_pb2_grpc import SchedulingServiceServicer

Response = TypeVar("Response")


Answer = (
    pb.FilterResponse
    | pb.ScoreResponse
    | pb.NormalizeScoreResponse
    | pb.ScheduleResponse
    | pb.PreemptResponse
    | pb.ExplainResponse
)
"""A response that can warn."""

Question = pb.FilterRequest | pb.ScoreRequest | pb.NormalizeScoreRequest | pb.ExplainRequest
"""A request about one pod that changes nothing."""

AboutNodes = pb.FilterRequest | pb.ScoreRequest
"""A question that an extender asks, with all nodes sent along if it must be."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question, decoded."""

    pod: Pod
    profile: Profile
    selection: Selection


class SchedulingServicer(SchedulingServiceServicer):
    """Answers from one backend. Plugins run in its slots, never in the calling thread."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._sent_nodes = SentNodes(backend.decoder, backend.engine.state)

    def Filter(self, request: pb.FilterRequest, context: grpc.ServicerContext) -> pb.FilterResponse:
        return self._run(
            context, partial(self._filter, request), partial(self._unasked, self._filter, request)
        )

    def Score(self, request: pb.ScoreRequest, context: grpc.ServicerContext) -> pb.ScoreResponse:
        return self._run(context, partial(self._score, request), partial(self._unasked, self._score, request))

    def filter_at_once(
        self, request: pb.FilterRequest, context: grpc.ServicerContext
    ) -> pb.FilterResponse | None:
        """``Filter`` for who can't wait: None where it takes the code of plugins, or a copy of the state."""
        return self._at_once(context, partial(self._unasked, self._filter, request))

    def score_at_once(
        self, request: pb.ScoreRequest, context: grpc.ServicerContext
    ) -> pb.ScoreResponse | None:
        """``Score``, as ``filter_at_once``."""
        return self._at_once(context, partial(self._unasked, self._score, request))

    def NormalizeScore(
        self, request: pb.NormalizeScoreRequest, context: grpc.ServicerContext
    ) -> pb.NormalizeScoreResponse:
        return self._run(context, lambda progress: self._normalize(request, progress))

    def Bind(self, request: pb.BindRequest, context: grpc.ServicerContext) -> pb.BindResponse:
        return self._commit(context, lambda progress: commits.bind(self._backend, request, progress))

    def Schedule(self, request: pb.ScheduleRequest, context: grpc.ServicerContext) -> pb.ScheduleResponse:
        if not asks_commit(request):
            asked = Schedule(self._backend, request)
            return self._run(context, asked.run, asked.at_once)
        call = Schedule(self._backend, request, commits.caller(context))
        try:
            return self._commit(context, call.run)
        except DeadlineExceededError:
            unfinished = call.unfinished()
            if unfinished is None:
                raise
            return unfinished

    def Explain(self, request: pb.ExplainRequest, context: grpc.ServicerContext) -> pb.ExplainResponse:
        return self._run(context, lambda progress: self._explain(request, progress))

    def Reserve(self, request: pb.ReserveRequest, context: grpc.ServicerContext) -> pb.ReserveResponse:
        owner = commits.caller(context)
        return self._commit(
            context, lambda progress: commits.reserve(self._backend, request, owner, progress)
        )

    def Unreserve(self, request: pb.UnreserveRequest, context: grpc.ServicerContext) -> pb.UnreserveResponse:
        owner = commits.caller(context)
        return self._commit_anyway(
            context, lambda progress: commits.unreserve(self._backend, request, owner, progress)
        )

    def Preempt(self, request: pb.PreemptRequest, context: grpc.ServicerContext) -> pb.PreemptResponse:
        return self._run(context, lambda progress: preempt(self._backend, request, progress))

    def _run(
        self,
        context: grpc.ServicerContext,
        work: Callable[[Progress], Response],
        at_once: Callable[[Progress], Response | None] = lambda _: None,
    ) -> Response:
        """What ``at_once`` gives, which calls no plugin, else what ``work`` gives in a slot."""
        response = self._at_once(context, at_once)
        if response is None:
            deadline = time_limit(context)
            response = self._warned(self._backend.slots.run(work, deadline, context.add_callback))
        return response

    def _at_once(
        self, context: grpc.ServicerContext, at_once: Callable[[Progress], Response | None]
    ) -> Response | None:
        self._refuse_unsynced()
        self._backend.slots.check()
        response = at_once(Progress(time_limit(context)))
        return response if response is None else self._warned(response)

    def _unasked(
        self, answer: Callable[..., Response], request: AboutNodes, progress: Progress
    ) -> Response | None:
        """What ``answer`` gives without asking a plugin; None where one has to be asked."""
        if request.nodes.HasField("inline") or request.nodes.assumed_pods:
            return None
        try:
            return answer(request, progress, ask=False)
        except PluginsNeededError:
            return None

    def _warned(self, response: Response) -> Response:
        """``response``, with a warning where the state may be behind the cluster."""
        if stale := self._backend.stale():
            self._backend.metrics.stale_decisions.inc()
            if isinstance(response, Answer):
                response.warnings.append(stale)
        return response

    def _commit(self, context: grpc.ServicerContext, work: Callable[[Progress], Response]) -> Response:
        """Nothing is committed on a state that may be behind the cluster; only giving back is harmless."""
        if stale := self._backend.stale():
            raise UnavailableError(f"{stale}; retry in a moment", reason="STATE_STALE")
        return self._commit_anyway(context, work)

    def _commit_anyway(self, context: grpc.ServicerContext, work: Callable[[Progress], Response]) -> Response:
        self._refuse_unsynced()
        return self._backend.commit_slots.run(work, time_limit(context), context.add_callback)

    def _refuse_unsynced(self) -> None:
        if not self._backend.synced():
            raise UnavailableError("the state is not complete yet; retry in a moment", reason="NOT_SYNCED")

    def _question(self, request: Question, listing: Listing = Listing.WHERE_NEEDED) -> _Asked:
        """The pod, the profile and the nodes of a request."""
        backend = self._backend
        state = backend.engine.state
        pod = subject(backend.decoder, state, request.pod)
        by_pod = pod if isinstance(request, pb.ExplainRequest) else None
        profile = backend.engine.profile(request.profile, by_pod)
        decoder = self._sent_nodes if isinstance(request, AboutNodes) else backend.decoder
        selection = Selection(request.nodes, state, decoder, backend.limits, listing)
        selection.leave_out(pod)
        return _Asked(pod, profile, selection)

    def _look(
        self, asked: _Asked, progress: Progress, look: Callable[..., tuple[Evaluation, int]]
    ) -> tuple[Evaluation, objects_pb2.Provenance]:
        """``look``, a method of the engine, at what was asked."""
        selection = asked.selection
        about = partial(look, asked.pod, asked.profile, selection.candidates, progress=progress)
        try:
            evaluation, version = about(state=selection.state)
        except NodesChangedError:
            evaluation, version = about(state=selection.private())
        return evaluation, self._provenance(asked, version)

    def _filter(
        self, request: pb.FilterRequest, progress: Progress, *, ask: bool = True
    ) -> pb.FilterResponse:
        asked = self._question(request)
        look = partial(look_filters, self._backend.engine, ask=ask)
        evaluation, provenance = self._look(asked, progress, look)
        codes, statuses = ordered_verdicts(evaluation, asked.selection.rows)
        response = pb.FilterResponse(
            provenance=provenance,
            nodes=asked.selection.nodes,
            verdicts=verdicts(statuses, codes),
            status=status_message(evaluation.status, evaluation.message),
            feasible_count=len(evaluation.feasible),
            warnings=evaluation.warnings,
        )
        if request.include_totals and evaluation.scores is not None:
            put(response, "totals", evaluation.scores.totals)
            response.weight_sum = asked.profile.weight_sum
        return response

    def _score(self, request: pb.ScoreRequest, progress: Progress, *, ask: bool = True) -> pb.ScoreResponse:
        asked = self._question(request)
        engine = self._backend.engine
        if request.omit_plugins:
            look = partial(look_totals, engine, ask=ask)
        elif ask:
            look = partial(engine.look, run=evaluate_scores)
        else:
            raise PluginsNeededError
        evaluation, provenance = self._look(asked, progress, look)
        codes, statuses = score_verdicts(asked.selection.rows)
        columns, totals = selected_scores(evaluation, asked.selection.rows)
        full = request.include_totals
        response = pb.ScoreResponse(
            provenance=provenance,
            nodes=asked.selection.nodes,
            verdicts=verdicts(statuses, codes),
            plugins=()
            if request.omit_plugins
            else [score_message(column, normalized=full) for column in columns],
            weight_sum=asked.profile.weight_sum,
            warnings=evaluation.warnings,
        )
        if full:
            put(response, "totals", totals)
        return response

    def _normalize(self, request: pb.NormalizeScoreRequest, progress: Progress) -> pb.NormalizeScoreResponse:
        asked = self._question(request)
        profile, selection = asked.profile, asked.selection
        raw = raw_columns(request, profile)
        run = evaluate_normalized(lambda: known_only(raw, selection))
        evaluation, provenance = self._look(asked, progress, partial(self._backend.engine.look, run=run))
        codes, statuses = score_verdicts(selection.rows)
        columns, totals = selected_scores(evaluation, selection.rows)
        by_name = {column.plugin: column for column in columns}
        ignored = [name for name in raw if name not in by_name]
        response = pb.NormalizeScoreResponse(
            provenance=provenance,
            nodes=selection.nodes,
            verdicts=verdicts(statuses, codes),
            plugins=[score_message(by_name[name], raw=False) for name in raw if name in by_name],
            weight_sum=profile.weight_sum,
            warnings=[*evaluation.warnings, *(f"plugin {name} skips this pod; ignored" for name in ignored)],
        )
        put(response, "totals", totals)
        return response

    def _explain(self, request: pb.ExplainRequest, progress: Progress) -> pb.ExplainResponse:
        asked = self._question(request, Listing.ALWAYS)
        options = CycleOptions(always_score=request.always_score, all_rejections=request.all_rejections)
        choice = self._backend.engine.decide(
            asked.pod,
            asked.profile,
            asked.selection.candidates,
            seed=request.seed,
            state=asked.selection.state,
            options=options,
            progress=progress,
        )
        provenance = self._provenance(asked, choice.state_version)
        return explain_response(choice, asked.selection, request.seed, provenance)

    def _provenance(self, asked: _Asked, version: int) -> objects_pb2.Provenance:
        selection = asked.selection
        return self._backend.provenance(selection.version(version), selection.epoch, asked.profile.name)
