"""Keeps a disk, and a claim of one pod alone, from being used twice.

Mirrors ``plugins/volumerestrictions/volume_restrictions.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mooring.framework import (
    SUCCESS,
    Bools,
    CycleState,
    Finding,
    Handle,
    HintedEvent,
    Int32s,
    NodeInfo,
    NodeView,
    Pod,
    Status,
    Verdicts,
)
from mooring.framework.deadline import timely
from mooring.framework.objects import PersistentVolumeClaim
from mooring.framework.upstream import Upstream
from mooring.plugins.claim_findings import claim_faults
from mooring.plugins.claims import READ_WRITE_ONCE_POD, BoundClaims, not_found
from mooring.plugins.storage import NO_ROWS, StoragePlugin
from mooring.plugins.volume_restrictions.disks import collide, is_disk
from mooring.plugins.volume_restrictions.findings import claims_in_use, disks_in_use
from mooring.plugins.volume_restrictions.hints import events

REASON_DISK = "node(s) had no available disk"
REASON_CLAIM = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod"
)

_PRE_FILTER = "PreFilterVolumeRestrictions"
_DISK, _CLAIM, _UNKNOWN = 1, 2, 3


@dataclass(frozen=True, slots=True)
class _OwnClaims:
    """The pod's claims that one pod alone may use.

    Attributes:
        uses: How often placed pods use one of them.
    """

    names: frozenset[str]
    uses: int


class VolumeRestrictions(StoragePlugin[None]):
    """Rejects nodes where a disk is mounted already, and all nodes while a ReadWriteOncePod claim is in use.

    GCE disks, iSCSI disks and RBD images may be shared when all mount them read-only, EBS volumes never.
    """

    name = "VolumeRestrictions"
    upstream = Upstream()
    reads = (PersistentVolumeClaim,)

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._statuses = (
            SUCCESS,
            Status.unschedulable(REASON_DISK),
            Status.unschedulable(REASON_CLAIM),
            Status.error("nothing is known of the pod's claims, because PreFilter did not run"),
        )

    def events_to_register(self) -> Sequence[HintedEvent]:
        return events(self.handle.kube_version)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        names = set()
        for name in timely(pod.claim_names):
            claim = nodes.snapshot.objects.get(PersistentVolumeClaim, name, pod.metadata.namespace)
            if claim is None:
                return Status.unresolvable(not_found("persistentvolumeclaim", name))
            if READ_WRITE_ONCE_POD in claim.spec.access_modes:
                names.add(name)
        own = _OwnClaims(frozenset(names), _uses(names, pod, nodes))
        if not own.uses and not any(map(is_disk, pod.spec.volumes)):
            return Status.skip()
        state.write(_PRE_FILTER, own)
        return SUCCESS

    def rejected_rows(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int32s | None:
        return NO_ROWS if BoundClaims.of(state, pod, nodes.snapshot.objects) is not None else None

    def add_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status:
        """Count the uses of ``other``."""
        return _recount(state, other, 1)

    def remove_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status:
        """Count the uses of ``other`` no more."""
        return _recount(state, other, -1)

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        codes: Int32s = np.where(_has_disk_of(pod, nodes), _DISK, 0).astype(np.int32)
        own = state.get(_PRE_FILTER, _OwnClaims)
        if own is None or own.uses > 0:
            codes[codes == 0] = _UNKNOWN if own is None else _CLAIM
        return Verdicts(codes, self._statuses)

    def explain(
        self, state: CycleState, pod: Pod, node: NodeInfo | None, status: Status
    ) -> Sequence[Finding]:
        if node is None:
            return claim_faults(state, pod)
        if status.reasons == (REASON_DISK,):
            return list(disks_in_use(pod, node))
        own = state.get(_PRE_FILTER, _OwnClaims)
        return list(claims_in_use(own.names, pod, node)) if own is not None else ()


def _uses(names: set[str], pod: Pod, nodes: NodeView) -> int:
    """How many of the claims in the pod's namespace placed pods use."""
    return sum((pod.metadata.namespace, name) in nodes.snapshot.pods.claim_users for name in names)


def _recount(state: CycleState, other: Pod, sign: int) -> Status:
    own = state.read(_PRE_FILTER, _OwnClaims)
    # As upstream, claims of that name in another namespace count too.
    uses = sum(name in own.names for name in other.claim_names)
    state.write(_PRE_FILTER, replace(own, uses=own.uses + sign * uses))
    return SUCCESS


def _has_disk_of(pod: Pod, nodes: NodeView) -> Bools:
    """bool[K]: a pod on the node has one of the pod's disks in a way that keeps the pod from it."""
    taken = np.zeros(nodes.table.capacity, np.bool_)
    wanted = [volume for volume in pod.spec.volumes if is_disk(volume)]
    pods = nodes.snapshot.pods
    for row in timely(tuple(pods.with_storage) if wanted else ()):
        taken[row] = any(
            collide(one, two)
            for other in pods.with_storage_on(row)
            for two in other.spec.volumes
            for one in timely(wanted)
        )
    return nodes.take(taken)
