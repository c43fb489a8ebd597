"""SchedulingService: from requests to the engine, and from its answers to responses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import grpc
import numpy as np

from mooring.framework import Int64s, Pod
from mooring.framework.args import FieldError
from mooring.framework.errors import (
    InvalidArgumentError,
    NotFoundError,
    PluginFailureError,
    UnavailableError,
    UnimplementedError,
)
from mooring.framework.objects import ObjectMeta
from mooring.runtime.cycle import CycleOptions, evaluate_filters, evaluate_scores
from mooring.runtime.evaluation import Evaluation
from mooring.runtime.normalizing import evaluate_normalized
from mooring.runtime.placing import bind
from mooring.runtime.profile import Profile
from mooring.service.answers import score_message, selected_scores, selected_verdicts
from mooring.service.backend import Backend
from mooring.service.batch import Batch, schedule
from mooring.service.explanation import explain_response
from mooring.service.interceptors import time_limit
from mooring.service.objects import find_pod, referenced_pod, status_message, verdicts
from mooring.service.outcomes import OUTCOMES
from mooring.service.selection import NO_ROW, Selection
from mooring.service.slots import Progress
from mooring.v1 import objects_pb2
from mooring.v1 import scheduling_service_pb2 as pb
from mooring.v1.scheduling_service_pb2_grpc import SchedulingServiceServicer

Response = TypeVar("Response")


class SchedulingServicer(SchedulingServiceServicer):
    """Answers from one backend. Plugins run in its slots, never in the calling thread."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def Filter(self, request: pb.FilterRequest, context: grpc.ServicerContext) -> pb.FilterResponse:
        return self._run(context, lambda progress: self._filter(request, progress))

    def Score(self, request: pb.ScoreRequest, context: grpc.ServicerContext) -> pb.ScoreResponse:
        return self._run(context, lambda progress: self._score(request, progress))

    def NormalizeScore(
        self, request: pb.NormalizeScoreRequest, context: grpc.ServicerContext
    ) -> pb.NormalizeScoreResponse:
        return self._run(context, lambda progress: self._normalize(request, progress))

    def Bind(self, request: pb.BindRequest, context: grpc.ServicerContext) -> pb.BindResponse:
        return self._run(context, lambda progress: self._bind(request, progress))

    def Schedule(self, request: pb.ScheduleRequest, context: grpc.ServicerContext) -> pb.ScheduleResponse:
        return self._run(context, lambda progress: self._schedule(request, progress))

    def Explain(self, request: pb.ExplainRequest, context: grpc.ServicerContext) -> pb.ExplainResponse:
        return self._run(context, lambda progress: self._explain(request, progress))

    def Reserve(self, request: pb.ReserveRequest, context: grpc.ServicerContext) -> pb.ReserveResponse:
        raise UnimplementedError("Reserve is not offered by this server; see GetCapabilities")

    def Unreserve(self, request: pb.UnreserveRequest, context: grpc.ServicerContext) -> pb.UnreserveResponse:
        raise UnimplementedError("Unreserve is not offered by this server; see GetCapabilities")

    def Preempt(self, request: pb.PreemptRequest, context: grpc.ServicerContext) -> pb.PreemptResponse:
        raise UnimplementedError("Preempt is not offered by this server; see GetCapabilities")

    def _run(self, context: grpc.ServicerContext, work: Callable[[Progress], Response]) -> Response:
        if not self._backend.synced:
            raise UnavailableError("the state is not complete yet; retry in a moment", reason="NOT_SYNCED")
        return self._backend.slots.run(work, time_limit(context), context.add_callback)

    def _question(
        self, request: pb.FilterRequest | pb.ScoreRequest | pb.NormalizeScoreRequest | pb.ExplainRequest
    ) -> tuple[Pod, Profile, Selection]:
        """The pod, the profile and the nodes of a request."""
        backend = self._backend
        state = backend.engine.state
        pod = find_pod(backend.decoder, state, request.pod)
        by_pod = pod if isinstance(request, pb.ExplainRequest) else None
        profile = backend.engine.profile(request.profile, by_pod)
        return pod, profile, Selection(request.nodes, state, backend.decoder, backend.limits)

    def _filter(self, request: pb.FilterRequest, progress: Progress) -> pb.FilterResponse:
        pod, profile, selection = self._question(request)
        evaluation, version = self._backend.engine.look(
            pod, profile, selection.candidates, state=selection.state, progress=progress, run=evaluate_filters
        )
        codes, statuses = selected_verdicts(evaluation, selection.rows)
        return pb.FilterResponse(
            provenance=self._provenance(evaluation, version),
            nodes=selection.answer_list(evaluation.snapshot.nodes),
            verdicts=verdicts(statuses, codes),
            status=status_message(evaluation.status, evaluation.message),
            feasible_count=len(evaluation.feasible),
            warnings=profile.warnings,
        )

    def _score(self, request: pb.ScoreRequest, progress: Progress) -> pb.ScoreResponse:
        pod, profile, selection = self._question(request)
        evaluation, version = self._backend.engine.look(
            pod, profile, selection.candidates, state=selection.state, progress=progress, run=evaluate_scores
        )
        codes, statuses = selected_verdicts(evaluation, selection.rows)
        columns, totals = selected_scores(evaluation, selection.rows)
        full = request.include_totals
        return pb.ScoreResponse(
            provenance=self._provenance(evaluation, version),
            nodes=selection.answer_list(evaluation.snapshot.nodes),
            verdicts=verdicts(statuses, codes),
            plugins=[score_message(column, normalized=full) for column in columns],
            totals=totals.tolist() if full else (),
            weight_sum=profile.weight_sum,
            warnings=profile.warnings,
        )

    def _normalize(self, request: pb.NormalizeScoreRequest, progress: Progress) -> pb.NormalizeScoreResponse:
        pod, profile, selection = self._question(request)
        raw = _raw_columns(request, profile)
        evaluation, version = self._backend.engine.look(
            pod,
            profile,
            selection.candidates,
            state=selection.state,
            progress=progress,
            run=evaluate_normalized(lambda: _known_only(raw, selection)),
        )
        codes, statuses = selected_verdicts(evaluation, selection.rows)
        columns, totals = selected_scores(evaluation, selection.rows)
        by_name = {column.plugin: column for column in columns}
        ignored = [name for name in raw if name not in by_name]
        return pb.NormalizeScoreResponse(
            provenance=self._provenance(evaluation, version),
            nodes=selection.answer_list(evaluation.snapshot.nodes),
            verdicts=verdicts(statuses, codes),
            plugins=[score_message(by_name[name], raw=False) for name in raw if name in by_name],
            totals=totals.tolist(),
            weight_sum=profile.weight_sum,
            warnings=[*profile.warnings, *(f"plugin {name} skips this pod; ignored" for name in ignored)],
        )

    def _bind(self, request: pb.BindRequest, progress: Progress) -> pb.BindResponse:
        backend = self._backend
        state = backend.engine.state
        if not request.pod.uid or not request.node:
            missing = [
                name for name, value in (("pod.uid", request.pod.uid), ("node", request.node)) if not value
            ]
            raise InvalidArgumentError(FieldError(path, "is missing") for path in missing)
        pod = referenced_pod(state, request.pod, "pod")
        if pod is None:
            pod = self._unknown_pod(request.pod)
        profile = backend.engine.profile(request.profile)
        committed = bind(backend.engine, pod, request.node, profile, progress=progress)
        if not committed.status.ok:
            status = committed.status
            raise PluginFailureError(
                f"plugin {status.plugin!r} refused the binding: {status.message}",
                plugin=status.plugin,
                extension_point="Bind",
            )
        return pb.BindResponse(
            provenance=backend.provenance(state.version, state.snapshot.nodes.epoch, profile.name),
            outcome=OUTCOMES[committed.outcome] if committed.outcome else pb.BIND_OUTCOME_BOUND,
        )

    def _unknown_pod(self, reference: objects_pb2.PodReference) -> Pod:
        """A pod that only the API server knows; without one there is nothing to bind."""
        if not self._backend.api_server_connected:
            key = f"{reference.namespace}/{reference.name}"
            raise NotFoundError(f"pod {key} is not known; forget it", reason="POD_NOT_FOUND", pod=key)
        return Pod(metadata=ObjectMeta(reference.name, reference.namespace, reference.uid))

    def _schedule(self, request: pb.ScheduleRequest, progress: Progress) -> pb.ScheduleResponse:
        if request.commit_mode == pb.COMMIT_MODE_RESERVE:
            raise UnimplementedError("commit mode reserve is not offered by this server; see GetCapabilities")
        return schedule(self._backend, Batch.of(request, self._backend), progress)

    def _explain(self, request: pb.ExplainRequest, progress: Progress) -> pb.ExplainResponse:
        pod, profile, selection = self._question(request)
        options = CycleOptions(always_score=request.always_score, all_rejections=request.all_rejections)
        choice = self._backend.engine.decide(
            pod,
            profile,
            selection.candidates,
            seed=request.seed,
            state=selection.state,
            options=options,
            progress=progress,
        )
        provenance = self._provenance(choice.evaluation, choice.state_version)
        return explain_response(choice, selection, request.seed, provenance)

    def _provenance(self, evaluation: Evaluation, version: int) -> objects_pb2.Provenance:
        return self._backend.provenance(version, evaluation.snapshot.nodes.epoch, evaluation.profile.name)


def _raw_columns(request: pb.NormalizeScoreRequest, profile: Profile) -> dict[str, Int64s]:
    known = {enabled.name for enabled in profile.score}
    columns: dict[str, Int64s] = {}
    for at, column in enumerate(request.plugins):
        if column.plugin not in known:
            raise NotFoundError(
                f"plugin {column.plugin!r} scores nothing in profile {profile.name!r}; send only Score's plugins",
                reason="PLUGIN_NOT_FOUND",
                plugin=column.plugin,
            )
        if column.plugin in columns:
            raise InvalidArgumentError.at(f"plugins[{at}].plugin", f"{column.plugin!r} is given twice")
        columns[column.plugin] = np.array(column.raw, np.int64)
    return columns


def _known_only(raw: dict[str, Int64s], selection: Selection) -> dict[str, Int64s]:
    """The columns without the entries of unknown nodes.

    Raises:
        InvalidArgumentError: A column has not one score per selected node.
    """
    known = selection.rows != NO_ROW
    faults = [
        FieldError(f"plugins[{name}].raw", f"has {len(column)} scores for {len(known)} nodes")
        for name, column in raw.items()
        if len(column) != len(known)
    ]
    if faults:
        raise InvalidArgumentError(faults)
    return {name: column[known] for name, column in raw.items()}
