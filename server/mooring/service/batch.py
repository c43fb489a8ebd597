"""Schedule: many pods per call, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from msgspec.structs import replace

from mooring.framework import SUCCESS, ClusterState, Code, Int32s, Pod, Status
from mooring.framework.args import FieldError
from mooring.framework.errors import DeadlineExceededError, InvalidArgumentError, MooringError
from mooring.runtime.engine import Choice
from mooring.runtime.placing import Placement, place
from mooring.runtime.profile import Profile
from mooring.service.backend import Backend
from mooring.service.objects import find_pod, status_message
from mooring.service.outcomes import OUTCOMES
from mooring.service.selection import NO_ROW, Selection
from mooring.service.slots import Progress
from mooring.v1 import scheduling_service_pb2 as pb

NO_TURN = Status(Code.PENDING, ("the deadline passed before this pod's turn; send it again",))
"""The status of pods that a committing call could not get to."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The pods of a request with their profiles, in order, and the nodes to choose from."""

    request: pb.ScheduleRequest
    pods: Sequence[Pod]
    profiles: Sequence[Profile]
    selection: Selection

    @property
    def dry_run(self) -> bool:
        """Whether nothing is to be changed."""
        return self.request.commit_mode != pb.COMMIT_MODE_BIND

    @classmethod
    def of(cls, request: pb.ScheduleRequest, backend: Backend) -> Batch:
        """Decode ``request``.

        Raises:
            InvalidArgumentError: A column does not fit, or a commit is asked for on nodes sent along.
        """
        state = backend.engine.state
        selection = Selection(request.nodes, state, backend.decoder, backend.limits)
        if request.commit_mode == pb.COMMIT_MODE_BIND and selection.state is not None:
            raise InvalidArgumentError.at(
                "commit_mode", "only a dry run is possible with inline nodes or assumed pods"
            )
        templates = [
            find_pod(backend.decoder, state, template.pod, f"templates[{at}].pod")
            for at, template in enumerate(request.templates)
        ]
        if not templates:
            raise InvalidArgumentError.at("templates", "is empty; send one or more")
        indices = _template_indices(request, len(templates), backend.limits.max_batch_pods)
        profiles = [backend.engine.profile(request.profile, template) for template in templates]
        pods = _pods(request.pods, templates, indices)
        return cls(request, pods, [profiles[at] for at in indices], selection)


def _template_indices(request: pb.ScheduleRequest, templates: int, limit: int) -> list[int]:
    indices = list(request.pods.template_indices) if request.HasField("pods") else list(range(templates))
    if len(indices) > limit:
        raise InvalidArgumentError.at("pods", f"{len(indices)} pods are more than the {limit} allowed")
    if indices and max(indices) >= templates:
        at = next(at for at, index in enumerate(indices) if index >= templates)
        raise InvalidArgumentError.at(
            f"pods.template_indices[{at}]", f"{indices[at]} is no index of {templates} templates"
        )
    return indices


def _pods(columns: pb.PodColumns, templates: Sequence[Pod], indices: Sequence[int]) -> list[Pod]:
    count = len(indices)
    spread = {
        name: _spread(name, list(column), count)
        for name, column in (
            ("namespaces", columns.namespaces),
            ("names", columns.names),
            ("uids", columns.uids),
        )
    }
    pods = []
    for at, index in enumerate(indices):
        template = templates[index]
        changed = {
            attribute: values[at]
            for attribute, values in (
                ("namespace", spread["namespaces"]),
                ("name", spread["names"]),
                ("uid", spread["uids"]),
            )
            if values
        }
        metadata = replace(template.metadata, **changed) if changed else template.metadata
        pods.append(replace(template, metadata=metadata) if changed else template)
    _check_uids(pods)
    return pods


def _spread(name: str, column: list[str], count: int) -> list[str]:
    if len(column) in (0, count):
        return column
    if len(column) == 1:
        return column * count
    raise InvalidArgumentError(
        [FieldError(f"pods.{name}", f"has {len(column)} values for {count} pods; send none, one or {count}")]
    )


def _check_uids(pods: Sequence[Pod]) -> None:
    uids = [pod.metadata.uid for pod in pods]
    if len(pods) > 1 and len(set(uids)) != len(uids):
        raise InvalidArgumentError.at(
            "pods.uids", "two pods of the batch have the same UID; give each its own"
        )


@dataclass(slots=True)
class _Answers:
    """The columns of the answer while it grows."""

    statuses: dict[Status, int] = field(default_factory=lambda: {SUCCESS: 0})
    messages: dict[int, str] = field(default_factory=dict)
    pod_statuses: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)
    ties: list[Int32s] = field(default_factory=list)
    evaluated: list[int] = field(default_factory=list)
    feasible: list[int] = field(default_factory=list)
    outcomes: list[pb.BindOutcome.ValueType] = field(default_factory=list)

    def add(self, status: Status, choice: Choice | None, message: str = "") -> None:
        number = self.statuses.setdefault(status, len(self.statuses))
        self.messages.setdefault(number, message)
        self.pod_statuses.append(number)
        self.rows.append(choice.row if choice else NO_ROW)
        self.totals.append(choice.total if choice else 0)
        self.ties.append(choice.ties if choice else np.zeros(0, np.int32))
        self.evaluated.append(choice.evaluation.evaluated if choice else 0)
        self.feasible.append(len(choice.evaluation.feasible) if choice else 0)
        self.outcomes.append(pb.BIND_OUTCOME_UNSPECIFIED)


def schedule(backend: Backend, batch: Batch, progress: Progress) -> pb.ScheduleResponse:
    """Decide, and where asked bind, the pods of ``batch`` in order; each sees the earlier ones placed.

    Raises:
        DeadlineExceededError: Out of time before anything was changed.
        PluginFailureError: A plugin failed in a dry run.
    """
    answers = _Answers()
    if batch.dry_run:
        state = _dry_run(backend, batch, progress, answers)
    else:
        state = backend.engine.state
        _commit(backend, batch, progress, answers)
    return _response(backend, batch, answers, state)


def _dry_run(backend: Backend, batch: Batch, progress: Progress, answers: _Answers) -> ClusterState:
    """Decide on the live state, or on a copy as soon as one pod has to see another."""
    engine, selection = backend.engine, batch.selection
    state = selection.state or (engine.state.fork() if len(batch.pods) > 1 else None)
    for pod, profile in zip(batch.pods, batch.profiles, strict=True):
        choice = engine.decide(
            pod, profile, selection.candidates, seed=batch.request.seed, state=state, progress=progress
        )
        if choice.node_name is not None and state is not None and len(batch.pods) > 1:
            state.assume(pod, choice.node_name)
        answers.add(choice.evaluation.status, choice, choice.evaluation.message)
    return state or engine.state


def _commit(backend: Backend, batch: Batch, progress: Progress, answers: _Answers) -> None:
    late = False
    for pod, profile in zip(batch.pods, batch.profiles, strict=True):
        if late:
            answers.add(NO_TURN, None)
            continue
        try:
            placement = place(
                backend.engine,
                pod,
                profile,
                batch.selection.candidates,
                seed=batch.request.seed,
                progress=progress,
            )
        except DeadlineExceededError:
            if not answers.pod_statuses:
                raise
            late = True
            answers.add(NO_TURN, None)
        except MooringError as error:
            answers.add(Status(Code.ERROR, (error.reason, error.message)), None, error.message)
        else:
            _add_placement(answers, placement)


def _add_placement(answers: _Answers, placement: Placement) -> None:
    answers.add(placement.status, placement.choice, placement.choice.evaluation.message)
    if placement.committed is not None and placement.committed.outcome is not None:
        answers.outcomes[-1] = OUTCOMES[placement.committed.outcome]


def _response(backend: Backend, batch: Batch, answers: _Answers, state: ClusterState) -> pb.ScheduleResponse:
    table = state.snapshot.nodes
    profiles = {profile.name: profile for profile in batch.profiles}
    only = next(iter(profiles)) if len(profiles) == 1 else ""
    return pb.ScheduleResponse(
        provenance=backend.provenance(state.version, table.epoch, only),
        nodes=batch.selection.node_list(table, np.array(answers.rows, np.int32)),
        statuses=[
            status_message(status, answers.messages.get(number, ""))
            for status, number in answers.statuses.items()
        ],
        pod_statuses=answers.pod_statuses,
        totals=answers.totals,
        tie_counts=[len(ties) for ties in answers.ties],
        ties=[batch.selection.node_list(table, ties) for ties in answers.ties]
        if batch.request.include_ties
        else (),
        evaluated_counts=answers.evaluated,
        feasible_counts=answers.feasible,
        bind_outcomes=() if batch.dry_run else answers.outcomes,
        warnings=[warning for profile in profiles.values() for warning in profile.warnings],
    )
