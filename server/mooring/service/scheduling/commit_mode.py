"""Commit modes: what Schedule does with the selected nodes, and in which order it decides a batch."""

from __future__ import annotations

from abc import ABC, abstractmethod

from mooring.runtime.answers import Progress
from mooring.service.calls.slots import SlotProgress
from mooring_client.v1 import scheduling_service_pb2 as pb

MAX_TOGETHER = 256
"""Pods that are decided in one step, between two checks whether the caller still waits."""


class CommitMode(ABC):
    """Decides the pods of one batch, at once or in order. For one thread."""

    @abstractmethod
    def decide_at_once(self, progress: Progress) -> pb.ScheduleResponse | None:
        """Answer the whole call in one step; None if that is not possible."""

    def decide_in_order(self, first: int, count: int, progress: SlotProgress) -> None:
        """Decide the pods of the batch, ``count``, from ``first`` on, several in one step where possible."""
        self._begin()
        try:
            at, most = first, MAX_TOGETHER
            while at < count:
                done = self._decide_some(slice(at, at + most), progress)
                if not done:
                    self._decide_one(at, progress)
                at += done or 1
                most = min(2 * most, MAX_TOGETHER) if done else 1
        finally:
            self._end(progress)

    def _begin(self) -> None:  # noqa: B027 - a mode may have nothing to prepare
        """Prepare for pods that are decided in order; called once, before the first."""

    @abstractmethod
    def _decide_some(self, some: slice, progress: Progress) -> int:
        """Decide the first of some pods in one step, as far as that goes; returns how many."""

    @abstractmethod
    def _decide_one(self, at: int, progress: SlotProgress) -> None:
        """Decide the pod at this position."""

    def _end(self, progress: SlotProgress) -> None:  # noqa: B027 - as above
        """Finish; called once, after the last pod or when one failed."""
