"""The objects, beside nodes and pods, that plugins read, and whether they changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mooring.framework import Part, Plugin, Pod
from mooring.framework.internal import ObjectReader, parts_of
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import Object


@dataclass(frozen=True, slots=True)
class ObjectsRead:
    """The objects, beside nodes and pods, that some plugins read for a pod.

    Attributes:
        table: All objects.
        versions: By kind that they read, its version when they did.
    """

    table: ObjectTable
    versions: Mapping[type[Object], int]

    @classmethod
    def of(
        cls,
        plugins: Iterable[Plugin[Any]],
        pod: Pod,
        table: ObjectTable,
        versions: Mapping[type[Object], int],
    ) -> ObjectsRead | None:
        """Return those that ``plugins`` read when each kind had its version; None when it may be any."""
        kinds: set[type[Object]] = set()
        for plugin in plugins:
            if Part.OBJECTS in parts_of(plugin, pod) | parts_of(plugin, pod, skipped=True):
                if not isinstance(plugin, ObjectReader):
                    return None
                kinds.update(plugin.kinds_read(pod))
        return cls(table, {kind: versions.get(kind, 0) for kind in kinds})

    def now(self) -> ObjectsRead:
        """Return the same as of now."""
        return ObjectsRead(self.table, {kind: self.table.version(kind) for kind in self.versions})

    def unchanged(self) -> bool:
        """Return whether no object of these kinds has changed since."""
        return self.table.versions(self.versions) == tuple(self.versions.values())
