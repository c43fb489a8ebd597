"""Keeps volumes within what CSI drivers can attach to a node. Mirrors ``plugins/nodevolumelimits/csi.go``."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import numpy as np

from mooring.framework import (
    SUCCESS,
    Bools,
    CycleState,
    Finding,
    Handle,
    HintedEvent,
    Int32s,
    KubeVersion,
    NodeInfo,
    NodeView,
    Pod,
    ReasonCode,
    Status,
    Verdicts,
)
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import (
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from mooring.framework.reason_codes import code_of
from mooring.framework.upstream import Upstream
from mooring.plugins.claim_findings import claim_faults
from mooring.plugins.claims import BoundClaims, claim_name
from mooring.plugins.csi_migration import kind_of
from mooring.plugins.node_volume_limits.attachable import (
    Attachable,
    VolumeError,
    Volumes,
    unique_name,
)
from mooring.plugins.node_volume_limits.attached import AttachedVolumes
from mooring.plugins.node_volume_limits.findings import full_drivers, missing_driver
from mooring.plugins.node_volume_limits.hints import events
from mooring.plugins.storage import NO_ROWS, StoragePlugin

REASON = "node(s) exceed max volume count"

SCALING_GATE = "VolumeLimitScaling"
"""The feature gate, on since 1.37, with which a driver that demands it must be on the node."""

_DEMANDED_SINCE = KubeVersion(1, 36)
"""Before, every driver that has a ``CSIDriver`` had to be on the node."""


class NodeVolumeLimits(StoragePlugin[None]):
    """Rejects nodes where a CSI driver would have more volumes than the node's CSINode allows.

    A volume that a pod on the node has already needs no more room.
    """

    name = "NodeVolumeLimits"
    upstream = Upstream()
    reads = (CSIDriver, CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment)

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._asks_for_driver = handle.gates.enabled(SCALING_GATE)
        self._all_demand = handle.kube_version < _DEMANDED_SINCE
        self._lock = threading.Lock()
        self._attached = AttachedVolumes(handle.kube_version)

    def events_to_register(self) -> Sequence[HintedEvent]:
        return events(self.handle.kube_version)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        counted = any(
            claim_name(pod, volume) is not None or kind_of(volume) is not None for volume in pod.spec.volumes
        )
        return SUCCESS if counted else Status.skip()

    def rejected_rows(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int32s | None:
        found = BoundClaims.of(state, pod, nodes.snapshot.objects)
        if found is None:
            return None
        sources = [volume.spec.csi for volume in found.volumes if volume.spec.csi is not None]
        wanted = {
            unique_name(source.driver, source.volume_handle): source.driver
            for source in sources
            if source.driver and source.volume_handle
        }
        with nodes.table.lock, self._lock:
            attached = self._attached
            attached.follow(nodes)
            if attached.failures:
                return None
            rejected = attached.exceed(wanted, nodes)
            for driver in self._demanding(wanted, nodes.snapshot.objects):
                missing = attached.missing(driver, nodes)
                rejected = missing if rejected is None else rejected | missing
        return NO_ROWS if rejected is None else nodes.rows[rejected]

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        if not pod.spec.volumes:
            return Verdicts.passed(len(nodes))
        answer = _Rejections(len(nodes))
        objects = nodes.snapshot.objects
        # The state's lock comes first everywhere; under it all reads see one state.
        with nodes.table.lock, self._lock:
            attached = self._attached
            attached.follow(nodes)
            sorts = attached.sorts[nodes.rows]
            for number in np.flatnonzero(np.bincount(sorts)).tolist():
                there = sorts == number
                wanted = _volumes_of(pod, Attachable(objects, attached.migrated[number]))
                if isinstance(wanted, Status):
                    answer.reject(there, wanted)
                elif wanted:
                    for driver in self._demanding(wanted, objects):
                        status = Status.unschedulable(f"{driver} CSI driver is not installed on the node")
                        answer.reject(there & attached.missing(driver, nodes), status)
                    for row, status in attached.failures.items():
                        answer.reject(there & (nodes.rows == row), status)
                    full = attached.exceed(wanted, nodes)
                    if full is not None:
                        answer.reject(there & full, Status.unschedulable(REASON))
        return answer.verdicts()

    def _demanding(self, wanted: Volumes, objects: ObjectTable) -> Iterator[str]:
        """Yield the drivers of ``wanted`` that must be on the node."""
        for driver in sorted(set(wanted.values())) if self._asks_for_driver else ():
            known = objects.get(CSIDriver, driver)
            if known is not None and (self._all_demand or known.spec.prevent_pod_scheduling_if_missing):
                yield driver

    def explain(
        self, state: CycleState, pod: Pod, node: NodeInfo | None, status: Status
    ) -> Sequence[Finding]:
        if node is None:
            return claim_faults(state, pod)
        if status.reasons == (REASON,):
            return list(full_drivers(pod, node, self.handle.kube_version))
        known = [code_of(self.name, reason) for reason in status.reasons]
        missing = [each[1] for each in known if each and each[0] is ReasonCode.VOLUME_DRIVER_MISSING]
        return [missing_driver(each, node) for each in missing] or claim_faults(state, pod)


class _Rejections:
    """The status of each node; the first rejection stays."""

    def __init__(self, count: int) -> None:
        self._codes = np.zeros(count, np.int32)
        self._statuses: dict[Status, int] = {SUCCESS: 0}

    def reject(self, rejected: Bools, status: Status) -> None:
        """Set ``status`` where ``rejected`` (bool[K]) is true and there is no status yet."""
        fresh = rejected & (self._codes == 0)
        if fresh.any():
            self._codes[fresh] = self._statuses.setdefault(status, len(self._statuses))

    def verdicts(self) -> Verdicts:
        """All of it."""
        return Verdicts(self._codes, tuple(self._statuses))


def _volumes_of(pod: Pod, attachable: Attachable) -> Volumes | Status:
    try:
        return attachable.of(pod, placed=False)
    except VolumeError as failure:
        return failure.status
