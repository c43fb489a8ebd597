"""The claims that a pod uses, and whether they can be used at the moment.

Mirrors ``foreachPodResourceClaim`` in ``plugins/dynamicresources/dynamicresources.go`` and
``k8s.io/dynamic-resource-allocation/resourceclaim``.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from mooring.framework import KubeVersion, Pod
from mooring.framework.deadline import timely
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects.claims import DeviceRequestAllocationResult, ResourceClaim
from mooring.framework.objects.devices import DeviceClass
from mooring.framework.objects.pod import PodResourceClaim
from mooring.plugins.dynamic_resources.requests import ClaimToAllocate, class_names, requests_of
from mooring.plugins.dynamic_resources.rules import Rules

_POD_CAPITALIZED_SINCE = KubeVersion(1, 36)
"""Messages about a claim that is not the pod's say "Pod", before "pod"."""


class ClaimError(Exception):
    """A claim of the pod can't be used now; the pod has to wait. The message is kube-scheduler's."""


def claims_of(pod: Pod, objects: ObjectTable, rules: Rules) -> list[ResourceClaim]:
    """Return the claims of ``pod``, in its order; an entry for which no claim is needed is left out.

    Raises:
        ClaimError: A claim is missing, being deleted or another pod's.
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
        if entry.resource_claim_name is None and not _is_controlled(claim, pod):
            kind = "Pod" if rules.version >= _POD_CAPITALIZED_SINCE else "pod"
            raise ClaimError(
                f"ResourceClaim {namespace}/{name} was not created for {kind} {pod.key} ({kind} is not owner)"
            )
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


def _is_controlled(claim: ResourceClaim, pod: Pod) -> bool:
    controllers = (owner for owner in claim.metadata.owner_references if owner.controller)
    controller = next(controllers, None)
    return controller is not None and controller.uid == pod.metadata.uid


def to_be_allocated(claim: ResourceClaim, objects: ObjectTable, rules: Rules) -> ClaimToAllocate:
    """``claim``, which has no devices, with the device classes that it names.

    Raises:
        ClaimError: A request asks for nothing that is known, or there is no such class.
    """
    key = f"{claim.metadata.namespace}/{claim.metadata.name}"
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
