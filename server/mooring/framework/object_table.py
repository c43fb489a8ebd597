"""The cluster's objects other than nodes and pods: services, claims, storage classes, devices and so on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from mooring.framework.objects import Namespace, Object
from mooring.framework.recent_changes import RecentChanges

ObjectT = TypeVar("ObjectT", bound=Object)

ObjectKey = tuple[str, str]
"""Namespace, "" for objects of the cluster, and name."""


@dataclass(slots=True)
class KindObjects:
    """All objects of one kind.

    Attributes:
        by_key: By namespace and name, in the order in which they came.
        changes: The last changes.
        lists: ``ObjectTable.all`` and ``in_namespace`` (None = all), as they were at a version.
    """

    by_key: dict[ObjectKey, Object] = field(default_factory=dict)
    changes: RecentChanges[ObjectKey] = field(default_factory=lambda: RecentChanges(("", "")))
    lists: tuple[int, dict[str | None, tuple[Object, ...]]] = field(default_factory=lambda: (0, {}))


@dataclass(slots=True)
class ObjectTable:
    """Objects by kind, read-only for plugins. Safe from any thread; the one writer is the state.

    Attributes:
        kinds: By struct type; a kind that no source ever delivered is missing.
        attachments: By the name of the node, the VolumeAttachments there that name a volume.
    """

    kinds: dict[type[Object], KindObjects] = field(default_factory=dict)
    attachments: dict[str, tuple[ObjectKey, ...]] = field(default_factory=dict)

    def get(self, kind: type[ObjectT], name: str, namespace: str = "") -> ObjectT | None:
        """Return the object of that name, or None.

        Args:
            kind: Its struct type, such as ``Service``.
            name: Its name.
            namespace: Its namespace; "" for kinds of the cluster, such as ``PersistentVolume``.
        """
        objects = self.kinds.get(kind)
        found = objects.by_key.get((namespace, name)) if objects is not None else None
        return found if isinstance(found, kind) else None

    def all(self, kind: type[ObjectT]) -> Sequence[ObjectT]:
        """All objects of ``kind``, in the order in which they came; O(1) while none of them changes."""
        return self._list(kind, None)

    def in_namespace(self, kind: type[ObjectT], namespace: str) -> Sequence[ObjectT]:
        """Return the objects of ``kind`` in ``namespace``, in the order of arrival; O(1) as ``all``."""
        return self._list(kind, namespace)

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        """Return the labels of a namespace; none if it is not known."""
        found = self.get(Namespace, namespace)
        return {} if found is None else found.metadata.labels

    def version(self, kind: type[Object]) -> int:
        """Return a number that changes with every change of ``kind``; 0 before its first object.

        Equal versions mean equal objects, also between a state and its forks, so it may key a cache.
        """
        objects = self.kinds.get(kind)
        return objects.changes.version if objects is not None else 0

    def versions(self, kinds: Iterable[type[Object]]) -> tuple[int, ...]:
        """Return ``version`` of each of ``kinds``."""
        known, found = self.kinds, []
        # A comprehension would be a call of its own.
        for kind in kinds:
            objects = known.get(kind)
            found.append(objects.changes.version if objects is not None else 0)
        return tuple(found)

    def changes_since(self, kind: type[Object], version: int) -> Sequence[ObjectKey] | None:
        """Return the objects of ``kind`` that changed after ``version``, in order; None when that is
        forgotten.

        Versions of other copies of the table are unknown here.
        """
        objects = self.kinds.get(kind)
        if objects is None:
            return None if version else ()
        return objects.changes.since(version)

    def _list(self, kind: type[ObjectT], namespace: str | None) -> Sequence[ObjectT]:
        objects = self.kinds.get(kind)
        if objects is None:
            return ()
        version, lists = objects.lists
        if version != objects.changes.version:
            version, lists = objects.changes.version, _listed(objects)
            objects.lists = version, lists
        return lists.get(namespace, ())  # type: ignore[return-value] # a kind's table holds that kind alone


def _listed(objects: KindObjects) -> dict[str | None, tuple[Object, ...]]:
    """All objects under None, and those of each namespace under its name."""
    entries = tuple(objects.by_key.items())
    lists: dict[str | None, list[Object]] = {None: [item for _, item in entries]}
    for (namespace, _), item in entries:
        lists.setdefault(namespace, []).append(item)
    return {namespace: tuple(items) for namespace, items in lists.items()}
