"""Takes its devices from a claim that has them where the pod doesn't fit, so that it may get others.

Mirrors ``PostFilter`` of ``plugins/dynamicresources/dynamicresources.go``, which makes the change itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from mooring.framework import Pod, Remedy
from mooring.framework.cluster_api import ClusterApi, ObjectReference
from mooring.framework.objects.claims import ResourceClaim

DONE = "deallocation of ResourceClaim completed"


def deallocation_for(unavailable: Iterable[ResourceClaim], pod: Pod) -> Remedy | None:
    """For the first that only ``pod`` uses, of the claims with devices out of reach; None = none."""
    for claim in unavailable:
        users = claim.status.reserved_for
        if not users or (len(users) == 1 and users[0].uid == pod.metadata.uid):
            name = f"{claim.metadata.namespace}/{claim.metadata.name}"
            return Remedy(f"ResourceClaim {name} could be deallocated", DONE, partial(_deallocate, claim))
    return None


def _deallocate(claim: ResourceClaim, cluster: ClusterApi) -> None:
    """Unless the claim changed since: then it may be in use by now."""
    meta = claim.metadata
    target = ObjectReference("ResourceClaim", meta.namespace, meta.name, meta.uid, meta.resource_version)
    nothing = {"allocation": None, "devices": None, "reservedFor": None}
    cluster.patch(target, {"status": nothing}, subresource="status")
