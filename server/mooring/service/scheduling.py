"""SchedulingService: from requests to the engine, and from its answers to responses."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import grpc

from mooring.framework import Pod
from mooring.framework.errors import (
    DeadlineExceededError,
    UnavailableError,
)
from mooring.framework.view import NodesChangedError
from mooring.runtime.cycle.cycle import CycleOptions, evaluate_scores
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.cycle.explain import Explanation
from mooring.runtime.cycle.full_cycle import Found
from mooring.runtime.cycle.normalize_score import evaluate_normalized
from mooring.runtime.cycle.plugin_calls import NoPlugins
from mooring.runtime.profiles.profile import Profile
from mooring.service import commits
from mooring.service.access import client_name
from mooring.service.admission import client_of
from mooring.service.answers import ordered_verdicts, score_message, score_verdicts, selected_scores
from mooring.service.backend import Backend
from mooring.service.batch import asks_commit
from mooring.service.columns import put
from mooring.service.explanation import to_response
from mooring.service.given_scores import known_only, raw_columns
from mooring.service.groups import schedule_groups
from mooring.service.interceptors import time_limit
from mooring.service.objects import status_message, subject, verdicts
from mooring.service.preempt import preempt
from mooring.service.schedule import Schedule
from mooring.service.selection import Listing, Selection
from mooring.service.sent_nodes import SentNodes
from mooring.service.slots import SlotProgress, Slots
from mooring.v1 import objects_pb2
from mooring.v1 import scheduling_service_pb2 as pb
from mooring.v1.scheduling_service_pb2_grpc import SchedulingServiceServicer

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

Question = pb.FilterRequest | pb.ScoreRequest | pb.NormalizeScoreRequest | pb.ExplainRequest
"""A request about one pod that changes nothing."""

AboutNodes = pb.FilterRequest | pb.ScoreRequest
"""A question that an extender asks, with all nodes sent along if it must be."""

Answering = Callable[[Any, "_Asked", SlotProgress | NoPlugins], Response | None]
"""Answers a decoded request; None when plugins have to be called and the budget allows none."""


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
        return _answered(self.begin_filter(request, context))

    def Score(self, request: pb.ScoreRequest, context: grpc.ServicerContext) -> pb.ScoreResponse:
        return _answered(self.begin_score(request, context))

    def begin_filter(
        self, request: pb.FilterRequest, context: grpc.ServicerContext
    ) -> pb.FilterResponse | Callable[[], pb.FilterResponse]:
        """``Filter`` for who can't wait: the answer, or what finds it out where plugins have to be called."""
        return self._begin(context, request, self._filter)

    def begin_score(
        self, request: pb.ScoreRequest, context: grpc.ServicerContext
    ) -> pb.ScoreResponse | Callable[[], pb.ScoreResponse]:
        """``Score``, as ``begin_filter``."""
        return self._begin(context, request, self._score)

    def NormalizeScore(
        self, request: pb.NormalizeScoreRequest, context: grpc.ServicerContext
    ) -> pb.NormalizeScoreResponse:
        return self._run(context, lambda progress: self._normalize(request, progress))

    def Bind(self, request: pb.BindRequest, context: grpc.ServicerContext) -> pb.BindResponse:
        client = client_name(context)
        return self._commit(context, lambda progress: commits.bind(self._backend, request, client, progress))

    def Schedule(self, request: pb.ScheduleRequest, context: grpc.ServicerContext) -> pb.ScheduleResponse:
        if not asks_commit(request):
            return _answered(self._begin_deciding(context, Schedule(self._backend, request).decide))
        call = Schedule(self._backend, request, client_name(context))
        try:
            return self._commit(context, lambda progress: _decided(call.decide(progress)))
        except DeadlineExceededError:
            unfinished = call.unfinished()
            if unfinished is None:
                raise
            return unfinished

    def ScheduleGroups(
        self, request: pb.ScheduleGroupsRequest, context: grpc.ServicerContext
    ) -> pb.ScheduleGroupsResponse:
        owner = client_name(context)
        run = self._commit if asks_commit(request) else self._run
        return run(context, lambda progress: schedule_groups(self._backend, request, owner, progress))

    def Explain(self, request: pb.ExplainRequest, context: grpc.ServicerContext) -> pb.ExplainResponse:
        return self._run(context, lambda progress: self._explain(request, progress))

    def Reserve(self, request: pb.ReserveRequest, context: grpc.ServicerContext) -> pb.ReserveResponse:
        owner = client_name(context)
        return self._commit(
            context, lambda progress: commits.reserve(self._backend, request, owner, progress)
        )

    def Unreserve(self, request: pb.UnreserveRequest, context: grpc.ServicerContext) -> pb.UnreserveResponse:
        owner = client_name(context)
        return self._commit_anyway(
            context, lambda progress: commits.unreserve(self._backend, request, owner, progress)
        )

    def Preempt(self, request: pb.PreemptRequest, context: grpc.ServicerContext) -> pb.PreemptResponse:
        return self._run(context, lambda progress: preempt(self._backend, request, progress))

    def _run(self, context: grpc.ServicerContext, work: Callable[[SlotProgress], Response]) -> Response:
        """Run ``work`` in a slot."""
        self._reject_unsynced()
        return self._warned(_in_slot(self._backend.slots, context, work))

    def _begin(
        self, context: grpc.ServicerContext, request: AboutNodes, answer: Answering[Response]
    ) -> Response | Callable[[], Response]:
        """``answer`` the request, which is decoded once: here, unless nodes or pods were sent along."""
        asked: _Asked | None = None

        def decide(budget: SlotProgress | NoPlugins) -> Response | None:
            nonlocal asked
            if asked is None:
                if isinstance(budget, NoPlugins) and (
                    request.nodes.HasField("inline") or request.nodes.assumed_pods
                ):
                    return None
                asked = self._question(request)
            return answer(request, asked, budget)

        return self._begin_deciding(context, decide)

    def _begin_deciding(
        self, context: grpc.ServicerContext, decide: Callable[[SlotProgress | NoPlugins], Response | None]
    ) -> Response | Callable[[], Response]:
        """Return what ``decide`` gives without plugins; otherwise a callable that runs it in a slot with
        them.

        At verbosity 5 the trailing metadata ``mooring-answered-by`` says ``cache``, or ``full`` and why.
        """

        def told(budget: SlotProgress | NoPlugins) -> Response | None:
            response = decide(budget)
            if response is not None and log.isEnabledFor(PROVENANCE):
                log.log(PROVENANCE, "answered by %s", budget.answered_by or "full")
                context.set_trailing_metadata((("mooring-answered-by", budget.answered_by or "full"),))
            return response

        self._reject_unsynced()
        self._backend.slots.check()
        response = told(NoPlugins())
        if response is not None:
            return self._warned(response)
        return partial(self._run, context, lambda progress: _decided(told(progress)))

    def _warned(self, response: Response) -> Response:
        """``response``, with a warning where the state may be behind the cluster."""
        if stale := self._backend.stale():
            self._backend.metrics.stale_decisions.inc()
            if isinstance(response, Answer):
                response.warnings.append(stale)
        return response

    def _commit(self, context: grpc.ServicerContext, work: Callable[[SlotProgress], Response]) -> Response:
        """Nothing is committed on a state that may be behind the cluster; only giving back is harmless."""
        if stale := self._backend.stale():
            raise UnavailableError(f"{stale}; retry in a moment", reason="STATE_STALE")
        return self._commit_anyway(context, work)

    def _commit_anyway(
        self, context: grpc.ServicerContext, work: Callable[[SlotProgress], Response]
    ) -> Response:
        self._reject_unsynced()
        return _in_slot(self._backend.commit_slots, context, work)

    def _reject_unsynced(self) -> None:
        if not self._backend.synced():
            raise UnavailableError("the state is not complete yet; retry in a moment", reason="NOT_SYNCED")

    def _question(self, request: Question, listing: Listing = Listing.WHERE_NEEDED) -> _Asked:
        """Return the pod, the profile and the nodes of a request."""
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
        self, asked: _Asked, budget: SlotProgress | NoPlugins, look: Callable[..., Found | None]
    ) -> tuple[Evaluation, objects_pb2.Provenance] | None:
        """Call ``look``, a method of the engine, for the request."""
        selection = asked.selection
        if isinstance(budget, SlotProgress):
            budget.about(asked.pod.metadata.uid)
        about = partial(look, asked.pod, asked.profile, selection.candidates)
        try:
            found = about(state=selection.state)
        except NodesChangedError:
            found = about(state=selection.private())
        return None if found is None else (found[0], self._provenance(asked, found[1]))

    def _filter(
        self, request: pb.FilterRequest, asked: _Asked, budget: SlotProgress | NoPlugins
    ) -> pb.FilterResponse | None:
        found = self._look(asked, budget, partial(self._backend.engine.filter, budget=budget))
        if found is None:
            return None
        evaluation, provenance = found
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

    def _score(
        self, request: pb.ScoreRequest, asked: _Asked, budget: SlotProgress | NoPlugins
    ) -> pb.ScoreResponse | None:
        engine = self._backend.engine
        if request.omit_plugins:
            found = self._look(asked, budget, partial(engine.score, budget=budget))
        elif isinstance(budget, NoPlugins):
            return None
        else:
            found = self._look(asked, budget, partial(engine.evaluate, run=evaluate_scores, progress=budget))
        if found is None:
            return None
        evaluation, provenance = found
        codes, statuses = score_verdicts(asked.selection.rows)
        columns, totals = selected_scores(evaluation, asked.selection.rows)
        full = request.include_totals
        plugins = [] if request.omit_plugins else [score_message(one, normalized=full) for one in columns]
        response = pb.ScoreResponse(
            provenance=provenance,
            nodes=asked.selection.nodes,
            verdicts=verdicts(statuses, codes),
            plugins=plugins,
            weight_sum=asked.profile.weight_sum,
            warnings=evaluation.warnings,
        )
        if full:
            put(response, "totals", totals)
        return response

    def _normalize(
        self, request: pb.NormalizeScoreRequest, progress: SlotProgress
    ) -> pb.NormalizeScoreResponse:
        asked = self._question(request)
        profile, selection = asked.profile, asked.selection
        raw = raw_columns(request, profile)
        run = evaluate_normalized(lambda: known_only(raw, selection, profile))
        look = partial(self._backend.engine.evaluate, run=run, progress=progress)
        evaluation, provenance = _decided(self._look(asked, progress, look))
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

    def _explain(self, request: pb.ExplainRequest, progress: SlotProgress) -> pb.ExplainResponse:
        asked = self._question(request, Listing.ALWAYS)
        progress.about(asked.pod.metadata.uid)
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
        return to_response(Explanation.of(choice, request.seed), asked.selection, provenance)

    def _provenance(self, asked: _Asked, version: int) -> objects_pb2.Provenance:
        selection = asked.selection
        return self._backend.provenance(selection.version(version), selection.epoch, asked.profile.name)


def _in_slot(
    slots: Slots, context: grpc.ServicerContext, work: Callable[[SlotProgress], Response]
) -> Response:
    """Run ``work`` in a slot once it is its client's turn."""
    return slots.run(work, time_limit(context), context.add_callback, client_of(context))


def _answered(begun: Response | Callable[[], Response]) -> Response:
    """Return the answer, from a slot if it needs one."""
    return begun() if callable(begun) else begun


def _decided(answer: Response | None) -> Response:
    """Return the answer, which is there where plugins could be called."""
    assert answer is not None  # noqa: S101 - only without plugins there is none
    return answer
