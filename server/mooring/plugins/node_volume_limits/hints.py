"""Queueing hints for pods that NodeVolumeLimits rejected."""

from __future__ import annotations

from mooring.framework import ActionType, EventResource, HintedEvent, KubeVersion, Pod, QueueingHint
from mooring.framework.cluster_events import assigned_pod
from mooring.framework.objects import CSINode, PersistentVolumeClaim, Volume, VolumeAttachment
from mooring.plugins.claims import claim_name
from mooring.plugins.csi_migration import TranslationError, inline_handle, kind_of


def _after_limits(pod: Pod, old: CSINode, new: CSINode) -> QueueingHint:
    before, after = _limits(old), _limits(new)
    return QueueingHint.when(any(limit > before.get(name, 0) for name, limit in after.items()))


def _after_deletion(pod: Pod, old: Pod, new: None) -> QueueingHint:
    held_a_node = bool(old.spec.node_name or old.status.nominated_node_name)
    counted = any(
        claim_name(old, volume) is not None or kind_of(volume) is not None for volume in old.spec.volumes
    )
    return QueueingHint.when(held_a_node and counted)


def _after_claim(pod: Pod, old: None, new: PersistentVolumeClaim) -> QueueingHint:
    same_namespace = new.metadata.namespace == pod.metadata.namespace
    names = (claim_name(pod, volume) for volume in pod.spec.volumes)
    return QueueingHint.when(same_namespace and new.metadata.name in names)


def _after_detachment(pod: Pod, old: VolumeAttachment, new: None) -> QueueingHint:
    attacher = old.spec.attacher
    return QueueingHint.when(any(_may_be_attached_by(attacher, volume) for volume in pod.spec.volumes))


def _may_be_attached_by(driver: str, volume: Volume) -> bool:
    if volume.persistent_volume_claim is not None:
        return True
    kind = kind_of(volume)
    if kind is None:
        return False
    if kind.migrated:
        try:
            inline_handle(kind, volume)
        except TranslationError:
            return True
    return kind.driver == driver


def _limits(csi_node: CSINode) -> dict[str, int]:
    """How many volumes each driver may have; 0 for a driver without a limit."""
    return {
        driver.name: (driver.allocatable.count or 0) if driver.allocatable is not None else 0
        for driver in csi_node.spec.drivers
    }


def events(version: KubeVersion) -> tuple[HintedEvent, ...]:
    """Return the events of a release."""
    return (
        HintedEvent.of(EventResource.CSI_NODE, ActionType.ADD),
        HintedEvent.of(EventResource.CSI_NODE, ActionType.UPDATE, _after_limits),
        HintedEvent.of(assigned_pod(version), ActionType.DELETE, _after_deletion),
        HintedEvent.of(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD, _after_claim),
        HintedEvent.of(EventResource.VOLUME_ATTACHMENT, ActionType.DELETE, _after_detachment),
    )
