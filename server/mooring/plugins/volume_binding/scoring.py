"""How full storage would be after the claims of a pod got their volumes.

Mirrors ``Score`` of ``plugins/volumebinding/volume_binding.go`` and ``scorer.go``. If several reports of room
apply, kube-scheduler takes any; here it is the first by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from mooring.framework import Bools, Int64s, NodeView
from mooring.framework.deadline import timely
from mooring.framework.objects import PersistentVolumeClaim, StorageClass
from mooring.framework.quantity import Quantity, parse_quantity, units
from mooring.framework.volume_matching import STORAGE, class_of_claim
from mooring.plugins.volume_binding.matching import Matching
from mooring.plugins.volume_binding.unbound import SELECTED_NODE, reports_of

_FULL = 100


@dataclass
class _Uses:
    """By storage class, what would be used of how much on each node: int64[K] each, in bytes."""

    nodes: int
    requested: dict[str, Int64s] = field(default_factory=dict)
    capacity: dict[str, Int64s] = field(default_factory=dict)
    concerned: dict[str, Bools] = field(default_factory=dict)

    def add(self, name: str, where: Bools, requested: int) -> Int64s:
        """Count a claim on the nodes of ``where``; the class's capacities, to be changed."""
        if name not in self.requested:
            self.requested[name] = np.zeros(self.nodes, np.int64)
            self.capacity[name] = np.zeros(self.nodes, np.int64)
            self.concerned[name] = np.zeros(self.nodes, np.bool_)
        self.requested[name][where] += requested
        self.concerned[name] |= where
        return self.capacity[name]

    def any(self) -> Bools:
        """bool[K]: something would be used."""
        found = np.zeros(self.nodes, np.bool_)
        for where in self.concerned.values():
            found |= where
        return found

    def scores(self, curve: Int64s) -> Int64s:
        """int64[K]: the mean of the classes' scores, by ``curve`` (int64[101], per percentage of use)."""
        total, count = np.zeros(self.nodes, np.int64), np.zeros(self.nodes, np.int64)
        for name, where in self.concerned.items():
            requested, capacity = self.requested[name], self.capacity[name]
            full = (capacity == 0) | (requested > capacity)
            percent = np.where(full, _FULL, _percentages(requested, np.maximum(capacity, 1)))
            total += np.where(where, curve[np.minimum(percent, _FULL)], 0)
            count += where
        # Halves are rounded up, and scores are never negative.
        scores: Int64s = (2 * total + count) // np.maximum(2 * count, 1)
        return scores


def storage_scores(
    claims: Sequence[PersistentVolumeClaim], nodes: NodeView, with_attributes_classes: bool, curve: Int64s
) -> Int64s:
    """Return int64[K], 0..100, by the requested share of the bound volumes; without any, by the requested
    share of the room for new volumes. 0 without either.

    ``claims`` wait for a node, and each of ``nodes`` passed Filter. ``with_attributes_classes`` says whether
    volumes have classes of attributes (the gate VolumeAttributesClass); ``curve`` is int64[101], the score by
    the requested percentage.
    """
    free = [claim for claim in claims if SELECTED_NODE not in claim.metadata.annotations]
    made = [claim for claim in claims if SELECTED_NODE in claim.metadata.annotations]
    matching = Matching(nodes, with_attributes_classes)
    found = matching.match(free)
    bound = _Uses(len(nodes))
    for claim, volume, where in matching.takings:
        capacity = bound.add(volume.spec.storage_class_name or "", where, _size(claim))
        capacity[where] += _bytes(volume.spec.capacity.get(STORAGE))
    everywhere = np.ones(len(nodes), np.bool_)
    lacking = [*((claim, everywhere) for claim in made), *((claim, ~has) for claim, has in found)]
    there = bound.any()
    scores = bound.scores(curve)
    return np.where(there, scores, _provisioned(lacking, ~there, nodes).scores(curve))


def _provisioned(
    lacking: Sequence[tuple[PersistentVolumeClaim, Bools]], open_nodes: Bools, nodes: NodeView
) -> _Uses:
    """Return what would be used on ``open_nodes`` (bool[K]) of the room for new volumes."""
    uses = _Uses(len(nodes))
    for claim, where in timely(lacking):
        for where_there, room in _rooms(claim, where & open_nodes, nodes):
            capacity = uses.add(claim.spec.storage_class_name or "", where_there, _size(claim))
            # Not added: several claims of a class take from the same room.
            capacity[where_there] = room
    return uses


def _rooms(claim: PersistentVolumeClaim, where: Bools, nodes: NodeView) -> Iterator[tuple[Bools, int]]:
    """Yield the nodes of ``where`` by how much room is reported there, in bytes."""
    objects = nodes.snapshot.objects
    kind = objects.get(StorageClass, class_of_claim(claim))
    if kind is None:
        return
    for report, reached in reports_of(claim, kind, objects, nodes):
        there = where & reached
        where = where & ~reached
        if there.any():
            yield there, _bytes(report.capacity)


def _size(claim: PersistentVolumeClaim) -> int:
    return _bytes(claim.spec.resources.requests.get(STORAGE))


def _bytes(amount: Quantity | None) -> int:
    return 0 if amount is None else units(parse_quantity(amount))


def _percentages(requested: Int64s, capacity: Int64s) -> Int64s:
    """int64[K]: whole percentages, also of amounts whose hundredfold no int64 holds."""
    parts = [
        int(part) * _FULL // int(whole)
        for part, whole in zip(requested.tolist(), capacity.tolist(), strict=True)
    ]
    return np.array(parts, np.int64)
