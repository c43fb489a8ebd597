"""Which volumes a claim may be bound to.

Mirrors ``FindMatchingVolume`` of ``k8s.io/component-helpers/storage/volume`` (pv_helpers.go), which
kube-scheduler and the PersistentVolume controller share. They take any of several volumes of the same size;
here it is the first by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mooring.framework.deadline import timely
from mooring.framework.label_selector import compiled
from mooring.framework.objects import ObjectMeta, PersistentVolume, PersistentVolumeClaim
from mooring.framework.quantity import Quantity, parse_quantity

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
STORAGE = "storage"
NO_PROVISIONER = "kubernetes.io/no-provisioner"

_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
FILESYSTEM = "Filesystem"


def class_of_claim(claim: PersistentVolumeClaim) -> str:
    """Return the claim's storage class, "" = none; the deprecated annotation comes first."""
    return _class_of(claim.metadata, claim.spec.storage_class_name)


def class_of_volume(volume: PersistentVolume) -> str:
    """Return the volume's storage class, "" = none."""
    return _class_of(volume.metadata, volume.spec.storage_class_name)


def size_of(amounts: dict[str, Quantity]) -> int:
    """Return the storage requested or offered, in billionths of a byte."""
    return parse_quantity(amounts.get(STORAGE, 0))


def usable_volumes(
    claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume]
) -> list[PersistentVolume]:
    """Return the volumes of the claim's class that suit it and are free for it, by name."""
    name = class_of_claim(claim)
    usable = [
        volume
        for volume in volumes
        if class_of_volume(volume) == name
        and (volume.spec.claim_ref is None or is_kept_for(volume, claim))
        and suits(volume, claim)
    ]
    return sorted(usable, key=lambda volume: volume.metadata.name)


def suits(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Return whether the volume is large enough, of the claim's mode and attributes, and stays."""
    return (
        size_of(volume.spec.capacity) >= size_of(claim.spec.resources.requests)
        and (volume.spec.volume_mode or FILESYSTEM) == (claim.spec.volume_mode or FILESYSTEM)
        and (volume.spec.volume_attributes_class_name or "")
        == (claim.spec.volume_attributes_class_name or "")
        and volume.metadata.deletion_timestamp is None
    )


def fitting_volumes(
    claim: PersistentVolumeClaim, usable: Sequence[PersistentVolume]
) -> list[PersistentVolume]:
    """Those of ``usable`` that are free for any claim and fit this one, smallest first.

    Raises:
        SelectorError: The claim's selector is malformed.
    """
    matcher = compiled(claim.spec.selector) if claim.spec.selector is not None else None
    modes = set(claim.spec.access_modes)
    fitting = [
        volume
        for volume in timely(usable)
        if volume.spec.claim_ref is None
        and volume.status.phase == "Available"
        and (matcher is None or matcher.matches(volume.metadata.labels))
        and modes.issubset(volume.spec.access_modes)
    ]
    return sorted(fitting, key=lambda volume: size_of(volume.spec.capacity))


def is_kept_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Return whether the volume's ``claimRef`` means the claim."""
    kept = volume.spec.claim_ref
    return (
        kept is not None
        and (kept.name, kept.namespace) == (claim.metadata.name, claim.metadata.namespace)
        and kept.uid in ("", claim.metadata.uid)
    )


def _class_of(metadata: ObjectMeta, named: str | None) -> str:
    return metadata.annotations.get(_CLASS_ANNOTATION, named or "")
