"""Puts the scheduler together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cmp_to_key, partial
from typing import Any

from mooring.audit.trail import AuditTrail
from mooring.decisions.decisions import Decisions
from mooring.framework import Clock, ClusterApi, Pod, PreEnqueuePlugin, Status
from mooring.framework.batch import KeyedSort
from mooring.framework.handle import Leadership
from mooring.framework.interface import PreemptingPlugin
from mooring.framework.releases import Gates
from mooring.runtime.commit.committer import Committer
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Enabled, Profile
from mooring.runtime.profiles.profiles import Profiles
from mooring.scheduler.attempt import AttemptLog
from mooring.scheduler.budget import ATTEMPT_SECONDS
from mooring.scheduler.changes import ChangeFeed
from mooring.scheduler.components import Components, Sender, deciding
from mooring.scheduler.failure import FailureHandler
from mooring.scheduler.group_status import GroupStatusWriter
from mooring.scheduler.pod_status import PodStatusWriter
from mooring.scheduler.preemption import Preemptions
from mooring.scheduler.queue import (
    GROUPS_GATE,
    BackoffTimes,
    Gate,
    QueueingRules,
    SchedulingQueue,
    rules_of,
)
from mooring.scheduler.queue.heap import Order
from mooring.scheduler.queue.scheduling_queue import LONGEST_WAIT_SECONDS
from mooring.scheduler.recorder import EventRecorder
from mooring.scheduler.scheduler import Scheduler, Wake
from mooring.telemetry.scheduler_observer import SchedulerObserver
from mooring.tracing.spans import Tracer

EXPECTATION_GATE = "NominatedNodeNameForExpectation"
"""The feature gate, on by default since 1.35, with which pods that aren't bound at once name their node."""


@dataclass(frozen=True, slots=True)
class Collaborators:
    """The collaborators of the scheduler.

    Attributes:
        engine: Decides; its state is followed from now on.
        cluster: The API server for conditions, deletions and proposed changes.
        events: A separate connection for Events, so that they delay nothing else, with a rate limit
            of its own, like kube-scheduler's Events.
        sender: Sends bindings ahead; None = threads wait for the answers.
    """

    engine: Engine
    committer: Committer
    cluster: ClusterApi
    events: ClusterApi
    leadership: Leadership
    gates: Gates
    observer: SchedulerObserver
    clock: Clock
    decisions: Decisions | None = None
    audit: AuditTrail = field(default_factory=AuditTrail)
    tracer: Tracer | None = None
    sender: Sender | None = None


def build_scheduler(
    on: Collaborators,
    times: BackoffTimes,
    binders: int,
    longest_wait: float = LONGEST_WAIT_SECONDS,
    attempt_seconds: float = ATTEMPT_SECONDS,
    advice: Callable[[Pod], str] | None = None,
) -> Scheduler:
    """Return a scheduler for the pods of the engine's profiles; it follows the engine's state from now on.

    Args:
        on: Its collaborators.
        times: How long pods back off.
        binders: How many pods are bound concurrently.
        longest_wait: Seconds after which a rejected pod that no event helped is tried again.
        attempt_seconds: The limit of one attempt, see ``AttemptBudget``.
        advice: As in ``EventRecorder``; None = there is none.
    """
    wake = Wake()
    engine, cluster, clock, observer = on.engine, on.cluster, on.clock, on.observer
    recorder = EventRecorder(on.events, clock, observer)
    if advice is not None:
        recorder.advice = advice
    statuses = PodStatusWriter(cluster, clock)
    waiting = engine.profiles.waiting
    grouping = on.gates.enabled(GROUPS_GATE)
    preemptions = Preemptions(
        engine, cluster, statuses, recorder, observer, clock, on.audit, grouping=grouping
    )
    queue = _queue(on, preemptions, times, wake, longest_wait)
    changes = ChangeFeed(queue, engine.state, engine.profiles, on.gates, waiting, wake.set)
    changes.follow_state()
    attempts = AttemptLog(on.decisions, engine, clock)
    failures = FailureHandler(queue, engine.state, statuses, recorder, attempts, observer, clock)
    components = Components(
        engine=engine,
        profiles=deciding(engine.profiles),
        committer=on.committer,
        queue=queue,
        changes=changes,
        attempts=attempts,
        failures=failures,
        preemptions=preemptions,
        cluster=cluster,
        group_statuses=GroupStatusWriter(cluster, clock),
        audit=on.audit,
        expect=statuses.expect_binding if on.gates.enabled(EXPECTATION_GATE) else None,
        recorder=recorder,
        leadership=on.leadership,
        sender=on.sender,
        observer=observer,
        clock=clock,
        attempt_seconds=attempt_seconds,
        tracer=on.tracer,
    )
    return Scheduler(components, wake, binders, partial(_rules, on, preemptions))


def _queue(
    on: Collaborators, preemptions: Preemptions, times: BackoffTimes, wake: Wake, longest_wait: float
) -> SchedulingQueue:
    profiles = on.engine.profiles
    return SchedulingQueue(
        _rules(on, preemptions, profiles),
        sorted_by(next(iter(profiles.values()))),
        on.clock,
        times=times,
        gates=on.gates,
        wake=wake.set,
        incoming=on.observer.queued,
        longest_wait=longest_wait,
    )


def _rules(on: Collaborators, preemptions: Preemptions, profiles: Profiles) -> dict[str, QueueingRules]:
    """Return the queue's rules for profiles; gates' answers are valid for one configuration only."""
    state = on.engine.state

    def revision() -> tuple[str, int, int]:
        return profiles.configuration, state.version, preemptions.revision

    return {
        name: rules_of(profile, _gates(profile, on.engine, preemptions), revision)
        for name, profile in profiles.items()
    }


def _gates(profile: Profile, engine: Engine, preemptions: Preemptions) -> list[Gate]:
    gates = []
    for enabled in profile.pre_enqueue:
        gates.append(Gate(enabled.name, partial(ask_pre_enqueue, engine, profile, enabled)))
        if isinstance(enabled.plugin, PreemptingPlugin):
            gates.append(Gate(enabled.name, preemptions.gate))
    return gates


def ask_pre_enqueue(
    engine: Engine, profile: Profile, enabled: Enabled[PreEnqueuePlugin[Any]], pod: Pod
) -> Status:
    """Return a PreEnqueue plugin's status for a pod."""
    return engine.calls(profile).call(enabled.name, "PreEnqueue", enabled.plugin.pre_enqueue, pod)


def sorted_by(profile: Profile) -> Order:
    """Return the key by which QueueSort orders what waits."""
    plugin = profile.queue_sort[0].plugin
    if isinstance(plugin, KeyedSort):
        key = plugin.sort_key
        return lambda entity: key(entity.sorted_as, entity.queued_at)

    def compare(one: tuple[Pod, float], other: tuple[Pod, float]) -> int:
        return int(plugin.less(*other, *one)) - int(plugin.less(*one, *other))

    ordered = cmp_to_key(compare)
    return lambda entity: ordered((entity.sorted_as, entity.queued_at))
