"""Schedule: many pods per call, decided in order, answered as columns."""

from __future__ import annotations

from mooring.framework import Code, Status
from mooring.runtime.answers import NEEDS_PLUGINS, NeedsPlugins, Progress
from mooring.service.backend import Backend
from mooring.service.calls.access import asks_place
from mooring.service.calls.slots import SlotProgress
from mooring.service.scheduling.batch import Batch
from mooring.service.scheduling.commit_mode import CommitMode
from mooring.service.scheduling.committing import Committing
from mooring.service.scheduling.dry_run import DryRun
from mooring.service.scheduling.placing import Placing
from mooring.service.scheduling.schedule_answer import AnswerColumns
from mooring_client.v1 import scheduling_service_pb2 as pb

NO_TURN = Status(Code.PENDING, ("the deadline passed before this pod's turn; send it again",))
"""The status of pods that a committing call could not get to."""


class Schedule:
    """One call of Schedule. ``decide`` is for one thread at a time, ``unfinished`` for after a timeout."""

    def __init__(self, backend: Backend, request: pb.ScheduleRequest) -> None:
        self._backend = backend
        self._request = request
        self._batch: Batch | None = None
        epoch = backend.engine.state.snapshot.nodes.epoch
        self._answer = AnswerColumns(include_ties=request.include_ties, epoch=epoch)

    def decide(self, progress: Progress) -> pb.ScheduleResponse | NeedsPlugins:
        """Decide the pods in order, and reserve or bind them if requested; each sees the earlier ones placed.

        Returns:
            ``NEEDS_PLUGINS`` when plugins have to be called, and ``progress`` allows none.

        Raises:
            MooringError: The request is wrong, time is over, or a plugin failed in a dry run.
        """
        batch = self._batch = self._batch or Batch.of(self._request, self._backend)
        mode = self._mode(batch)
        response = mode.decide_at_once(progress)
        if response is not None:
            return response
        if not isinstance(progress, SlotProgress):
            return NEEDS_PLUGINS
        mode.decide_in_order(len(self._answer), len(batch), progress)
        return self._answer.response(self._backend, batch)

    def unfinished(self) -> pb.ScheduleResponse | None:
        """Return the answer at the deadline: None unless something was committed; the rest had no turn."""
        batch = self._batch
        if batch is None or not self._answer.close(len(batch), NO_TURN):
            return None
        return self._answer.response(self._backend, batch)

    def _mode(self, batch: Batch) -> CommitMode:
        seed = self._backend.seed(self._request.seed)
        if not asks_place(self._request):
            return DryRun(self._backend, batch, self._answer, seed)
        if self._backend.work is not None:
            return Placing(self._backend.work, batch, self._answer, seed)
        return Committing(self._backend, batch, self._answer, seed)
