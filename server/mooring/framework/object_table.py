"""The cluster's objects beside nodes and pods: services, claims, storage classes, devices and so on."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

from mooring.framework.objects import Object

ObjectT = TypeVar("ObjectT", bound=Object)

ObjectKey = tuple[str, str]
"""Namespace, "" for objects of the cluster, and name."""

MAX_CHANGES = 1 << 10
"""The changes of a kind that are remembered; up to twice as many before half of them go."""

next_version: Callable[[], int] = count(1).__next__
"""Numbers that no kind of any table has had, so that equal versions mean equal content, in forks as well."""


@dataclass(slots=True)
class KindObjects:
    """All objects of one kind.

    Attributes:
        by_key: By namespace and name, in the order in which they came.
        version: Changes with every change of the kind.
        changes: The last changes, each with the version that it led to. The first entry is what came before.
        lists: ``ObjectTable.all`` and ``in_namespace`` (None = all), as they were at a version.
    """

    by_key: dict[ObjectKey, Object] = field(default_factory=dict)
    version: int = field(default_factory=next_version)
    changes: list[tuple[int, ObjectKey]] = field(default_factory=list)
    lists: tuple[int, dict[str | None, tuple[Object, ...]]] = field(default_factory=lambda: (0, {}))

    def __post_init__(self) -> None:
        if not self.changes:
            self.changes = [(self.version, ("", ""))]

    def changed(self, key: ObjectKey) -> None:
        """Note that the object with ``key`` came, changed or went; for the writer."""
        self.version = next_version()
        self.changes.append((self.version, key))
        if len(self.changes) > 2 * MAX_CHANGES:
            self.changes = self.changes[-MAX_CHANGES:]


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

    def version(self, kind: type[Object]) -> int:
        """Return a number that changes with every change of ``kind``; 0 before its first object.

        Equal versions mean equal objects, also between a state and its forks, so it may key a cache.
        """
        objects = self.kinds.get(kind)
        return objects.version if objects is not None else 0

    def versions(self, kinds: Iterable[type[Object]]) -> tuple[int, ...]:
        """Return ``version`` of each of ``kinds``."""
        known, found = self.kinds, []
        # A comprehension would be a call of its own.
        for kind in kinds:
            objects = known.get(kind)
            found.append(objects.version if objects is not None else 0)
        return tuple(found)

    def changes_since(self, kind: type[Object], version: int) -> Sequence[ObjectKey] | None:
        """Return which objects of ``kind`` changed after ``version``, in turn; None when that is forgotten.

        A version that only another copy of the table had is none of this one's.
        """
        objects = self.kinds.get(kind)
        if objects is None:
            return None if version else ()
        changes = objects.changes
        at = bisect_left(changes, (version,))
        if at == len(changes) or changes[at][0] != version:
            return None
        return [key for _, key in changes[at + 1 :]]

    def _list(self, kind: type[ObjectT], namespace: str | None) -> Sequence[ObjectT]:
        objects = self.kinds.get(kind)
        if objects is None:
            return ()
        version, lists = objects.lists
        if version != objects.version:
            version, lists = objects.version, _listed(objects)
            objects.lists = version, lists
        return lists.get(namespace, ())  # type: ignore[return-value] # a kind's table holds that kind alone


def _listed(objects: KindObjects) -> dict[str | None, tuple[Object, ...]]:
    """All objects under None, and those of each namespace under its name."""
    entries = tuple(objects.by_key.items())
    lists: dict[str | None, list[Object]] = {None: [item for _, item in entries]}
    for (namespace, _), item in entries:
        lists.setdefault(namespace, []).append(item)
    return {namespace: tuple(items) for namespace, items in lists.items()}
