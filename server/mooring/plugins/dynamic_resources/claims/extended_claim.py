"""The claim for extended resources that devices provide; it is deleted if a later step fails.

Mirrors ``createExtendedResourceClaimInAPI``, ``patchPodExtendedResourceClaimStatus`` and ``deleteClaim`` of
``plugins/dynamicresources/extendeddynamicresources.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from mooring.framework import ClusterApi, Handle, Pod, Remedy
from mooring.framework.errors import MooringError
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import ContainerExtendedResourceRequest, ObjectMeta
from mooring.framework.objects.claims import (
    AllocationResult,
    DeviceClaim,
    DeviceRequest,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimSpec,
    ResourceClaimStatus,
)
from mooring.plugins.dynamic_resources.claims.writing import (
    FINALIZER,
    target_of,
    until_unchanged,
    write_claim,
)

ANNOTATION = "resource.kubernetes.io/extended-resource-claim"
DELETED = "deletion of ResourceClaim completed"


@dataclass
class ExtendedClaim:
    """The claim of one pod that got its node.

    Attributes:
        mappings: The pod's containers and resources that they are for, as the kubelet reads them in its
            status.
        allocation: The devices that were found for it.
        made: The claim as the API server has it; None = it has none.
    """

    requests: Sequence[DeviceRequest]
    mappings: Sequence[ContainerExtendedResourceRequest]
    allocation: AllocationResult
    made: ResourceClaim | None = None


def assume(claim: ExtendedClaim, pod: Pod, handle: Handle) -> None:
    """Let other decisions see which devices are about to be taken."""
    stand_in = ResourceClaim(
        metadata=ObjectMeta(name=_stand_in(pod), namespace=pod.metadata.namespace),
        spec=ResourceClaimSpec(DeviceClaim(tuple(claim.requests))),
        status=ResourceClaimStatus(claim.allocation),
    )
    handle.assumptions.assume_object(stand_in)


def assumed_for(pod: Pod, objects: ObjectTable) -> ResourceClaim | None:
    """Return the assumed claim when the pod's node is evaluated again; None = there is none."""
    return objects.get(ResourceClaim, _stand_in(pod), pod.metadata.namespace)


def make(claim: ExtendedClaim, pod: Pod, handle: Handle, cluster: ClusterApi, *, timed: bool) -> None:
    """Make the claim, write its devices, and inform the kubelet through the pod's status. Raises
    ClaimBindingError if another writer has changed it since, and MooringError if the API server rejected it
    or did not answer.
    """
    meta = pod.metadata
    owner = {"apiVersion": "v1", "kind": "Pod", "name": meta.name, "uid": meta.uid, "controller": True}
    metadata = {
        "generateName": f"{meta.name}-extended-resources-",
        "namespace": meta.namespace,
        "annotations": {ANNOTATION: "true"},
        "ownerReferences": [owner],
    }
    spec = {"devices": {"requests": msgspec.to_builtins(claim.requests)}}
    body = {"metadata": metadata, "spec": spec}
    claim.made = msgspec.convert(cluster.create("ResourceClaim", meta.namespace, body), ResourceClaim)
    user = ResourceClaimConsumerReference(resource="pods", name=meta.name, uid=meta.uid)
    claim.made = write_claim(claim.made, claim.allocation, user, handle, cluster, timed=timed)
    handle.assumptions.assume_object(claim.made)
    handle.assumptions.forget_object(ResourceClaim, _stand_in(pod), meta.namespace)
    told = {
        "requestMappings": msgspec.to_builtins(claim.mappings),
        "resourceClaimName": claim.made.metadata.name,
    }
    cluster.patch_pod_status(pod, {"extendedResourceClaimStatus": told})


def unmake(claim: ExtendedClaim, pod: Pod, handle: Handle) -> None:
    """Take back what was assumed, and delete the claim if it was made."""
    namespace = pod.metadata.namespace
    handle.assumptions.forget_object(ResourceClaim, _stand_in(pod), namespace)
    if claim.made is None or handle.cluster is None:
        return
    name = claim.made.metadata.name
    try:
        delete(claim.made, handle.cluster)
    except MooringError as error:
        handle.logger.warning("pod %s leaves its claim %s: %s", pod.key, name, error)
    handle.assumptions.forget_object(ResourceClaim, name, namespace)


def deletion_of(claim: ResourceClaim) -> Remedy:
    """Return what helps a pod for which ``claim`` was made before: its devices may no longer be right."""
    name = claim.metadata.key
    return Remedy(f"ResourceClaim {name} could be deleted", DELETED, partial(delete, claim))


def delete(claim: ResourceClaim, cluster: ClusterApi) -> None:
    """Delete the claim, unless another finalizer keeps it. Raises MooringError if the API server rejected it
    or did not answer.
    """

    def let_go() -> None:
        document = cluster.read(target_of(claim))
        finalizers = document["metadata"].get("finalizers") or [] if document is not None else []
        if FINALIZER in finalizers:
            others = [name for name in finalizers if name != FINALIZER]
            cluster.set_finalizers(target_of(claim, document), others)

    until_unchanged(let_go)
    cluster.delete(target_of(claim))


def _stand_in(pod: Pod) -> str:
    """Return the claim's name until it is made: one that no object can have."""
    return f"{pod.metadata.name}<extended-resources>"
