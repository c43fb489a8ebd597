"""Queueing hints for pods that DefaultPreemption holds back while their victims terminate."""

from __future__ import annotations

from mooring.framework import (
    ActionType,
    Gates,
    HintedEvent,
    KubeVersion,
    Pod,
    QueueingHint,
)
from mooring.framework.cluster_events import assigned_pod

_WAITS_IN_QUEUE_SINCE = KubeVersion(1, 34)
"""Before, no pod waits for its victims at PreEnqueue."""


def _after_deletion(pod: Pod, old: Pod, new: None) -> QueueingHint:
    """Never by itself: preemption activates the pod. Registering deletions is enough to be called again."""
    return QueueingHint.SKIP


def events(gates: Gates) -> tuple[HintedEvent, ...]:
    """None if pods never wait for their victims."""
    if gates.version < _WAITS_IN_QUEUE_SINCE or not gates.enabled("SchedulerAsyncPreemption"):
        return ()
    return (HintedEvent.of(assigned_pod(gates.version), ActionType.DELETE, _after_deletion),)
