"""The measurements of the scheduler."""

from __future__ import annotations


class SchedulerObserver:
    """Records measurements; this one drops them. Called from many threads."""

    def attempted(self, result: str, profile: str, seconds: float) -> None:
        """Record an attempt; ``result`` is ``scheduled``, ``unschedulable`` or ``error``."""

    def scheduled(self, attempts: int, seconds: float) -> None:
        """Record a bound pod: its attempts, and the ``seconds`` since it was first ready to be tried."""

    def queued(self, queue: str, event: str, kind: str, pods: int) -> None:
        """Count a ``pod``, or a ``podgroup`` with its pods, that was added to a queue; "" = it was there."""

    def preempted(self, kind: str, victims: int) -> None:
        """Pods are being deleted to make room for a ``pod`` or a ``podgroup``."""

    def group_decided(self, seconds: float) -> None:
        """Record how long the decision about a group took."""

    def group_preemption(self, result: str) -> None:
        """Count an attempt to make room for a group, by status code."""

    def group_attempted(self, result: str, profile: str, seconds: float) -> None:
        """Record a group's attempt; ``result`` as ``attempted``, or ``waiting_on_preemption``."""

    def overran(self, plugin: str, extension_point: str, blame: str) -> None:
        """Count an attempt that took too long; both names are "" between plugins.

        ``blame`` is ``pod`` if the pod's own requests are the cause, ``others``, or ``unknown``.
        """

    def dropped(self) -> None:
        """Count an Event that was not written because there were too many."""
