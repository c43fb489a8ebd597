"""Queries about one pod, from requests to the engine and from its answers to responses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from mooring.decisions.records import DecisionKind
from mooring.framework import Pod
from mooring.framework.errors import PluginFailureError
from mooring.framework.state import ClusterState
from mooring.framework.view import NodesChangedError
from mooring.runtime.answers import (
    NEEDS_PLUGINS,
    Candidates,
    CycleOptions,
    Evaluation,
    Found,
    NeedsPlugins,
    Progress,
    evaluate_normalized,
    evaluate_scores,
)
from mooring.runtime.commit.explaining import explained
from mooring.runtime.profiles.profile import Profile
from mooring.service.backend import Backend
from mooring.service.calls.slots import SlotProgress
from mooring.service.in_flight import Flight, PodsInFlight, counting
from mooring.service.scheduling.decision_recorder import DecisionRecorder
from mooring.service.wire.answers import (
    known_only,
    ordered_verdicts,
    raw_columns,
    score_message,
    score_verdicts,
    selected_scores,
)
from mooring.service.wire.columns import put
from mooring.service.wire.explanation import to_response
from mooring.service.wire.objects import status_message, subject, verdicts
from mooring.service.wire.selection import Listing, Selection
from mooring.service.wire.sent_nodes import SentNodes
from mooring_client.v1 import objects_pb2
from mooring_client.v1 import scheduling_service_pb2 as pb

Response = TypeVar("Response")

Question = pb.FilterRequest | pb.ScoreRequest | pb.NormalizeScoreRequest | pb.ExplainRequest
"""A request about one pod that changes nothing."""

AboutNodes = pb.FilterRequest | pb.ScoreRequest
"""A question that an extender asks, with all nodes sent along if it must be."""


@dataclass(frozen=True, slots=True)
class PodQuestion:
    """A question, decoded. It is answered as if the pod were not on ``assigned_node``."""

    pod: Pod
    profile: Profile
    selection: Selection
    assigned_node: str = ""


class PodQueries:
    """Answers from one backend. Safe from any thread."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._sent_nodes = SentNodes(backend.decoder, backend.engine.state)

    def question(self, request: Question, listing: Listing = Listing.WHERE_NEEDED) -> PodQuestion:
        """Return the pod, the profile and the nodes of a request. Raises MooringError if the request is
        wrong.
        """
        backend = self._backend
        state = backend.engine.state
        pod = subject(backend.decoder, state, request.pod)
        by_pod = pod if isinstance(request, pb.ExplainRequest) else None
        profile = backend.engine.profile(request.profile, by_pod)
        decoder = self._sent_nodes if isinstance(request, AboutNodes) else backend.decoder
        selection = Selection(request.nodes, state, decoder, backend.limits, listing)
        return PodQuestion(pod, profile, selection, selection.leave_out(pod))

    def _look(
        self,
        asked: PodQuestion,
        progress: Progress,
        look: Callable[..., Found | NeedsPlugins | None],
        kind: DecisionKind | None = None,
    ) -> tuple[Evaluation, objects_pb2.Provenance] | NeedsPlugins | None:
        """Call ``look``, a method of the engine, for the request; noted as a decision of that ``kind``.
        None if ``look`` returns that.
        """
        selection = asked.selection
        recorder = None if kind is None else DecisionRecorder(self._backend, kind)
        if isinstance(progress, SlotProgress):
            progress.about(asked.pod.metadata.uid)
        about = partial(look, asked.pod, asked.profile, selection.candidates)
        try:
            try:
                found = about(state=selection.state)
            except NodesChangedError:
                found = about(state=selection.private())
        except PluginFailureError as error:
            if recorder is not None:
                recorder.ended(asked.pod, asked.profile, "", error)
            raise
        if found is None or isinstance(found, NeedsPlugins):
            return found
        if recorder is not None:
            recorder.looked(asked.pod, asked.profile, selection, *found)
        return found[0], self._provenance(asked, found[1])

    def filter(
        self, request: pb.FilterRequest, asked: PodQuestion, progress: Progress
    ) -> pb.FilterResponse | NeedsPlugins:
        """Answer a Filter request, where plugins may be called or are not needed."""
        look = partial(self._backend.engine.filter, progress=progress)
        found = self._look(asked, progress, look, DecisionKind.FILTER)
        return self._filtered(request, asked, *found) if isinstance(found, tuple) else NEEDS_PLUGINS

    def filter_in_cycle(
        self,
        flights: PodsInFlight,
        request: pb.FilterRequest,
        asked: PodQuestion,
        progress: Progress,
    ) -> pb.FilterResponse | NeedsPlugins:
        """Run ``filter`` in the pod's scheduling cycle: with the pods in flight, and the pod joins them.

        If no plugins may be called it isn't answered: the call may have to wait.
        """
        if not isinstance(progress, SlotProgress):
            return NEEDS_PLUGINS
        with flights.turn(asked.pod, asked.profile, progress) as own:
            look = partial(self._filter_beside, flights, own, progress=progress)
            found: tuple[Evaluation, objects_pb2.Provenance] | NeedsPlugins | None = None
            while not isinstance(found, tuple):
                if asked.selection.state is not None:
                    # The private copy was made before the wait.
                    asked = self.question(request)
                found = self._look(asked, progress, look, DecisionKind.FILTER)
            flights.let_through(own, found[0])
            return self._filtered(request, asked, *found)

    def _filter_beside(
        self,
        flights: PodsInFlight,
        own: Flight,
        pod: Pod,
        profile: Profile,
        candidates: Candidates,
        *,
        state: ClusterState | None,
        progress: SlotProgress,
    ) -> Found | None:
        """Filter the candidates without the pods in flight, and with each of them on all of its nodes.

        A node must pass both, as with nominated pods. None after a wait, if no node does because of them.
        """
        engine = self._backend.engine
        alone, version = decided(engine.filter(pod, profile, candidates, state=state, progress=progress))
        if not own.beside:
            return alone, version
        crowded = counting(state or engine.state, own.beside)
        beside, _ = decided(engine.filter(pod, profile, candidates, state=crowded, progress=progress))
        both = alone.rejecting_too(beside)
        in_the_way = not both.feasible_count and (alone.feasible_count or beside.feasible_count)
        return None if in_the_way and flights.wait(own) else (both, version)

    def _filtered(
        self,
        request: pb.FilterRequest,
        asked: PodQuestion,
        evaluation: Evaluation,
        provenance: objects_pb2.Provenance,
    ) -> pb.FilterResponse:
        codes, statuses = ordered_verdicts(evaluation, asked.selection.rows)
        response = pb.FilterResponse(
            provenance=provenance,
            nodes=asked.selection.nodes,
            verdicts=verdicts(statuses, codes),
            verdict=status_message(evaluation.status, evaluation.message),
            feasible_count=evaluation.feasible_count,
            warnings=evaluation.warnings,
        )
        if request.include_totals and evaluation.scores is not None:
            put(response, "totals", evaluation.scores.totals)
            response.weight_sum = asked.profile.weight_sum
        return response

    def score(
        self, request: pb.ScoreRequest, asked: PodQuestion, progress: Progress
    ) -> pb.ScoreResponse | NeedsPlugins:
        """Answer a Score request, as ``filter``."""
        engine = self._backend.engine
        if request.omit_plugins:
            look: Callable[..., Found | NeedsPlugins | None] = partial(engine.score, progress=progress)
        elif not progress.may_call_plugins:
            return NEEDS_PLUGINS
        else:
            look = partial(engine.evaluate, run=evaluate_scores, progress=progress)
        found = self._look(asked, progress, look, DecisionKind.SCORE)
        if not isinstance(found, tuple):
            return NEEDS_PLUGINS
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

    def normalize(
        self, request: pb.NormalizeScoreRequest, progress: SlotProgress
    ) -> pb.NormalizeScoreResponse:
        """Answer a NormalizeScore request."""
        asked = self.question(request)
        profile, selection = asked.profile, asked.selection
        raw = raw_columns(request, profile)
        run = evaluate_normalized(lambda: known_only(raw, selection, profile))
        look = partial(self._backend.engine.evaluate, run=run, progress=progress)
        evaluation, provenance = decided(self._look(asked, progress, look))
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

    def explain(self, request: pb.ExplainRequest, progress: SlotProgress) -> pb.ExplainResponse:
        """Answer an Explain request."""
        asked = self.question(request, Listing.ALWAYS)
        progress.about(asked.pod.metadata.uid)
        seed = self._backend.seed(request.seed)
        options = CycleOptions(
            always_score=request.always_score,
            all_rejections=request.all_rejections,
            beyond_nominated=True,
        )
        explanation, version = explained(
            self._backend.engine,
            asked.pod,
            asked.profile,
            asked.selection.candidates,
            seed=seed,
            options=options,
            state=asked.selection.state,
            progress=progress,
            assigned_node=asked.assigned_node,
        )
        provenance = self._provenance(asked, version)
        return to_response(explanation, asked.selection, provenance)

    def _provenance(self, asked: PodQuestion, version: int) -> objects_pb2.Provenance:
        selection = asked.selection
        return self._backend.provenance(selection.version(version), selection.epoch, asked.profile)


def decided(answer: Response | NeedsPlugins | None) -> Response:
    """Return the answer of a call that could call plugins."""
    assert answer is not None  # noqa: S101 - the answer waits for nothing
    assert not isinstance(answer, NeedsPlugins)  # noqa: S101 - plugins may be called
    return answer
