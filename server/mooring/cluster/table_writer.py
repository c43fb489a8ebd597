"""Writes pods to the tables and keeps them and their nodes' rows in step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from operator import attrgetter

import msgspec

from mooring.cluster.affinity_counts import copy_of_class, count, discount
from mooring.cluster.class_writer import ClassWriter
from mooring.cluster.journal import Entry, Journal, NodeEntry, ObjectEntry, PodEntry
from mooring.cluster.kinds import TabledObject
from mooring.cluster.node_writer import NodeWriter
from mooring.cluster.object_writer import ObjectWriter
from mooring.cluster.shared_values import SharedValues, add_to, discard_from
from mooring.cluster.volume_writer import VolumeWriter
from mooring.framework.columns import copied
from mooring.framework.object_table import ObjectKey
from mooring.framework.objects import Measurement, Node, Object
from mooring.framework.pod_affinity import AffinityKey
from mooring.framework.pod_table import (
    UNPLACED,
    AffinityClass,
    PodBase,
    PodKind,
    PodRecord,
    PodTable,
)
from mooring.framework.resources import allocatable
from mooring.framework.selected_labels import SELECTING, keys_of_object, keys_of_terms
from mooring.framework.state import RELABELLED, UNREAD, RowChange
from mooring.framework.view import Snapshot

_FIRST_KEYS = 1 << 8
"""The keys that selectors name are collected again when there are this many, and whenever they double."""

_WORTH_SUMMING_UP = 8
"""The number of pods from which on their amounts are added up column by column."""

_uid, _row = attrgetter("uid"), attrgetter("row")


class TableWriter:
    """The one writer of a snapshot's tables. The caller holds the tables' lock.

    Attributes:
        nodes: The writer of the node table.
        pods: The pod table.
        objects: The writer of the object table.
        changes: The writes since the owner emptied this list.
        journal: Notes every write; None = none is noted.
    """

    def __init__(self, nodes: NodeWriter, pods: PodTable, objects: ObjectWriter) -> None:
        self.nodes = nodes
        self.pods = pods
        self.objects = objects
        self.changes: list[RowChange] = []
        self.journal: Journal | None = None
        self._waiting: SharedValues[str, dict[str, None]] = SharedValues({}, dict)
        self._classes = ClassWriter(self.pods.classes)
        self._affinities = SharedValues(self.pods.affinities, copy_of_class)
        self._nominated = SharedValues(self.pods.nominated, dict)
        self._groups = SharedValues(self.pods.groups, dict)
        self._volumes = VolumeWriter(self.snapshot)
        self._most_keys = _FIRST_KEYS

    @property
    def snapshot(self) -> Snapshot:
        """The tables."""
        return Snapshot(self.nodes.table, self.pods, self.objects.table)

    def fork(self) -> TableWriter:
        """Return an independent writer of a copy of the tables."""
        classes = self._classes.fork()
        pods = copied(self.pods, classes=classes.classes)
        twin = TableWriter(self.nodes.fork(), pods, self.objects.fork())
        twin._waiting = self._waiting.fork(self._waiting.values.copy())
        twin._classes = classes
        twin._affinities = self._affinities.fork(pods.affinities)
        twin._nominated = self._nominated.fork(pods.nominated)
        twin._groups = self._groups.fork(pods.groups)
        twin._volumes = self._volumes.fork(twin.snapshot)
        twin._most_keys = self._most_keys
        return twin

    def put_node(self, node: Node, amounts: dict[str, int], row: int | None = None) -> None:
        """Add or replace ``node``, which offers ``amounts``; pods that waited for it get their row.

        ``row`` is the free one that a new node takes; None = the lowest.
        """
        known = self.nodes.table.index.get(node.metadata.name)
        old = None if known is None else self.nodes.table.nodes[known]
        row, change = self.nodes.put_node(node, amounts, row)
        if self.journal is not None:
            self.journal.add(NodeEntry(row, old, node), len(self.changes))
        self.changes.append((row, None, change))
        if known is None:
            self._volumes.mark_rows((row,))
        waiting = self._waiting.values.get(node.metadata.name, {})
        self._waiting.drop(node.metadata.name)
        for uid in waiting:
            record = msgspec.structs.replace(self.pods.records[uid], row=row)
            self.pods.records[uid] = record
            self._attach(record)

    def remove_node(self, name: str) -> None:
        """Remove a node; its pods wait for one of that name."""
        row = self.nodes.table.index[name]
        if self.journal is not None:
            self.journal.add(NodeEntry(row, self.nodes.table.nodes[row], None), len(self.changes))
        for uid in self.pods.classes.uids_on(row):
            record = self.pods.records[uid]
            self._detach(record)
            unplaced = msgspec.structs.replace(record, row=UNPLACED)
            self.pods.records[uid] = unplaced
            self._attach(unplaced)
        self.nodes.remove_node(row)
        self.changes.append((row, None, 0))

    def put_pod(self, record: PodRecord) -> None:
        """Add or replace the pod of this UID, on the row of its node whatever ``record`` says."""
        row = self.nodes.table.index.get(record.node_name, UNPLACED)
        self.put_record(msgspec.structs.replace(record, row=row))

    def put_record(self, record: PodRecord) -> None:
        """Add or replace the record of this UID."""
        uid = record.uid
        old = self.pods.records.get(uid)
        if self.journal is not None:
            self.journal.add(PodEntry(uid, old, record), len(self.changes))
        self._count(record, 1)
        if old is not None:
            self._count(old, -1)
            if _same_place(old, record):
                self.pods.records[uid] = record
                if old.kind.class_key != record.kind.class_key:
                    self._relabel(old, record)
                else:
                    self.changes.append((record.row, record, 0))
                return
            self._detach(old)
        self.pods.records[uid] = record
        self._attach(record)

    def put_alike(self, kind: PodKind, records: Sequence[PodRecord], *, new: bool) -> None:
        """As ``put_record`` for each, of assumed pods of one kind that are on no node until now.

        ``new`` says that none of them is there.
        """
        base = kind.base
        if not _is_plain(base):
            for record in records:
                self.put_record(record)
            return
        uids, rows = list(map(_uid, records)), list(map(_row, records))
        if new:
            self._put_new(records, uids, rows)
        else:
            self._put_known(records)
        if len(rows) < _WORTH_SUMMING_UP:
            for row in rows:
                self.nodes.add_usage(row, base.usage)
        else:
            self.nodes.add_usage_to_rows(rows, base.usage)
        priorities, priority = self.pods.priorities, base.template.spec.priority or 0
        priorities[priority] = priorities.get(priority, 0) + len(rows)
        self._classes.place_pods(kind.class_key, rows, uids)

    def _put_new(self, records: Sequence[PodRecord], uids: Sequence[str], rows: Sequence[int]) -> None:
        """Write the records of assumed pods that are not there yet, but nothing of their rows."""
        if self.journal is not None:
            self.journal.add_alike(
                [PodEntry(record.uid, None, record) for record in records], len(self.changes)
            )
        self.pods.records.update(zip(uids, records, strict=True))
        self.changes += zip(rows, records, repeat(1))
        self.pods.assumed_count += len(records)

    def _put_known(self, records: Sequence[PodRecord]) -> None:
        """Put new records like ``_put_new``, some of which exist without a node."""
        known = self.pods.records
        for record in records:
            uid = record.uid
            if (old := known.get(uid)) is not None:
                base = old.kind.base
                # A plain pod without a node is in no other table, unless it is nominated.
                if base is not record.kind.base or base.template.status.nominated_node_name:
                    self._detach(old)
                self.pods.pending_count -= 1
            if self.journal is not None:
                self.journal.add(PodEntry(uid, old, record), len(self.changes))
            known[uid] = record
            self.changes.append((record.row, record, 1))
        self.pods.assumed_count += len(records)

    def remove_pod(self, uid: str) -> None:
        """Remove the pod, if it is there."""
        record = self.pods.records.get(uid)
        if record is not None:
            if self.journal is not None:
                self.journal.add(PodEntry(uid, record, None), len(self.changes))
            self._detach(record, gone=True)
            self._count(record, -1)
            del self.pods.records[uid]

    def put_object(self, item: TabledObject) -> None:
        """Add or replace an object that is neither node nor pod."""
        kind, key = type(item), (item.metadata.namespace, item.metadata.name)
        before = self.objects.find_object(kind, key)
        self.objects.put_object(item)
        self._follow(kind, key, before)

    def assume_object(self, item: TabledObject) -> None:
        """Show an object as it was decided to be."""
        kind, key = type(item), (item.metadata.namespace, item.metadata.name)
        before = self.objects.find_object(kind, key)
        self.objects.assume_object(item)
        self._follow(kind, key, before)

    def forget_object(self, kind: type[Object], key: ObjectKey) -> None:
        """Show it as it was delivered."""
        before = self.objects.find_object(kind, key)
        self.objects.forget_object(kind, key)
        self._follow(kind, key, before)

    def remove_object(self, kind: type[Object], key: ObjectKey) -> None:
        """Remove an object that is neither node nor pod."""
        before = self.objects.find_object(kind, key)
        self.objects.remove_object(kind, key)
        self._follow(kind, key, before)

    def write_entry(self, entry: Entry) -> None:
        """Write what ``entry`` says is there now; the tables are as it says they were before. Raises
        ResourceError if a quantity of a node that was never written can't be used.
        """
        if isinstance(entry, PodEntry):
            if entry.new is None:
                self.remove_pod(entry.uid)
            else:
                self.put_record(entry.new)
        elif isinstance(entry, NodeEntry):
            if entry.new is None:
                self.remove_node(self.nodes.table.names[entry.row])
            else:
                self.put_node(entry.new, allocatable(entry.new.status.allocatable), entry.row)
        elif entry.new is None:
            self.remove_object(entry.kind, entry.key)
        else:
            self.put_object(entry.new)

    def _follow(self, kind: type[Object], key: ObjectKey, before: TabledObject | None) -> None:
        """Take in a change of the object, whose last state was ``before``."""
        after = self.objects.find_object(kind, key)
        if after is before:
            return
        if self.journal is not None and kind is not Measurement:
            self.journal.add(ObjectEntry(kind, key, before, after), len(self.changes))
        self._volumes.index_object(before, after)
        if after is not None:
            self._select(keys_of_object(after))
        self.changes.append((UNPLACED, None, UNREAD if _is_status(before, after) else 0))

    def _attach(self, record: PodRecord) -> None:
        uid, row, kind = record.uid, record.row, record.kind
        base, pod, spec = kind.base, kind.base.template, kind.base.template.spec
        self.changes.append((row, record, 1))
        if spec.scheduling_group is not None and (group := pod.group) is not None:
            add_to(self._groups, group, uid)
        if row == UNPLACED:
            if record.node_name:
                add_to(self._waiting, record.node_name, uid)
            elif pod.status.nominated_node_name:
                add_to(self._nominated, pod.status.nominated_node_name, uid)
            return
        self.nodes.add_usage(row, base.usage)
        priorities, priority = self.pods.priorities, spec.priority or 0
        priorities[priority] = priorities.get(priority, 0) + 1
        if base.has_storage:
            self._volumes.attach_volumes(record)
        self._classes.place_pod(kind.class_key, row, uid)
        if base.affinity_key is not None:
            self._attach_affinity(base.affinity_key, record)

    def _detach(self, record: PodRecord, *, gone: bool = False) -> None:
        uid, row, kind = record.uid, record.row, record.kind
        base, pod = kind.base, kind.base.template
        if gone or _has_room(record):
            # For any other pod, its new form is the change.
            self.changes.append((row, record, -1))
        if pod.spec.scheduling_group is not None and (group := pod.group) is not None:
            discard_from(self._groups, group, uid)
        if row == UNPLACED:
            if record.node_name:
                discard_from(self._waiting, record.node_name, uid)
            elif pod.status.nominated_node_name:
                discard_from(self._nominated, pod.status.nominated_node_name, uid)
            return
        self.nodes.subtract_usage(row, base.usage)
        self._classes.remove_pod(kind.class_key, row, uid)
        priorities = self.pods.priorities
        priorities[pod.priority] -= 1
        if not priorities[pod.priority]:
            del priorities[pod.priority]
        if base.has_storage:
            self._volumes.detach_volumes(record)
        if base.affinity_key is not None:
            discount(self._affinities, base.affinity_key, row, self.nodes.table.capacity)

    def _relabel(self, old: PodRecord, new: PodRecord) -> None:
        """Count a pod of another class as one that left and came, in the place that it has."""
        row = new.row
        self.changes += ((row, old, -RELABELLED), (row, new, RELABELLED))
        if row != UNPLACED:
            self._classes.relabel_pod(old.kind.class_key, new.kind.class_key, row, new.uid)

    def _count(self, record: PodRecord, amount: int) -> None:
        if record.assumed:
            self.pods.assumed_count += amount
        elif record.pending:
            self.pods.pending_count += amount

    def _attach_affinity(self, key: AffinityKey, record: PodRecord) -> None:
        affinity = self._affinities.writable(key)
        if affinity is None:
            affinity = AffinityClass(key, record.kind.terms)
            self._affinities.put(key, affinity)
            self._select(keys_of_terms(affinity.terms))
        count(affinity, record.row, 1, self.nodes.table.capacity)

    def _select(self, keys: Iterable[str]) -> None:
        """Note that a selector names the label ``keys``; keys that no selector names are dropped in bulk."""
        pods = self.pods
        new = pods.selected_keys.union(keys)
        if len(new) == len(pods.selected_keys):
            return
        if len(new) > self._most_keys:
            terms = (keys_of_terms(affinity.terms) for affinity in pods.affinities.values())
            objects = (keys_of_object(item) for kind in SELECTING for item in self.objects.table.all(kind))
            new = frozenset(chain.from_iterable(chain(terms, objects)))
            self._most_keys = max(_FIRST_KEYS, 2 * len(new))
        pods.selected_keys = new


def _is_plain(base: PodBase) -> bool:
    """Return whether pods of the base count in amounts, priorities and classes alone."""
    special = base.has_storage or base.affinity_key is not None or base.usage.host_ports
    return not special and base.template.spec.scheduling_group is None


def _has_room(record: PodRecord) -> bool:
    """Return whether the pod is on a node, or others leave it room on one."""
    nominated = record.kind.base.template.status.nominated_node_name
    return record.row != UNPLACED or (not record.node_name and bool(nominated))


def _is_status(old: TabledObject | None, new: TabledObject | None) -> bool:
    """Return whether only the unread status of a controller or service changed, as with each of its pods."""
    if not isinstance(old, SELECTING) or not isinstance(new, SELECTING):
        return False
    version = new.metadata.resource_version
    return new == msgspec.structs.replace(
        old, metadata=msgspec.structs.replace(old.metadata, resource_version=version)
    )


def _same_place(old: PodRecord, new: PodRecord) -> bool:
    """Return whether everything that is counted is equal, but for the class."""
    if old.row != new.row or old.node_name != new.node_name:
        return False
    was, now = old.kind.base, new.kind.base
    return was is now or (
        was.usage == now.usage
        and was.template.metadata.namespace == now.template.metadata.namespace
        and was.affinity_key == now.affinity_key
        and was.template.status.nominated_node_name == now.template.status.nominated_node_name
        and was.template.spec.scheduling_group == now.template.spec.scheduling_group
        and was.template.spec.volumes == now.template.spec.volumes
        and (was.template.spec.priority or 0) == (now.template.spec.priority or 0)
    )
