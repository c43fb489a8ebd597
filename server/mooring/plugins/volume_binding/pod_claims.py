"""A pod's claims, sorted by whether they are bound, and why a pod can't be evaluated yet.

Mirrors ``podHasPVCs`` and ``GetPodVolumeClaims`` of ``plugins/volumebinding`` (volume_binding.go, binder.go).
"""

from __future__ import annotations

from dataclasses import dataclass

from mooring.framework import Pod, Status
from mooring.framework.deadline import timely
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import PersistentVolumeClaim, StorageClass, Volume
from mooring.framework.volume_matching import BIND_COMPLETED, WAIT_FOR_FIRST_CONSUMER, class_of_claim
from mooring.plugins.claims import (
    claim_name,
    is_made_for,
    not_found,
    not_made_for,
)


@dataclass(frozen=True, slots=True)
class PodClaims:
    """The claims of a pod, in the order of its volumes.

    Attributes:
        bound: Bound to a volume, once and for all.
        waiting: Unbound, and to be bound for the node that is selected.
        late: Unbound, although their class binds immediately.
    """

    bound: tuple[PersistentVolumeClaim, ...]
    waiting: tuple[PersistentVolumeClaim, ...]
    late: tuple[PersistentVolumeClaim, ...] = ()


def claims_of(pod: Pod, objects: ObjectTable) -> list[PersistentVolumeClaim] | str:
    """Return the claims of ``pod``, or what is wrong with the first that can't be used."""
    claims: list[PersistentVolumeClaim] = []
    for volume in timely(pod.spec.volumes):
        name = claim_name(pod, volume)
        if name is None:
            continue
        claim = objects.get(PersistentVolumeClaim, name, pod.metadata.namespace)
        if claim is None:
            return _missing(volume, name)
        if fault := _fault(pod, volume, claim):
            return fault
        claims.append(claim)
    return claims


def _missing(volume: Volume, name: str) -> str:
    if volume.persistent_volume_claim is None:
        return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
    return not_found("persistentvolumeclaim", name)


def _fault(pod: Pod, volume: Volume, claim: PersistentVolumeClaim) -> str | None:
    name = claim.metadata.name
    if claim.status.phase == "Lost":
        lost = claim.spec.volume_name
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{lost}"'
    if claim.metadata.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{name}" is being deleted'
    if volume.persistent_volume_claim is None and not is_made_for(claim, pod):
        return not_made_for(claim, pod)
    return None


def sort_claims(claims: list[PersistentVolumeClaim], objects: ObjectTable) -> PodClaims | Status:
    """Sort the claims by how far they are bound; an Error when a class doesn't say how it binds."""
    bound: list[PersistentVolumeClaim] = []
    waiting: list[PersistentVolumeClaim] = []
    late: list[PersistentVolumeClaim] = []
    for claim in timely(claims):
        if claim.spec.volume_name and BIND_COMPLETED in claim.metadata.annotations:
            bound.append(claim)
            continue
        name = class_of_claim(claim)
        kind = objects.get(StorageClass, name)
        if kind is not None and kind.volume_binding_mode is None:
            return Status.error(f'VolumeBindingMode not set for StorageClass "{name}"')
        waits = kind is not None and kind.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
        (waiting if waits and not claim.spec.volume_name else late).append(claim)
    return PodClaims(tuple(bound), tuple(waiting), tuple(late))
