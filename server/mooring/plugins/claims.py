"""A pod's claims on volumes, as VolumeRestrictions, NodeVolumeLimits, VolumeBinding and VolumeZone read them.

Mirrors ``k8s.io/component-helpers/storage/ephemeral/ephemeral.go``.
"""

from __future__ import annotations

from typing import Self

import msgspec

from mooring.framework import CycleState, Pod
from mooring.framework.deadline import timely
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import PersistentVolume, PersistentVolumeClaim, Volume
from mooring.framework.volume_matching import BIND_COMPLETED
from mooring.plugins.csi_migration import kind_of

READ_WRITE_ONCE_POD = "ReadWriteOncePod"


def claim_name(pod: Pod, volume: Volume) -> str | None:
    """Return the name of the claim behind a volume; None when there is none."""
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    if volume.ephemeral is not None:
        return f"{pod.metadata.name}-{volume.name}"
    return None


def is_made_for(claim: PersistentVolumeClaim, pod: Pod) -> bool:
    """Return whether the pod controls the claim, as it must for an ephemeral volume."""
    if claim.metadata.namespace != pod.metadata.namespace:
        return False
    owner = claim.metadata.controller
    return owner is not None and owner.uid == pod.metadata.uid


def not_made_for(claim: PersistentVolumeClaim, pod: Pod) -> str:
    """Return the reason for an ephemeral volume's claim that the pod doesn't control."""
    return f"PVC {claim.metadata.key} was not created for pod {pod.key} (pod is not owner)"


def not_found(resource: str, name: str) -> str:
    """Return the reason for a missing object; ``resource`` is for example ``persistentvolumeclaim``."""
    return f'{resource} "{name}" not found'


class BoundClaims(msgspec.Struct, frozen=True):
    """The claims and volumes of a pod, in their order.

    Attributes:
        volumes: The CSI volume that each of them is bound to.
    """

    claims: tuple[PersistentVolumeClaim, ...]
    volumes: tuple[PersistentVolume, ...]

    @classmethod
    def of(cls, state: CycleState, pod: Pod, objects: ObjectTable) -> Self | None:
        """Return those of ``pod``, looked up once for all plugins that share ``state``.

        None if more checks are needed: a claim is not bound, lost, being deleted, for one pod
        alone, or made for the pod, a volume is gone or of an in-tree kind, or the pod names a disk itself.
        """
        known = state.get(cls, tuple)
        if known is None:
            known = (cls._found(pod, objects),)
            state.write(cls, known)
        found: Self | None = known[0]
        return found

    @classmethod
    def _found(cls, pod: Pod, objects: ObjectTable) -> Self | None:
        claims: list[PersistentVolumeClaim] = []
        volumes: list[PersistentVolume] = []
        namespace = pod.metadata.namespace
        for volume in timely(pod.spec.volumes):
            source = volume.persistent_volume_claim
            if source is None:
                if volume.is_storage:
                    return None
                continue
            claim = objects.get(PersistentVolumeClaim, source.claim_name, namespace)
            bound_to = _bound(claim, objects) if claim is not None else None
            if claim is None or bound_to is None:
                return None
            claims.append(claim)
            volumes.append(bound_to)
        return cls(tuple(claims), tuple(volumes))


def _bound(claim: PersistentVolumeClaim, objects: ObjectTable) -> PersistentVolume | None:
    """Return the volume of a claim that needs no other check; else None."""
    meta, spec = claim.metadata, claim.spec
    if not spec.volume_name or BIND_COMPLETED not in meta.annotations:
        return None
    if meta.deletion_timestamp is not None or claim.status.phase == "Lost":
        return None
    if READ_WRITE_ONCE_POD in spec.access_modes:
        return None
    volume = objects.get(PersistentVolume, spec.volume_name)
    if volume is None or volume.spec.csi is None or kind_of(volume.spec) is not None:
        return None
    return volume
