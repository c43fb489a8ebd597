"""The claims that a pod uses, and whether they can be used at the moment.

Mirrors ``foreachPodResourceClaim`` in ``plugins/dynamicresources/dynamicresources.go`` and
``k8s.io/dynamic-resource-allocation/resourceclaim``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from msgspec.structs import astuple

from mooring.framework import KubeVersion, Pod
from mooring.framework.deadline import timely
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import PodGroup
from mooring.framework.objects.claims import (
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
)
from mooring.framework.objects.devices import DeviceClass
from mooring.framework.objects.pod import PodResourceClaim
from mooring.plugins.dynamic_resources.requests import ClaimToAllocate, class_names, requests_of
from mooring.plugins.dynamic_resources.rules import Rules

_POD_CAPITALIZED_SINCE = KubeVersion(1, 36)
"""Messages about a claim that is not the pod's say "Pod", before "pod"."""

GROUP_API = "scheduling.k8s.io"
"""The API group of PodGroup."""


class ClaimError(Exception):
    """A claim of the pod can't be used now; the pod has to wait. The message is kube-scheduler's."""


def claims_of(pod: Pod, objects: ObjectTable, rules: Rules) -> list[ResourceClaim]:
    """Return the claims of ``pod``, in its order; an entry for which no claim is needed is left out. Raises
    ClaimError if a claim is missing, being deleted or another pod's.
    """
    claims: list[ResourceClaim] = []
    for entry in timely(pod.spec.resource_claims):
        name = _claim_name(pod, entry)
        if name is None:
            continue
        namespace = pod.metadata.namespace
        claim = objects.get(ResourceClaim, name, namespace)
        if claim is None:
            raise ClaimError(f'could not find ResourceClaim "{namespace}/{name}"')
        if claim.metadata.deletion_timestamp:
            raise ClaimError(f'resourceclaim "{name}" is being deleted')
        if entry.resource_claim_name is None:
            _check_owner(claim, pod, rules)
        claims.append(claim)
    return claims


def _claim_name(pod: Pod, entry: PodResourceClaim) -> str | None:
    if entry.resource_claim_name is not None:
        return entry.resource_claim_name
    if entry.resource_claim_template_name is None:
        raise ClaimError(
            f'pod "{pod.key}", spec.resourceClaim "{entry.name}": none of the supported fields are set'
        )
    for made in pod.status.resource_claim_statuses:
        if made.name == entry.name:
            return made.resource_claim_name
    raise ClaimError(f'pod "{pod.key}": ResourceClaim not created yet')


def _check_owner(claim: ResourceClaim, pod: Pod, rules: Rules) -> None:
    owner = claim.metadata.controller
    if owner is not None and owner.uid == pod.metadata.uid:
        return
    kind = "Pod" if rules.version >= _POD_CAPITALIZED_SINCE else "pod"
    why_not = f"{kind} is not owner"
    if rules.group_claims and pod.group is not None:
        group = pod.group[1]
        # A pod doesn't know its group's UID.
        if (
            owner is not None
            and (owner.name, owner.kind) == (group, "PodGroup")
            and owner.api_version.startswith(f"{GROUP_API}/")
        ):
            return
        why_not = f"neither Pod nor PodGroup {group} is the owner"
    name = claim.metadata.key
    raise ClaimError(f"ResourceClaim {name} was not created for {kind} {pod.key} ({why_not})")


def users_of(
    pod: Pod, claims: Sequence[ResourceClaim], objects: ObjectTable, rules: Rules
) -> list[ResourceClaimConsumerReference | None]:
    """Return the user to reserve each of ``claims_of`` for, the pod or its group; None = it is reserved
    already. Raises ClaimError if the group is not known.
    """
    meta = pod.metadata
    itself = ResourceClaimConsumerReference(resource="pods", name=meta.name, uid=meta.uid)
    entries = [entry for entry in pod.spec.resource_claims if _claim_name(pod, entry) is not None]
    shared: set[tuple[object, ...]] = set()
    together = itself
    if rules.group_claims and pod.group is not None:
        namespace, name = pod.group
        group = objects.get(PodGroup, name, namespace)
        if group is None:
            raise ClaimError(f"pod group object not found for pod group podgroup/{namespace}/{name}")
        shared = {astuple(claim) for claim in group.spec.resource_claims}
        together = ResourceClaimConsumerReference(GROUP_API, "podgroups", name, group.metadata.uid)
    users = [together if astuple(entry) in shared else itself for entry in entries]
    return [
        None if is_reserved(claim, pod, rules) else user for claim, user in zip(claims, users, strict=True)
    ]


def is_reserved(claim: ResourceClaim, pod: Pod, rules: Rules) -> bool:
    """Return whether the claim is there for the pod, or for its group, whose UID it doesn't know."""
    group = pod.group[1] if rules.group_claims and pod.group is not None else ""
    return any(
        user.uid == pod.metadata.uid or (bool(group) and is_group(user, group))
        for user in claim.status.reserved_for
    )


def is_group(user: ResourceClaimConsumerReference, name: str) -> bool:
    """Return whether a user of a claim is the pod group ``name`` of the claim's namespace."""
    return (user.api_group, user.resource, user.name) == (GROUP_API, "podgroups", name)


def group_claims_of(group: PodGroup, objects: ObjectTable) -> list[ResourceClaim]:
    """Return the claims that ``group`` names, in its order, without those that were made for another owner.
    Raises ClaimError if a claim is missing.
    """
    meta = group.metadata
    made = {status.name: status.resource_claim_name for status in group.status.resource_claim_statuses}
    claims: list[ResourceClaim] = []
    for entry in group.spec.resource_claims:
        name = entry.resource_claim_name
        if name is None and entry.name not in made:
            raise ClaimError(f"PodGroup {meta.namespace}/{meta.name}: ResourceClaim not created yet")
        name = made[entry.name] if name is None else name
        if name is None:
            continue
        claim = objects.get(ResourceClaim, name, meta.namespace)
        if claim is None:
            raise ClaimError(f'could not find ResourceClaim "{meta.namespace}/{name}"')
        owner = claim.metadata.controller
        if entry.resource_claim_name is not None or (owner is not None and owner.uid == meta.uid):
            claims.append(claim)
    return claims


def to_be_allocated(claim: ResourceClaim, objects: ObjectTable, rules: Rules) -> ClaimToAllocate:
    """``claim``, which has no devices, with the device classes that it names. Raises ClaimError if a request
    asks for nothing that is known, or there is no such class.
    """
    key = claim.metadata.key
    classes: dict[str, DeviceClass] = {}
    for asked in timely(claim.spec.devices.requests):
        choices = class_names(asked)
        if not choices:
            raise ClaimError(f"resource claim {key}, request {asked.name}: unknown request type")
        if asked.exactly is None and not rules.alternatives:
            raise ClaimError(
                f"resource claim {key}, request {asked.name}: has subrequests, "
                "but the DRAPrioritizedList feature is disabled"
            )
        for name, class_name in choices:
            found = objects.get(DeviceClass, class_name)
            if found is None:
                raise ClaimError(f"request {name}: device class {class_name} does not exist")
            classes[class_name] = found
    return ClaimToAllocate(
        key=key,
        requests=requests_of(claim, classes),
        constraints=claim.spec.devices.constraints,
    )


def is_stuck(claim: ResourceClaim, now: float, timeout: timedelta) -> bool:
    """Return whether the claim's devices failed to become ready, or took longer than ``timeout``."""
    ready = is_ready(claim)
    return is_late(claim, now, timeout) if ready is None else not ready


def is_ready(claim: ResourceClaim) -> bool | None:
    """Return whether the claim's devices can be used; False: they never will, None: not yet.

    Mirrors ``isClaimReadyForBinding``.
    """
    allocation = claim.status.allocation
    results = allocation.devices.results if allocation is not None else ()
    for result in results:
        if not result.binding_conditions:
            continue
        said = _conditions(claim, result)
        if any(said.get(failure) == "True" for failure in result.binding_failure_conditions):
            return False
        if any(said.get(condition) != "True" for condition in result.binding_conditions):
            return None
    return True


def _conditions(claim: ResourceClaim, result: DeviceRequestAllocationResult) -> dict[str, str]:
    """Return the driver's conditions of the device: type to status."""
    wanted = (result.driver, result.pool, result.device)
    for said in claim.status.devices:
        if (said.driver, said.pool, said.device) == wanted:
            return {condition.type: condition.status for condition in reversed(said.conditions)}
    return {}


def is_late(claim: ResourceClaim, now: float, timeout: timedelta) -> bool:
    """Return whether the claim was allocated longer than ``timeout`` ago. Mirrors ``isClaimTimeout``."""
    began = claim.status.allocation and claim.status.allocation.allocation_timestamp
    if not began:
        return False
    return datetime.fromisoformat(began) + timeout < datetime.fromtimestamp(now, UTC)
