"""The API server's defaults for kinds other than pods and nodes.

Mirrors pkg/apis/{core,storage,resource}/v1/defaults.go and pkg/apis/scheduling/v1alpha2/types.go as far as
scheduling reads it. Whatever stands for an empty value anyway, such as a toleration's operator, stays empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from msgspec.structs import replace

from mooring.cluster.kinds import TabledObject
from mooring.framework.objects import (
    CSIDriver,
    Device,
    DeviceSubRequest,
    ExactDeviceRequest,
    Namespace,
    NodeAllocatableResourceMapping,
    PersistentVolume,
    PersistentVolumeClaim,
    PodGroup,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourceSlice,
    StorageClass,
)

RequestT = TypeVar("RequestT", ExactDeviceRequest, DeviceSubRequest)


def default_object(item: TabledObject) -> TabledObject:
    """``item`` as it would be stored."""
    completed = _DEFAULTS.get(type(item))
    return item if completed is None else completed(item)


def _namespace(item: Namespace) -> Namespace:
    meta = item.metadata
    labels = {**meta.labels, "kubernetes.io/metadata.name": meta.name}
    return replace(item, metadata=replace(meta, labels=labels))


def _volume(item: PersistentVolume) -> PersistentVolume:
    spec = replace(
        item.spec,
        persistent_volume_reclaim_policy=item.spec.persistent_volume_reclaim_policy or "Retain",
        volume_mode="Filesystem" if item.spec.volume_mode is None else item.spec.volume_mode,
    )
    return replace(item, spec=spec, status=replace(item.status, phase=item.status.phase or "Pending"))


def _volume_claim(item: PersistentVolumeClaim) -> PersistentVolumeClaim:
    mode = "Filesystem" if item.spec.volume_mode is None else item.spec.volume_mode
    status = replace(item.status, phase=item.status.phase or "Pending")
    return replace(item, spec=replace(item.spec, volume_mode=mode), status=status)


def _storage_class(item: StorageClass) -> StorageClass:
    return replace(
        item,
        reclaim_policy="Delete" if item.reclaim_policy is None else item.reclaim_policy,
        volume_binding_mode="Immediate" if item.volume_binding_mode is None else item.volume_binding_mode,
    )


def _driver(item: CSIDriver) -> CSIDriver:
    spec = replace(
        item.spec,
        attach_required=item.spec.attach_required is not False,
        storage_capacity=item.spec.storage_capacity is True,
    )
    return replace(item, spec=spec)


def _pod_group(item: PodGroup) -> PodGroup:
    mode = "Pod" if item.spec.disruption_mode is None else item.spec.disruption_mode
    return replace(item, spec=replace(item.spec, disruption_mode=mode))


def _slice(item: ResourceSlice) -> ResourceSlice:
    return replace(item, spec=replace(item.spec, devices=tuple(map(_device, item.spec.devices))))


def _device(device: Device) -> Device:
    mappings = device.node_allocatable_resource_mappings
    if not mappings:
        return device
    return replace(
        device,
        node_allocatable_resource_mappings={name: _mapping(entry) for name, entry in mappings.items()},
    )


def _mapping(mapping: NodeAllocatableResourceMapping) -> NodeAllocatableResourceMapping:
    return (
        mapping if mapping.allocation_multiplier is not None else replace(mapping, allocation_multiplier="1")
    )


def _device_claim(item: ResourceClaim) -> ResourceClaim:
    return replace(item, spec=_claim_spec(item.spec))


def _claim_template(item: ResourceClaimTemplate) -> ResourceClaimTemplate:
    return replace(item, spec=replace(item.spec, spec=_claim_spec(item.spec.spec)))


def _claim_spec(spec: ResourceClaimSpec) -> ResourceClaimSpec:
    requests = tuple(
        replace(
            request,
            exactly=None if request.exactly is None else _counted(request.exactly),
            first_available=tuple(map(_counted, request.first_available)),
        )
        for request in spec.devices.requests
    )
    return replace(spec, devices=replace(spec.devices, requests=requests))


def _counted(request: RequestT) -> RequestT:
    mode = request.allocation_mode or "ExactCount"
    return replace(request, allocation_mode=mode, count=request.count or int(mode == "ExactCount"))


_DEFAULTS: Mapping[type[TabledObject], Callable[[Any], TabledObject]] = {
    CSIDriver: _driver,
    Namespace: _namespace,
    PersistentVolume: _volume,
    PersistentVolumeClaim: _volume_claim,
    PodGroup: _pod_group,
    ResourceClaim: _device_claim,
    ResourceClaimTemplate: _claim_template,
    ResourceSlice: _slice,
    StorageClass: _storage_class,
}
