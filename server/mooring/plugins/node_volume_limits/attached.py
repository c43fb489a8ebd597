"""How many volumes of each CSI driver nodes have. Mirrors ``plugins/nodevolumelimits/csi.go``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from mooring.framework import Bools, Int32s, Int64s, KubeVersion, NodeView, Snapshot, Status
from mooring.framework.columns import grown
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import CSINode, PersistentVolume, VolumeAttachment
from mooring.framework.pod_table import PodRecord
from mooring.plugins.node_volume_limits.attachable import (
    Attachable,
    VolumeError,
    Volumes,
    migrated_plugins,
    unique_name,
)

NO_LIMIT = 1 << 62
"""More than any count."""


@dataclass(slots=True)
class Holding:
    """The known volumes of one row.

    Attributes:
        installed: The drivers that are on the node.
        limited: Those of them that have a limit. Without any, nothing is counted.
        attached: The volumes that VolumeAttachments name.
        volumes: Those that its pods use.
        pods: The pods that are counted, in the order in which they came.
    """

    installed: tuple[str, ...]
    limited: frozenset[str]
    attached: Volumes
    volumes: set[str] = field(default_factory=set)
    pods: list[PodRecord] = field(default_factory=list)


class DriverRoom:
    """How many volumes more of one driver nodes can have.

    Attributes:
        by_row: int64[capacity]; ``NO_LIMIT`` where the driver has none. Written by ``put`` alone.
        least: The least of them.
    """

    def __init__(self, capacity: int) -> None:
        self.by_row: Int64s = np.full(capacity, NO_LIMIT, np.int64)
        self.least = NO_LIMIT

    def put(self, row: int, room: int) -> None:
        """Write the ``room`` of ``row``."""
        before, self.by_row[row] = self.by_row.item(row), room
        if room <= self.least:
            self.least = room
        elif before == self.least:
            self.least = int(self.by_row.min())

    def grow(self, capacity: int) -> None:
        """Make room for more rows, which have no limit."""
        old = len(self.by_row)
        self.by_row = grown(self.by_row, capacity)
        self.by_row[old:] = NO_LIMIT


class AttachedVolumes:
    """The volumes on nodes: new pods are added, and after other changes a row is counted again.

    The rows of a state and of its forks replace each other. Callers hold a lock for this and the
    state's lock.

    Attributes:
        failures: By row, why the volumes of a pod there can't be determined.
        sorts: int8[capacity], which of ``migrated`` are the CSI drivers' on each row.
        migrated: The distinct sets of migrated in-tree plugins.
    """

    def __init__(self, version: KubeVersion) -> None:
        self._kube_version = version
        self.failures: dict[int, Status] = {}
        self.migrated: list[frozenset[str]] = []
        self.sorts = np.zeros(0, np.int8)
        self._version = 0
        self._versions: Int64s = np.zeros(0, np.int64)
        self._storage_versions: Int64s = np.zeros(0, np.int64)
        self._holdings: list[Holding | None] = []
        self._holders: dict[str, tuple[int, ...]] = {}
        self._room: dict[str, DriverRoom] = {}
        self._installed: dict[str, Bools] = {}

    def follow(self, nodes: NodeView) -> None:
        """Bring ``nodes`` up to date."""
        table = nodes.table
        if table.capacity > len(self._versions):
            self._grow(table.capacity)
        changed, every = table.volume_changes.since(self._version), len(nodes) == len(table)
        # If rows are left out, or it ends early, later changes are not known.
        known, self._version = changed is not None, 0
        if changed is None:
            changed = nodes.rows[self._versions[nodes.at] != table.volumes_version[nodes.at]].tolist()
        for row in dict.fromkeys(changed):
            if not known or not table.alive[row]:
                # It may have been another copy's, whose claims lead elsewhere.
                self._forget(row)
            if table.alive[row]:
                self._follow(nodes.snapshot, row)
        if known or every:
            self._version = table.volume_changes.version

    def _follow(self, snapshot: Snapshot, row: int) -> None:
        """Bring ``row`` up to date."""
        placed, storage_version = snapshot.pods.records, snapshot.nodes.storage_version[row]
        pods = [placed[uid] for uid in snapshot.pods.with_storage.get(row, ())]
        holding = self._holdings[row]
        known = holding.pods if holding is not None else []
        if holding is None or self._storage_versions[row] != storage_version or pods[: len(known)] != known:
            self._forget(row)
            holding = self._holdings[row] = self._begun(snapshot, row)
            known = holding.pods
            self._storage_versions[row] = storage_version
        self._add(snapshot.objects, row, holding, pods[len(known) :])
        self._versions[row] = snapshot.nodes.volumes_version[row]

    def missing(self, driver: str, nodes: NodeView) -> Bools:
        """bool[K]: the driver is not on the node."""
        installed = self._installed.get(driver)
        return np.ones(len(nodes), np.bool_) if installed is None else ~installed[nodes.at]

    def exceed(self, wanted: Volumes, nodes: NodeView) -> Bools | None:
        """bool[K]: ``wanted`` would take a driver beyond its limit on the node; None = nowhere."""
        full: Bools | None = None
        by_driver: dict[str, list[str]] = {}
        for name, driver in wanted.items():
            by_driver.setdefault(driver, []).append(name)
        for driver, names in by_driver.items():
            room = self._room.get(driver)
            if room is not None and room.least < len(names):
                new = self._new(names, nodes.rows)
                beyond = room.by_row[nodes.at] < new
                if np.count_nonzero(beyond):
                    beyond &= new > 0
                    full = beyond if full is None else full | beyond
        return full

    def _new(self, names: Iterable[str], rows: Int32s) -> Int64s | int:
        """int64[K]: how many of the volumes no pod on the row uses yet; one number where it is the same."""
        new: Int64s | int = 0
        for name in names:
            holders = self._holders.get(name)
            new = new + (1 if holders is None else (~np.isin(rows, holders)).astype(np.int64))
        return new

    def _begun(self, snapshot: Snapshot, row: int) -> Holding:
        """Return the first knowledge about ``row``, without its pods."""
        objects, node_name = snapshot.objects, snapshot.nodes.names[row]
        csi_node = objects.get(CSINode, node_name)
        migrated = migrated_plugins(csi_node, self._kube_version)
        if migrated not in self.migrated:
            self.migrated.append(migrated)
        self.sorts[row] = self.migrated.index(migrated)
        installed = tuple([driver.name for driver in csi_node.spec.drivers]) if csi_node is not None else ()
        for driver in installed:
            self._installed.setdefault(driver, np.zeros(len(self._versions), np.bool_))[row] = True
        limits = limits_of(csi_node)
        attached = attached_to(objects, node_name) if limits else {}
        counts = Counter(attached.values())
        for driver, limit in limits.items():
            if driver not in self._room:
                self._room[driver] = DriverRoom(len(self._versions))
            self._room[driver].put(row, limit - counts[driver])
        return Holding(installed, frozenset(limits), attached)

    def _add(self, objects: ObjectTable, row: int, holding: Holding, pods: list[PodRecord]) -> None:
        """Count ``pods``, which came to ``row``."""
        if holding.limited:
            self._count(objects, row, holding, pods)
        holding.pods += pods

    def _count(self, objects: ObjectTable, row: int, holding: Holding, pods: list[PodRecord]) -> None:
        """Count the volumes of ``pods``; once more changes nothing."""
        attachable = Attachable(objects, self.migrated[self.sorts[row]])
        try:
            for pod in pods:
                for name, driver in attachable.of(pod.with_claims, placed=True).items():
                    if name not in holding.volumes:
                        holding.volumes.add(name)
                        self._holders[name] = (*self._holders.get(name, ()), row)
                        if driver in holding.limited and name not in holding.attached:
                            room = self._room[driver]
                            room.put(row, room.by_row.item(row) - 1)
        except VolumeError as failure:
            self.failures[row] = failure.status

    def _forget(self, row: int) -> None:
        """As if nothing were known of ``row``."""
        holding = self._holdings[row]
        self._versions[row] = 0
        if holding is None:
            return
        for name in holding.volumes:
            left = tuple(holder for holder in self._holders[name] if holder != row)
            if left:
                self._holders[name] = left
            else:
                del self._holders[name]
        for driver in holding.limited:
            self._room[driver].put(row, NO_LIMIT)
        for driver in holding.installed:
            self._installed[driver][row] = False
        self._holdings[row] = None
        self.failures.pop(row, None)

    def _grow(self, capacity: int) -> None:
        old = len(self._versions)
        self._versions = grown(self._versions, capacity)
        self._storage_versions = grown(self._storage_versions, capacity)
        self.sorts = grown(self.sorts, capacity)
        self._holdings.extend([None] * (capacity - old))
        for driver in self._installed:
            self._installed[driver] = grown(self._installed[driver], capacity)
        for room in self._room.values():
            room.grow(capacity)


def attached_to(objects: ObjectTable, node_name: str) -> Volumes:
    """Return the CSI drivers' persistent volumes that VolumeAttachments name for the node."""
    attached: Volumes = {}
    for _, name in objects.attachments.get(node_name, ()):
        attachment = objects.get(VolumeAttachment, name)
        spec = attachment.spec if attachment is not None else None
        volume = objects.get(PersistentVolume, spec.source.persistent_volume_name or "") if spec else None
        if spec is not None and spec.attacher and volume is not None and volume.spec.csi is not None:
            attached[unique_name(spec.attacher, volume.spec.csi.volume_handle)] = spec.attacher
    return attached


def limits_of(csi_node: CSINode | None) -> dict[str, int]:
    """How many volumes each driver may have on the node; a driver without a limit is missing."""
    drivers = csi_node.spec.drivers if csi_node is not None else ()
    return {
        driver.name: driver.allocatable.count
        for driver in drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }
