"""Queueing hints for pods that GangScheduling holds back."""

from __future__ import annotations

from collections.abc import Sequence

from mooring.framework import ActionType, EventResource, HintedEvent, KubeVersion, Pod, QueueingHint
from mooring.framework.cluster_events import POD_EVENTS_APART_SINCE
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


_GANGS_CHANGE_SINCE = KubeVersion(1, 37)
"""Since this release a gang may become smaller or larger."""

_AFTER_GROUP = HintedEvent.of(EventResource.POD_GROUP, ActionType.ADD, _after_group)
_AFTER_UPDATE = HintedEvent.of(EventResource.POD_GROUP, ActionType.UPDATE, _after_update)


def events(version: KubeVersion) -> Sequence[HintedEvent]:
    """Return the events after which a pod may be tried again; what group it is in can't change."""
    apart = version >= POD_EVENTS_APART_SINCE
    pods = (EventResource.UNSCHEDULED_POD, EventResource.ASSIGNED_POD) if apart else (EventResource.POD,)
    updates = (_AFTER_UPDATE,) if version >= _GANGS_CHANGE_SINCE else ()
    added = (HintedEvent.of(resource, ActionType.ADD, _after_pod) for resource in pods)
    return (*added, _AFTER_GROUP, *updates)
