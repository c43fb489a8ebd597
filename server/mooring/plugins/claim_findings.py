"""Findings about claims that keep a pod from every node, for all plugins that read claims."""

from __future__ import annotations

from collections.abc import Iterator

from mooring.framework import CycleState, Finding, Pod, ReasonCode, Snapshot
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import PersistentVolume, PersistentVolumeClaim, StorageClass
from mooring.framework.volume_matching import (
    BIND_COMPLETED,
    NO_PROVISIONER,
    WAIT_FOR_FIRST_CONSUMER,
    class_of_claim,
)
from mooring.plugins.claims import claim_name


def claim_faults(state: CycleState, pod: Pod) -> list[Finding]:
    """Return a finding for each claim of a pod, rejected as a whole, that no node can make usable."""
    snapshot = state.get(Snapshot, Snapshot)
    return [] if snapshot is None else list(_faults(pod, snapshot.objects))


def _faults(pod: Pod, objects: ObjectTable) -> Iterator[Finding]:
    namespace = pod.metadata.namespace
    for volume in pod.spec.volumes:
        name = claim_name(pod, volume)
        if name is None:
            continue
        claim = objects.get(PersistentVolumeClaim, name, namespace)
        if claim is None:
            yield _missing(namespace, name, ephemeral=volume.persistent_volume_claim is None)
        elif not claim.spec.volume_name or BIND_COMPLETED not in claim.metadata.annotations:
            yield from _unbound(claim, objects)
        elif objects.get(PersistentVolume, claim.spec.volume_name) is None:
            yield volume_missing(claim)


def _missing(namespace: str, name: str, *, ephemeral: bool) -> Finding:
    said = f"claim {namespace}/{name} does not exist"
    change = f"create the claim {namespace}/{name}"
    if ephemeral:
        said += ", the controller of ephemeral volumes has not made it yet"
        change = ""
    return Finding(ReasonCode.CLAIM_NOT_FOUND, name, said, asked=name, node_change=change)


def volume_missing(claim: PersistentVolumeClaim) -> Finding:
    """Return the finding for a claim that is bound to a volume that does not exist."""
    bound_to = claim.spec.volume_name
    return Finding(
        ReasonCode.VOLUME_MISSING,
        bound_to,
        f"claim {claim.metadata.key} is bound to volume {bound_to}, which does not exist",
        asked=bound_to,
        pod_change="use another claim",
        node_change=f"restore the volume {bound_to}",
    )


def _unbound(claim: PersistentVolumeClaim, objects: ObjectTable) -> Iterator[Finding]:
    class_name, key = class_of_claim(claim), claim.metadata.key
    found = objects.get(StorageClass, class_name)
    if found is not None and found.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
        return
    size = claim.spec.resources.requests.get("storage", "0")
    said, change = f"class {class_name} binds at once", f"provide a volume of {size} of class {class_name}"
    if not class_name:
        said, change = "it has no class", f"provide a volume of {size} without a class"
    elif found is None:
        said, change = f"class {class_name} does not exist", f"create the storage class {class_name}"
    elif found.provisioner in ("", NO_PROVISIONER):
        said += " and has no provisioner"
    yield Finding(
        ReasonCode.CLAIM_UNBOUND,
        key,
        f"claim {key} has no volume; {said}",
        asked=f"{size} of class {class_name}" if class_name else str(size),
        pod_change="use a claim that is bound",
        node_change=change,
    )
