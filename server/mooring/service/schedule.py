"""Schedule: many pods per call, decided in order, answered as columns."""

from __future__ import annotations

from typing import Protocol

from mooring.framework import Code, Status
from mooring.runtime.cycle.plugin_calls import NoPlugins, PluginBudget
from mooring.service.backend import Backend
from mooring.service.batch import Batch
from mooring.service.committing import Committing
from mooring.service.dry_run import DryRun
from mooring.service.schedule_answer import AnswerColumns
from mooring.service.slots import SlotProgress
from mooring.v1 import scheduling_service_pb2 as pb

NO_TURN = Status(Code.PENDING, ("the deadline passed before this pod's turn; send it again",))
"""The status of pods that a committing call could not get to."""

MAX_TOGETHER = 256
"""Pods that are decided in one step, between two checks whether the caller still waits."""


class CommitMode(Protocol):
    """What is done with the selected nodes."""

    def decide_at_once(self, budget: PluginBudget) -> pb.ScheduleResponse | None:
        """Return the whole answer in one step; None where that is not possible."""
        ...

    def begin(self) -> None:
        """Prepare; called once, before the first of the pods that are decided in order."""
        ...

    def decide_some(self, some: slice, progress: SlotProgress) -> int:
        """Decide the first of some pods in one step, as far as that goes; returns how many."""
        ...

    def decide_one(self, at: int, progress: SlotProgress) -> None:
        """Decide the pod at this position."""
        ...

    def end(self, progress: SlotProgress) -> None:
        """Finish; called once, after the last pod or when one failed."""
        ...


class Schedule:
    """One call of Schedule. ``decide`` is for one thread at a time, ``unfinished`` for after a timeout."""

    def __init__(self, backend: Backend, request: pb.ScheduleRequest, owner: str = "") -> None:
        self._backend = backend
        self._request = request
        self._owner = owner
        self._batch: Batch | None = None
        self._answer = AnswerColumns(include_ties=request.include_ties)

    def decide(self, budget: SlotProgress | NoPlugins) -> pb.ScheduleResponse | None:
        """Decide, and where asked reserve or bind, the pods in order; each sees the earlier ones placed.

        Returns:
            None when plugins have to be called, and ``budget`` is ``NoPlugins``.

        Raises:
            MooringError: The request is wrong, time is over, or a plugin failed in a dry run.
        """
        batch = self._batch = self._batch or Batch.of(self._request, self._backend)
        mode = self._mode(batch)
        response = mode.decide_at_once(budget)
        if response is not None or isinstance(budget, NoPlugins):
            return response
        mode.begin()
        try:
            _go_through(len(batch), mode, budget)
        finally:
            mode.end(budget)
        return self._answer.response(self._backend, batch)

    def unfinished(self) -> pb.ScheduleResponse | None:
        """Return the answer at the deadline: None unless something was committed; the rest had no turn."""
        batch = self._batch
        if batch is None or not self._answer.close(len(batch), NO_TURN):
            return None
        return self._answer.response(self._backend, batch)

    def _mode(self, batch: Batch) -> CommitMode:
        seed = self._request.seed
        if batch.mode == pb.COMMIT_MODE_DRY_RUN:
            return DryRun(self._backend, batch, self._answer, seed)
        return Committing(self._backend, batch, self._answer, seed, self._owner)


def _go_through(count: int, mode: CommitMode, progress: SlotProgress) -> None:
    """Decide ``count`` pods, several in one step where that goes."""
    at, most = 0, MAX_TOGETHER
    while at < count:
        done = mode.decide_some(slice(at, at + most), progress)
        if not done:
            mode.decide_one(at, progress)
        at += done or 1
        most = min(2 * most, MAX_TOGETHER) if done else 1
