"""The resources that nodes offer and that their pods take, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mooring.framework import Bools, Int32s, Int64s, NodeTable
from mooring.framework.objects import Taint
from mooring.service.wire.columns import put
from mooring_client.v1 import cluster_service_pb2 as pb

ZONE = "topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True)
class UsageColumns:
    """The usage of some nodes at one moment; columns have a number per node.

    Attributes:
        resources: The names of the resources that nodes offer.
        allocatable: int64[R, N], what each node offers, CPU in thousandths, the rest in units.
        requested: int64[R, N], what its pods request; of "pods" their number.
        zones: The distinct zones, the first one "".
        zone_numbers: int32[N], positions in ``zones``.
        taints: The distinct lists of taints, the first one empty.
        taint_numbers: int32[N], positions in ``taints``.
        cordoned: bool[N].
    """

    resources: tuple[str, ...]
    allocatable: Int64s
    requested: Int64s
    zones: tuple[str, ...]
    zone_numbers: Int32s
    taints: tuple[str, ...]
    taint_numbers: Int32s
    cordoned: Bools

    @property
    def node_bytes(self) -> int:
        """How many bytes a node takes in an answer."""
        return 16 * len(self.resources) + 8

    def message(self, start: int, end: int) -> pb.NodeUsage:
        """Return the usage of the nodes from ``start`` up to, but not including, ``end``."""
        usage = pb.NodeUsage(zones=self.zones, taints=self.taints)
        for at, name in enumerate(self.resources):
            resource = usage.resources.add(name=name)
            put(resource, "allocatable", self.allocatable[at, start:end])
            put(resource, "requested", self.requested[at, start:end])
        put(usage, "zone_positions", self.zone_numbers[start:end])
        put(usage, "taint_positions", self.taint_numbers[start:end])
        put(usage, "cordoned_positions", np.flatnonzero(self.cordoned[start:end]))
        return usage


def usage_of(table: NodeTable, rows: Int32s) -> UsageColumns:
    """Return the usage of the nodes on ``rows``; the caller holds the table's lock."""
    offered = {name: at for name, at in table.resource_index.items() if table.allocatable[at].any()}
    positions = np.array(list(offered.values()), np.intp)
    zones = table.label(ZONE)
    zone_names, zone_numbers = _distinct(zones.values, zones.ids[rows])
    taint_names, taint_numbers = _distinct(
        [_taints_text(taints) for taints in table.taint_sets], table.taint_set[rows]
    )
    return UsageColumns(
        tuple(offered),
        table.allocatable[np.ix_(positions, rows)],
        table.requested[np.ix_(positions, rows)],
        zone_names,
        zone_numbers,
        taint_names,
        taint_numbers,
        table.unschedulable[rows],
    )


def _distinct(names: Sequence[str], numbers: Int32s) -> tuple[tuple[str, ...], Int32s]:
    """Return the names that occur, after name 0, and the positions of the numbers among them."""
    used, positions = np.unique(np.append(numbers, np.int32(0)), return_inverse=True)
    found: NDArray[np.int32] = positions[:-1].astype(np.int32)
    return tuple(names[number] for number in used.tolist()), found


def _taints_text(taints: Sequence[Taint]) -> str:
    texts = (f"{taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}" for taint in taints)
    return ", ".join(texts)
