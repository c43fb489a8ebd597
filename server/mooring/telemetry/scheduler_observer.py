"""The measurements of the scheduler."""

from __future__ import annotations

from typing import Protocol


class SchedulerObserver(Protocol):
    """Records measurements. Called from many threads."""

    def attempted(self, result: str, profile: str, seconds: float) -> None:
        """Record an attempt; ``result`` is ``scheduled``, ``unschedulable`` or ``error``."""
        ...

    def scheduled(self, attempts: int, seconds: float) -> None:
        """Record a bound pod: its attempts, and the ``seconds`` since it was first ready to be tried."""
        ...

    def queued(self, queue: str, event: str) -> None:
        """Count a pod that was added to a queue."""
        ...

    def preempted(self, victims: int) -> None:
        """Pods are being deleted to make room for another one."""
        ...

    def overran(self, plugin: str, extension_point: str) -> None:
        """Count an attempt that was ended because it took too long; both "" between plugins."""
        ...

    def dropped(self) -> None:
        """Count an Event that was not written because there were too many."""
        ...


class Unobserved:
    """Measures nothing."""

    def attempted(self, result: str, profile: str, seconds: float) -> None:
        """Drop it."""

    def scheduled(self, attempts: int, seconds: float) -> None:
        """Drop it."""

    def queued(self, queue: str, event: str) -> None:
        """Drop it."""

    def preempted(self, victims: int) -> None:
        """Drop it."""

    def overran(self, plugin: str, extension_point: str) -> None:
        """Drop it."""

    def dropped(self) -> None:
        """Drop it."""
