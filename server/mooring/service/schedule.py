"""Schedule: many pods per call, decided in order, answered as columns."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable

from mooring.framework import Code, Pod, Status
from mooring.framework.errors import DeadlineExceededError, InvalidArgumentError, MooringError
from mooring.runtime.choice import Choice, ChoiceColumns
from mooring.runtime.engine import Engine
from mooring.runtime.placement import Placement
from mooring.runtime.profile import Profile
from mooring.runtime.reservations import Reservation
from mooring.runtime.rows import Rows, all_rows
from mooring.service.backend import Backend
from mooring.service.batch import Batch
from mooring.service.commits import not_recreated, refuse_recreated
from mooring.service.objects import is_placed
from mooring.service.outcomes import failed_status, outcome_of, result_of
from mooring.service.schedule_answer import AnswerColumns, chosen_response
from mooring.service.selection import Selection
from mooring.service.slots import Progress
from mooring.v1 import scheduling_service_pb2 as pb

NO_TURN = Status(Code.PENDING, ("the deadline passed before this pod's turn; send it again",))
"""The status of pods that a committing call could not get to."""


WAITS = Status(Code.PENDING, ("the deadline passed while a plugin made this pod wait; send it again",))
"""The status of pods that still wait for a Permit plugin at the end of a committing call."""


MOST_IN_TURN = 256
"""So many pods at most get their places in one step; then it is looked whether somebody still waits."""


class Schedule:
    """One call of Schedule. ``run`` is for a plugin slot; ``unfinished`` for who waited in vain."""

    def __init__(self, backend: Backend, request: pb.ScheduleRequest, owner: str = "") -> None:
        self._backend = backend
        self._request = request
        self._owner = owner
        self._batch: Batch | None = None
        self._columns = AnswerColumns()
        self._lock = threading.Lock()
        self._version: int | None = None
        self._committed = False
        self._waiting: list[tuple[int, Reservation, float]] = []
        self._closed = False
        self._tie_bytes = 0

    def at_once(self, progress: Progress) -> pb.ScheduleResponse | None:
        """Decide what takes no plugin's code, and so no slot; None when ``run`` has to do it.

        Raises:
            MooringError: The request is wrong, or time is over.
        """
        batch = self._batch = Batch.of(self._request, self._backend)
        if not self._plain(batch):
            return None
        if len(batch) > 1:
            return self._decided(batch, progress, ask=False)
        pod, profile = next(batch.pods())
        engine, seed = self._backend.engine, self._request.seed
        table = engine.state.snapshot.nodes
        epoch = table.epoch
        choice = engine.from_kept(pod, profile, seed, progress, assume=False, ask=False)
        if choice is None or table.epoch != epoch:
            return None
        self._count_dry_runs("scheduled", profile)
        return chosen_response(self._backend, batch, ChoiceColumns.of(choice, epoch))

    def run(self, progress: Progress) -> pb.ScheduleResponse:
        """Decide, and where asked bind, the pods in order; each sees the earlier ones placed.

        Raises:
            MooringError: The request is wrong, time is over, or a plugin failed in a dry run.
        """
        batch = self._batch = self._batch or Batch.of(self._request, self._backend)
        if batch.mode == pb.COMMIT_MODE_DRY_RUN:
            if len(batch) > 1 and self._plain(batch):
                response = self._decided(batch, progress, ask=True)
                if response is not None:
                    return response
            self._dry_run(batch, progress)
        else:
            self._backend.committer.require_leader()
            try:
                _go_through(
                    len(batch),
                    lambda some: self._reserve_in_turn(batch, some, progress),
                    lambda at: self._commit(batch, *batch.pod(at), progress),
                )
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
        for _ in range(len(batch) - len(self._columns.pod_statuses)):
            self._columns.add(NO_TURN)
        return self._response(batch)

    def _plain(self, batch: Batch) -> bool:
        """Whether all nodes of the live state are in question, for pods that are on none of them."""
        selection, state = batch.selection, self._backend.engine.state
        if not len(batch) or self._rows(selection) is not all_rows or selection.state is not None:
            return False
        if state.snapshot.pods.records.keys().isdisjoint(batch.uids):
            return True
        return not any(is_placed(state, uid) for uid in batch.uids)

    def _decided(self, batch: Batch, progress: Progress, *, ask: bool) -> pb.ScheduleResponse | None:
        """Decide on top of the live state, without an object per pod; None when that can't be done."""
        engine, seed = self._backend.engine, self._request.seed
        chosen = engine.decide_in_turn(
            batch.templates, batch.indices, batch.uids, seed=seed, progress=progress, ask=ask
        )
        if chosen is None:
            return None
        for index, count in Counter(batch.indices).items():
            self._count_dry_runs("scheduled", batch.templates[index][1], count)
        return chosen_response(self._backend, batch, chosen)

    def _dry_run(self, batch: Batch, progress: Progress) -> None:
        """Decide on the live state, or on a copy as soon as one pod has to see another."""
        engine, selection = self._backend.engine, batch.selection
        if len(batch) > 1:
            engine = engine.over(selection.private())
        _go_through(
            len(batch),
            lambda some: self._decide_in_turn(engine, batch, some, progress),
            lambda at: self._decide(engine, batch, at, progress),
        )

    def _decide_in_turn(self, engine: Engine, batch: Batch, some: slice, progress: Progress) -> int:
        """Decide about the first of some pods on the copy in one step, as far as that goes; how many."""
        samples = any(profile.samples for _, profile in batch.templates)
        if samples or len(batch) == 1 or self._rows(batch.selection) is not all_rows:
            return 0
        pods = batch.templates, batch.indices[some], batch.names[some], batch.uids[some]
        try:
            choices = engine.decide_and_assume_in_turn(*pods, seed=self._request.seed, progress=progress)
        except DeadlineExceededError:
            return 0
        for index, choice in zip(batch.indices[some], choices, strict=False):
            self._take(choice, batch.templates[index][1], batch.selection)
        return len(choices)

    def _decide(self, engine: Engine, batch: Batch, at: int, progress: Progress) -> None:
        selection, (pod, profile) = batch.selection, batch.pod(at)
        selection.leave_out(pod)
        if selection.state is not None and engine.state is not selection.state:
            engine = engine.over(selection.state)
        rows, seed = self._rows(selection), self._request.seed
        try:
            choice = engine.decide(pod, profile, rows, seed=seed, progress=progress)
        except MooringError:
            self._count_dry_runs("error", profile)
            raise
        if choice.node_name is not None and selection.state is not None:
            selection.state.assume(pod, choice.node_name)
        self._take(choice, profile, selection)

    def _take(self, choice: Choice, profile: Profile, selection: Selection) -> None:
        self._version = choice.state_version
        self._add(choice, choice.status, choice.message)
        self._count_dry_runs(result_of(choice.status), profile)
        self._check_size(selection)

    def _check_size(self, selection: Selection) -> None:
        """Refuses the request once its ties can no longer fit into one message."""
        ties, most = self._columns.ties, self._backend.limits.max_message_bytes
        if not ties or not self._request.include_ties:
            return
        self._tie_bytes += selection.least_bytes(ties[-1])
        if self._tie_bytes > most:
            raise InvalidArgumentError.at(
                "include_ties",
                f"the ties of {len(ties)} pods take more than the {most} bytes of a message; send fewer "
                "pods in one call, or ask for indices",
            )

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
                status, outcome = committed.status, outcome_of(committed)
        except DeadlineExceededError:
            raise
        except MooringError as error:
            status, message = failed_status(error), error.message
        self._add(choice, status, message, outcome)
        self._count(result_of(status), profile, time.perf_counter() - began)

    def _reserve_in_turn(self, batch: Batch, some: slice, progress: Progress) -> int:
        """Reserve places for the first of some pods in one step, as far as that can be done; for how many."""
        if batch.mode != pb.COMMIT_MODE_RESERVE or self._rows(batch.selection) is not all_rows:
            return 0
        progress.check()
        began = time.perf_counter()
        indices, names, uids = batch.indices[some], batch.names[some], batch.uids[some]
        count = not_recreated(self._backend, batch.templates, indices, names, uids)
        pods = batch.templates, indices[:count], names[:count], uids[:count]
        placements = self._backend.committer.place_reserved_in_turn(
            *pods, seed=self._request.seed, owner=self._owner, progress=progress
        )
        for placement in placements:
            self._add(placement.choice, placement.status, "")
        if placements:
            seconds = (time.perf_counter() - began) / len(placements)
            for index, times in Counter(indices[: len(placements)]).items():
                self._count("scheduled", batch.templates[index][1], seconds, times)
        return len(placements)

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
                status, message, outcome = committed.status, "", outcome_of(committed)
            except DeadlineExceededError as error:
                late = error
                continue
            except MooringError as error:
                status, message = failed_status(error), error.message
            with self._lock:
                if not self._closed:
                    self._committed = self._committed or status.ok
                    self._columns.settle(position, status, message, outcome)
            self._count(result_of(status), reservation.commit.profile, time.perf_counter() - began)
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

    def _count_dry_runs(self, result: str, profile: Profile, count: int = 1) -> None:
        self._backend.metrics.dry_runs(result, profile.name).inc(count)

    def _count(self, result: str, profile: Profile, seconds: float, count: int = 1) -> None:
        """Attempts to schedule a pod, that is, to reserve its place or to bind it."""
        metrics = self._backend.metrics
        metrics.schedule_attempts(result, profile.name).inc(count)
        metrics.attempt_duration(result, profile.name).observe(seconds, count)

    def _response(self, batch: Batch) -> pb.ScheduleResponse:
        ties = self._request.include_ties
        return self._columns.response(self._backend, batch, self._version, include_ties=ties)


def _go_through(count: int, several: Callable[[slice], int], one: Callable[[int], None]) -> None:
    """Do ``several`` of so many pods, which says how many it did, and ``one`` where that does none."""
    at, most = 0, MOST_IN_TURN
    while at < count:
        done = several(slice(at, at + most))
        if not done:
            one(at)
        at += done or 1
        most = min(2 * most, MOST_IN_TURN) if done else 1
