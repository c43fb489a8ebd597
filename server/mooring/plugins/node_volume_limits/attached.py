"""How many volumes of each CSI driver nodes have. Mirrors ``plugins/nodevolumelimits/csi.go``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mooring.framework import Bools, Int32s, Int64s, KubeVersion, NodeView, Pod, Snapshot, Status
from mooring.framework.columns import grown
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import CSINode, PersistentVolume, VolumeAttachment
from mooring.plugins.node_volume_limits.attachable import (
    Attachable,
    VolumeError,
    Volumes,
    migrated_plugins,
    unique_name,
)

NO_LIMIT = 1 << 62
"""More than any count."""


@dataclass(frozen=True, slots=True)
class Holding:
    """What is known of one row.

    Attributes:
        volumes: The volumes that its pods use; none where no driver has a limit.
        drivers: Those that are limited there or have volumes counted there.
        installed: Those that are on the node.
    """

    volumes: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()
    installed: tuple[str, ...] = ()


_NOTHING = Holding()


class AttachedVolumes:
    """The volumes on nodes, counted again only for rows where something has changed.

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
        self._versions: Int64s = np.zeros(0, np.int64)
        self._holdings: list[Holding] = []
        self._holders: dict[str, tuple[int, ...]] = {}
        self._counts: dict[str, Int64s] = {}
        self._limits: dict[str, Int64s] = {}
        self._installed: dict[str, Bools] = {}

    def follow(self, nodes: NodeView) -> None:
        """Bring ``nodes`` up to date."""
        snapshot, at = nodes.snapshot, nodes.at
        versions = snapshot.nodes.volumes_version
        if len(versions) > len(self._versions):
            self._grow(len(versions))
        for row in nodes.rows[self._versions[at] != versions[at]].tolist():
            self._forget(row)
            self._count(snapshot, row, snapshot.nodes.names[row])
            self._versions[row] = versions[row]

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
            if driver in self._limits:
                new = self._new(names, nodes.rows)
                beyond = self._counts[driver][nodes.at] + new > self._limits[driver][nodes.at]
                if beyond.any():
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

    def _count(self, snapshot: Snapshot, row: int, node_name: str) -> None:
        objects = snapshot.objects
        csi_node = objects.get(CSINode, node_name)
        migrated = migrated_plugins(csi_node, self._kube_version)
        if migrated not in self.migrated:
            self.migrated.append(migrated)
        self.sorts[row] = self.migrated.index(migrated)
        installed = tuple([driver.name for driver in csi_node.spec.drivers]) if csi_node is not None else ()
        for driver in installed:
            self._installed.setdefault(driver, np.zeros(len(self._versions), np.bool_))[row] = True
        self._holdings[row] = Holding(installed=installed)
        limits = _limits(csi_node)
        if not limits:
            return
        try:
            held = _held(snapshot.pods.with_storage_on(row), Attachable(objects, migrated))
        except VolumeError as failure:
            self.failures[row] = failure.status
            return
        counts = Counter((_attached(objects, node_name) | held).values())
        for name in held:
            self._holders[name] = (*self._holders.get(name, ()), row)
        for driver in limits:
            self._column(self._counts, driver, 0)[row] = counts[driver]
            self._column(self._limits, driver, NO_LIMIT)[row] = limits[driver]
        self._holdings[row] = Holding(tuple(held), tuple(limits), installed)

    def _forget(self, row: int) -> None:
        """As if nothing were known of ``row``."""
        holding = self._holdings[row]
        for name in holding.volumes:
            left = tuple(holder for holder in self._holders[name] if holder != row)
            if left:
                self._holders[name] = left
            else:
                del self._holders[name]
        for driver in holding.drivers:
            self._counts[driver][row] = 0
            self._limits[driver][row] = NO_LIMIT
        for driver in holding.installed:
            self._installed[driver][row] = False
        self._holdings[row] = _NOTHING
        self.failures.pop(row, None)

    def _column(self, columns: dict[str, Int64s], driver: str, empty: int) -> Int64s:
        """Return int64[capacity]: the driver's column of ``columns``, made on first use."""
        if driver not in columns:
            columns[driver] = np.full(len(self._versions), empty, np.int64)
        return columns[driver]

    def _grow(self, capacity: int) -> None:
        old = len(self._versions)
        self._versions = grown(self._versions, capacity)
        self.sorts = grown(self.sorts, capacity)
        self._holdings.extend([_NOTHING] * (capacity - old))
        for driver in self._installed:
            self._installed[driver] = grown(self._installed[driver], capacity)
        for driver in self._counts:
            self._counts[driver] = grown(self._counts[driver], capacity)
            self._limits[driver] = grown(self._limits[driver], capacity)
            self._limits[driver][old:] = NO_LIMIT


def _held(pods: Iterable[Pod], attachable: Attachable) -> Volumes:
    held: Volumes = {}
    for pod in pods:
        held |= attachable.of(pod, placed=True)
    return held


def _attached(objects: ObjectTable, node_name: str) -> Volumes:
    """Return the CSI drivers' persistent volumes that VolumeAttachments name for the node."""
    attached: Volumes = {}
    for _, name in objects.attachments.get(node_name, ()):
        attachment = objects.get(VolumeAttachment, name)
        spec = attachment.spec if attachment is not None else None
        volume = objects.get(PersistentVolume, spec.source.persistent_volume_name or "") if spec else None
        if spec is not None and spec.attacher and volume is not None and volume.spec.csi is not None:
            attached[unique_name(spec.attacher, volume.spec.csi.volume_handle)] = spec.attacher
    return attached


def _limits(csi_node: CSINode | None) -> dict[str, int]:
    """How many volumes each driver may have on the node; a driver without a limit is missing."""
    drivers = csi_node.spec.drivers if csi_node is not None else ()
    return {
        driver.name: driver.allocatable.count
        for driver in drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }
