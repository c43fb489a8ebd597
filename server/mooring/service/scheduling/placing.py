"""Schedule in a session: the pods of a batch are placed there, and nowhere else."""

from __future__ import annotations

from mooring.framework.errors import DeadlineExceededError, MooringError
from mooring.runtime.answers import Progress
from mooring.service.calls.slots import SlotProgress
from mooring.service.scheduling.batch import Batch
from mooring.service.scheduling.commit_mode import CommitMode
from mooring.service.scheduling.schedule_answer import AnswerColumns
from mooring.service.wire.outcomes import failed_status
from mooring.sessions.placing import place_alike, place_pod
from mooring.sessions.work_trees import Work


class Placing(CommitMode):
    """Places the pods of a batch in a work tree. For one thread."""

    def __init__(self, work: Work, batch: Batch, answer: AnswerColumns, seed: int) -> None:
        self._work = work
        self._batch = batch
        self._answer = answer
        self._seed = seed

    def decide_at_once(self, _progress: Progress) -> None:
        """Nothing is placed without its Reserve plugins."""

    def _decide_some(self, some: slice, progress: Progress) -> int:
        batch = self._batch
        if not batch.candidates.everything:
            return 0
        pods = batch.templates, batch.indices[some], batch.names[some], batch.uids[some]
        choices = place_alike(self._work, *pods, seed=self._seed, progress=progress)
        for choice in choices:
            self._answer.add(choice.status, "", choice)
        return len(choices)

    def _decide_one(self, at: int, progress: SlotProgress) -> None:
        pod, profile = self._batch.pod(at)
        try:
            placed = place_pod(
                self._work, pod, profile, self._batch.candidates, seed=self._seed, progress=progress
            )
        except DeadlineExceededError:
            raise
        except MooringError as error:
            self._answer.add(failed_status(error), error.message)
            return
        self._answer.add(placed.status, placed.choice.message, placed.choice)
