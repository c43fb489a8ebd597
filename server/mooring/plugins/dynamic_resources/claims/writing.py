"""One claim as it is written at the API server.

Mirrors ``bindClaim`` of ``plugins/dynamicresources/dynamicresources.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from mooring.framework import ClusterApi, Handle
from mooring.framework.cluster_api import ObjectReference
from mooring.framework.errors import AbortedError
from mooring.framework.objects.claims import (
    AllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
)
from mooring.plugins.dynamic_resources.claims.allocation import Document, allocation_document
from mooring.plugins.dynamic_resources.requests import class_names

Written = TypeVar("Written")

FINALIZER = "resource.kubernetes.io/delete-protection"

ATTEMPTS = 5
"""Attempts to write a claim that is written concurrently."""


class ClaimBindingError(Exception):
    """A claim can't be allocated now; the pod is to be scheduled again."""


def write_claim(
    claim: ResourceClaim,
    allocation: AllocationResult | None,
    user: ResourceClaimConsumerReference,
    handle: Handle,
    cluster: ClusterApi,
    *,
    timed: bool,
) -> ResourceClaim:
    """Write its devices, if they were found now, and its user; return the written claim.

    Pods of a group that share it do so at the same time: later ones find it already written. Raises
    ClaimBindingError if a concurrent writer was faster, and MooringError if the API server rejected it or did
    not answer.
    """
    document = until_unchanged(lambda: _write_one(claim, allocation, user, handle, cluster, timed=timed))
    return msgspec.convert(document, ResourceClaim)


def until_unchanged(attempt: Callable[[], Written]) -> Written:
    """Return what ``attempt`` returns once no other writer changes the claim at the same time. Raises
    AbortedError if another writer did each time.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return attempt()
        except AbortedError:
            continue
    return attempt()


def _write_one(
    claim: ResourceClaim,
    allocation: AllocationResult | None,
    user: ResourceClaimConsumerReference,
    handle: Handle,
    cluster: ClusterApi,
    *,
    timed: bool,
) -> dict[str, Any]:
    name = claim.metadata.key
    document = cluster.read(target_of(claim))
    if document is None or document["metadata"].get("deletionTimestamp"):
        raise ClaimBindingError(f"claim {name} got deleted in the meantime")
    status: dict[str, Any] = document.get("status") or {}
    now = datetime.fromtimestamp(handle.clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if timed else ""
    known: Document = status.get("allocation") or {}
    patch: dict[str, Any] = {}
    if allocation is not None and known and not _has_devices(known, allocation):
        raise ClaimBindingError(f"claim {name} got allocated elsewhere in the meantime")
    if allocation is None and not known:
        raise ClaimBindingError(f"claim {name} got deallocated elsewhere in the meantime")
    if allocation is not None and not known:
        finalizers = document["metadata"].get("finalizers") or []
        if FINALIZER not in finalizers:
            document = cluster.set_finalizers(target_of(claim, document), [*finalizers, FINALIZER])
        classes = _classes(claim, cluster)
        patch["allocation"] = allocation_document(allocation, document, classes, handle.kube_version, now)
    elif timed and not known.get("allocationTimestamp"):
        patch["allocation"] = {"allocationTimestamp": now}
    users = status.get("reservedFor") or []
    if all(each["uid"] != user.uid for each in users):
        patch["reservedFor"] = [*users, msgspec.to_builtins(user)]
    if not patch:
        return document
    return cluster.patch(target_of(claim, document), {"status": patch}, subresource="status")


def _has_devices(known: Document, allocation: AllocationResult) -> bool:
    """Return whether a claim's allocation at the API server is of the same devices as ``allocation``."""
    has = msgspec.convert(known, AllocationResult)
    same = list(map(_device, has.devices.results)) == list(map(_device, allocation.devices.results))
    return same and has.node_selector == allocation.node_selector


def _device(result: DeviceRequestAllocationResult) -> tuple[object, ...]:
    return result.request, result.driver, result.pool, result.device, result.share_id


def _classes(claim: ResourceClaim, cluster: ClusterApi) -> dict[str, Document]:
    """Return the device classes that the claim names, for their configuration."""
    names = {name for request in claim.spec.devices.requests for _, name in class_names(request)}
    found = {name: cluster.read(ObjectReference("DeviceClass", "", name)) for name in names}
    return {name: document for name, document in found.items() if document is not None}


def withdraw(claim: ResourceClaim, uid: str, cluster: ClusterApi) -> Document | None:
    """Let a user no longer stand in the claim's status; returns it as it is then, None = it is gone. Raises
    MooringError if the API server rejected it or did not answer.
    """
    document = cluster.read(target_of(claim))
    if document is None or document["metadata"].get("uid") != claim.metadata.uid:
        return None
    users = [user for user in (document.get("status") or {}).get("reservedFor") or [] if user["uid"] != uid]
    patch = {"status": {"reservedFor": users or None}}
    return cluster.patch(target_of(claim, document), patch, subresource="status")


def target_of(claim: ResourceClaim, seen: Document | None = None) -> ObjectReference:
    """Return a reference to the claim; to the version that was ``seen``, where given."""
    meta = claim.metadata
    version = seen["metadata"].get("resourceVersion", "") if seen is not None else ""
    return ObjectReference("ResourceClaim", meta.namespace, meta.name, meta.uid, version)
