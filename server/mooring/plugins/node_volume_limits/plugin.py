"""Keeps volumes within what CSI drivers can attach to a node. Mirrors ``plugins/nodevolumelimits/csi.go``."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from mooring.framework import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    Handle,
    HintedEvent,
    NodeView,
    Part,
    Pod,
    PreFilterPlugin,
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
from mooring.plugins.claims import claim_name, has_storage
from mooring.plugins.csi_migration import kind_of
from mooring.plugins.node_volume_limits.attachable import (
    Attachable,
    VolumeError,
    Volumes,
    migrated_plugins,
)
from mooring.plugins.node_volume_limits.attached import AttachedVolumes, Attachments, attachments_of
from mooring.plugins.node_volume_limits.hints import EVENTS

REASON = "node(s) exceed max volume count"

SCALING_GATE = "VolumeLimitScaling"
"""The feature gate, off by default, with which a driver that demands it must be on the node."""


class NodeVolumeLimits(PreFilterPlugin[None], FilterPlugin[None]):
    """Refuses nodes where a CSI driver would have more volumes than the node's CSINode allows.

    A volume that a pod on the node has already needs no more room.
    """

    name = "NodeVolumeLimits"
    reads = (CSIDriver, CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment)

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._asks_for_driver = handle.gates.enabled(SCALING_GATE)
        self._known_attachments: tuple[tuple[int, int], Attachments] = ((0, 0), {})

    def sign(self, pod: Pod) -> Hashable | None:
        return None if has_storage(pod) else ()

    def depends_on(self, pod: Pod, *, idle: bool) -> Part:
        return Part.NONE

    def events_to_register(self) -> Sequence[HintedEvent]:
        return EVENTS

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        counted = any(
            claim_name(pod, volume) is not None or kind_of(volume) is not None for volume in pod.spec.volumes
        )
        return SUCCESS if counted else Status.skip()

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        if not pod.spec.volumes:
            return Verdicts.passed(len(nodes))
        objects = nodes.snapshot.objects
        told = _Told(pod, objects)
        attached = AttachedVolumes(nodes, self._attachments(objects))

        def status(row: int, name: str) -> Status:
            csi_node = objects.get(CSINode, name)
            attachable, new = told.on(migrated_plugins(csi_node, self.handle.kube_version))
            if isinstance(new, Status):
                return new
            if self._asks_for_driver and (missing := _missing_driver(new, csi_node, objects)):
                return Status.unschedulable(f"{missing} CSI driver is not installed on the node")
            limits = _limits(csi_node)
            if not new or not limits:
                return SUCCESS
            try:
                full = attached.exceed(new, limits, row, name, attachable)
            except VolumeError as failure:
                return failure.status
            return Status.unschedulable(REASON) if full else SUCCESS

        return Verdicts.of(map(status, nodes.rows.tolist(), nodes.names))

    def _attachments(self, objects: ObjectTable) -> Attachments:
        """Worked out again only when an attachment or a volume has changed."""
        versions = objects.version(VolumeAttachment), objects.version(PersistentVolume)
        known, attachments = self._known_attachments
        if known != versions:
            attachments = attachments_of(objects)
            self._known_attachments = versions, attachments
        return attachments


class _Told:
    """The volumes of one pod, told once for each sort of nodes."""

    def __init__(self, pod: Pod, objects: ObjectTable) -> None:
        self._pod = pod
        self._objects = objects
        self._known: dict[frozenset[str], tuple[Attachable, Volumes | Status]] = {}

    def on(self, migrated: frozenset[str]) -> tuple[Attachable, Volumes | Status]:
        """For nodes on which the volumes of these plugins of old are the CSI drivers'; or why not."""
        if migrated not in self._known:
            attachable = Attachable(self._objects, migrated)
            self._known[migrated] = attachable, _volumes_of(self._pod, attachable)
        return self._known[migrated]


def _volumes_of(pod: Pod, attachable: Attachable) -> Volumes | Status:
    try:
        return attachable.of(pod, placed=False)
    except VolumeError as failure:
        return failure.status


def _missing_driver(wanted: Volumes, csi_node: CSINode | None, objects: ObjectTable) -> str | None:
    """The first driver, by name, that must be on the node and isn't."""
    there = {driver.name for driver in csi_node.spec.drivers} if csi_node is not None else set()
    for name in sorted(set(wanted.values()) - there):
        driver = objects.get(CSIDriver, name)
        if driver is not None and driver.spec.prevent_pod_scheduling_if_missing:
            return name
    return None


def _limits(csi_node: CSINode | None) -> dict[str, int]:
    """How many volumes each driver may have on the node; a driver without a limit is missing."""
    drivers = csi_node.spec.drivers if csi_node is not None else ()
    return {
        driver.name: driver.allocatable.count
        for driver in drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }
