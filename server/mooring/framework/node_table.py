"""The cluster's nodes as columns: one row per node, one array per thing that scheduling reads.

Plugins only read. The one writer (``mooring.cluster``) changes rows under ``lock`` and records them
in the state's change log afterwards; a reader takes no lock, because the engine evaluates again the
rows that changed while it read.
"""

from __future__ import annotations

import secrets
import threading
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from mooring.framework.columns import LabelColumn, LabelColumns
from mooring.framework.objects import Node, Taint
from mooring.framework.recent_changes import RecentChanges, next_version
from mooring.framework.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from mooring.kernels.arrays import Bools, Int32s, Int64s

CPU_ROW, MEMORY_ROW, EPHEMERAL_STORAGE_ROW, PODS_ROW = range(4)
"""The index of each fixed resource on the first axis of ``allocatable`` and ``requested``."""

FIXED_RESOURCES = 4
"""How many of these there are."""


NO_IMAGES = 0
"""The number in ``image_set`` of a node without images."""


@dataclass(slots=True)
class ImageUse:
    """An image name: its size and where it is.

    Attributes:
        size: Bytes, from the first node that listed the image, like upstream's cache.
        sets: The numbers in ``NodeTable.image_set`` of the nodes that have it.
        version: Another one after each change of a node that has it from then on, or no longer, or in another
            size; which nodes there are is not in it.
    """

    size: int
    sets: array[int] = field(default_factory=lambda: array("i"))
    version: int = field(default_factory=next_version)


@dataclass(slots=True)
class NodeTable:
    """All nodes, by row. A row keeps its number while its node exists; freed rows are used again.

    Attributes:
        lock: Held by the writer; taken by readers only to build a label column for the first time,
            and to see that rows are unchanged.
        epoch: Changes whenever a row is assigned or freed; validates indices held by callers.
        first_epoch: The epoch that the table began with; an older one belongs to another table.
        row_epoch: int64[capacity], the epoch in which each row was assigned or freed for the last time.
        names: Name of each row, "" for a free one; never changed in place once it was published, so a
            holder of it knows the nodes of the rows at that time.
        index: Row of each name.
        nodes: The node of each row, None for a free one.
        alive: bool[capacity], the row has a node.
        resource_index: First-axis position of each resource that a node offers; the first four are fixed.
            Another dict once a position has another meaning.
        allocatable: int64[R, capacity]; CPU in thousandths, pods as the allowed number, the rest in
            units. A position that no resource has is 0 everywhere.
        requested: int64[R, capacity], what placed pods take, same units; ``requested[PODS_ROW]``
            counts the pods.
        non_zero_requested: int64[2, capacity], CPU and memory, containers without a request counted
            with the defaults.
        unschedulable: bool[capacity], ``spec.unschedulable``.
        taint_set: int32[capacity], index into ``taint_sets``.
        taint_sets: The distinct lists of taints; number 0 is the empty one.
        volumes_version: int64[capacity], changes with everything that says what is attached to a node: its
            pods that have storage, their claims, the volumes and classes of those, VolumeAttachments and the
            CSINode. Equal versions mean an equal past, in forks as well.
        storage_version: int64[capacity], the same but for its pods.
        volume_changes: The rows whose ``volumes_version`` changed last.
        row_version: int64[capacity], changes with a row's node, but not with its heartbeat, with its pods,
            and with those nominated for it. Equal versions mean an equal past, in forks as well.
        ports: For (protocol, port): for each row that uses it, how many pods use it by host IP.
        image_set: int32[capacity], the same number for nodes with the same images.
        image_set_nodes: int32[numbers], how many nodes have each number but ``NO_IMAGES``.
        images: By image name.
        version_but_images: Changes with the nodes, but not with their lists of images and their heartbeats.
        label_keys: The label keys that nodes have. Another set when it changes.
    """

    lock: threading.RLock = field(default_factory=threading.RLock)
    epoch: int = 0
    first_epoch: int = 0
    row_epoch: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    names: list[str] = field(default_factory=list)
    index: dict[str, int] = field(default_factory=dict)
    nodes: list[Node | None] = field(default_factory=list)
    alive: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    resource_index: dict[str, int] = field(
        default_factory=lambda: {
            CPU: CPU_ROW,
            MEMORY: MEMORY_ROW,
            EPHEMERAL_STORAGE: EPHEMERAL_STORAGE_ROW,
            PODS: PODS_ROW,
        }
    )
    allocatable: Int64s = field(default_factory=lambda: np.zeros((4, 0), np.int64))
    requested: Int64s = field(default_factory=lambda: np.zeros((4, 0), np.int64))
    non_zero_requested: Int64s = field(default_factory=lambda: np.zeros((2, 0), np.int64))
    unschedulable: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    taint_set: Int32s = field(default_factory=lambda: np.zeros(0, np.int32))
    taint_sets: list[tuple[Taint, ...]] = field(default_factory=lambda: [()])
    volumes_version: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    storage_version: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    volume_changes: RecentChanges[int] = field(default_factory=lambda: RecentChanges(-1))
    row_version: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    ports: dict[tuple[str, int], dict[int, dict[str, int]]] = field(default_factory=dict)
    image_set: Int32s = field(default_factory=lambda: np.zeros(0, np.int32))
    image_set_nodes: Int32s = field(default_factory=lambda: np.zeros(16, np.int32))
    images: dict[str, ImageUse] = field(default_factory=dict)
    version_but_images: int = 0
    label_keys: frozenset[str] = frozenset()
    label_columns: LabelColumns = field(default_factory=LabelColumns)
    _rows: tuple[int, Int32s] = field(
        default_factory=lambda: (-1, np.zeros(0, np.int32)), init=False, repr=False, compare=False
    )

    def by_position(self, requests: Iterable[tuple[str, int]]) -> list[tuple[int, int]]:
        """Return amounts by name as amounts by position in the columns, without resources that no node
        offers.
        """
        index = self.resource_index
        return [(index[name], amount) for name, amount in requests if name in index]

    @property
    def capacity(self) -> int:
        """How many rows the columns have room for."""
        return len(self.alive)

    def __len__(self) -> int:
        """How many nodes there are."""
        return len(self.index)

    def rows(self) -> Int32s:
        """int32[N]: the rows of all nodes, in row order; the same array until a node comes or goes."""
        # A row is written before its epoch, so a result of an epoch has all of its rows.
        epoch, (known, rows) = self.epoch, self._rows
        if known != epoch:
            rows = np.flatnonzero(self.alive).astype(np.int32)
            self._rows = epoch, rows
        return rows

    def unchanged(self, rows: Int32s, versions: Int64s) -> Bools:
        """bool[K]: whether ``rows`` (int32[K]) still have ``versions`` (int64[K]): all that was read
        since is of that version.
        """
        with self.lock:
            # The writer holds the lock from the first change of a row until the row has a new version.
            same: Bools = self.row_version[rows] == versions
        return same

    def label(self, key: str) -> LabelColumn:
        """Return the column of label ``key``, built on first use.

        A key that no node has costs next to nothing, and its column isn't stored.
        """
        if key not in self.label_keys:
            return LabelColumn(self.capacity)
        return self.label_columns.find(key, self.lock, self._label_column)

    def _label_column(self, key: str) -> LabelColumn:
        nodes = enumerate(self.nodes)
        values = ((row, node.metadata.labels.get(key)) for row, node in nodes if node is not None)
        return LabelColumn.of(self.capacity, values)


def new_first_epoch() -> int:
    """Return a first node epoch; epochs of other starts and replicas must never validate its indices.

    A time would not do: replicas start together, and every node of a start takes an epoch. Four million of
    them lie between two beginnings. All stay below 2**53, up to which JavaScript's numbers are exact.
    """
    return secrets.randbits(30) << 22
