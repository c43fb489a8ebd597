"""Writes node rows: what a node offers, and what its pods take."""

from __future__ import annotations

import heapq
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from threading import RLock

import numpy as np
from msgspec.structs import replace

from mooring.cluster.image_writer import ImageWriter
from mooring.cluster.shared_values import SharedValues
from mooring.framework.columns import STALE_VALUES, LabelColumns, copied, grown, wrapped
from mooring.framework.memory import share_of_memory
from mooring.framework.node_table import FIXED_RESOURCES, PODS_ROW, NodeTable
from mooring.framework.objects import Node, Taint
from mooring.framework.pod_requests import PodUsage
from mooring.framework.pod_table import UNPLACED
from mooring.framework.recent_changes import next_version
from mooring.framework.state import IMAGES_ALONE, UNREAD, RowChange
from mooring.kernels.arrays import Bools

_SMALLEST_CAPACITY = 16

_COLUMNS = (
    *("row_epoch", "allocatable", "requested", "non_zero_requested", "unschedulable", "taint_set"),
    *("image_set", "volumes_version", "storage_version", "row_version"),
)
"""The columns of the table by row, but for ``alive`` and those of labels."""

MAX_NODE_RESOURCES = 256
"""At most this many resources of one node count: each has a column over all nodes."""

MAX_RESOURCE_BYTES = share_of_memory(8, 256 << 20)
"""The most bytes of resource columns: more only for the first ``MAX_NODE_RESOURCES``."""

log = logging.getLogger(__name__)


class NodeWriter:
    """The writer of one ``NodeTable``. The caller holds ``table.lock``."""

    def __init__(self, table: NodeTable) -> None:
        self.table = table
        self._free: list[int] = []
        self._names_are_read = False
        self._taint_numbers: dict[tuple[Taint, ...], int] = {(): 0}
        self._free_taints: list[int] = []
        self._ports = SharedValues(table.ports, dict)
        self._images = ImageWriter(table)
        self._label_keys: Counter[str] = Counter()
        # How many nodes offer the resource, for each column.
        self._offering = np.zeros(len(table.allocatable), np.int32)
        # By row, what its pods take of resources that have no column: no node offers them.
        self._unoffered: SharedValues[int, dict[str, int]] = SharedValues({}, dict)
        self._view()

    def fork(self) -> NodeWriter:
        """Return an independent writer of a copy of the table."""
        labels = {key: column.copy() for key, column in self.table.label_columns.items()}
        twin = NodeWriter(copied(self.table, lock=RLock(), label_columns=LabelColumns(labels)))
        twin._free = self._free.copy()
        twin._taint_numbers, twin._free_taints = self._taint_numbers.copy(), self._free_taints.copy()
        twin._ports = self._ports.fork(twin.table.ports)
        twin._images = self._images.fork(twin.table)
        twin._label_keys = self._label_keys.copy()
        twin._offering = self._offering.copy()
        twin._unoffered = self._unoffered.fork(self._unoffered.values.copy())
        return twin

    def publish(self, changes: Iterable[RowChange]) -> None:
        """Give new versions to the rows of ``changes``, which are all written, and to the rows that their
        pods without a node are nominated for.

        Readers may hold the names from now on, which stay as they are: the next change makes a copy.
        """
        self._names_are_read = True
        versions, index = self._row_versions, self.table.index
        for row, record, amount in changes:
            if row != UNPLACED:
                changed = UNPLACED if record is None and amount == UNREAD else row
            elif record is not None:
                changed = index.get(record.kind.base.template.status.nominated_node_name, UNPLACED)
            else:
                changed = UNPLACED
            if changed != UNPLACED:
                versions[changed] = next_version()

    def reserve_rows(self, count: int) -> None:
        """Make room for ``count`` more nodes at once."""
        needed = len(self.table) + count
        if needed > self.table.capacity:
            self._grow(needed)

    def put_node(self, node: Node, amounts: dict[str, int], new_row: int | None = None) -> tuple[int, int]:
        """Write ``node``, which offers ``amounts``, to its name's row or a free one.

        ``new_row`` is the free one to take; None = the lowest. Returns the row, and what ``RowChange`` has of
        a node that changed so.
        """
        table = self.table
        name = node.metadata.name
        row = table.index.get(name)
        known = row is not None
        if row is None:
            row = self._free_row() if new_row is None else self._take_row(new_row)
        left_out = self._put_amounts(row, amounts)
        table.unschedulable[row] = node.spec.unschedulable
        self._put_taints(row, node.spec.taints)
        self._put_labels(row, node.metadata.labels)
        old = table.nodes[row]
        images = old.status.images if old else ()
        self._images.put_images(row, images, node.status.images)
        change = UNREAD
        if old is not None and images != node.status.images:
            self._images.mark_changed(images, node.status.images)
            change = IMAGES_ALONE
        if old is None or not _same_but_images(old, node):
            self._count_label_keys(old.metadata.labels if old else {}, node.metadata.labels)
            table.version_but_images = next_version()
            change = 0
        if left_out and (old is None or old.status.allocatable != node.status.allocatable):
            log.warning("%d resources that node %s offers are left out: they are too many", left_out, name)
        table.nodes[row] = node
        if not known:
            self._own_names()[row] = name
            table.index[name] = row
            table.alive[row] = True
            self._next_epoch(row)
        return row, change

    def remove_node(self, row: int) -> None:
        """Frees ``row``, whose resources no pod uses."""
        table = self.table
        node = table.nodes[row]
        table.alive[row] = False
        del table.index[table.names[row]]
        self._next_epoch(row)
        self._own_names()[row] = ""
        table.nodes[row] = None
        self._put_amounts(row, {})
        table.requested[:, row] = 0
        table.non_zero_requested[:, row] = 0
        table.unschedulable[row] = False
        self._put_taints(row, ())
        self._put_labels(row, {})
        self._count_label_keys(node.metadata.labels if node else {}, {})
        self._images.put_images(row, node.status.images if node else (), ())
        table.version_but_images = next_version()
        heapq.heappush(self._free, row)

    def add_usage(self, row: int, usage: PodUsage, sign: int = 1) -> None:
        """Count a pod on ``row`` ``sign`` times. Sums beyond int64 wrap around, as kube-scheduler's do."""
        at, (non_zero_cpu, non_zero_memory) = self.table.resource_index, self._non_zero_requested
        self._requested[PODS_ROW][row] += sign
        cpu = non_zero_cpu[row] + sign * usage.non_zero_cpu
        memory = non_zero_memory[row] + sign * usage.non_zero_memory
        # A view rejects a value beyond int64; values written before it are written again.
        try:
            non_zero_cpu[row], non_zero_memory[row] = cpu, memory
        except ValueError:
            non_zero_cpu[row], non_zero_memory[row] = wrapped(cpu), wrapped(memory)
        for name, amount in usage.requests:
            if name not in at:
                self._add_unoffered(row, name, sign * amount)
                continue
            column = self._requested[at[name]]
            total = column[row] + sign * amount
            try:
                column[row] = total
            except ValueError:
                column[row] = wrapped(total)
        if usage.host_ports:
            self._count_ports(row, usage, sign)

    def add_usage_to_rows(self, rows: Sequence[int], usage: PodUsage) -> None:
        """``add_usage`` for each of ``rows``, which may hold a row more than once; without host ports."""
        table, counted = self.table, np.array(rows, np.int32)
        np.add.at(table.requested[PODS_ROW], counted, 1)
        np.add.at(table.non_zero_requested[0], counted, wrapped(usage.non_zero_cpu))
        np.add.at(table.non_zero_requested[1], counted, wrapped(usage.non_zero_memory))
        for name, amount in usage.requests:
            if name in table.resource_index:
                np.add.at(table.requested[table.resource_index[name]], counted, wrapped(amount))
            else:
                for row in rows:
                    self._add_unoffered(row, name, amount)

    def subtract_usage(self, row: int, usage: PodUsage) -> None:
        """Take back ``add_usage``."""
        self.add_usage(row, usage, -1)

    def _view(self) -> None:
        """Read the columns that each decision writes through memory views, one for each resource.

        One takes a Python int several times as fast as an array does.
        """
        self._requested = [column.data for column in self.table.requested]
        self._non_zero_requested = [column.data for column in self.table.non_zero_requested]
        self._row_versions = self.table.row_version.data

    def _next_epoch(self, row: int) -> None:
        self.table.epoch += 1
        self.table.row_epoch[row] = self.table.epoch

    def _own_names(self) -> list[str]:
        """Return the table's names, which no reader holds."""
        if self._names_are_read:
            self.table.names = self.table.names.copy()
            self._names_are_read = False
        return self.table.names

    def _free_row(self) -> int:
        if not self._free:
            self._grow(max(_SMALLEST_CAPACITY, self.table.capacity * 2))
        return heapq.heappop(self._free)

    def _take_row(self, row: int) -> int:
        if row >= self.table.capacity:
            self._grow(max(2 * self.table.capacity, row + 1))
        self._free.remove(row)
        heapq.heapify(self._free)
        return row

    def _grow(self, capacity: int) -> None:
        """Write a row, ``alive`` last: a reader that finds it there finds it in every other column."""
        table = self.table
        old = table.capacity
        self._own_names().extend([""] * (capacity - old))
        table.nodes.extend([None] * (capacity - old))
        for name in _COLUMNS:
            setattr(table, name, grown(getattr(table, name), capacity))
        self._view()
        for column in table.label_columns.values():
            column.grow(capacity)
        table.alive = grown(table.alive, capacity)
        self._free.extend(range(old, capacity))

    def _put_amounts(self, row: int, amounts: dict[str, int]) -> int:
        """Let ``row`` offer ``amounts``; return how many are left out for want of columns.

        A resource has a column for as long as a node offers it.
        """
        table = self.table
        offered = [name for name, amount in amounts.items() if amount]
        self._add_columns([name for name in offered[:MAX_NODE_RESOURCES] if name not in table.resource_index])
        column = np.zeros(len(table.allocatable), np.int64)
        for position, amount in table.by_position(amounts.items()):
            column[position] = amount
        before, after = table.allocatable[:, row] > 0, column > 0
        self._offering += after.astype(np.int32) - before
        table.allocatable[:, row] = column
        gone = before & (self._offering == 0)
        gone[:FIXED_RESOURCES] = False
        if gone.any():
            self._drop_columns(gone)
        return len(offered) - int(np.count_nonzero(after))

    def _add_columns(self, names: Sequence[str]) -> None:
        """Add columns for the first of ``names``, as many as there is room for."""
        table, index = self.table, self.table.resource_index.copy()
        most = max(
            MAX_NODE_RESOURCES, MAX_RESOURCE_BYTES // (2 * table.allocatable.itemsize * table.capacity)
        )
        new = names[: max(most - len(index), 0)]
        if not new:
            return
        needed, width = len(index) + len(new), len(table.allocatable)
        if needed > width:
            more = np.zeros((max(needed, min(2 * width, most)) - width, table.capacity), np.int64)
            table.allocatable = np.concatenate((table.allocatable, more))
            table.requested = np.concatenate((table.requested, more))
            self._offering = grown(self._offering, len(table.allocatable))
            self._view()
        index.update(zip(new, sorted({*range(len(table.allocatable))} - {*index.values()}), strict=False))
        for row, amounts in tuple(self._unoffered.values.items()):
            for name in amounts.keys() & new:
                table.requested[index[name], row] = amount = amounts[name]
                self._add_unoffered(row, name, -amount)
        table.resource_index = index

    def _drop_columns(self, gone: Bools) -> None:
        """Take their columns from the resources at the positions that are ``gone`` (bool[R])."""
        table, index = self.table, self.table.resource_index
        table.resource_index = {name: at for name, at in index.items() if not gone[at]}
        for name in index.keys() - table.resource_index.keys():
            column = table.requested[index[name]]
            for row in np.flatnonzero(column).tolist():
                self._add_unoffered(row, name, int(column[row]))
            column[:] = 0

    def _add_unoffered(self, row: int, name: str, amount: int) -> None:
        """Count what pods on ``row`` take of a resource that has no column."""
        amounts = self._unoffered.writable(row)
        if amounts is None:
            self._unoffered.put(row, amounts := {})
        total = wrapped(amounts.pop(name, 0) + amount)
        if total:
            amounts[name] = total
        elif not amounts:
            self._unoffered.drop(row)

    def _put_taints(self, row: int, taints: tuple[Taint, ...]) -> None:
        """Let ``row`` have ``taints``; a list of taints that no node has frees its number."""
        table, numbers = self.table, self._taint_numbers
        before = int(table.taint_set[row])
        number = numbers.get(taints)
        if number is None:
            if not self._free_taints:
                self._free_taints.append(len(table.taint_sets))
                table.taint_sets.append(())
            number = numbers[taints] = self._free_taints.pop()
            table.taint_sets[number] = taints
        table.taint_set[row] = number
        if before and not np.equal(table.taint_set, before).any():
            del numbers[table.taint_sets[before]]
            self._free_taints.append(before)

    def _put_labels(self, row: int, labels: Mapping[str, str]) -> None:
        """Let ``row`` have ``labels``; columns with mostly unused values are rebuilt by their next reader."""
        columns = self.table.label_columns
        for key, column in tuple(columns.items()):
            column.put(row, labels.get(key))
            if len(column.values) > STALE_VALUES * self.table.capacity:
                del columns[key]

    def _count_label_keys(self, old: Mapping[str, str], new: Mapping[str, str]) -> None:
        """Update the columns for a node whose labels change from ``old`` to ``new``."""
        if old == new:
            return
        counts = self._label_keys
        counts.update(new.keys())
        counts.subtract(old.keys())
        for key in old:
            if not counts[key]:
                del counts[key]
        if counts.keys() != self.table.label_keys:
            self.table.label_keys = frozenset(counts)

    def _count_ports(self, row: int, usage: PodUsage, change: int) -> None:
        by_port: dict[tuple[str, int], list[str]] = {}
        for port in usage.host_ports:
            by_port.setdefault((port.protocol, port.port), []).append(port.host_ip)
        for key, addresses in by_port.items():
            by_row = self._ports.writable(key)
            if by_row is None:
                by_row = {}
                self._ports.put(key, by_row)
            counts = by_row.get(row, {}).copy()
            for address in addresses:
                counts[address] = counts.get(address, 0) + change
            by_row[row] = {address: count for address, count in counts.items() if count}
            if not by_row[row]:
                del by_row[row]
            if not by_row:
                self._ports.drop(key)


def _same_but_images(old: Node, new: Node) -> bool:
    """Return whether nothing is new of the node but its list of images and its resource version."""
    metadata = replace(old.metadata, resource_version=new.metadata.resource_version)
    return replace(old, metadata=metadata, status=replace(old.status, images=new.status.images)) == new
