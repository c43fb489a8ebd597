"""Copies of a pod. Each gets its own copies of the claims that were made for the pod alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from mooring.framework import Pod
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import (
    ObjectMeta,
    OwnerReference,
    PersistentVolumeClaim,
    PersistentVolumeClaimStatus,
    PodResourceClaimStatus,
    ResourceClaim,
    ResourceClaimStatus,
    ResourceClaimTemplate,
    StorageClass,
)
from mooring.framework.volume_matching import class_of_claim

_DEFAULT_CLASS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)

OwnClaims = Mapping[str, PersistentVolumeClaim | ResourceClaim]
"""Claims, by the name of the pod's volume or of its entry in ``spec.resourceClaims``."""

_BOUND = ("pv.kubernetes.io/", "volume.kubernetes.io/")
"""Prefixes of the annotations that binding adds to a claim."""


def own_claims(pod: Pod, objects: ObjectTable) -> OwnClaims:
    """Return the claims that were made for the pod alone.

    These are the claims of its ephemeral volumes, those from a StatefulSet's templates, with names as in
    ``pkg/controller/statefulset/stateful_set_utils.go``, and those from a ResourceClaimTemplate.
    """
    namespace, name = pod.metadata.namespace, pod.metadata.name
    found: dict[str, PersistentVolumeClaim | ResourceClaim | None] = {}
    for volume in pod.spec.volumes:
        claimed = volume.persistent_volume_claim
        if volume.ephemeral is not None:
            found[volume.name] = objects.get(PersistentVolumeClaim, f"{name}-{volume.name}", namespace)
        elif claimed is not None and claimed.claim_name == f"{volume.name}-{name}":
            found[volume.name] = objects.get(PersistentVolumeClaim, claimed.claim_name, namespace)
    made = {each.name: each.resource_claim_name or "" for each in pod.status.resource_claim_statuses}
    for asked in pod.spec.resource_claims:
        if asked.resource_claim_template_name:
            claim = objects.get(ResourceClaim, made.get(asked.name, ""), namespace)
            template = objects.get(ResourceClaimTemplate, asked.resource_claim_template_name, namespace)
            found[asked.name] = claim or (_from(template, pod) if template is not None else None)
    default = _default_class(objects)
    return {key: _classed(claim, default) for key, claim in found.items() if claim is not None}


def copy_of(
    pod: Pod, claims: OwnClaims, number: int | str
) -> tuple[Pod, Sequence[PersistentVolumeClaim | ResourceClaim]]:
    """Return a copy of the pod with this number after its name, and the copy's unbound claims."""
    meta = pod.metadata
    name, uid = f"{meta.name}-{number}", f"{meta.uid}/copy-{number}"
    ephemeral = {volume.name for volume in pod.spec.volumes if volume.ephemeral is not None}
    names = {key: f"{name}-{key}" if key in ephemeral else f"{key}-{name}" for key in claims}
    volumes = tuple(
        replace(
            volume,
            persistent_volume_claim=replace(volume.persistent_volume_claim, claim_name=names[volume.name]),
        )
        if volume.name in names and volume.persistent_volume_claim is not None
        else volume
        for volume in pod.spec.volumes
    )
    devices = {key for key, claim in claims.items() if isinstance(claim, ResourceClaim)}
    statuses = tuple(PodResourceClaimStatus(key, names[key]) for key in claims if key in devices)
    copy = replace(
        pod,
        metadata=replace(meta, name=name, uid=uid),
        spec=replace(pod.spec, volumes=volumes),
        status=replace(pod.status, resource_claim_statuses=statuses),
    )
    return copy, [_unbound(claim, names[key], meta.uid, uid) for key, claim in claims.items()]


def _from(template: ResourceClaimTemplate, pod: Pod) -> ResourceClaim:
    """Return the claim that the controller makes from a template for a pod."""
    meta = pod.metadata
    owner = OwnerReference("v1", "Pod", meta.name, meta.uid, controller=True)
    own = replace(template.spec.metadata, namespace=meta.namespace, owner_references=(owner,))
    return ResourceClaim(own, template.spec.spec)


def _classed(
    claim: PersistentVolumeClaim | ResourceClaim, default: str | None
) -> PersistentVolumeClaim | ResourceClaim:
    """Return the claim; with the default class if it would get that on creation."""
    if isinstance(claim, ResourceClaim) or class_of_claim(claim) or claim.spec.storage_class_name is not None:
        return claim
    return replace(claim, spec=replace(claim.spec, storage_class_name=default))


def _default_class(objects: ObjectTable) -> str | None:
    """Return the default StorageClass: the newest; among equally new ones the first by name.

    Mirrors ``GetDefaultClass`` in ``pkg/volume/util/storageclass.go``.
    """
    found = [
        each.metadata
        for each in sorted(objects.all(StorageClass), key=lambda each: each.metadata.name)
        if any(each.metadata.annotations.get(key) == "true" for key in _DEFAULT_CLASS)
    ]
    return max(found, key=lambda meta: meta.creation_timestamp or "").name if found else None


def _unbound(
    claim: PersistentVolumeClaim | ResourceClaim, name: str, owner: str, new_owner: str
) -> PersistentVolumeClaim | ResourceClaim:
    """Return the claim as it would be created for another pod."""
    own = claim.metadata
    owners = (replace(each, uid=new_owner) if each.uid == owner else each for each in own.owner_references)
    meta: ObjectMeta = replace(
        own,
        name=name,
        uid=f"{own.uid}/{name}",
        resource_version="",
        annotations={key: text for key, text in own.annotations.items() if not key.startswith(_BOUND)},
        owner_references=tuple(owners),
    )
    if isinstance(claim, ResourceClaim):
        return replace(claim, metadata=meta, status=ResourceClaimStatus())
    spec = replace(claim.spec, volume_name="")
    return replace(claim, metadata=meta, spec=spec, status=PersistentVolumeClaimStatus())
