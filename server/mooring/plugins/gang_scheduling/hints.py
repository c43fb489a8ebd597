"""Queueing hints for pods that GangScheduling holds back."""

from __future__ import annotations

from mooring.framework import ActionType, EventResource, HintedEvent, Pod, QueueingHint
from mooring.framework.objects import PodGroup


def _after_pod(pod: Pod, old: None, new: Pod) -> QueueingHint:
    return QueueingHint.when(pod.group is not None and pod.group == new.group)


def _after_group(pod: Pod, old: None, new: PodGroup) -> QueueingHint:
    return QueueingHint.when(pod.group == (new.metadata.namespace, new.metadata.name))


def _after_update(pod: Pod, old: PodGroup, new: PodGroup) -> QueueingHint:
    """Try again when ``minCount`` became smaller."""
    before, after = old.spec.scheduling_policy.gang, new.spec.scheduling_policy.gang
    smaller = before is not None and after is not None and after.min_count < before.min_count
    return QueueingHint.when(smaller and pod.group == (new.metadata.namespace, new.metadata.name))


EVENTS = (
    HintedEvent.of(EventResource.UNSCHEDULED_POD, ActionType.ADD, _after_pod),
    HintedEvent.of(EventResource.ASSIGNED_POD, ActionType.ADD, _after_pod),
    HintedEvent.of(EventResource.POD_GROUP, ActionType.ADD, _after_group),
    HintedEvent.of(EventResource.POD_GROUP, ActionType.UPDATE, _after_update),
)
"""The events after which a pod may be tried again; its group can't change."""
