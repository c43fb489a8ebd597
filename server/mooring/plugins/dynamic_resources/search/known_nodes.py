"""Results of searches for devices on each node, for claims with equal requests.

A search on a node depends on the claims' requests, the node, the devices that it reaches and the allocations
in their pools. So it is repeated on a node only when one of these changed.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from mooring.framework import SUCCESS, Int32s, Int64s, Status
from mooring.framework.node_table import NodeTable
from mooring.framework.objects import Node
from mooring.plugins.dynamic_resources.extended_resources.claim import CANNOT_FIT, DevicesAsked
from mooring.plugins.dynamic_resources.pools.inventory import DeviceID, Inventory
from mooring.plugins.dynamic_resources.search.first_free import Selected

NOT_ALL = Status.unresolvable("cannot allocate all claims")
INVALID_POOLS = Status.unresolvable("invalid resource pools were encountered")

UNKNOWN, FOUND = -1, 0
STATUSES = (SUCCESS, NOT_ALL, INVALID_POOLS, CANNOT_FIT)
"""The statuses that may be known about a node, by code."""

_CODES = {status: code for code, status in enumerate(STATUSES)}


class FoundDevices(NamedTuple):
    """The result of a search on one node.

    Attributes:
        of_claims: Those of each claim to allocate.
        asked: The requests that devices must meet there instead of extended resources, the last of these
            claims; None = there are none.
        score: The points that the devices add to the node's score.
    """

    of_claims: Selected = ()
    asked: DevicesAsked | None = None
    score: int = 0


NOTHING_FOUND = FoundDevices()
"""The result if no device is needed."""

_NO_CODES, _NO_SCORES = np.zeros(0, np.int32), np.zeros(0, np.int64)

_MAX_FOUND = 1 << 15
"""The nodes on which devices are remembered; beyond that all are forgotten."""

_MAX_ENTRIES = 1 << 21
"""The most nodes with a known result; beyond that the least recent results are forgotten."""


@dataclass(slots=True)
class KnownNodes:
    """The known results of each node for claims of one kind: a copy for one decision.

    Attributes:
        key: The requests of the claims.
        change: How often all earlier results became void.
        codes: int32[capacity], ``UNKNOWN`` or an index into ``STATUSES``.
        scores: int64[capacity], the scores of the devices that were found.
        devices: The devices that were found, by row, for the rows with a known result.
        earlier: The same of earlier decisions, all of which add to it.
    """

    key: Hashable
    change: int
    codes: Int32s
    scores: Int64s
    devices: dict[int, FoundDevices] = field(default_factory=dict)
    earlier: Mapping[int, FoundDevices] = field(default_factory=dict)

    def put(self, row: int, status: Status, found: FoundDevices) -> bool:
        """Note what a search on the node of ``row`` found; return whether that is one of ``STATUSES``."""
        code = FOUND if status is SUCCESS else _CODES.get(status, UNKNOWN)
        self.scores[row] = found.score if code == FOUND else 0
        if code == FOUND:
            self.devices[row] = found
        self.codes[row] = code
        return code != UNKNOWN

    def found_on(self, row: int) -> FoundDevices | None:
        """Return the devices that were found on the node of ``row``; None if that is not known."""
        return self.devices.get(row) or self.earlier.get(row)

    def drop_columns(self) -> None:
        """Keep the devices alone, for as long as the pod that was decided has its place."""
        self.codes, self.scores = _NO_CODES, _NO_SCORES


class SearchedNodes:
    """The results on the nodes of one state. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[Hashable, KnownNodes] = {}
        self._devices: dict[Hashable, dict[int, FoundDevices]] = {}
        self._devices_count = 0
        self._change = 0
        self._inventory: Inventory | None = None
        self._nodes: list[Node | None] = []
        self._nodes_version = -1

    def of(self, key: Hashable) -> KnownNodes:
        """Return a copy of the known results for claims with the requests of ``key``."""
        with self._lock:
            known, capacity = self._known.get(key), len(self._nodes)
            earlier = self._devices.get(key, {})
            if known is None:
                codes = np.full(capacity, UNKNOWN, np.int32)
                return KnownNodes(key, self._change, codes, np.zeros(capacity, np.int64), {}, earlier)
            codes, scores = known.codes.copy(), known.scores.copy()
            return KnownNodes(key, self._change, codes, scores, {}, earlier)

    def keep(self, found: KnownNodes, rows: Int32s | slice) -> None:
        """Keep what was ``found`` on ``rows`` (int32[K], or a slice) beyond what ``of`` gave, unless that has
        become void meanwhile.
        """
        with self._lock:
            if found.change != self._change:
                return
            known = self._known.pop(found.key, None)
            if known is None:
                while self._known and (len(self._known) + 1) * len(found.codes) > _MAX_ENTRIES:
                    del self._known[next(iter(self._known))]
                known = replace(found, codes=found.codes.copy(), scores=found.scores.copy())
            else:
                known.codes[rows], known.scores[rows] = found.codes[rows], found.scores[rows]
            self._known[found.key] = known
            self._keep_devices(found)

    def follow(self, table: NodeTable, inventory: Inventory, devices: Collection[DeviceID] | None) -> None:
        """Forget what may be different now that ``devices`` changed hands; None = it may be any.

        The caller holds the state's lock.
        """
        with self._lock:
            same_size = len(self._nodes) == table.capacity
            if inventory is not self._inventory or devices is None or not same_size:
                self._inventory = inventory
                self._nodes, self._nodes_version = _padded(table), table.version_but_images
                self._known.clear()
                self._forget_devices()
                self._change += 1
                return
            rows = self._other_nodes(table)
            if devices:
                rows += _rows_of(devices, inventory, table.index, table.capacity)
            if rows or devices:
                self._change += 1
                self._forget(rows)

    def _forget(self, rows: Sequence[int]) -> None:
        for known in self._known.values():
            known.codes[rows] = UNKNOWN
        for there in self._devices.values():
            for row in rows:
                there.pop(row, None)

    def _keep_devices(self, found: KnownNodes) -> None:
        self._devices_count += len(found.devices)
        if self._devices_count > _MAX_FOUND:
            self._forget_devices()
        self._devices.setdefault(found.key, {}).update(found.devices)

    def _forget_devices(self) -> None:
        """Forget those of all nodes; decisions that have begun keep what they have."""
        self._devices, self._devices_count = {}, 0

    def _other_nodes(self, table: NodeTable) -> list[int]:
        """Return the rows whose node object has changed."""
        if table.version_but_images == self._nodes_version:
            return []
        before, self._nodes = self._nodes, _padded(table)
        self._nodes_version = table.version_but_images
        return [row for row, (old, new) in enumerate(zip(before, self._nodes, strict=True)) if old is not new]


def _padded(table: NodeTable) -> list[Node | None]:
    return [*table.nodes, *[None] * (table.capacity - len(table.nodes))]


def _rows_of(
    devices: Collection[DeviceID], inventory: Inventory, index: Mapping[str, int], capacity: int
) -> list[int]:
    """Return the rows of the nodes that may reach a pool of ``devices``."""
    rows: list[int] = []
    for pool in {device.pool for device in devices}:
        names = inventory.nodes_of(pool)
        if names is None:
            return list(range(capacity))
        rows += [index[name] for name in names if name in index]
    return rows
