"""A copy of the live state that becomes the version in question: an earlier or a hypothetical one.

Like the work tree of a version control system: there are few of them and many versions, each stored as the
changes since another. So a version costs only its changes, and so does going from one to another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from mooring.cluster.journal import Entry, Journal, PodEntry, backwards
from mooring.cluster.kinds import KINDS, Change, Put, Remove
from mooring.cluster.state import State
from mooring.cluster.validated import ValidatedObjects, validate
from mooring.framework.errors import FailedPreconditionError, InvalidArgumentError
from mooring.framework.node_table import PODS_ROW, new_first_epoch
from mooring.framework.objects import Measurement, Object, Pod
from mooring.framework.pod_requests import PodUsage
from mooring.framework.pod_table import PodRecord
from mooring.kernels.arrays import Int32s, Int64s


class WorkTree(State):
    """Implements ``mooring.sessions.work_trees.SessionState``. For one thread at a time.

    It is a state of its own: a decision over it counts in it alone.

    Args:
        live: The state that it begins as a copy of, whose journal is kept from now on.

    Attributes:
        position: The number of the first entry of the live state's journal that isn't in it.
    """

    def __init__(self, live: State) -> None:
        super().__init__()
        self._live = live
        self._changes = Journal()
        self._names: _PodNames | None = None
        self._named = 0
        with live.lock:
            self.position = live.journal().end
            live.copy_to(self)
        # Indices of nodes that were given out for the live state or for another tree are not this one's.
        table = self.snapshot.nodes
        table.epoch = table.first_epoch = new_first_epoch()
        self._settle()
        self._writer.journal = self._changes

    def find_pod(self, namespace: str, name: str) -> Pod | None:
        """Return the pod of that name as it is now, whether a source delivered it or a session placed it."""
        uid = self.find_uid(namespace, name)
        return None if uid is None else self.snapshot.pods.records[uid].pod

    def follow(self, position: int) -> None:
        first, end = sorted((self.position, position))
        with self._live.lock:
            entries = self._live.journal().between(first, end)
        if entries is None:
            raise FailedPreconditionError(
                "the session began with a state too many changes ago; open another one",
                reason="SESSION_EXPIRED",
            )
        self._write_entries(entries if position >= self.position else backwards(entries))
        self._follow_measurements()
        self.position = position

    def redo(self, entries: Sequence[Entry]) -> None:
        self._write_entries(entries)

    def undo(self, entries: Sequence[Entry]) -> None:
        self._write_entries(backwards(entries))

    def take_changes(self) -> tuple[Entry, ...]:
        self._settle()
        if self._names is not None:
            self._names.follow(self._changes.since(self._named))
        taken = self._changes.take()
        self._named = self._changes.end
        return taken

    def apply_changes(self, changes: Iterable[Change]) -> None:
        steps = list(changes)
        batches = [validate([step.object], self._kinds) if isinstance(step, Put) else step for step in steps]
        with self.lock:
            try:
                for at, batch in enumerate(batches):
                    if isinstance(batch, Remove):
                        self._remove_object(batch, at)
                    else:
                        self._remove_namesakes(batch)
                        self._write(batch)
            finally:
                self._publish()

    @contextmanager
    def fuller(self, usage: PodUsage, rows: Int32s, counts: Int64s) -> Iterator[None]:
        table = self.snapshot.nodes
        requested, table.requested = table.requested, table.requested.copy()
        try:
            table.requested[PODS_ROW, rows] += counts
            for position, amount in table.by_position(usage.requests):
                table.requested[position, rows] += counts * amount
            yield
        finally:
            table.requested = requested

    def put_objects(self, objects: Sequence[Object]) -> None:
        self.apply_changes(Put(item) for item in objects)  # type: ignore[arg-type] # of a kind that is kept

    def remove_node(self, name: str) -> None:
        with self.lock:
            self._writer.remove_node(name)
            self._publish()

    def find_uid(self, namespace: str, name: str) -> str | None:
        """Return the UID of the pod of that name, placed or not."""
        if self._names is None:
            self._names = _PodNames(self.snapshot.pods.records.values())
        else:
            self._names.follow(self._changes.since(self._named))
        self._named = self._changes.end
        return self._names.get((namespace, name))

    def _remove_namesakes(self, batch: ValidatedObjects) -> None:
        """Remove the pods whose names those of ``batch`` have now."""
        for uid, record in batch.pods.items():
            known = self.find_uid(record.namespace, record.name)
            if known not in (None, uid) and not record.kind.base.finished:
                self._remove_pod(known or "")

    def _remove_object(self, removal: Remove, at: int) -> None:
        name = removal.name
        if removal.kind == "Pod":
            uid = self.find_uid(removal.namespace, name)
            if uid is not None and removal.uid in ("", uid):
                self._remove_pod(uid)
                return
        elif removal.kind == "Node":
            if name in self.snapshot.nodes.index:
                self._writer.remove_node(name)
                return
        elif removal.kind in KINDS:
            kind, key = KINDS[removal.kind], (removal.namespace, name)
            if self._writer.objects.find_object(kind, key) is not None:
                self._writer.remove_object(kind, key)
                return
        where = f"{removal.namespace}/{name}" if removal.namespace else name
        raise InvalidArgumentError.at(f"changes[{at}].remove", f"there is no {removal.kind} {where}")

    def _follow_measurements(self) -> None:
        """Take over the measured values that the live state has now, which its journal leaves out."""
        with self._live.lock:
            live = {each.metadata.name: each for each in self._live.snapshot.objects.all(Measurement)}
        with self.lock:
            for own in self.snapshot.objects.all(Measurement):
                if live.get(own.metadata.name) is own:
                    del live[own.metadata.name]
                else:
                    self._writer.remove_object(Measurement, ("", own.metadata.name))
            for each in live.values():
                self._writer.put_object(each)
            self._publish()

    def _write_entries(self, entries: Iterable[Entry]) -> None:
        with self.lock:
            self._writer.journal = None
            try:
                for entry in entries:
                    self._writer.write_entry(entry)
                    if self._names is not None:
                        self._names.follow((entry,))
            finally:
                self._writer.journal = self._changes
                self._publish()
                self._settle()


class _PodNames(dict[tuple[str, str], str]):
    """The UIDs of pods by namespace and name.

    Args:
        records: The pods that there are.
    """

    def __init__(self, records: Iterable[PodRecord]) -> None:
        super().__init__({(record.namespace, record.name): record.uid for record in records})

    def follow(self, entries: Iterable[Entry]) -> None:
        """Apply the writes."""
        for entry in entries:
            if not isinstance(entry, PodEntry):
                continue
            if entry.old is not None and entry.new is None:
                key = entry.old.namespace, entry.old.name
                if self.get(key) == entry.uid:
                    del self[key]
            elif entry.new is not None:
                self[entry.new.namespace, entry.new.name] = entry.uid
