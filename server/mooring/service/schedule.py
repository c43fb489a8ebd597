"""Schedule: many pods per call, decided in order, answered as columns."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from mooring.framework import SUCCESS, Code, Pod, Status
from mooring.framework.errors import DeadlineExceededError, MooringError
from mooring.runtime.choice import Choice
from mooring.runtime.commit import Committed
from mooring.runtime.engine import Rows, all_rows
from mooring.runtime.placing import Placement
from mooring.runtime.profile import Profile
from mooring.runtime.reservations import Reservation
from mooring.service.backend import Backend
from mooring.service.batch import Batch
from mooring.service.columns import put
from mooring.service.commits import refuse_recreated
from mooring.service.node_names import names_of, rows_of
from mooring.service.objects import status_message
from mooring.service.outcomes import OUTCOMES
from mooring.service.selection import Selection
from mooring.service.slots import Progress
from mooring.v1 import scheduling_service_pb2 as pb

NO_TURN = Status(Code.PENDING, ("the deadline passed before this pod's turn; send it again",))
"""The status of pods that a committing call could not get to."""


WAITS = Status(Code.PENDING, ("the deadline passed while a plugin made this pod wait; send it again",))
"""The status of pods that still wait for a Permit plugin at the end of a committing call."""


@dataclass(slots=True)
class _Columns:
    """The answer while it grows; one entry per pod that had its turn."""

    statuses: dict[tuple[Status, str], int] = field(default_factory=lambda: {(SUCCESS, ""): 0})
    pod_statuses: list[int] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)
    tie_counts: list[int] = field(default_factory=list)
    ties: list[list[str]] = field(default_factory=list)
    evaluated: list[int] = field(default_factory=list)
    feasible: list[int] = field(default_factory=list)
    outcomes: list[pb.BindOutcome.ValueType] = field(default_factory=list)

    def add(self, status: Status, message: str = "") -> None:
        """One more pod, for which nothing was chosen."""
        number = self.statuses.setdefault((status, message), len(self.statuses))
        self.pod_statuses.append(number)
        self.nodes.append("")
        self.ties.append([])
        for column in (self.totals, self.tie_counts, self.evaluated, self.feasible):
            column.append(0)
        self.outcomes.append(pb.BIND_OUTCOME_UNSPECIFIED)

    def settle(self, position: int, status: Status, message: str, outcome: pb.BindOutcome.ValueType) -> None:
        """What became of a pod that was added before."""
        self.pod_statuses[position] = self.statuses.setdefault((status, message), len(self.statuses))
        self.outcomes[position] = outcome

    def choose(self, choice: Choice, *, ties: bool) -> None:
        """What was chosen for the last pod."""
        self.nodes[-1] = choice.node_name or ""
        self.totals[-1] = choice.total
        self.tie_counts[-1] = choice.tie_count
        self.evaluated[-1] = choice.evaluated
        self.feasible[-1] = choice.feasible
        if ties:
            self.ties[-1] = names_of(choice.evaluation.snapshot.nodes, choice.ties)


class Schedule:
    """One call of Schedule. ``run`` is for a plugin slot; ``unfinished`` for who waited in vain."""

    def __init__(self, backend: Backend, request: pb.ScheduleRequest, owner: str = "") -> None:
        self._backend = backend
        self._request = request
        self._owner = owner
        self._batch: Batch | None = None
        self._columns = _Columns()
        self._lock = threading.Lock()
        self._version: int | None = None
        self._committed = False
        self._waiting: list[tuple[int, Reservation, float]] = []
        self._closed = False

    def run(self, progress: Progress) -> pb.ScheduleResponse:
        """Decide, and where asked bind, the pods in order; each sees the earlier ones placed.

        Raises:
            MooringError: The request is wrong, time is over, or a plugin failed in a dry run.
        """
        batch = self._batch = Batch.of(self._request, self._backend)
        if batch.mode == pb.COMMIT_MODE_DRY_RUN:
            self._dry_run(batch, progress)
        else:
            self._backend.committer.require_leader()
            try:
                for pod, profile in zip(batch.pods, batch.profiles, strict=True):
                    self._commit(batch, pod, profile, progress)
            finally:
                self._finish_waiting(progress)
        return self._response(batch)

    def unfinished(self) -> pb.ScheduleResponse | None:
        """The answer when time is over: None unless something was committed; the rest had no turn."""
        with self._lock:
            self._closed = True
        batch = self._batch
        if batch is None or batch.mode == pb.COMMIT_MODE_DRY_RUN or not self._committed:
            return None
        for _ in range(len(batch.pods) - len(self._columns.pod_statuses)):
            self._columns.add(NO_TURN)
        return self._response(batch)

    def _dry_run(self, batch: Batch, progress: Progress) -> None:
        """Decide on the live state, or on a copy as soon as one pod has to see another."""
        engine, selection = self._backend.engine, batch.selection
        if len(batch.pods) > 1:
            selection.private()
        rows = self._rows(selection)
        for pod, profile in zip(batch.pods, batch.profiles, strict=True):
            began = time.perf_counter()
            selection.leave_out(pod)
            if selection.state is not None and engine.state is not selection.state:
                engine = engine.over(selection.state)
            try:
                choice = engine.decide(
                    pod,
                    profile,
                    rows,
                    seed=self._request.seed,
                    progress=progress,
                )
            except MooringError:
                self._count("error", profile, began)
                raise
            if choice.node_name is not None and selection.state is not None:
                selection.state.assume(pod, choice.node_name)
            self._version = choice.state_version
            self._add(choice, choice.status, choice.message)
            self._count(_result(choice.status), profile, began)

    def _commit(self, batch: Batch, pod: Pod, profile: Profile, progress: Progress) -> None:
        began = time.perf_counter()
        choice = None
        outcome = pb.BIND_OUTCOME_UNSPECIFIED
        try:
            refuse_recreated(self._backend, pod)
            placement = self._begin(batch, pod, profile, progress)
            choice, status = placement.choice, placement.status
            message = choice.message
            reservation = placement.reservation
            if reservation is not None and batch.mode == pb.COMMIT_MODE_BIND:
                if self._backend.engine.waiting.waits(reservation.uid):
                    self._waiting.append((len(self._columns.pod_statuses), reservation, began))
                    self._add(choice, WAITS, message)
                    return
                committed = self._backend.committer.finish(reservation, progress)
                status, outcome = committed.status, _outcome(committed)
        except DeadlineExceededError:
            raise
        except MooringError as error:
            status, message = _failed(error), error.message
        self._add(choice, status, message, outcome)
        self._count(_result(status), profile, began)

    def _finish_waiting(self, progress: Progress) -> None:
        """Bind the pods that wait for a Permit plugin: those that they wait for may be pods of this batch.

        Raises:
            DeadlineExceededError: Some waited for longer than the caller does; they were given back.
        """
        late: DeadlineExceededError | None = None
        for position, reservation, began in self._waiting:
            outcome = pb.BIND_OUTCOME_UNSPECIFIED
            try:
                committed = self._backend.committer.finish(reservation, progress)
                status, message, outcome = committed.status, "", _outcome(committed)
            except DeadlineExceededError as error:
                late = error
                continue
            except MooringError as error:
                status, message = _failed(error), error.message
            with self._lock:
                if not self._closed:
                    self._committed = self._committed or status.ok
                    self._columns.settle(position, status, message, outcome)
            self._count(_result(status), reservation.commit.profile, began)
        if late is not None:
            raise late

    def _begin(self, batch: Batch, pod: Pod, profile: Profile, progress: Progress) -> Placement:
        committer, rows, seed = self._backend.committer, self._rows(batch.selection), self._request.seed
        if batch.mode == pb.COMMIT_MODE_BIND:
            return committer.begin(pod, profile, rows, seed=seed, progress=progress)
        return committer.place_reserved(pod, profile, rows, seed=seed, owner=self._owner, progress=progress)

    def _rows(self, selection: Selection) -> Rows:
        """Among which nodes to choose. The ties can be listed of evaluations in full alone."""
        everything = selection.everything and not self._request.include_ties
        return all_rows if everything else selection.candidates

    def _add(
        self,
        choice: Choice | None,
        status: Status,
        message: str,
        outcome: pb.BindOutcome.ValueType = pb.BIND_OUTCOME_UNSPECIFIED,
    ) -> None:
        with self._lock:
            if self._closed:
                return
            self._columns.add(status, message)
            if choice is not None:
                self._columns.choose(choice, ties=self._request.include_ties)
            self._committed = self._committed or status.ok
            self._columns.outcomes[-1] = outcome

    def _count(self, result: str, profile: Profile, began: float) -> None:
        metrics = self._backend.metrics
        metrics.schedule_attempts(result, profile.name).inc()
        metrics.attempt_duration(result, profile.name).observe(time.perf_counter() - began)

    def _response(self, batch: Batch) -> pb.ScheduleResponse:
        columns, state, selection = self._columns, self._backend.engine.state, batch.selection
        profiles = {profile.name: profile for profile in batch.profiles}
        # Indices and their epoch must be of one moment; a node that is gone by now has none.
        with state.lock:
            table = (selection.state or state).snapshot.nodes
            version = state.version if self._version is None else selection.version(self._version)
            if selection.state is None:
                selection.epoch = table.epoch
            rows = rows_of(table, columns.nodes)
            tie_rows = [rows_of(table, names) for names in columns.ties] if self._request.include_ties else []
        response = pb.ScheduleResponse(
            provenance=self._backend.provenance(
                version, selection.epoch, next(iter(profiles)) if len(profiles) == 1 else ""
            ),
            nodes=selection.node_list(columns.nodes, rows),
            statuses=[status_message(status, message) for status, message in columns.statuses],
            ties=[selection.node_list(names, at) for names, at in zip(columns.ties, tie_rows, strict=False)],
            bind_outcomes=columns.outcomes if batch.mode == pb.COMMIT_MODE_BIND else (),
            warnings=dict.fromkeys(warning for profile in profiles.values() for warning in profile.warnings),
        )
        put(response, "pod_statuses", columns.pod_statuses)
        put(response, "totals", columns.totals)
        put(response, "tie_counts", columns.tie_counts)
        put(response, "evaluated_counts", columns.evaluated)
        put(response, "feasible_counts", columns.feasible)
        return response


def _failed(error: MooringError) -> Status:
    return Status(Code.ERROR, (error.reason,), error.metadata.get("plugin", ""))


def _outcome(committed: Committed) -> pb.BindOutcome.ValueType:
    if not committed.status.ok:
        return pb.BIND_OUTCOME_UNSPECIFIED
    return OUTCOMES[committed.outcome] if committed.outcome else pb.BIND_OUTCOME_BOUND


def _result(status: Status) -> str:
    if status.ok:
        return "scheduled"
    return "error" if status.code is Code.ERROR else "unschedulable"
