"""The nodes that a plugin gets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from mooring.framework.columns import LabelColumn, Scalar
from mooring.framework.measurements import measured_rows
from mooring.framework.node_info import NodeInfo
from mooring.framework.node_table import NodeTable
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import Measurement
from mooring.framework.pod_table import PodTable
from mooring.framework.resources import PODS
from mooring.kernels.arrays import Bools, Int32s, Int64s


class NodesChangedError(Exception):
    """A node in question is gone; the engine catches this and retries."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The tables that one evaluation reads."""

    nodes: NodeTable
    pods: PodTable
    objects: ObjectTable = field(default_factory=ObjectTable)


@dataclass(frozen=True, slots=True)
class NodeView:
    """Some rows of the tables: the still feasible nodes for Filter, the feasible ones for Score.

    Attributes:
        snapshot: The tables.
        rows: int32[K], the nodes' rows; answers have the same length and order.
        at: ``rows``, as a slice when they are contiguous, which is many times faster.
    """

    snapshot: Snapshot
    rows: Int32s
    at: Int32s | slice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", _unbroken(self.rows) or self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def table(self) -> NodeTable:
        """The node columns."""
        return self.snapshot.nodes

    @property
    def names(self) -> list[str]:
        """The nodes' names."""
        names = self.table.names
        return [names[row] for row in self.rows.tolist()]

    def subset(self, rows: Int32s) -> NodeView:
        """Return a view of other rows of the same tables."""
        return NodeView(self.snapshot, rows)

    def take(self, column: npt.NDArray[Scalar], *, live: bool = False) -> npt.NDArray[Scalar]:
        """[K]: the nodes' part of ``column``, an array of the table with one value per row.

        It is a copy: later writes don't show in it, and changing it changes no node. With
        ``live`` it may be the column itself, for callers that read each value once and change none.
        """
        at = self.at
        if not isinstance(at, slice):
            return column.take(at)
        return column[at] if live else column[at].copy()

    def allocatable(self, resource: str, *, live: bool = False) -> Int64s:
        """int64[K]: what each node offers of ``resource``, see ``take``."""
        return self._column(self.snapshot.nodes.allocatable, resource, live=live)

    def requested(self, resource: str, *, live: bool = False) -> Int64s:
        """Return int64[K]: the amount of ``resource`` requested on each node, see ``take``; 0 if no node of
        the cluster offers it.
        """
        return self._column(self.snapshot.nodes.requested, resource, live=live)

    def has_column(self, resource: str) -> bool:
        """Return whether a node of the cluster offers ``resource``."""
        return 0 <= self.table.resource_index.get(resource, -1) < len(self.table.allocatable)

    def label(self, key: str) -> LabelColumn:
        """Return the column of a label key."""
        return self.table.label(key)

    def measured(self, name: str) -> tuple[Int64s, Bools]:
        """int64[K], bool[K]: the values of ``NodeInfo.measurements`` under ``name``, and which have one.

        The value of a node without one is 0.
        """
        found = self.snapshot.objects.get(Measurement, name)
        if found is None:
            return np.zeros(len(self.rows), np.int64), np.zeros(len(self.rows), np.bool_)
        return measured_rows(found, self.table.nodes, self.requested(PODS, live=True), self.rows)

    def infos(self) -> Iterator[NodeInfo]:
        """Yield a record for each node, made as it is needed."""
        for row in self.rows.tolist():
            yield self.info(row)

    def info(self, row: int) -> NodeInfo:
        """Return the record of one row."""
        table = self.table
        node = table.nodes[row]
        if node is None:
            raise NodesChangedError
        amounts = list(table.resource_index.items())
        allocatable, requested = table.allocatable, table.requested
        width = len(allocatable)
        return NodeInfo(
            name=table.names[row],
            node=node,
            allocatable={name: int(allocatable[at, row]) for name, at in amounts if at < width},
            requested={name: int(requested[at, row]) for name, at in amounts if at < len(requested)},
            records=tuple(self.snapshot.pods.records_on(row)),
            snapshot=self.snapshot,
        )

    def _column(self, columns: Int64s, resource: str, *, live: bool) -> Int64s:
        at = self.snapshot.nodes.resource_index.get(resource, -1)
        if not 0 <= at < len(columns):
            return np.zeros(len(self.rows), np.int64)
        return self.take(columns[at], live=live)


def one_node(snapshot: Snapshot, node_name: str) -> NodeView:
    """Return the node of that name alone; none when it is gone."""
    row = snapshot.nodes.index.get(node_name)
    return NodeView(snapshot, np.array([] if row is None else [row], np.int32))


def _unbroken(rows: Int32s) -> slice | None:
    """Return ``rows`` as a slice, which is many times faster to copy; None when they are not contiguous."""
    if not len(rows):
        return None
    first, last = int(rows[0]), int(rows[-1])
    if last - first != len(rows) - 1 or (last > first and not (rows[1:] > rows[:-1]).all()):
        return None
    return slice(first, last + 1)
