"""Binds the volumes of a pod that got its node: kept for it at Reserve, written and waited for at PreBind.

Mirrors ``AssumePodVolumes``, ``BindPodVolumes`` and ``checkBindings`` of ``plugins/volumebinding``, and
``GetBindVolumeToClaim`` of ``k8s.io/component-helpers/storage/volume`` (pv_helpers.go).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from mooring.framework import Caller, ClusterApi, Handle, NodeView, Pod
from mooring.framework.cluster_api import ObjectReference
from mooring.framework.objects import PersistentVolume, PersistentVolumeClaim, VolumeReference
from mooring.framework.view import one_node
from mooring.framework.volume_matching import BIND_COMPLETED
from mooring.plugins.volume_binding.affinity import reaches, required_of
from mooring.plugins.volume_binding.matching import Matching
from mooring.plugins.volume_binding.unbound import SELECTED_NODE

BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 1.0
"""Seconds between two reads of claims that are being bound; doubled from the first to the longest."""


class VolumeBindingError(Exception):
    """The volumes can't be bound now; the pod is to be scheduled again."""


@dataclass(frozen=True, slots=True)
class StaticBinding:
    """An existing volume, and the claim that it is reserved for.

    Attributes:
        volume: As it was found.
        kept: As it will be.
    """

    volume: PersistentVolume
    kept: PersistentVolume
    claim: PersistentVolumeClaim


@dataclass(frozen=True, slots=True)
class Provisioning:
    """A claim whose volume is to be provisioned for the node.

    Attributes:
        claim: As it was found.
        selected: As it will be.
    """

    claim: PersistentVolumeClaim
    selected: PersistentVolumeClaim


@dataclass(frozen=True, slots=True)
class PodVolumes:
    """The volumes to bind so that the pod can run on its node."""

    bindings: Sequence[StaticBinding]
    provisionings: Sequence[Provisioning]


def volumes_for(
    claims: Sequence[PersistentVolumeClaim], node: NodeView, with_attributes_classes: bool
) -> PodVolumes:
    """Return a volume, or a provisioning, on this node for each of ``claims``, which wait for a node."""
    (node_name,) = node.names
    free = [claim for claim in claims if SELECTED_NODE not in claim.metadata.annotations]
    matching = Matching(node, with_attributes_classes)
    matching.match(free)
    found = [(claim, matching.given.get(claim.metadata.name)) for claim in claims]
    return PodVolumes(
        [StaticBinding(volume, _kept(volume, claim), claim) for claim, volume in found if volume is not None],
        [Provisioning(claim, _selected(claim, node_name)) for claim, volume in found if volume is None],
    )


def assume(volumes: PodVolumes, handle: Handle) -> None:
    """Let other decisions see what is about to be bound."""
    for binding in volumes.bindings:
        handle.assumptions.assume_object(binding.kept)
    for provisioning in volumes.provisionings:
        handle.assumptions.assume_object(provisioning.selected)


def forget(volumes: PodVolumes, handle: Handle) -> None:
    """Take ``assume`` back."""
    for binding in volumes.bindings:
        handle.assumptions.forget_object(PersistentVolume, binding.volume.metadata.name)
    for provisioning in volumes.provisionings:
        meta = provisioning.claim.metadata
        handle.assumptions.forget_object(PersistentVolumeClaim, meta.name, meta.namespace)


def write(volumes: PodVolumes, handle: Handle, cluster: ClusterApi) -> None:
    """Write to the API server; the volume controller and the provisioners do the rest. Raises MooringError if
    the API server rejected it, or something changed since.
    """
    for binding in volumes.bindings:
        meta = binding.volume.metadata
        if binding.kept.spec == binding.volume.spec and _annotations(binding.kept) == _annotations(
            binding.volume
        ):
            continue
        claim = binding.claim.metadata
        reference = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": claim.namespace,
            "name": claim.name,
            "uid": claim.uid,
            "resourceVersion": claim.resource_version,
        }
        target = ObjectReference("PersistentVolume", "", meta.name, meta.uid, meta.resource_version)
        patch = {"metadata": {"annotations": _annotations(binding.kept)}, "spec": {"claimRef": reference}}
        handle.assumptions.assume_object(_written(binding.kept, cluster.patch(target, patch)))
    for provisioning in volumes.provisionings:
        meta = provisioning.claim.metadata
        target = ObjectReference(
            "PersistentVolumeClaim", meta.namespace, meta.name, meta.uid, meta.resource_version
        )
        selected = provisioning.selected
        patch = {"metadata": {"annotations": {SELECTED_NODE: _annotations(selected)[SELECTED_NODE]}}}
        handle.assumptions.assume_object(_written(selected, cluster.patch(target, patch)))


def wait(
    volumes: PodVolumes,
    pod: Pod,
    node_name: str,
    handle: Handle,
    cluster: ClusterApi,
    seconds: float,
    caller: Caller,
) -> None:
    """Until every claim is bound.

    Raises:
        DeadlineExceededError: The caller no longer waits.
        VolumeBindingError: It takes too long, or one of them can no longer be bound on this node.
        MooringError: The API server does not answer.
    """
    end = handle.clock.monotonic() + seconds
    pause = FIRST_PAUSE
    while not _is_bound(volumes, pod, node_name, handle, cluster):
        caller.check()
        if handle.clock.monotonic() >= end:
            raise VolumeBindingError(f"binding volumes: not done within {seconds:g} s")
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def _is_bound(volumes: PodVolumes, pod: Pod, node_name: str, handle: Handle, cluster: ClusterApi) -> bool:
    """Return whether all claims are bound, as read from the API server, where their controllers see them."""
    snapshot = handle.snapshot()
    node = one_node(snapshot, node_name)
    if not len(node):
        raise VolumeBindingError(f'failed to get node "{node_name}"')
    if snapshot.pods.get(pod.metadata.uid) is None:
        raise VolumeBindingError("pod no longer exists")
    for binding in volumes.bindings:
        volume = cluster.read(ObjectReference("PersistentVolume", "", binding.volume.metadata.name))
        if not ((volume or {}).get("spec", {}).get("claimRef") or {}).get("uid"):
            raise VolumeBindingError(f'ClaimRef got reset for pv "{binding.volume.metadata.name}"')
        if not reaches(required_of(binding.kept), node).all():
            raise VolumeBindingError(_unreachable(binding.volume.metadata.name, node_name))
    claims = [binding.claim for binding in volumes.bindings] + [p.claim for p in volumes.provisionings]
    documents = {claim.metadata.name: _read(claim, cluster) for claim in claims}
    for provisioning in volumes.provisionings:
        name = provisioning.claim.metadata.name
        if documents[name]["metadata"].get("annotations", {}).get(SELECTED_NODE) != node_name:
            raise VolumeBindingError(f'provisioning failed for PVC "{name}"')
        made = snapshot.objects.get(PersistentVolume, documents[name]["spec"].get("volumeName", ""))
        if made is not None and not reaches(required_of(made), node).all():
            raise VolumeBindingError(_unreachable(made.metadata.name, node_name))
    return all(
        document["spec"].get("volumeName") and BIND_COMPLETED in document["metadata"].get("annotations", {})
        for document in documents.values()
    )


def _read(claim: PersistentVolumeClaim, cluster: ClusterApi) -> dict[str, Any]:
    meta = claim.metadata
    document = cluster.read(ObjectReference("PersistentVolumeClaim", meta.namespace, meta.name))
    if document is None:
        raise VolumeBindingError(f'failed to check binding: PVC "{meta.name}" is gone')
    return document


def _unreachable(volume: str, node_name: str) -> str:
    return f'pv "{volume}" node affinity doesn\'t match node "{node_name}"'


def _kept(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """Return the volume, reserved for the claim; marked as ours unless the claim's owner had reserved it."""
    meta, before = claim.metadata, volume.spec.claim_ref
    reference = VolumeReference("PersistentVolumeClaim", meta.namespace, meta.name, meta.uid, "v1")
    annotations = dict(_annotations(volume))
    if before is None or (before.namespace, before.name) != (meta.namespace, meta.name):
        annotations[BOUND_BY_CONTROLLER] = "yes"
    return replace(
        volume,
        metadata=replace(volume.metadata, annotations=annotations, resource_version=""),
        spec=replace(volume.spec, claim_ref=reference),
    )


def _selected(claim: PersistentVolumeClaim, node_name: str) -> PersistentVolumeClaim:
    annotations = {**_annotations(claim), SELECTED_NODE: node_name}
    metadata = replace(claim.metadata, annotations=annotations, resource_version="")
    return replace(claim, metadata=metadata)


def _written(
    item: PersistentVolume | PersistentVolumeClaim, answer: dict[str, Any]
) -> PersistentVolume | PersistentVolumeClaim:
    """Return the object with the version that the API server gave it."""
    version = answer["metadata"].get("resourceVersion", "")
    return replace(item, metadata=replace(item.metadata, resource_version=version))


def _annotations(item: PersistentVolume | PersistentVolumeClaim) -> dict[str, str]:
    return item.metadata.annotations
