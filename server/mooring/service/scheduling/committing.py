"""Schedule that commits: the pods of a batch are reserved or bound in order."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from mooring.audit.event import AuditedPod
from mooring.decisions.records import DecisionKind, Record
from mooring.framework import SUCCESS, Code, Pod, Status
from mooring.framework.errors import DeadlineExceededError, MooringError
from mooring.runtime.answers import Choice, Progress
from mooring.runtime.commit.placement import HeldPlace, PlacedPod, place_held, places_held
from mooring.runtime.commit.reservations import Reservation
from mooring.runtime.profiles.profile import Profile
from mooring.service.backend import Backend
from mooring.service.calls.audit import CommitAudit, outcome_of_status
from mooring.service.calls.slots import SlotProgress
from mooring.service.scheduling.batch import Batch
from mooring.service.scheduling.commit_mode import MAX_TOGETHER, CommitMode
from mooring.service.scheduling.commits import not_recreated, reject_recreated
from mooring.service.scheduling.decision_recorder import DecisionRecorder
from mooring.service.scheduling.schedule_answer import AnswerColumns, TieLimit
from mooring.service.wire.node_names import NO_ROW
from mooring.service.wire.outcomes import failed_status, held_outcome, outcome_of, outcome_word, result_of
from mooring.serving.access.access import asking_client
from mooring_client.v1 import scheduling_service_pb2 as pb

WAITS = Status(Code.PENDING, ("the deadline passed while a plugin made this pod wait; send it again",))
"""The status of pods that still wait for a Permit plugin at the end of a committing call."""

_WORDS = {pb.COMMIT_MODE_BIND: "Schedule+Bind", pb.COMMIT_MODE_RESERVE: "Schedule+Reserve"}
"""The audit's name of a call that commits."""


class Committing(CommitMode):
    """Commits the pods of a batch. For one thread. The batch's mode says whether they are reserved or
    bound.
    """

    def __init__(self, backend: Backend, batch: Batch, answer: AnswerColumns, seed: int) -> None:
        self._backend = backend
        self._batch = batch
        self._answer = answer
        self._seed = seed
        self._owner = asking_client().name
        self._audit = CommitAudit(backend.audit, _WORDS[batch.mode], backend.engine.state)
        self._waiting: list[tuple[int, Reservation, float, Record | None]] = []

    def decide_at_once(self, progress: Progress) -> pb.ScheduleResponse | None:
        """Reserve all pods of a small batch without a plugin; None if some of them need one."""
        batch = self._batch
        if not progress.may_call_plugins and len(batch) <= MAX_TOGETHER:
            self._begin()
            if self._decide_some(slice(0, len(batch)), progress) == len(batch):
                return self._answer.response(self._backend, batch)
        return None

    def _begin(self) -> None:
        """Check that this process has the lease, and that the response will fit.

        Raises:
            UnavailableError: Another process leads (NOT_LEADER).
            InvalidArgumentError: All ties may take more than there is room for.
        """
        self._backend.committer.require_may_commit()
        TieLimit(self._backend, self._batch).check_worst()

    def _decide_some(self, some: slice, progress: Progress) -> int:
        batch = self._batch
        if batch.mode != pb.COMMIT_MODE_RESERVE:
            return 0
        engine, reservations = self._backend.engine, self._backend.committer.reservations
        if held := places_held(engine.state, reservations, batch.uids[some]):
            self._add_held(some.start, held)
            return len(held)
        if not batch.candidates.everything:
            return 0
        if progress.may_call_plugins:
            progress.check()
        began = time.perf_counter()
        indices, names, uids = batch.indices[some], batch.names[some], batch.uids[some]
        recorder = self._recorder()
        count = not_recreated(self._backend, batch.templates, indices, names, uids)
        pods = batch.templates, indices[:count], names[:count], uids[:count]
        choices = self._backend.committer.place_reserved_in_turn(
            *pods, seed=self._seed, owner=self._owner, progress=progress
        )
        if not choices:
            return 0
        self._answer.add_reserved(choices)
        namespaces = [pod.metadata.namespace for pod, _ in batch.templates]
        told = map(AuditedPod, map(namespaces.__getitem__, indices), names, uids, choices.names)
        decided = recorder.chose_many(batch, some.start, choices)
        keys = {profile.key for _, profile in batch.templates}
        configuration = keys.pop() if len(keys) == 1 else engine.profiles.configuration
        self._audit.record(tuple(told), configuration, decided=decided)
        seconds = (time.perf_counter() - began) / len(choices)
        for index, times in Counter(indices[: len(choices)]).items():
            self._count("scheduled", batch.templates[index][1], seconds, times)
        return len(choices)

    def _add_held(self, first: int, places: Sequence[HeldPlace]) -> None:
        """Answer for the pods from position ``first`` on, which have places, that they stay there."""
        for at, place in enumerate(places, first):
            outcome = held_outcome(place)
            self._answer.add_held(place.node_name, self._row(place), outcome)
            self._tell(*self._batch.pod(at), place.node_name, (outcome_word(outcome), ""))

    def _decide_one(self, at: int, progress: SlotProgress) -> None:
        pod, profile = self._batch.pod(at)
        began = time.perf_counter()
        choice, outcome = None, pb.COMMIT_OUTCOME_UNSPECIFIED
        recorder, record = self._recorder(), None
        try:
            reject_recreated(self._backend, pod)
            placement = self._begin_placing(pod, profile, progress)
            choice, status = placement.choice, placement.status
            record = recorder.chose(pod, profile, choice, self._batch.selection)
            message = choice.message
            reservation = placement.reservation
            if reservation is not None and self._batch.mode == pb.COMMIT_MODE_RESERVE:
                outcome = pb.COMMIT_OUTCOME_RESERVED
            elif reservation is not None:
                if self._backend.engine.profiles.waiting.waits(reservation.uid):
                    self._waiting.append((len(self._answer), reservation, began, record))
                    self._answer.add(WAITS, message, choice)
                    return
                committed = self._backend.committer.finish_binding(reservation, progress)
                status, outcome = committed.status, outcome_of(committed)
        except DeadlineExceededError as error:
            end = outcome_of_status(failed_status(error))
            self._tell(pod, profile, choice.node_name if choice else None, end, record)
            raise
        except MooringError as error:
            held = self._held(pod, error) if choice is None else None
            if held is not None:
                self._stay(pod, profile, held, progress)
                return
            status, message = failed_status(error), error.message
            self._ended(pod, profile, choice, error)
        else:
            self._ended(pod, profile, choice, status)
        self._answer.add(status, message, choice, outcome)
        self._tell(pod, profile, choice.node_name if choice else None, outcome_of_status(status), record)
        self._count(result_of(status), profile, time.perf_counter() - began)

    def _end(self, progress: SlotProgress) -> None:
        """Bind the pods that wait for a Permit plugin: those that they wait for may be pods of this batch.
        Raises DeadlineExceededError if some waited for longer than the caller does; they were given back.
        """
        late: DeadlineExceededError | None = None
        for position, reservation, began, record in self._waiting:
            commit, outcome = reservation.commit, pb.COMMIT_OUTCOME_UNSPECIFIED
            try:
                committed = self._backend.committer.finish_binding(reservation, progress)
                status, message, outcome = committed.status, "", outcome_of(committed)
            except DeadlineExceededError as error:
                late = error
                continue
            except MooringError as error:
                status, message = failed_status(error), error.message
            self._answer.settle(position, status, message, outcome)
            self._tell(commit.pod, commit.profile, commit.node_name, outcome_of_status(status), record)
            self._count(result_of(status), commit.profile, time.perf_counter() - began)
        if late is not None:
            raise late

    def _held(self, pod: Pod, error: MooringError) -> HeldPlace | None:
        """Return the place that a pod has already; None if the error has another reason."""
        if error.reason != "POD_BOUND_ELSEWHERE":
            return None
        reservations = self._backend.committer.reservations
        return place_held(self._backend.engine.state, reservations, pod.metadata.uid)

    def _stay(self, pod: Pod, profile: Profile, held: HeldPlace, progress: SlotProgress) -> None:
        """Answer that a pod stays in the place that it has, and bind it there if pods are to be bound."""
        status, message, outcome = SUCCESS, "", held_outcome(held)
        if self._batch.mode == pb.COMMIT_MODE_BIND:
            recorder = DecisionRecorder(self._backend, DecisionKind.BIND, self._seed)
            try:
                committed = self._backend.committer.bind_pod(pod, held.node_name, profile, progress=progress)
                status, message, outcome = committed.status, committed.status.message, outcome_of(committed)
                recorder.ended(pod, profile, held.node_name, status)
            except DeadlineExceededError:
                raise
            except MooringError as error:
                status, message, outcome = failed_status(error), error.message, pb.COMMIT_OUTCOME_UNSPECIFIED
                recorder.ended(pod, profile, held.node_name, error)
        self._answer.add_held(held.node_name, self._row(held), outcome, status, message)
        end = (outcome_word(outcome), "") if status.ok else outcome_of_status(status)
        self._tell(pod, profile, held.node_name, end)

    def _row(self, held: HeldPlace) -> int:
        return self._backend.engine.state.snapshot.nodes.index.get(held.node_name, NO_ROW)

    def _begin_placing(self, pod: Pod, profile: Profile, progress: SlotProgress) -> PlacedPod:
        committer, candidates = self._backend.committer, self._batch.candidates
        if self._batch.mode == pb.COMMIT_MODE_BIND:
            return committer.begin_placing(pod, profile, candidates, seed=self._seed, progress=progress)
        return committer.place_reserved(
            pod, profile, candidates, seed=self._seed, owner=self._owner, progress=progress
        )

    def _ended(self, pod: Pod, profile: Profile, choice: Choice | None, end: Status | MooringError) -> None:
        """Note a pod that came to nothing although it was, or before it could be, given a node."""
        node_name = choice.node_name if choice is not None else ""
        if node_name is not None and (isinstance(end, MooringError) or not end.ok):
            kind = DecisionKind.BIND if node_name else DecisionKind.SCHEDULE
            DecisionRecorder(self._backend, kind, self._seed).ended(pod, profile, node_name, end)

    def _recorder(self) -> DecisionRecorder:
        return DecisionRecorder(self._backend, DecisionKind.SCHEDULE, self._seed)

    def _tell(
        self,
        pod: Pod,
        profile: Profile,
        node: str | None,
        end: tuple[str, str],
        record: Record | None = None,
    ) -> None:
        """Record what became of a pod with a node: the outcome and the message."""
        if node is not None:
            self._audit.record((AuditedPod.of(pod, node),), profile.key, *end, record)

    def _count(self, result: str, profile: Profile, seconds: float, count: int = 1) -> None:
        """Count attempts to schedule pods, that is, to reserve or bind them."""
        metrics = self._backend.metrics
        metrics.schedule_attempts.labels(result, profile.name).inc(count)
        metrics.attempt_duration.labels(result, profile.name).observe(seconds, count)
