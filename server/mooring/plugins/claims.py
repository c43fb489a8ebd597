"""A pod's claims on volumes, as VolumeRestrictions, NodeVolumeLimits, VolumeBinding and VolumeZone read them.

Mirrors ``k8s.io/component-helpers/storage/ephemeral/ephemeral.go``.
"""

from __future__ import annotations

from mooring.framework import Pod
from mooring.framework.objects import PersistentVolumeClaim, Volume

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
    owner = next((owner for owner in claim.metadata.owner_references if owner.controller), None)
    return owner is not None and owner.uid == pod.metadata.uid


def not_made_for(claim: PersistentVolumeClaim, pod: Pod) -> str:
    """Return the reason for an ephemeral volume's claim that the pod doesn't control."""
    name = f"{claim.metadata.namespace}/{claim.metadata.name}"
    return f"PVC {name} was not created for pod {pod.key} (pod is not owner)"


def not_found(resource: str, name: str) -> str:
    """Return the reason for a missing object; ``resource`` is for example ``persistentvolumeclaim``."""
    return f'{resource} "{name}" not found'
