"""What may help a pod that SchedulingGates holds back."""

from __future__ import annotations

from mooring.framework import ActionType, EventResource, HintedEvent, Pod, QueueingHint


def _after_last_gate(pod: Pod, old: Pod, new: Pod) -> QueueingHint:
    return QueueingHint.when(pod.metadata.uid == new.metadata.uid)


EVENTS = (
    HintedEvent.of(EventResource.POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, _after_last_gate),
)
"""The same in all releases."""
