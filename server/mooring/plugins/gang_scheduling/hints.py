"""What may help a pod that GangScheduling holds back."""

from __future__ import annotations

from mooring.framework import ActionType, EventResource, HintedEvent, Pod, QueueingHint
from mooring.framework.objects import PodGroup


def _after_pod(pod: Pod, old: None, new: Pod) -> QueueingHint:
    return QueueingHint.when(pod.group is not None and pod.group == new.group)


def _after_group(pod: Pod, old: None, new: PodGroup) -> QueueingHint:
    return QueueingHint.when(pod.group == (new.metadata.namespace, new.metadata.name))


EVENTS = (
    HintedEvent.of(EventResource.POD, ActionType.ADD, _after_pod),
    HintedEvent.of(EventResource.POD_GROUP, ActionType.ADD, _after_group),
)
"""Neither groups nor what group a pod is in can change."""
