"""Queueing hints for pods that VolumeBinding rejected."""

from __future__ import annotations

from mooring.framework import ActionType, EventResource, HintedEvent, Pod, QueueingHint
from mooring.framework.objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolumeClaim,
    StorageClass,
)
from mooring.framework.quantity import Quantity, parse_quantity, units
from mooring.plugins.claims import claim_name
from mooring.plugins.csi_migration import MIGRATED_PLUGINS

_PUT = ActionType.ADD | ActionType.UPDATE


def _after_class(pod: Pod, old: StorageClass | None, new: StorageClass) -> QueueingHint:
    return QueueingHint.when(old is None or old.allowed_topologies != new.allowed_topologies)


def _after_claim(pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> QueueingHint:
    same_namespace = new.metadata.namespace == pod.metadata.namespace
    names = (claim_name(pod, volume) for volume in pod.spec.volumes)
    return QueueingHint.when(same_namespace and new.metadata.name in names)


def _after_csi_node(pod: Pod, old: CSINode | None, new: CSINode) -> QueueingHint:
    return QueueingHint.when(old is None or _migrated(old) != _migrated(new))


def _after_driver(pod: Pod, old: CSIDriver, new: CSIDriver) -> QueueingHint:
    unlimited = bool(old.spec.storage_capacity) and not new.spec.storage_capacity
    drivers = (volume.csi.driver for volume in pod.spec.volumes if volume.csi is not None)
    return QueueingHint.when(unlimited and new.metadata.name in drivers)


def _after_capacity(pod: Pod, old: CSIStorageCapacity | None, new: CSIStorageCapacity) -> QueueingHint:
    if old is None:
        return QueueingHint.QUEUE
    before, after = _largest_volume(old), _largest_volume(new)
    return QueueingHint.when(after is not None and (before is None or _bytes(after) > _bytes(before)))


def _migrated(csi_node: CSINode) -> str:
    return csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "")


def _largest_volume(capacity: CSIStorageCapacity) -> Quantity | None:
    precise = capacity.maximum_volume_size
    return capacity.capacity if precise is None else precise


def _bytes(amount: Quantity) -> int:
    return units(parse_quantity(amount))


EVENTS = (
    HintedEvent.of(EventResource.STORAGE_CLASS, _PUT, _after_class),
    HintedEvent.of(EventResource.PERSISTENT_VOLUME_CLAIM, _PUT, _after_claim),
    HintedEvent.of(EventResource.PERSISTENT_VOLUME, _PUT),
    HintedEvent.of(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
    HintedEvent.of(EventResource.CSI_NODE, _PUT, _after_csi_node),
    HintedEvent.of(EventResource.CSI_DRIVER, ActionType.UPDATE, _after_driver),
    HintedEvent.of(EventResource.CSI_STORAGE_CAPACITY, _PUT, _after_capacity),
)
"""The same in all releases."""
