"""Which nodes reach the volumes that a pod's claims are bound to.

Mirrors ``checkBoundClaims`` and ``tryTranslatePVToCSI`` of ``plugins/volumebinding/binder.go``.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from mooring.framework import Bools, NodeView
from mooring.framework.deadline import timely
from mooring.framework.objects import CSINode, PersistentVolume, PersistentVolumeClaim
from mooring.plugins.csi_migration import MIGRATED_PLUGINS, InTreeKind, kind_of, translated_affinity
from mooring.plugins.volume_binding.affinity import reaches, required_of


def check_bound(claims: Collection[PersistentVolumeClaim], nodes: NodeView) -> tuple[Bools, Bools]:
    """bool[K] twice: the node doesn't reach a volume, or a volume is not there; the first claim decides.

    Raises:
        TranslationError: A volume of a kind of old has no name with the CSI driver that a node has for it.
    """
    conflict = np.zeros(len(nodes), np.bool_)
    undecided = ~conflict
    for claim in timely(claims):
        volume = nodes.snapshot.objects.get(PersistentVolume, claim.spec.volume_name)
        if volume is None:
            return conflict, undecided
        reached = _reached(volume, nodes, undecided)
        conflict |= undecided & ~reached
        undecided &= reached
    return conflict, np.zeros(len(nodes), np.bool_)


def _reached(volume: PersistentVolume, nodes: NodeView, asked: Bools) -> Bools:
    """Return bool[K]: the node reaches the volume; only the nodes ``asked`` about are checked."""
    reached = reaches(required_of(volume), nodes)
    kind = kind_of(volume.spec)
    if kind is None or not kind.migrated:
        return reached
    migrated = asked & _has_migrated(kind, nodes)
    if not migrated.any():
        return reached
    return np.where(migrated, reaches(translated_affinity(kind, volume), nodes), reached)


def _has_migrated(kind: InTreeKind, nodes: NodeView) -> Bools:
    """bool[K]: the node's CSINode says that its CSI driver serves volumes of this kind."""
    objects = nodes.snapshot.objects
    found = (objects.get(CSINode, name) for name in nodes.names)
    lists = ("" if node is None else node.metadata.annotations.get(MIGRATED_PLUGINS, "") for node in found)
    return np.array([kind.plugin in listed.split(",") for listed in lists], np.bool_)
