"""Writes the object table."""

from __future__ import annotations

from dataclasses import replace

from mooring.cluster.kinds import TabledObject
from mooring.cluster.shared_values import SharedValues
from mooring.framework.object_table import KindObjects, ObjectKey, ObjectTable
from mooring.framework.objects import Object


class ObjectWriter:
    """The one writer of an object table. The caller holds the state's lock."""

    def __init__(self, table: ObjectTable) -> None:
        self.table = table
        self._kinds: SharedValues[type[Object], KindObjects] = SharedValues(table.kinds, _copied)
        self._delivered: dict[tuple[type[Object], ObjectKey], TabledObject | None] = {}

    def put_object(self, item: TabledObject) -> None:
        """Add or replace an object.

        The assumed form of the object stays in the table until ``item`` is known to be newer.
        """
        kind, key = type(item), (item.metadata.namespace, item.metadata.name)
        if (kind, key) in self._delivered:
            if not _has_caught_up(item, self.find_object(kind, key)):
                self._delivered[kind, key] = item
                return
            del self._delivered[kind, key]
        self._show(kind, key, item)

    def assume_object(self, item: TabledObject) -> None:
        """Show ``item`` in the table instead of the delivered object."""
        kind, key = type(item), (item.metadata.namespace, item.metadata.name)
        self._delivered.setdefault((kind, key), self.find_object(kind, key))
        self._show(kind, key, item)

    def forget_object(self, kind: type[Object], key: ObjectKey) -> None:
        """Take back ``assume_object``; nothing happens when nothing is assumed of the object."""
        if (kind, key) not in self._delivered:
            return
        delivered = self._delivered.pop((kind, key))
        if delivered is None:
            self.remove_object(kind, key)
        else:
            self._show(kind, key, delivered)

    def settle(self) -> None:
        """Take everything that is assumed for delivered."""
        self._delivered.clear()

    def _show(self, kind: type[Object], key: ObjectKey, item: TabledObject) -> None:
        if self.find_object(kind, key) == item:
            return
        objects = self._kinds.writable(kind)
        if objects is None:
            objects = KindObjects()
            self._kinds.put(kind, objects)
        objects.by_key[key] = item
        objects.changes.add(key)

    def remove_object(self, kind: type[Object], key: ObjectKey) -> None:
        """Remove an object that is there, and what is assumed of it."""
        self._delivered.pop((kind, key), None)
        objects = self._kinds.writable(kind)
        if objects is None:
            raise KeyError(key)
        del objects.by_key[key]
        objects.changes.add(key)

    def find_object(self, kind: type[Object], key: ObjectKey) -> TabledObject | None:
        """Return the object with this key, or None."""
        objects = self.table.kinds.get(kind)
        return objects.by_key.get(key) if objects else None  # type: ignore[return-value] # what was put

    def find_delivered(self, kind: type[Object], key: ObjectKey) -> TabledObject | None:
        """Return the object as its source delivered it, without what is assumed of it."""
        return self._delivered[kind, key] if (kind, key) in self._delivered else self.find_object(kind, key)

    def fork(self) -> ObjectWriter:
        """Return the writer of a copy; each kind is shared until either side changes it."""
        twin = ObjectWriter(ObjectTable(self.table.kinds.copy(), self.table.attachments.copy()))
        twin._kinds = self._kinds.fork(twin.table.kinds)
        twin._delivered = self._delivered.copy()
        return twin


def _copied(objects: KindObjects) -> KindObjects:
    return replace(objects, by_key=objects.by_key.copy(), changes=objects.changes.copy())


def _has_caught_up(delivered: TabledObject, assumed: TabledObject | None) -> bool:
    """Return whether a delivery shows what is assumed, or what came after it, another object of that name
    included.

    A record that was not written yet has no version, and no delivery shows it. Versions of one kind are
    ordered numbers (KEP-5504); of others only equality counts.
    """
    if assumed is None or assumed.metadata.uid != delivered.metadata.uid:
        return True
    written = assumed.metadata.resource_version
    seen = delivered.metadata.resource_version
    if written.isdecimal() and seen.isdecimal():
        return int(seen) >= int(written)
    return bool(written) and seen == written
