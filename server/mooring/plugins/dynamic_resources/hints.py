"""Queueing hints for pods that DynamicResources rejected."""

from __future__ import annotations

from mooring.framework import (
    ActionType,
    EventResource,
    Handle,
    HintedEvent,
    KubeVersion,
    Pod,
    QueueingHint,
)
from mooring.framework.cluster_events import target_pod
from mooring.framework.objects import ResourceClaim
from mooring.plugins.dynamic_resources.claims.pod_claims import ClaimError, claims_of
from mooring.plugins.dynamic_resources.rules import Rules

_DELETED_CLAIMS_SINCE = KubeVersion(1, 37)
"""Since this release the devices of a claim that is deleted count as free."""

_PUT = ActionType.ADD | ActionType.UPDATE


def events(handle: Handle) -> tuple[HintedEvent, ...]:
    """Return the events of a release; none while its feature gate is off."""
    if not handle.gates.enabled("DynamicResourceAllocation"):
        return ()
    rules = Rules.of(handle.gates)

    def after_claim(pod: Pod, old: ResourceClaim | None, new: ResourceClaim | None) -> QueueingHint:
        if new is None:
            return QueueingHint.when(old is not None and old.status.allocation is not None)
        try:
            claims = claims_of(pod, handle.snapshot().objects, rules)
        except ClaimError:
            return QueueingHint.SKIP
        had_devices = old is not None and old.status.allocation is not None
        if had_devices and new.status.allocation is None:
            return QueueingHint.QUEUE
        own = any(claim.metadata.uid == new.metadata.uid for claim in claims)
        return QueueingHint.when(own and (old is None or old.status != new.status))

    def after_claim_was_made(pod: Pod, old: Pod, new: Pod) -> QueueingHint:
        if pod.metadata.uid != new.metadata.uid:
            return QueueingHint.SKIP
        try:
            claims_of(new, handle.snapshot().objects, rules)
        except ClaimError:
            return QueueingHint.SKIP
        return QueueingHint.QUEUE

    node, claim = _actions(handle.kube_version)
    return (
        HintedEvent.of(EventResource.NODE, node),
        HintedEvent.of(EventResource.RESOURCE_CLAIM, claim, after_claim),
        HintedEvent.of(
            target_pod(handle.kube_version),
            ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM,
            after_claim_was_made,
        ),
        HintedEvent.of(EventResource.DEVICE_CLASS, _PUT),
        HintedEvent.of(EventResource.RESOURCE_SLICE, _PUT),
    )


def _actions(version: KubeVersion) -> tuple[ActionType, ActionType]:
    """Return what may help of nodes and of claims."""
    node = ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
    return node, _PUT | ActionType.DELETE if version >= _DELETED_CLAIMS_SINCE else _PUT
