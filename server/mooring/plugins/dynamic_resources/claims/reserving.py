"""A pod's claims after the choice: devices kept at Reserve, written at PreBind, given back at Unreserve.

Mirrors ``Reserve``, ``bindClaim``, ``isPodReadyForBinding`` and ``Unreserve`` of
``plugins/dynamicresources/dynamicresources.go``.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import msgspec
from msgspec.structs import replace

from mooring.framework import SUCCESS, Caller, ClusterApi, Handle, Pod, Status
from mooring.framework.errors import DeadlineExceededError, MooringError
from mooring.framework.objects.claims import AllocationResult, ResourceClaim
from mooring.plugins.dynamic_resources.claims import extended_claim
from mooring.plugins.dynamic_resources.claims.extended_claim import ExtendedClaim
from mooring.plugins.dynamic_resources.claims.pod_claims import is_late, is_ready
from mooring.plugins.dynamic_resources.claims.writing import ClaimBindingError, target_of, write_claim

IN_FLIGHT = "mooring.dev/in-flight"
"""Annotation of claims in the tables alone: the UID of the pod whose allocation of it is not written yet."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds between two looks whether devices are ready; doubled from the first to the longest."""


@dataclass
class ReservedClaims:
    """The claims of a pod that got its node.

    Attributes:
        claims: All that it names.
        allocations: By UID, what was found for those that had no devices.
        extended: The claim for its extended resources; None = it needs none.
        written: By UID, those in whose status the pod stands because of this reservation.
    """

    claims: Sequence[ResourceClaim]
    allocations: Mapping[str, AllocationResult]
    extended: ExtendedClaim | None = None
    written: dict[str, ResourceClaim] = field(default_factory=dict)

    def clone(self) -> ReservedClaims:
        """Return a copy for a what-if evaluation."""
        extended = None if self.extended is None else copy.copy(self.extended)
        return ReservedClaims(self.claims, self.allocations, extended, dict(self.written))


def in_flight_for(claim: ResourceClaim) -> str:
    """Return the UID of the pod whose allocation of the claim is not written yet; "" when there is none."""
    return claim.metadata.annotations.get(IN_FLIGHT, "")


def is_reserved(claim: ResourceClaim, pod: Pod) -> bool:
    """Return whether the claim is there for the pod."""
    return any(user.uid == pod.metadata.uid for user in claim.status.reserved_for)


def assume(reserved: ReservedClaims, pod: Pod, handle: Handle) -> None:
    """Let other decisions see which devices are about to be taken."""
    for claim in reserved.claims:
        allocation = reserved.allocations.get(claim.metadata.uid)
        if allocation is not None:
            annotations = {**claim.metadata.annotations, IN_FLIGHT: pod.metadata.uid}
            metadata = replace(claim.metadata, annotations=annotations, resource_version="")
            status = replace(claim.status, allocation=allocation)
            handle.assumptions.assume_object(replace(claim, metadata=metadata, status=status))
    if reserved.extended is not None:
        extended_claim.assume(reserved.extended, pod, handle)


def bind(
    reserved: ReservedClaims, pod: Pod, handle: Handle, timeout: timedelta | None, caller: Caller
) -> Status:
    """Write the claims, and wait for their devices for as long as that may take.

    Raises:
        DeadlineExceededError: The caller no longer waits.
    """
    cluster = handle.cluster
    if cluster is None:
        return SUCCESS
    try:
        write(reserved, pod, handle, cluster, timed=timeout is not None)
        if timeout is not None:
            wait_until_ready(reserved, handle, cluster, timeout, caller)
    except DeadlineExceededError:
        raise
    except (ClaimBindingError, MooringError) as error:
        return Status.error(str(error))
    return SUCCESS


def write(reserved: ReservedClaims, pod: Pod, handle: Handle, cluster: ClusterApi, *, timed: bool) -> None:
    """Write the allocations, and that the pod uses the claims.

    Raises:
        ClaimBindingError: A concurrent writer was faster.
        MooringError: The API server rejected it or did not answer.
    """
    for claim in reserved.claims:
        if is_reserved(claim, pod):
            continue
        allocation = reserved.allocations.get(claim.metadata.uid)
        written = write_claim(claim, allocation, pod, handle, cluster, timed=timed)
        reserved.written[claim.metadata.uid] = written
        handle.assumptions.assume_object(written)
    if reserved.extended is not None:
        extended_claim.make(reserved.extended, pod, handle, cluster, timed=timed)


def wait_until_ready(
    reserved: ReservedClaims, handle: Handle, cluster: ClusterApi, timeout: timedelta, caller: Caller
) -> None:
    """Until the drivers say that the devices can be used on the node.

    Raises:
        DeadlineExceededError: The caller no longer waits.
        ClaimBindingError: They say that they can't, or nothing for too long.
        MooringError: The API server does not answer.
    """
    end = handle.clock.monotonic() + timeout.total_seconds()
    pause = FIRST_PAUSE
    made = None if reserved.extended is None else reserved.extended.made
    used = reserved.claims if made is None else [*reserved.claims, made]
    while True:
        documents = [cluster.read(target_of(claim)) for claim in used]
        claims = [msgspec.convert(document, ResourceClaim) for document in documents if document is not None]
        states = [is_ready(claim) for claim in claims]
        if False in states or len(claims) < len(documents):
            raise ClaimBindingError("device binding failed")
        if None not in states:
            return
        caller.check()
        late = any(is_late(claim, handle.clock.now(), timeout) for claim in claims)
        if late or handle.clock.monotonic() >= end:
            raise ClaimBindingError(f"device binding timeout after {timeout.total_seconds():g} s")
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def give_back(reserved: ReservedClaims, pod: Pod, handle: Handle) -> None:
    """Take back what was assumed and, where it was written, the pod's name; the devices stay allocated."""
    for claim in reserved.claims:
        meta = claim.metadata
        written = reserved.written.get(meta.uid)
        if written is not None and handle.cluster is not None:
            try:
                _withdraw(claim, pod, handle, handle.cluster)
            except MooringError as error:
                handle.logger.warning("pod %s keeps its claim %s: %s", pod.key, meta.name, error)
        elif meta.uid in reserved.allocations:
            handle.assumptions.forget_object(ResourceClaim, meta.name, meta.namespace)
    if reserved.extended is not None:
        extended_claim.unmake(reserved.extended, pod, handle)


def _withdraw(claim: ResourceClaim, pod: Pod, handle: Handle, cluster: ClusterApi) -> None:
    document = cluster.read(target_of(claim))
    if document is None or document["metadata"].get("uid") != claim.metadata.uid:
        return
    users = [
        user
        for user in (document.get("status") or {}).get("reservedFor") or []
        if user["uid"] != pod.metadata.uid
    ]
    patch = {"status": {"reservedFor": users or None}}
    document = cluster.patch(target_of(claim, document), patch, subresource="status")
    handle.assumptions.assume_object(msgspec.convert(document, ResourceClaim))
