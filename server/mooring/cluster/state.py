"""The cluster's state: the tables, the objects of each source, and the assumed pods.

Mirrors what pkg/scheduler/backend/cache/cache.go promises of assumed pods, keyed by UID throughout.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from mooring.cluster.change_log import DEFAULT_LENGTH, ChangeLog
from mooring.cluster.journal import DEFAULT_LENGTH as JOURNAL_LENGTH
from mooring.cluster.journal import Entry, Journal
from mooring.cluster.kinds import KINDS, Change, ClusterObject, Put, PutPod, Remove, TabledObject
from mooring.cluster.node_writer import NodeWriter
from mooring.cluster.object_writer import ObjectWriter
from mooring.cluster.pod_kinds import PodKinds
from mooring.cluster.pod_parts import PodParts
from mooring.cluster.source_ownership import SourceOwnership
from mooring.cluster.table_writer import TableWriter
from mooring.cluster.validated import Identity, ValidatedObjects, identities_of, validate, validate_pod
from mooring.framework.cluster_events import Listener, ObjectChange, PodRecordChange, StateChange
from mooring.framework.errors import bound_elsewhere
from mooring.framework.node_table import NodeTable
from mooring.framework.object_table import ObjectKey, ObjectTable
from mooring.framework.objects import Measurement, Node, Object, Pod
from mooring.framework.pod_requests import NEWEST_RULES, ResourceRules
from mooring.framework.pod_table import UNPLACED, PodKind, PodRecord, PodTable
from mooring.framework.state import RowChange


class Listeners:
    """Listeners in the order in which they came. The caller holds the state's lock."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def add_listener(self, listener: Listener) -> None:
        """Notify ``listener`` from now on."""
        self._listeners.append(listener)

    def tell_listeners(self, change: StateChange) -> None:
        """Notify all listeners of one change."""
        for listener in self._listeners:
            listener(change)


class State:
    """Implements ``mooring.framework.ClusterState``; any thread may call any method.

    Attributes:
        lock: The node table's lock; every change holds it.
        snapshot: The tables, live.
        version: Counts every change; set after the rows are written.
    """

    def __init__(
        self,
        log_length: int = DEFAULT_LENGTH,
        first_epoch: int = 0,
        rules: ResourceRules = NEWEST_RULES,
    ) -> None:
        table = NodeTable(epoch=first_epoch, first_epoch=first_epoch)
        writer = TableWriter(NodeWriter(table), PodTable(), ObjectWriter(ObjectTable()))
        self._start(writer, PodKinds(rules), ChangeLog(log_length), 0)

    def _start(self, writer: TableWriter, kinds: PodKinds, log: ChangeLog, version: int) -> None:
        self._writer = writer
        self._kinds = kinds
        self._log = log
        self.version = version
        self.snapshot = writer.snapshot
        self.lock = self.snapshot.nodes.lock
        self._ownership = SourceOwnership(self.snapshot.pods)
        self._delivered: dict[str, PodRecord | None] = {}
        self._listeners = Listeners()

    def changes_since(self, version: int) -> Sequence[RowChange] | None:
        with self.lock:
            return self._log.since(version, self.version)

    def kind_of(self, pod: Pod, *, remember: bool = True) -> PodKind:
        return self._kinds.of(pod) if remember else self._kinds.made_of(pod)

    def kind_like(self, template: Pod, kind: PodKind) -> PodKind:
        return self._kinds.like(template, kind)

    def kind_labelled(self, kind: PodKind, labels: Mapping[str, str]) -> PodKind:
        return self._kinds.labelled(kind, labels)

    def assume(self, pod: Pod, node_name: str, kind: PodKind | None = None) -> None:
        """As the protocol says; assuming a pod where it is already changes nothing. Raises KeyError if there
        is no such node, and FailedPreconditionError if the pod is on another one (POD_BOUND_ELSEWHERE).
        """
        if kind is None:
            kind = self._kinds.of(pod)
        uid = pod.metadata.uid
        with self.lock:
            row = self.snapshot.nodes.index[node_name]
            record = self.snapshot.pods.records.get(uid)
            placed_on = record.node_name if record is not None else ""
            if placed_on == node_name:
                return
            if placed_on:
                raise bound_elsewhere(pod.key, placed_on)
            self._delivered[uid] = record
            self._writer.put_record(PodRecord.of(pod, kind, row, node_name, assumed=True))
            self._publish()

    def assume_alike(
        self, pod: Pod, kind: PodKind, names: Sequence[str], uids: Sequence[str], rows: Sequence[int]
    ) -> None:
        with self.lock:
            known = list(map(self.snapshot.pods.records.get, uids))
            self._delivered.update(zip(uids, known, strict=True))
            node_names = map(self.snapshot.nodes.names.__getitem__, rows)
            records = PodRecord.assumed_of(pod, kind, names, uids, rows, node_names, known)
            self._writer.put_alike(kind, records, new=not any(known))
            self._publish()

    def forget(self, uid: str) -> None:
        with self.lock:
            if uid not in self._delivered:
                return
            delivered = self._delivered.pop(uid)
            if delivered is None:
                self._writer.remove_pod(uid)
            else:
                self._writer.put_pod(delivered)
            self._publish()

    def assume_object(self, item: TabledObject) -> None:
        kind, key = type(item), (item.metadata.namespace, item.metadata.name)
        with self.lock:
            before = self._writer.objects.find_object(kind, key)
            self._writer.assume_object(item)
            self._tell_measured(kind, key, before)
            self._publish()

    def forget_object(self, kind: type[Object], name: str, namespace: str = "") -> None:
        key = namespace, name
        with self.lock:
            before = self._writer.objects.find_object(kind, key)
            self._writer.forget_object(kind, key)
            self._tell_measured(kind, key, before)
            self._publish()

    def nominate(self, uid: str, node_name: str) -> None:
        with self.lock:
            record = self.snapshot.pods.records.get(uid)
            if record is None or record.node_name:
                return
            pod = record.pod
            if pod.status.nominated_node_name != node_name:
                pod = replace(pod, status=replace(pod.status, nominated_node_name=node_name))
                self._writer.put_pod(PodRecord.of(pod, self._kinds.of(pod), UNPLACED))
                self._publish()

    def discard(self, uid: str) -> None:
        with self.lock:
            self._remove_pod(uid)
            self._publish()

    def fork(self, nodes: Iterable[Node] = (), pods: Iterable[Pod] = ()) -> State:
        """As the protocol says; a fork knows no sources. Raises InvalidArgumentError if a quantity of
        ``nodes`` or ``pods`` can't be used.
        """
        batch = validate([*nodes, *pods], self._kinds)
        twin = State(log_length=0)
        self.copy_to(twin)
        with twin.lock:
            twin._write(batch)
            twin._publish()
        return twin

    def copy_to(self, twin: State) -> None:
        """Make ``twin``, which is not in use yet, a private copy."""
        with self.lock:
            twin._start(self._writer.fork(), self._kinds, self._log.copy(), self.version)
            twin._delivered = self._delivered.copy()

    def journal(self, length: int = JOURNAL_LENGTH) -> Journal:
        """Return the journal of writes since the first call. The caller holds the lock.

        ``length`` is what the first call wants it to be.
        """
        if self._writer.journal is None:
            self._writer.journal = Journal(length, self.version)
        return self._writer.journal

    def write_entries(self, entries: Iterable[Entry]) -> None:
        """Write what the journal of another state says, in the same rows; what is assumed there counts as
        delivered. For a state that has no sources. Raises KeyError if an entry removes what isn't there, and
        ResourceError if a quantity can't be used.
        """
        with self.lock:
            try:
                for entry in entries:
                    self._writer.write_entry(entry)
            finally:
                self._publish()
                self._settle()

    def _settle(self) -> None:
        """Take what is assumed for delivered."""
        self._delivered.clear()
        self._writer.objects.settle()

    def end_journal(self) -> None:
        """Stop the journal and drop its entries."""
        with self.lock:
            self._writer.journal = None

    def replace(
        self, source: str, objects: Iterable[ClusterObject], *, kind: str = "", discard: bool = False
    ) -> None:
        """Load in full: ``objects`` are now all that ``source`` has, or all of the given ``kind``.

        Either all of it takes effect or nothing. Unchanged objects cost nothing and keep their rows. New
        nodes get their rows in name order. If an object is given twice, the last one counts. With ``discard``
        all present objects and assumed pods are removed first: they were of another cluster. Raises
        InvalidArgumentError if a quantity can't be used, or another source has one of the objects.
        """
        batch = validate(objects, self._kinds)
        with self.lock:
            self._ownership.check_ownership(source, batch.identities())
            kept = validate((), self._kinds) if discard else batch
            for gone, name in self._ownership.missing_objects(source, kept, kind):
                self._drop(source, gone, name)
            self._writer.nodes.reserve_rows(len(batch.nodes.keys() - self.snapshot.nodes.index.keys()))
            self._ownership.add_objects(source, batch)
            self._write(batch)
            self._publish()

    def apply(self, source: str, changes: Iterable[Change | PutPod]) -> None:
        """Apply changes of ``source`` in their order. Either all of them take effect or none.

        Removing what ``source`` hasn't delivered does nothing. Raises InvalidArgumentError if a quantity
        can't be used, or another source has one of the objects.
        """
        steps = [self._step(change) for change in changes]
        with self.lock:
            if self._ownership.has_others(source):
                for step in steps:
                    if not isinstance(step, Remove):
                        self._ownership.check_ownership(source, _identities(step))
            for step in steps:
                if isinstance(step, PodRecord):
                    self._put_pod(source, step)
                elif isinstance(step, ValidatedObjects):
                    self._put(source, step)
                else:
                    self._remove(source, step)
            self._publish()

    def _step(self, change: Change | PutPod) -> PodRecord | ValidatedObjects | Remove:
        """Return a change as it is written. Pods, which most changes are, need no batch."""
        match change:
            case PutPod(pod=parts):
                return validate_pod(parts, self._kinds)
            case Put(object=Pod() as pod):
                return validate_pod(PodParts.of(pod), self._kinds)
            case Put(object=item):
                return validate([item], self._kinds)
        return change

    def subscribe(self, listener: Listener) -> None:
        with self.lock:
            self._listeners.add_listener(listener)

    def find_pod(self, namespace: str, name: str) -> Pod | None:
        """Return the pod of that name as it is now; only pods that a source delivered have a name here."""
        with self.lock:
            record = self.snapshot.pods.records.get(self._ownership.pod_uid(namespace, name) or "")
            return record.pod if record else None

    def pod_uids(self, namespace: str) -> Mapping[str, str]:
        return self._ownership.pod_uids(namespace)

    def count_of(self, source: str, kind: str) -> int:
        """Return how many objects of ``kind`` the source has; waits for no lock."""
        return self._ownership.count_objects(source, kind)

    def _put(self, source: str, batch: ValidatedObjects) -> None:
        self._ownership.add_objects(source, batch)
        self._write(batch)

    def _put_pod(self, source: str, record: PodRecord) -> None:
        ownership = self._ownership
        if not ownership.has_pod(source, record):
            displaced = ownership.displaced_by(record)
            if displaced is not None:
                self._drop(source, "Pod", displaced)
            ownership.add_pod(source, record)
        self._write_pod(record)

    def _remove(self, source: str, change: Remove) -> None:
        known = self._ownership.find_identity(source, change)
        if known and change.uid in ("", self._uid_of(change.kind, known)):
            self._drop(source, change.kind, known)

    def _uid_of(self, kind: str, name: str) -> str:
        if kind == "Pod":
            return name
        if kind == "Node":
            node = self.snapshot.nodes.nodes[self.snapshot.nodes.index[name]]
            return node.metadata.uid if node else ""
        item = self._writer.objects.find_object(KINDS[kind], _key(name))
        return item.metadata.uid if item else ""

    def _drop(self, source: str, kind: str, name: str) -> None:
        self._ownership.discard(source, kind, name)
        if kind == "Pod":
            record = self._delivered_record(name)
            self._remove_pod(name)
            if record is not None:
                self._listeners.tell_listeners(PodRecordChange(record, record, gone=True))
            return
        old: ClusterObject | None
        if kind == "Node":
            old = self.snapshot.nodes.nodes[self.snapshot.nodes.index[name]]
            self._writer.remove_node(name)
        else:
            old = self._writer.objects.find_delivered(KINDS[kind], _key(name))
            self._writer.remove_object(KINDS[kind], _key(name))
        self._listeners.tell_listeners(ObjectChange(kind, old, None))

    def _write(self, batch: ValidatedObjects) -> None:
        table = self.snapshot.nodes
        for name in sorted(batch.nodes):
            node, amounts = batch.nodes[name]
            row = table.index.get(name)
            old = None if row is None else table.nodes[row]
            if old != node:
                self._writer.put_node(node, amounts)
                self._listeners.tell_listeners(ObjectChange("Node", old, node))
        for record in batch.pods.values():
            self._write_pod(record)
        for item in batch.objects.values():
            key = item.metadata.namespace, item.metadata.name
            known = self._writer.objects.find_delivered(type(item), key)
            if known != item:
                self._writer.put_object(item)
                self._listeners.tell_listeners(ObjectChange(type(item).__name__, known, item))

    def _tell_measured(self, kind: type[Object], key: ObjectKey, before: TabledObject | None) -> None:
        """Notify listeners of measured values that changed: nothing delivers them."""
        after = self._writer.objects.find_object(kind, key)
        if kind is Measurement and after is not before:
            self._listeners.tell_listeners(ObjectChange(kind.__name__, before, after))

    def _delivered_record(self, uid: str) -> PodRecord | None:
        """Return the pod as its source delivered it, without what was decided since."""
        return self._delivered[uid] if uid in self._delivered else self.snapshot.pods.records.get(uid)

    def _write_pod(self, record: PodRecord) -> None:
        """Write a pod as its source delivered it, and notify listeners if that is new."""
        uid = record.uid
        known, assumed = self.snapshot.pods.records.get(uid), uid in self._delivered
        before = self._delivered[uid] if assumed else known
        same = before is not None and before.says_what(record)
        if record.kind.base.finished:
            self._remove_pod(uid)
        elif not assumed:
            if not same:
                self._writer.put_pod(record)
        elif known is not None and not record.node_name:
            self._delivered[uid] = record
            self._writer.put_record(replace(record, row=known.row, node_name=known.node_name, assumed=True))
        else:
            del self._delivered[uid]
            self._writer.put_pod(record)
        if not same:
            self._listeners.tell_listeners(PodRecordChange(before, record))

    def _remove_pod(self, uid: str) -> None:
        self._delivered.pop(uid, None)
        self._writer.remove_pod(uid)

    def _publish(self) -> None:
        writer, changes = self._writer, self._writer.changes
        if changes:
            self._log.extend(changes)
            writer.nodes.publish(changes)
            self.version += len(changes)
            changes.clear()
            if writer.journal is not None:
                writer.journal.version = self.version


def _identities(step: PodRecord | ValidatedObjects) -> Iterable[Identity]:
    return identities_of(step) if isinstance(step, PodRecord) else step.identities()


def _key(identity: str) -> ObjectKey:
    namespace, _, name = identity.rpartition("/")
    return namespace, name
