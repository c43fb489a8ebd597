"""Takes its devices from a claim that has them where the pod doesn't fit, so that it may get others.

Mirrors ``PostFilter`` and ``PodGroupPostFilter`` of ``plugins/dynamicresources/dynamicresources.go``, which
make the change themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from mooring.framework import GroupPreemption, Pod, PodGroupInfo, Remedy, Status
from mooring.framework.cluster_api import ClusterApi, ObjectReference
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects.claims import ResourceClaim
from mooring.plugins.dynamic_resources.claims.pod_claims import ClaimError, group_claims_of, is_group
from mooring.plugins.dynamic_resources.claims.writing import withdraw

DONE = "deallocation of ResourceClaim completed"

GROUP_DONE = "deallocation and deletion of ResourceClaims completed"
"""The status of a group, whatever was done for its pods, nothing included."""


def deallocation_for(unavailable: Iterable[ResourceClaim], pod: Pod) -> Remedy | None:
    """For the first that only ``pod`` uses, of the claims with devices out of reach; None = none."""
    for claim in unavailable:
        users = claim.status.reserved_for
        if not users or (len(users) == 1 and users[0].uid == pod.metadata.uid):
            said = f"ResourceClaim {_name(claim)} could be deallocated"
            return Remedy(said, DONE, partial(_deallocate, claim))
    return None


def group_release(
    group: PodGroupInfo, unavailable: Iterable[ResourceClaim], objects: ObjectTable
) -> GroupPreemption | None:
    """Return what may help a group of whose pods none has a node: that it frees a claim which it alone uses.

    A claim with devices out of reach loses these; of others that the group names, the first one that is
    reserved for it loses the group, so that others may use it. None = there is nothing to free.
    """
    own = group.group.metadata.uid
    for claim in unavailable:
        if all(user.uid == own for user in claim.status.reserved_for):
            said = "deallocation of PodGroup ResourceClaim completed"
            remedy = Remedy(
                f"ResourceClaim {_name(claim)} could be deallocated", said, partial(_deallocate, claim)
            )
            return GroupPreemption(Status.unschedulable(said), remedies=(remedy,))
    try:
        claims = group_claims_of(group.group, objects)
    except ClaimError as error:
        return GroupPreemption(Status.error(str(error)))
    for claim in claims:
        users = claim.status.reserved_for
        if claim.status.allocation is not None and any(is_group(user, group.key[1]) for user in users):
            said = "ResourceClaim unreserved for PodGroup"
            remedy = Remedy(
                f"ResourceClaim {_name(claim)} could be unreserved", said, partial(withdraw, claim, own)
            )
            return GroupPreemption(Status.unresolvable(said), remedies=(remedy,))
    return None


def _name(claim: ResourceClaim) -> str:
    return f"{claim.metadata.namespace}/{claim.metadata.name}"


def _deallocate(claim: ResourceClaim, cluster: ClusterApi) -> None:
    """Unless the claim changed since: then it may be in use by now."""
    meta = claim.metadata
    target = ObjectReference("ResourceClaim", meta.namespace, meta.name, meta.uid, meta.resource_version)
    nothing = {"allocation": None, "devices": None, "reservedFor": None}
    cluster.patch(target, {"status": nothing}, subresource="status")
