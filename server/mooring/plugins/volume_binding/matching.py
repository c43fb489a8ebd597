"""Which volume each unbound claim of a pod would get on each node.

Mirrors ``findMatchingVolumes`` of ``plugins/volumebinding/binder.go``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mooring.framework import Bools, NodeView
from mooring.framework.deadline import timely
from mooring.framework.objects import NodeSelector, PersistentVolume, PersistentVolumeClaim
from mooring.framework.volume_matching import fitting_volumes, size_of, usable_volumes
from mooring.plugins.volume_binding.affinity import reaches, required_of

ATTRIBUTES_CLASS_GATE = "VolumeAttributesClass"
"""The feature gate, on since 1.34, with which claims and volumes may name a class of attributes."""


class AttributesClassError(Exception):
    """A claim names a volume attributes class, which the release doesn't have."""


class Matching:
    """Matches volumes with claims on all nodes at once; a volume goes to one claim of the pod alone.

    Args:
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
        """Return the claims, smallest first, each with bool[K]: whether it found a volume on the node. Raises
        SelectorError if a claim's selector is malformed, and AttributesClassError if a claim names a class of
        attributes, and the gate is off.
        """
        ordered = sorted(claims, key=lambda claim: size_of(claim.spec.resources.requests))
        return [(claim, self._match_one(claim)) for claim in timely(ordered)]

    def _match_one(self, claim: PersistentVolumeClaim) -> Bools:
        if claim.spec.volume_attributes_class_name and not self._with_attributes_classes:
            key = claim.metadata.key
            raise AttributesClassError(
                f"claim {key} has a volumeAttributesClassName, and the gate {ATTRIBUTES_CLASS_GATE} is off"
            )
        found = np.zeros(len(self._nodes), np.bool_)
        undecided = ~found
        usable = usable_volumes(claim, self._nodes.snapshot.objects.all(PersistentVolume))
        for volume in timely(usable):
            if volume.spec.claim_ref is not None:
                # A volume kept for the claim is the only one that it can get, where it is not taken.
                decided = undecided & ~self._taken_of(volume)
                found |= self._take(volume, claim, decided)
                undecided &= ~decided
        for volume in timely(fitting_volumes(claim, usable)):
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
