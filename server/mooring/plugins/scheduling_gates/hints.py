"""Queueing hints for pods that SchedulingGates holds back."""

from __future__ import annotations

from mooring.framework import ActionType, HintedEvent, KubeVersion, Pod, QueueingHint
from mooring.framework.cluster_events import target_pod


def _after_last_gate(pod: Pod, old: Pod, new: Pod) -> QueueingHint:
    return QueueingHint.when(pod.metadata.uid == new.metadata.uid)


def events(version: KubeVersion) -> tuple[HintedEvent, ...]:
    """Return the events of a release."""
    return (
        HintedEvent.of(
            target_pod(version), ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, _after_last_gate
        ),
    )
