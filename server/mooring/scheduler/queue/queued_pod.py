"""A pod in the queue, with what earlier attempts left behind.

Mirrors ``QueuedPodInfo`` in ``framework/types.go``.
"""

from __future__ import annotations

from dataclasses import dataclass

from mooring.framework import Pod


@dataclass(frozen=True, slots=True)
class Rejection:
    """The plugins that rejected a pod; none when the attempt ended in an error.

    Attributes:
        plugins: Those that said Unschedulable or UnschedulableAndUnresolvable.
        pending: Those that said Pending: an event that helps one of these skips the backoff.
        pause: Seconds for which it backs off at least, without being taken early, since the attempt kept
            others waiting for long; 0 for none.
    """

    plugins: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    pause: float = 0.0


@dataclass(slots=True, eq=False)
class QueuedPod:
    """A pod that waits or is being scheduled. Changed by the queue alone, under its lock.

    Attributes:
        pod: The pod as last delivered.
        queued_at: When it came, or came back, in seconds since the epoch.
        attempts: How often it was tried.
        first_attempt_at: When it was first ready to be tried; None before.
        unschedulable_count: How often it was rejected as unschedulable.
        error_count: How many attempts in a row ended in an error.
        rejected_by: The plugins that rejected it at the last attempt or have gated it since.
        gated_by: The PreEnqueue plugin that holds it back, "" when none does.
        backoff_ends: When its backoff is over; None until it is asked for.
        flushed: It was last tried because it had waited long enough, not because of an event.
        flushed_at: When it had last waited long enough, since it was rejected; 0 = not yet.
    """

    pod: Pod
    queued_at: float
    attempts: int = 0
    first_attempt_at: float | None = None
    unschedulable_count: int = 0
    error_count: int = 0
    rejected_by: Rejection = Rejection()
    gated_by: str = ""
    backoff_ends: float | None = None
    flushed: bool = False
    flushed_at: float = 0.0

    @property
    def uid(self) -> str:
        """The pod's UID, by which the queue knows it."""
        return self.pod.metadata.uid

    @property
    def rejectors(self) -> frozenset[str]:
        """The names of all plugins that rejected it."""
        return self.rejected_by.plugins | self.rejected_by.pending
