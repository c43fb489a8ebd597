"""A pod's claims after the choice: devices kept at Reserve, written at PreBind, given back at Unreserve.

Mirrors ``Reserve``, ``bindClaim``, ``isPodReadyForBinding`` and ``Unreserve`` of
``plugins/dynamicresources/dynamicresources.go``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from msgspec.structs import replace

from mooring.framework import SUCCESS, Caller, ClusterApi, Handle, Pod, Status
from mooring.framework.cluster_api import ObjectReference
from mooring.framework.errors import AbortedError, DeadlineExceededError, MooringError
from mooring.framework.objects.claims import AllocationResult, ResourceClaim
from mooring.plugins.dynamic_resources.claims.allocation import Document, allocation_document
from mooring.plugins.dynamic_resources.claims.pod_claims import is_late, is_ready
from mooring.plugins.dynamic_resources.requests import class_names

FINALIZER = "resource.kubernetes.io/delete-protection"

IN_FLIGHT = "mooring.dev/in-flight"
"""Annotation of claims in the tables alone: the UID of the pod whose allocation of it is not written yet."""

ATTEMPTS = 5
"""Attempts to write a claim that is written concurrently."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds between two looks whether devices are ready; doubled from the first to the longest."""


class ClaimBindingError(Exception):
    """A claim can't be allocated now; the pod is to be scheduled again."""


@dataclass
class ReservedClaims:
    """The claims of a pod that got its node.

    Attributes:
        claims: All of them.
        allocations: By UID, what was found for those that had no devices.
        written: By UID, those in whose status the pod stands because of this reservation.
    """

    claims: Sequence[ResourceClaim]
    allocations: Mapping[str, AllocationResult]
    written: dict[str, ResourceClaim] = field(default_factory=dict)

    def clone(self) -> ReservedClaims:
        """Return a copy for a what-if evaluation."""
        return ReservedClaims(self.claims, self.allocations, dict(self.written))


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
        document = _until_unchanged(claim, allocation, pod, handle, cluster, timed=timed)
        written = msgspec.convert(document, ResourceClaim)
        reserved.written[claim.metadata.uid] = written
        handle.assumptions.assume_object(written)


def _until_unchanged(
    claim: ResourceClaim,
    allocation: AllocationResult | None,
    pod: Pod,
    handle: Handle,
    cluster: ClusterApi,
    *,
    timed: bool,
) -> dict[str, Any]:
    for attempt in range(ATTEMPTS):
        try:
            return _write_one(claim, allocation, pod, handle, cluster, timed=timed)
        except AbortedError:
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("not reached")


def _write_one(
    claim: ResourceClaim,
    allocation: AllocationResult | None,
    pod: Pod,
    handle: Handle,
    cluster: ClusterApi,
    *,
    timed: bool,
) -> dict[str, Any]:
    name = f"{claim.metadata.namespace}/{claim.metadata.name}"
    document = cluster.read(_target(claim))
    if document is None or document["metadata"].get("deletionTimestamp"):
        raise ClaimBindingError(f"claim {name} got deleted in the meantime")
    status: dict[str, Any] = document.get("status") or {}
    now = datetime.fromtimestamp(handle.clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if timed else ""
    patch: dict[str, Any] = {}
    if allocation is not None:
        if status.get("allocation"):
            raise ClaimBindingError(f"claim {name} got allocated elsewhere in the meantime")
        finalizers = document["metadata"].get("finalizers") or []
        if FINALIZER not in finalizers:
            document = cluster.set_finalizers(_target(claim, document), [*finalizers, FINALIZER])
        classes = _classes(claim, cluster)
        patch["allocation"] = allocation_document(allocation, document, classes, handle.kube_version, now)
    elif not status.get("allocation"):
        raise ClaimBindingError(f"claim {name} got deallocated elsewhere in the meantime")
    elif timed and not status["allocation"].get("allocationTimestamp"):
        patch["allocation"] = {"allocationTimestamp": now}
    meta = pod.metadata
    user = {"resource": "pods", "name": meta.name, "uid": meta.uid}
    patch["reservedFor"] = [*(status.get("reservedFor") or []), user]
    return cluster.patch(_target(claim, document), {"status": patch}, subresource="status")


def _classes(claim: ResourceClaim, cluster: ClusterApi) -> dict[str, Document]:
    """Return the device classes that the claim names, for their configuration."""
    names = {name for request in claim.spec.devices.requests for _, name in class_names(request)}
    found = {name: cluster.read(ObjectReference("DeviceClass", "", name)) for name in names}
    return {name: document for name, document in found.items() if document is not None}


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
    while True:
        documents = [cluster.read(_target(claim)) for claim in reserved.claims]
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


def _withdraw(claim: ResourceClaim, pod: Pod, handle: Handle, cluster: ClusterApi) -> None:
    document = cluster.read(_target(claim))
    if document is None or document["metadata"].get("uid") != claim.metadata.uid:
        return
    users = [
        user
        for user in (document.get("status") or {}).get("reservedFor") or []
        if user["uid"] != pod.metadata.uid
    ]
    patch = {"status": {"reservedFor": users or None}}
    document = cluster.patch(_target(claim, document), patch, subresource="status")
    handle.assumptions.assume_object(msgspec.convert(document, ResourceClaim))


def _target(claim: ResourceClaim, seen: Document | None = None) -> ObjectReference:
    """Return a reference to the claim; to the version that was ``seen``, where given."""
    meta = claim.metadata
    version = seen["metadata"].get("resourceVersion", "") if seen is not None else ""
    return ObjectReference("ResourceClaim", meta.namespace, meta.name, meta.uid, version)
