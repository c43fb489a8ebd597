"""Which volume each unbound claim of a pod would get on each node.

Mirrors ``findMatchingVolumes`` of ``plugins/volumebinding/binder.go`` and ``FindMatchingVolume`` of
``k8s.io/component-helpers/storage/volume`` (pv_helpers.go). Of volumes of one size kube-scheduler takes any;
here it is the first by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mooring.framework import Bools, NodeView
from mooring.framework.deadline import timely
from mooring.framework.label_selector import compiled
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import NodeSelector, PersistentVolume, PersistentVolumeClaim
from mooring.framework.quantity import Quantity, parse_quantity
from mooring.plugins.claims import class_of_claim, class_of_volume
from mooring.plugins.volume_binding.affinity import reaches, required_of

ATTRIBUTES_CLASS_GATE = "VolumeAttributesClass"
"""The feature gate, on since 1.34, with which claims and volumes may name a class of attributes."""

STORAGE = "storage"
_FILESYSTEM = "Filesystem"


def size_of(amounts: dict[str, Quantity]) -> int:
    """Return the storage requested or offered, in billionths of a byte."""
    return parse_quantity(amounts.get(STORAGE, 0))


class AttributesClassError(Exception):
    """A claim names a volume attributes class, which the release doesn't have."""


class Matching:
    """Matches volumes with claims on all nodes at once; a volume goes to one claim of the pod alone.

    Args:
        nodes: The nodes.
        with_attributes_classes: Whether volumes have classes of attributes (the gate VolumeAttributesClass).

    Attributes:
        given: By claim, the volume that it got; of several nodes, on one of them.
        takings: Each claim with a volume that it got, and where: bool[K].
    """

    def __init__(self, nodes: NodeView, with_attributes_classes: bool) -> None:
        self._nodes = nodes
        self._with_attributes_classes = with_attributes_classes
        self.given: dict[str, PersistentVolume] = {}
        self.takings: list[tuple[PersistentVolumeClaim, PersistentVolume, Bools]] = []
        self._taken: dict[str, Bools] = {}
        self._reached: dict[NodeSelector | None, Bools] = {}

    def match(self, claims: Sequence[PersistentVolumeClaim]) -> list[tuple[PersistentVolumeClaim, Bools]]:
        """Return the claims, smallest first, each with bool[K]: whether it found a volume on the node.

        Raises:
            SelectorError: A claim's selector is malformed.
            AttributesClassError: A claim names a class of attributes, and the gate is off.
        """
        ordered = sorted(claims, key=lambda claim: size_of(claim.spec.resources.requests))
        return [(claim, self._match_one(claim)) for claim in timely(ordered)]

    def _match_one(self, claim: PersistentVolumeClaim) -> Bools:
        if claim.spec.volume_attributes_class_name and not self._with_attributes_classes:
            key = f"{claim.metadata.namespace}/{claim.metadata.name}"
            raise AttributesClassError(
                f"claim {key} has a volumeAttributesClassName, and the gate {ATTRIBUTES_CLASS_GATE} is off"
            )
        found = np.zeros(len(self._nodes), np.bool_)
        undecided = ~found
        usable = sorted(_usable(claim, self._nodes.snapshot.objects), key=lambda volume: volume.metadata.name)
        for volume in timely(usable):
            if volume.spec.claim_ref is not None:
                # A volume kept for the claim is the only one that it can get, where it is not taken.
                decided = undecided & ~self._taken_of(volume)
                found |= self._take(volume, claim, decided)
                undecided &= ~decided
        for volume in timely(_fitting(claim, usable)):
            if not undecided.any():
                break
            taken = self._take(volume, claim, undecided)
            found |= taken
            undecided &= ~taken
        return found

    def _take(self, volume: PersistentVolume, claim: PersistentVolumeClaim, where: Bools) -> Bools:
        """bool[K]: the volume can be had, and is now the claim's, on nodes of ``where``."""
        required = required_of(volume)
        if required not in self._reached:
            self._reached[required] = reaches(required, self._nodes)
        taken = where & self._reached[required] & ~self._taken_of(volume)
        self._taken[volume.metadata.name] = self._taken_of(volume) | taken
        if taken.any():
            self.given[claim.metadata.name] = volume
            self.takings.append((claim, volume, taken))
        return taken

    def _taken_of(self, volume: PersistentVolume) -> Bools:
        known = self._taken.get(volume.metadata.name)
        return np.zeros(len(self._nodes), np.bool_) if known is None else known


def _usable(claim: PersistentVolumeClaim, objects: ObjectTable) -> Iterator[PersistentVolume]:
    """Yield the volumes of the claim's class that are large enough, match it and are free for it."""
    name, least = class_of_claim(claim), size_of(claim.spec.resources.requests)
    for volume in objects.all(PersistentVolume):
        if (
            class_of_volume(volume) == name
            and (volume.spec.claim_ref is None or _is_kept_for(volume, claim))
            and size_of(volume.spec.capacity) >= least
            and (volume.spec.volume_mode or _FILESYSTEM) == (claim.spec.volume_mode or _FILESYSTEM)
            and (volume.spec.volume_attributes_class_name or "")
            == (claim.spec.volume_attributes_class_name or "")
            and volume.metadata.deletion_timestamp is None
        ):
            yield volume


def _is_kept_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    kept = volume.spec.claim_ref
    return (
        kept is not None
        and (kept.name, kept.namespace) == (claim.metadata.name, claim.metadata.namespace)
        and kept.uid in ("", claim.metadata.uid)
    )


def _fitting(claim: PersistentVolumeClaim, usable: Sequence[PersistentVolume]) -> list[PersistentVolume]:
    """Those of ``usable`` that are free for any claim and fit this one, smallest first."""
    matcher = compiled(claim.spec.selector) if claim.spec.selector is not None else None
    modes = set(claim.spec.access_modes)
    fitting = [
        volume
        for volume in timely(usable)
        if volume.spec.claim_ref is None
        and volume.status.phase == "Available"
        and (matcher is None or matcher.matches(volume.metadata.labels))
        and modes.issubset(volume.spec.access_modes)
    ]
    return sorted(fitting, key=lambda volume: size_of(volume.spec.capacity))
