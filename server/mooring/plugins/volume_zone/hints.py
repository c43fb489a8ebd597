"""Queueing hints for pods that VolumeZone rejected."""

from __future__ import annotations

from mooring.framework import ActionType, EventResource, HintedEvent, Pod, QueueingHint
from mooring.framework.objects import PersistentVolume, PersistentVolumeClaim, StorageClass
from mooring.framework.volume_matching import WAIT_FOR_FIRST_CONSUMER
from mooring.plugins.volume_zone.domains import domains_of

_PUT = ActionType.ADD | ActionType.UPDATE


def _after_class(pod: Pod, old: None, new: StorageClass) -> QueueingHint:
    return QueueingHint.when(new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER)


def _after_claim(pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> QueueingHint:
    same_namespace = new.metadata.namespace == pod.metadata.namespace
    return QueueingHint.when(same_namespace and new.metadata.name in pod.claim_names)


def _after_volume(pod: Pod, old: PersistentVolume | None, new: PersistentVolume) -> QueueingHint:
    return QueueingHint.when(old is None or domains_of(old) != domains_of(new))


EVENTS = (
    HintedEvent.of(EventResource.STORAGE_CLASS, ActionType.ADD, _after_class),
    HintedEvent.of(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
    HintedEvent.of(EventResource.PERSISTENT_VOLUME_CLAIM, _PUT, _after_claim),
    HintedEvent.of(EventResource.PERSISTENT_VOLUME, _PUT, _after_volume),
)
"""The same in all releases."""
