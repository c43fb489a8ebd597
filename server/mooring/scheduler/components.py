"""The collaborators of the scheduler."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from mooring.audit.trail import AuditTrail
from mooring.framework import Clock, ClusterApi
from mooring.framework.handle import Leadership
from mooring.runtime.commit.binding_cycle import Expect
from mooring.runtime.commit.committer import Committer
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Profile
from mooring.runtime.profiles.profiles import Profiles
from mooring.scheduler.attempt import AttemptLog
from mooring.scheduler.changes import ChangeFeed
from mooring.scheduler.failure import FailureHandler
from mooring.scheduler.group_status import GroupStatusWriter
from mooring.scheduler.preemption import Preemptions
from mooring.scheduler.queue import SchedulingQueue
from mooring.scheduler.recorder import EventRecorder
from mooring.telemetry.scheduler_observer import SchedulerObserver
from mooring.tracing.spans import Tracer


class Sender(Protocol):
    """Sends bindings without waiting for their answers. Safe from any thread."""

    @property
    def ready(self) -> bool:
        """Whether it can send one now."""
        ...

    def open_ahead(self) -> bool:
        """Make it ready, as far as that is possible; return whether it may be. Blocks."""
        ...


@dataclass(frozen=True, slots=True)
class Components:
    """The collaborators of the scheduler.

    Attributes:
        profiles: By name, the profiles that it decides with, see ``deciding``.
        cluster: The API server's objects, to which proposed changes are made.
        expect: Called for pods that have a node and are not bound at once; None = not needed.
        sender: Sends bindings ahead; None = each thread waits for its own.
        attempt_seconds: The limit of one attempt, see ``AttemptBudget``.
    """

    engine: Engine
    profiles: dict[str, Profile]
    committer: Committer
    queue: SchedulingQueue
    changes: ChangeFeed
    attempts: AttemptLog
    failures: FailureHandler
    preemptions: Preemptions
    cluster: ClusterApi
    group_statuses: GroupStatusWriter
    audit: AuditTrail
    expect: Expect | None
    recorder: EventRecorder
    leadership: Leadership
    sender: Sender | None
    observer: SchedulerObserver
    clock: Clock
    attempt_seconds: float
    tracer: Tracer | None


def deciding(profiles: Profiles) -> dict[str, Profile]:
    """Return the profiles that the scheduler decides with: without PreEnqueue, which the queue has run."""
    return {name: replace(profile, pre_enqueue=()) for name, profile in profiles.items()}
