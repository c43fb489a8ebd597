"""Items of the queue: pods and groups of pods, with the results of earlier attempts.

Mirrors ``QueuedEntityInfo``, ``QueueingParams`` and ``QueuedPodInfo`` in ``framework/types.go``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from mooring.framework import Pod


@dataclass(frozen=True, slots=True)
class Rejection:
    """The plugins that rejected a pod; none when the attempt ended in an error.

    Attributes:
        plugins: Those that returned Unschedulable or UnschedulableAndUnresolvable.
        pending: Those that returned Pending: an event that helps one of these skips the backoff.
        causes: Each of them with the codes of its reasons, "" = its own words, as metrics write them.
        pause: Seconds for which it backs off at least, without being taken early, since the attempt kept
            others waiting for long; 0 for none.
    """

    plugins: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    causes: frozenset[tuple[str, str]] = frozenset()
    pause: float = 0.0

    @property
    def rejectors(self) -> frozenset[str]:
        """All of them."""
        return self.plugins | self.pending


@dataclass(slots=True, eq=False, kw_only=True)
class QueuedEntity(ABC):
    """An item that waits and is tried as one. Changed by the queue alone, under its lock.

    Attributes:
        queued_at: When it came, or came back, in seconds since the epoch.
        attempts: How often it was tried.
        first_attempt_at: When it was first ready to be tried; None before.
        unschedulable_count: How often it was rejected as unschedulable.
        error_count: How many attempts in a row ended in an error.
        gated_by: The PreEnqueue plugin that holds it back, "" when none does.
        backoff_ends: The end of its backoff; None until it is needed.
        flushed: It was last tried because it had waited long enough, not because of an event.
        flushed_at: When it had last waited long enough, since it was rejected; 0 = not yet.
        kind: ``pod`` or ``podgroup``, as metrics spell it.
        woken: The event that last made it ready, as metrics name it, and when.
        gated: The PreEnqueue plugin that last held it back, and since when.
    """

    kind: ClassVar[str]
    queued_at: float
    attempts: int = 0
    first_attempt_at: float | None = None
    unschedulable_count: int = 0
    error_count: int = 0
    gated_by: str = ""
    backoff_ends: float | None = None
    flushed: bool = False
    flushed_at: float = 0.0
    woken: tuple[str, float] = ("", 0.0)
    gated: tuple[str, float] = ("", 0.0)

    @property
    @abstractmethod
    def uid(self) -> str:
        """Its key in the queue."""

    @property
    @abstractmethod
    def members(self) -> Sequence[QueuedPod]:
        """Its pods, in the order in which they are tried."""

    @property
    @abstractmethod
    def sorted_as(self) -> Pod:
        """The pod that QueueSort compares."""

    @property
    @abstractmethod
    def pause(self) -> float:
        """Seconds for which it backs off at least, since its attempt kept others waiting for long."""

    @property
    @abstractmethod
    def early(self) -> bool:
        """Whether it may be tried before its backoff is over, when nothing else is there to try."""

    @property
    def rejectors(self) -> frozenset[str]:
        """The names of all plugins that rejected one of its pods."""
        return frozenset[str]().union(*(member.rejected_by.rejectors for member in self.members))

    def count_end(self, *, rejected: bool) -> None:
        """Count how its attempt ended: rejected, or in an error."""
        if rejected:
            self.unschedulable_count += 1
            self.error_count = 0
        else:
            self.error_count += 1

    def wait_from(self, now: float) -> None:
        """Let it wait from now on, like after an attempt."""
        self.queued_at = now
        self.backoff_ends = None
        self.flushed, self.flushed_at = False, 0.0
        self.woken = "", 0.0


@dataclass(slots=True, eq=False)
class QueuedPod(QueuedEntity):
    """A pod that waits or is being scheduled, alone or in a group.

    Attributes:
        pod: The pod as last delivered.
        rejected_by: The plugins that rejected it at the last attempt or have gated it since.
        asked: The pod and the revision with which its gates were called last.
    """

    kind = "pod"
    pod: Pod
    rejected_by: Rejection = Rejection()
    asked: tuple[Pod, Hashable] | None = None
    uid: str = field(init=False)

    def __post_init__(self) -> None:
        self.uid = self.pod.metadata.uid

    @property
    def members(self) -> Sequence[QueuedPod]:
        return (self,)

    @property
    def sorted_as(self) -> Pod:
        return self.pod

    @property
    def pause(self) -> float:
        return self.rejected_by.pause

    @property
    def early(self) -> bool:
        return bool(self.rejectors) and not self.pause

    @property
    def rejectors(self) -> frozenset[str]:
        return self.rejected_by.rejectors
