"""A pod's claims after the choice: devices kept at Reserve, written at PreBind, given back at Unreserve.

Mirrors ``Reserve``, ``bindClaim``, ``isPodReadyForBinding`` and ``Unreserve`` of
``plugins/dynamicresources/dynamicresources.go``.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import msgspec
from msgspec.structs import replace

from mooring.framework import SUCCESS, Caller, ClusterApi, Handle, Pod, Snapshot, Status
from mooring.framework.errors import DeadlineExceededError, MooringError
from mooring.framework.objects.claims import (
    AllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
)
from mooring.plugins.dynamic_resources.claims import extended_claim
from mooring.plugins.dynamic_resources.claims.extended_claim import ExtendedClaim
from mooring.plugins.dynamic_resources.claims.pod_claims import is_late, is_ready
from mooring.plugins.dynamic_resources.claims.writing import (
    ClaimBindingError,
    target_of,
    withdraw,
    write_claim,
)

IN_FLIGHT = "mooring.dev/in-flight"
"""Annotation of claims in the tables alone: the UIDs of the pods that wait for it to be written."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds between two looks whether devices are ready; doubled from the first to the longest."""


@dataclass(frozen=True, slots=True)
class ClaimUse:
    """A claim of a pod that got its node.

    Attributes:
        user: The user to reserve it for; None = it is already reserved for the pod.
        allocation: The devices that were found for it, for this pod or for another one of its group that
            shares it; None = it had some.
    """

    claim: ResourceClaim
    user: ResourceClaimConsumerReference | None
    allocation: AllocationResult | None = None


@dataclass
class ReservedClaims:
    """The claims of a pod that got its node.

    Attributes:
        uses: All that it names.
        extended: The claim for its extended resources; None = it needs none.
        written: By UID, those in whose status the user stands because of this reservation.
    """

    uses: Sequence[ClaimUse]
    extended: ExtendedClaim | None = None
    written: dict[str, ResourceClaim] = field(default_factory=dict)

    def clone(self) -> ReservedClaims:
        """Return a copy for a what-if evaluation."""
        extended = None if self.extended is None else copy.copy(self.extended)
        return ReservedClaims(self.uses, extended, dict(self.written))


def in_flight_for(claim: ResourceClaim) -> Sequence[str]:
    """Return the UIDs of the pods that wait for the claim to be written, often none."""
    return claim.metadata.annotations.get(IN_FLIGHT, "").split()


def may_use(claim: ResourceClaim, pod: Pod, snapshot: Snapshot) -> bool:
    """Return whether ``pod`` can use an allocation that another pod made and that is not written yet.

    The pods of a group share the allocation of one of them: they are decided together.
    """
    others = [uid for uid in in_flight_for(claim) if uid != pod.metadata.uid]
    if not others:
        return True
    records = (snapshot.pods.get(uid) for uid in others)
    return pod.group is not None and any(
        record is not None and record.pod.group == pod.group for record in records
    )


def assume(reserved: ReservedClaims, pod: Pod, handle: Handle) -> None:
    """Let other decisions see which devices are about to be taken.

    If there is no API server to write to later, the pod counts as a user from now on, and others may share.
    """
    for use in reserved.uses:
        if use.user is not None and _counts_at_once(use.user, handle):
            allocation = use.allocation or use.claim.status.allocation
            _show(use.claim, handle, allocation, (*use.claim.status.reserved_for, use.user))
        elif use.allocation is not None:
            _show_waiting(use, [*in_flight_for(use.claim), pod.metadata.uid], handle)
    if reserved.extended is not None:
        extended_claim.assume(reserved.extended, pod, handle)


def _counts_at_once(user: ResourceClaimConsumerReference, handle: Handle) -> bool:
    """Return whether the pod counts as a user in the claim's status at once, as no API server is there."""
    return handle.cluster is None and user.resource == "pods"


def _show_waiting(use: ClaimUse, uids: Sequence[str], handle: Handle) -> None:
    annotations = {**use.claim.metadata.annotations, IN_FLIGHT: " ".join(uids)}
    waiting = replace(use.claim, metadata=replace(use.claim.metadata, annotations=annotations))
    _show(waiting, handle, use.allocation, use.claim.status.reserved_for)


def _show(
    claim: ResourceClaim,
    handle: Handle,
    allocation: AllocationResult | None,
    users: tuple[ResourceClaimConsumerReference, ...],
) -> None:
    metadata = replace(claim.metadata, resource_version="")
    status = replace(claim.status, allocation=allocation, reserved_for=users)
    handle.assumptions.assume_object(replace(claim, metadata=metadata, status=status))


def bind(
    reserved: ReservedClaims, pod: Pod, handle: Handle, timeout: timedelta | None, caller: Caller
) -> Status:
    """Write the claims, and wait for their devices for as long as that may take. Raises DeadlineExceededError
    if the caller no longer waits.
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
    """Write the allocations, and that the pod uses the claims. Raises ClaimBindingError if a concurrent
    writer was faster, and MooringError if the API server rejected it or did not answer.
    """
    for use in reserved.uses:
        if use.user is None:
            continue
        written = write_claim(use.claim, use.allocation, use.user, handle, cluster, timed=timed)
        reserved.written[use.claim.metadata.uid] = written
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
    used = [*(use.claim for use in reserved.uses), *([] if made is None else [made])]
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
    """Take back the assumed claims, and the pod's name if it was written; the devices stay allocated.

    Claims of its group keep the group's: others of it may need them.
    """
    for use in reserved.uses:
        meta = use.claim.metadata
        if use.user is not None and _counts_at_once(use.user, handle):
            _use_no_longer(use.claim, use.user, handle)
        elif meta.uid not in reserved.written:
            _wait_no_longer(use, pod, handle)
        elif use.user is not None and use.user.resource == "pods" and handle.cluster is not None:
            try:
                document = withdraw(use.claim, pod.metadata.uid, handle.cluster)
                if document is not None:
                    handle.assumptions.assume_object(msgspec.convert(document, ResourceClaim))
            except MooringError as error:
                handle.logger.warning("pod %s keeps its claim %s: %s", pod.key, meta.name, error)
    if reserved.extended is not None:
        extended_claim.unmake(reserved.extended, pod, handle)


def _use_no_longer(claim: ResourceClaim, user: ResourceClaimConsumerReference, handle: Handle) -> None:
    """Take the user out of the claim's status; the devices that were found are free without users."""
    meta = claim.metadata
    with handle.assumptions.lock:
        now = handle.snapshot().objects.get(ResourceClaim, meta.name, meta.namespace)
        users = () if now is None else now.status.reserved_for
        others = tuple(each for each in users if each != user)
        if now is not None and others:
            _show(now, handle, now.status.allocation, others)
        else:
            handle.assumptions.forget_object(ResourceClaim, meta.name, meta.namespace)


def _wait_no_longer(use: ClaimUse, pod: Pod, handle: Handle) -> None:
    """Free the devices, unless others of the pod's group wait for them, or one of these has written them."""
    meta = use.claim.metadata
    with handle.assumptions.lock:
        now = handle.snapshot().objects.get(ResourceClaim, meta.name, meta.namespace)
        waiting = () if now is None else in_flight_for(now)
        if pod.metadata.uid not in waiting:
            return
        others = [uid for uid in waiting if uid != pod.metadata.uid]
        if others:
            _show_waiting(use, others, handle)
        else:
            handle.assumptions.forget_object(ResourceClaim, meta.name, meta.namespace)
