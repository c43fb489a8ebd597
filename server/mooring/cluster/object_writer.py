"""Writes the object table."""

from __future__ import annotations

from dataclasses import replace

from mooring.cluster.kinds import TabledObject
from mooring.cluster.shared_values import SharedValues
from mooring.framework.object_table import KindObjects, ObjectKey, ObjectTable, next_version
from mooring.framework.objects import Object


class ObjectWriter:
    """The one writer of an object table. The caller holds the state's lock.

    Attributes:
        table: The table.
    """

    def __init__(self, table: ObjectTable) -> None:
        self.table = table
        self._kinds: SharedValues[type[Object], KindObjects] = SharedValues(table.kinds, _copied)

    def put(self, item: TabledObject) -> bool:
        """Adds or replaces an object; False when it was there just like this."""
        kind, key = type(item), (item.metadata.namespace, item.metadata.name)
        if self.find(kind, key) == item:
            return False
        objects = self._kinds.writable(kind)
        if objects is None:
            objects = KindObjects()
            self._kinds.put(kind, objects)
        objects.by_key[key] = item
        objects.version = next_version()
        return True

    def remove(self, kind: type[Object], key: ObjectKey) -> None:
        """Removes an object that is there."""
        objects = self._kinds.writable(kind)
        if objects is None:
            raise KeyError(key)
        del objects.by_key[key]
        objects.version = next_version()

    def find(self, kind: type[Object], key: ObjectKey) -> TabledObject | None:
        """The object with this key, or None."""
        objects = self.table.kinds.get(kind)
        return objects.by_key.get(key) if objects else None  # type: ignore[return-value] # what was put

    def fork(self) -> ObjectWriter:
        """The writer of a copy, which shares each kind with the original until one of the two changes it."""
        twin = ObjectWriter(ObjectTable(self.table.kinds.copy()))
        twin._kinds = self._kinds.fork(twin.table.kinds)
        return twin


def _copied(objects: KindObjects) -> KindObjects:
    return replace(objects, by_key=objects.by_key.copy())
