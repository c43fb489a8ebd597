"""The objects, besides nodes and pods, that plugins read, and whether they changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mooring.framework import Dependencies, Part
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import Object


@dataclass(frozen=True, slots=True)
class ObjectsRead:
    """The objects, besides nodes and pods, that some plugins read for a pod.

    Attributes:
        table: All objects.
        versions: By kind that they read, its version when they did.
    """

    table: ObjectTable
    versions: Mapping[type[Object], int]

    @classmethod
    def of(
        cls, declared: Iterable[Dependencies], table: ObjectTable, versions: Mapping[type[Object], int]
    ) -> ObjectsRead | None:
        """Return the objects that are ``declared``, read when each kind had its version; None = any."""
        kinds: set[type[Object]] = set()
        for each in declared:
            if Part.OBJECTS in each.parts | each.parts_of_skip:
                if each.kinds is None:
                    return None
                kinds.update(each.kinds)
        return cls(table, {kind: versions.get(kind, 0) for kind in kinds})

    def now(self) -> ObjectsRead:
        """Return the same as of now."""
        return ObjectsRead(self.table, {kind: self.table.version(kind) for kind in self.versions})

    def unchanged(self) -> bool:
        """Return whether no object of these kinds has changed since."""
        return self.table.versions(self.versions) == tuple(self.versions.values())
