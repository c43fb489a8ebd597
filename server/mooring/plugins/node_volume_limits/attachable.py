"""Which volumes of CSI drivers a pod attaches to its node.

Mirrors ``filterAttachableVolumes`` and ``getCSIDriverInfo`` of ``plugins/nodevolumelimits/csi.go``.
"""

from __future__ import annotations

from mooring.framework import KubeVersion, Pod, Status
from mooring.framework.deadline import timely
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, Volume
from mooring.framework.volume_matching import class_of_claim
from mooring.plugins.claims import claim_name, is_made_for, not_found, not_made_for
from mooring.plugins.csi_migration import (
    BY_PLUGIN,
    KINDS,
    MIGRATED_PLUGINS,
    InTreeKind,
    TranslationError,
    inline_handle,
    kind_of,
    volume_handle,
)

PORTWORX = "kubernetes.io/portworx-volume"
_ALL_SINCE = KubeVersion(1, 36)
"""Before, a node had to declare the migration of Portworx."""
_MIGRATED = frozenset(kind.plugin for kind in KINDS if kind.migrated)

Volumes = dict[str, str]
"""The driver of each volume, by a name that is the volume's own: driver and handle."""


class VolumeError(Exception):
    """A pod's volumes can't be determined; ``status`` says why."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status


class Attachable:
    """Finds the volumes that pods attach, for nodes with one set of migrated plugins.

    Args:
        migrated: The in-tree plugins whose volumes are the CSI drivers' on these nodes.
    """

    def __init__(self, objects: ObjectTable, migrated: frozenset[str]) -> None:
        self._objects = objects
        self._migrated = migrated

    def of(self, pod: Pod, *, placed: bool) -> Volumes:
        """Return the volumes that ``pod`` attaches; a missing claim is ignored in a placed pod. Raises
        VolumeError if a claim is missing or another pod's, or a volume has no name with its driver.
        """
        found: Volumes = {}
        for volume in timely(pod.spec.volumes):
            name = claim_name(pod, volume)
            known = self._inline(volume) if name is None else self._claimed(pod, volume, name, placed)
            if known is not None and all(known):
                driver, handle = known
                found[unique_name(driver, handle)] = driver
        return found

    def _inline(self, volume: Volume) -> tuple[str, str] | None:
        kind = kind_of(volume)
        if kind is None or not self._serves(kind):
            return None
        try:
            return kind.driver, inline_handle(kind, volume)
        except TranslationError as error:
            raise VolumeError(Status.error(f"converting volume {volume.name}: {error}")) from None

    def _claimed(self, pod: Pod, volume: Volume, name: str, placed: bool) -> tuple[str, str] | None:
        namespace = pod.metadata.namespace
        claim = self._objects.get(PersistentVolumeClaim, name, namespace)
        if claim is None:
            if placed:
                return None
            missing = not_found("persistentvolumeclaim", name)
            raise VolumeError(Status.unresolvable(f"looking up PVC {namespace}/{name}: {missing}"))
        if volume.persistent_volume_claim is None and not is_made_for(claim, pod):
            raise VolumeError(Status.error(not_made_for(claim, pod)))
        bound_to = self._objects.get(PersistentVolume, claim.spec.volume_name)
        return self._bound(bound_to) if bound_to is not None else self._to_be_made(claim)

    def _bound(self, volume: PersistentVolume) -> tuple[str, str] | None:
        source = volume.spec.csi
        if source is not None:
            return source.driver, source.volume_handle
        kind = kind_of(volume.spec)
        if kind is None or not self._serves(kind):
            return None
        try:
            return kind.driver, volume_handle(kind, volume)
        except TranslationError:
            return None

    def _to_be_made(self, claim: PersistentVolumeClaim) -> tuple[str, str] | None:
        """Return the driver that will provision the volume, and a name that no volume has."""
        storage_class = self._objects.get(StorageClass, class_of_claim(claim))
        if storage_class is None:
            return None
        handle = f"\0{claim.metadata.key}"
        kind = BY_PLUGIN.get(storage_class.provisioner)
        if kind is None:
            return storage_class.provisioner, handle
        return (kind.driver, handle) if self._serves(kind) else None

    def _serves(self, kind: InTreeKind) -> bool:
        return kind.plugin in self._migrated


def migrated_plugins(csi_node: CSINode | None, version: KubeVersion) -> frozenset[str]:
    """Return the in-tree plugins whose volumes are the CSI drivers' on the node.

    Mirrors ``isCSIMigrationOn`` of ``plugins/nodevolumelimits/utils.go``.
    """
    if csi_node is None:
        return frozenset()
    announced = csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(",")
    return _MIGRATED if version >= _ALL_SINCE or PORTWORX in announced else _MIGRATED - {PORTWORX}


def unique_name(driver: str, handle: str) -> str:
    """Return the name of a volume among those of all drivers."""
    return f"{driver}/{handle}"
