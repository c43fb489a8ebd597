"""Queueing hints for pods that VolumeRestrictions rejected."""

from __future__ import annotations

from mooring.framework import ActionType, EventResource, HintedEvent, KubeVersion, Pod, QueueingHint
from mooring.framework.cluster_events import assigned_pod
from mooring.framework.objects import PersistentVolumeClaim
from mooring.plugins.volume_restrictions.disks import collide


def _after_deletion(pod: Pod, old: Pod, new: None) -> QueueingHint:
    if old.metadata.namespace != pod.metadata.namespace:
        return QueueingHint.SKIP
    disks = any(collide(one, two) for one in pod.spec.volumes for two in old.spec.volumes)
    return QueueingHint.when(disks or not set(pod.claim_names).isdisjoint(old.claim_names))


def _after_claim(pod: Pod, old: None, new: PersistentVolumeClaim) -> QueueingHint:
    same_namespace = new.metadata.namespace == pod.metadata.namespace
    return QueueingHint.when(same_namespace and new.metadata.name in pod.claim_names)


def events(version: KubeVersion) -> tuple[HintedEvent, ...]:
    """Return the events of a release."""
    return (
        HintedEvent.of(assigned_pod(version), ActionType.DELETE, _after_deletion),
        HintedEvent.of(EventResource.NODE, ActionType.ADD),
        HintedEvent.of(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD, _after_claim),
    )
