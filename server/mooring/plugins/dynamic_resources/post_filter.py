"""PostFilter: a claim gives up devices out of reach, which may help pods that fit nowhere.

Mirrors ``PostFilter`` and ``PodGroupPostFilter`` of ``plugins/dynamicresources/dynamicresources.go``, which
make the change themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from mooring.framework import GroupPreemption, KubeVersion, Pod, PodGroupInfo, Remedy, Snapshot, Status
from mooring.framework.cluster_api import ClusterApi, ObjectReference
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects.claims import ResourceClaim
from mooring.plugins.dynamic_resources.claims.extended_claim import deletion_of
from mooring.plugins.dynamic_resources.claims.pod_claims import ClaimError, group_claims_of, is_group
from mooring.plugins.dynamic_resources.claims.writing import withdraw
from mooring.plugins.dynamic_resources.claims_state import ClaimsState
from mooring.plugins.dynamic_resources.rules import Rules

_SILENT_SINCE = KubeVersion(1, 37)
"""Since this release PostFilter returns no message if it has nothing to do."""


def nothing_to_do(reason: str, rules: Rules) -> Status:
    """Return the status of PostFilter if nothing helps."""
    return Status.unschedulable(reason) if rules.version < _SILENT_SINCE else Status.unschedulable()


def remedy_for(note: ClaimsState, pod: Pod) -> Remedy | None:
    """Return what may help ``pod``; None = nothing."""
    remedy = deallocation_for(note.unavailable_claims(), pod)
    return deletion_of(note.made) if remedy is None and note.made is not None else remedy


def remedies_for_group(
    group: PodGroupInfo,
    notes: Sequence[tuple[Pod, ClaimsState | None]],
    snapshot: Snapshot,
    *,
    frees_own: bool,
) -> GroupPreemption:
    """Return what may help each pod, and with ``frees_own``, if its pods may share the group's claims, that
    the group frees those.

    ``notes`` are the pods that were tried, each with the note of PreFilter; None = it was not called. Like in
    kube-scheduler it is an error if it was called for none of them, because another plugin rejected them all,
    or no pod was tried.
    """
    known = {pod.metadata.uid: note for pod, note in notes}
    seen = [(pod, note) for pod in group.pods if (note := known.get(pod.metadata.uid)) is not None]
    if not seen:
        return GroupPreemption(Status.error("not found"))
    found = [remedy_for(note, pod) for pod, note in seen]
    # Pods that share a claim propose the same.
    remedies = {remedy.proposal: remedy for remedy in found if remedy is not None}
    if frees_own and None in found and not group.scheduled(snapshot):
        unavailable = [claim for _, note in seen for claim in note.unavailable_claims()]
        release = group_release(group, unavailable, snapshot.objects)
        if release is not None:
            remedies |= {remedy.proposal: remedy for remedy in release.remedies}
            return replace(release, remedies=tuple(remedies.values()))
    return GroupPreemption(Status.unschedulable(GROUP_DONE), remedies=tuple(remedies.values()))


DONE = "deallocation of ResourceClaim completed"

GROUP_DONE = "deallocation and deletion of ResourceClaims completed"
"""The status of a group, whatever was done for its pods, nothing included."""


def deallocation_for(unavailable: Iterable[ResourceClaim], pod: Pod) -> Remedy | None:
    """For the first that only ``pod`` uses, of the claims with devices out of reach; None = none."""
    for claim in unavailable:
        users = claim.status.reserved_for
        if not users or (len(users) == 1 and users[0].uid == pod.metadata.uid):
            said = f"ResourceClaim {claim.metadata.key} could be deallocated"
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
                f"ResourceClaim {claim.metadata.key} could be deallocated", said, partial(_deallocate, claim)
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
                f"ResourceClaim {claim.metadata.key} could be unreserved", said, partial(withdraw, claim, own)
            )
            return GroupPreemption(Status.unresolvable(said), remedies=(remedy,))
    return None


def _deallocate(claim: ResourceClaim, cluster: ClusterApi) -> None:
    """Unless the claim changed since: then it may be in use by now."""
    meta = claim.metadata
    target = ObjectReference("ResourceClaim", meta.namespace, meta.name, meta.uid, meta.resource_version)
    nothing = {"allocation": None, "devices": None, "reservedFor": None}
    cluster.patch(target, {"status": nothing}, subresource="status")
