"""The nodes on which claims that wait for a node can get their volumes.

Mirrors the second half of ``FindPodVolumes``, ``checkVolumeProvisions`` and ``hasEnoughCapacity`` of
``plugins/volumebinding/binder.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mooring.framework import Bools, NodeView
from mooring.framework.deadline import timely
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import CSIDriver, CSIStorageCapacity, PersistentVolumeClaim, StorageClass
from mooring.framework.quantity import parse_quantity, units
from mooring.framework.volume_matching import NO_PROVISIONER, STORAGE, class_of_claim
from mooring.plugins.volume_binding.affinity import allows, selects
from mooring.plugins.volume_binding.matching import Matching

SELECTED_NODE = "volume.kubernetes.io/selected-node"


def check_waiting(
    claims: Sequence[PersistentVolumeClaim], nodes: NodeView, with_attributes_classes: bool
) -> tuple[Bools, Bools]:
    """bool[K] twice: the node has no volume for a claim and none can be made, or there is no room for it.

    A claim that names its node already is to be made there, whatever volumes there are.

    Raises:
        SelectorError: A claim's selector is malformed.
        AttributesClassError: A claim names a class of attributes, and there are none.
        LookupError: A claim's class is not there.
    """
    unmatched = np.zeros(len(nodes), np.bool_)
    lacking: list[tuple[PersistentVolumeClaim, Bools]] = []
    free: list[PersistentVolumeClaim] = []
    for claim in timely(claims):
        selected = claim.metadata.annotations.get(SELECTED_NODE)
        if selected is None:
            free.append(claim)
        else:
            unmatched |= nodes.rows != nodes.table.index.get(selected, -1)
            lacking.append((claim, np.ones(len(nodes), np.bool_)))
    without_room = np.zeros(len(nodes), np.bool_)
    if unmatched.all():
        # kube-scheduler asks no further there, so nothing that is wrong with another claim shows.
        return unmatched, without_room
    lacking += [(claim, ~found) for claim, found in Matching(nodes, with_attributes_classes).match(free)]
    for claim, lacks in timely(lacking):
        asked = lacks & ~unmatched & ~without_room
        if asked.any():
            possible, room = can_be_made(claim, nodes)
            unmatched |= asked & ~possible
            without_room |= asked & possible & ~room
    return unmatched, without_room


def can_be_made(claim: PersistentVolumeClaim, nodes: NodeView) -> tuple[Bools, Bools]:
    """bool[K] twice: the claim's class can make a volume for the node, and there is room for it. Raises
    LookupError if the class is not there.
    """
    objects = nodes.snapshot.objects
    name = class_of_claim(claim)
    kind = objects.get(StorageClass, name)
    if kind is None:
        raise LookupError(f'failed to find storage class "{name}"')
    if kind.provisioner in ("", NO_PROVISIONER):
        return np.zeros(len(nodes), np.bool_), np.ones(len(nodes), np.bool_)
    return allows(kind.allowed_topologies, nodes), _has_room(claim, kind, objects, nodes)


def _has_room(
    claim: PersistentVolumeClaim, kind: StorageClass, objects: ObjectTable, nodes: NodeView
) -> Bools:
    """Only a driver that reports its capacity can be short of it."""
    asked = claim.spec.resources.requests.get(STORAGE)
    driver = objects.get(CSIDriver, kind.provisioner)
    if asked is None or driver is None or not driver.spec.storage_capacity:
        return np.ones(len(nodes), np.bool_)
    room = np.zeros(len(nodes), np.bool_)
    for _, reached in reports_of(claim, kind, objects, nodes):
        room |= reached
    return room


def reports_of(
    claim: PersistentVolumeClaim, kind: StorageClass, objects: ObjectTable, nodes: NodeView
) -> Iterator[tuple[CSIStorageCapacity, Bools]]:
    """Yield the reports of room for the claim by name, each with its nodes: bool[K].

    None if the driver doesn't report, or nothing is requested.
    """
    asked = claim.spec.resources.requests.get(STORAGE)
    driver = objects.get(CSIDriver, kind.provisioner)
    if asked is None or driver is None or not driver.spec.storage_capacity:
        return
    size = units(parse_quantity(asked))
    for report in sorted(objects.all(CSIStorageCapacity), key=_name):
        if report.storage_class_name == kind.metadata.name and largest_volume(report) >= size:
            yield report, selects(report.node_topology, nodes)


def _name(report: CSIStorageCapacity) -> tuple[str, str]:
    return report.metadata.namespace, report.metadata.name


def largest_volume(report: CSIStorageCapacity) -> int:
    """In bytes; -1 when the report doesn't say."""
    largest = report.capacity if report.maximum_volume_size is None else report.maximum_volume_size
    return -1 if largest is None else units(parse_quantity(largest))
