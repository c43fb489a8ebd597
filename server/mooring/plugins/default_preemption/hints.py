"""Queueing hints for pods that DefaultPreemption holds back while their victims terminate."""

from __future__ import annotations

from mooring.framework import (
    ActionType,
    Gates,
    HintedEvent,
    Pod,
    QueueingHint,
)
from mooring.framework.cluster_events import assigned_pod


def _after_deletion(pod: Pod, old: Pod, new: None) -> QueueingHint:
    """Never by itself: preemption activates the pod. Registering deletions is enough to be called again."""
    return QueueingHint.SKIP


def events(gates: Gates) -> tuple[HintedEvent, ...]:
    """None if pods never wait for their victims."""
    if not gates.enabled("SchedulerAsyncPreemption"):
        return ()
    return (HintedEvent.of(assigned_pod(gates.version), ActionType.DELETE, _after_deletion),)
