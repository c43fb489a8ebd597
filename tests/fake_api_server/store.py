"""The equivalent of etcd: objects as bytes, one counter of versions, a log that can be compacted."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.fake_api_server.errors import RejectedError

Manifest = dict[str, Any]
Key = tuple[str, str]
"""Namespace and name."""


_KEPT_LISTS = 64
"""Lists that can be paged through at a time."""


class Event(NamedTuple):
    """One change, as a watch sends it."""

    version: int
    type: str
    plural: str
    key: Key
    before: bytes | None
    data: bytes


@dataclass(slots=True)
class Page:
    """A part of a list as it was at one version."""

    version: int
    items: list[bytes]
    next_start: int
    remaining: int


class Copy(NamedTuple):
    """All objects, as a backup of etcd has them."""

    version: int
    objects: dict[str, dict[Key, bytes]]


@dataclass
class Store:
    """Objects by plural and key. Any thread may call; ``changed`` wakes those who wait for the log to grow.

    Two API groups' events share the plural and are the same objects, as in the real one.

    Attributes:
        version: The version of the last change.
        compacted: Changes up to this version are forgotten.
    """

    version: int = 1000
    compacted: int = 0
    changed: threading.Condition = field(default_factory=lambda: threading.Condition(threading.RLock()))
    _objects: dict[str, dict[Key, bytes]] = field(default_factory=dict)
    _log: list[Event] = field(default_factory=list)
    _lists: dict[tuple[str, str, int], list[bytes]] = field(default_factory=dict)

    def get(self, plural: str, key: Key) -> Manifest | None:
        """Return a copy of the object."""
        with self.changed:
            data = self._objects.get(plural, {}).get(key)
        return None if data is None else json.loads(data)

    def put(self, plural: str, item: Manifest) -> Manifest:
        """Add or replace the object as it is, with a version of its own; return it with that."""
        with self.changed:
            metadata = item["metadata"]
            self.version += 1
            metadata["resourceVersion"] = str(self.version)
            key = (metadata.get("namespace", ""), metadata["name"])
            data = json.dumps(item, separators=(",", ":")).encode()
            kept = self._objects.setdefault(plural, {})
            before = kept.get(key)
            kept[key] = data
            self._append(Event(self.version, "MODIFIED" if before else "ADDED", plural, key, before, data))
        return item

    def delete(self, plural: str, key: Key) -> Manifest | None:
        """Remove the object; return it as it was, with the version of its end."""
        with self.changed:
            before = self._objects.get(plural, {}).pop(key, None)
            if before is None:
                return None
            item: Manifest = json.loads(before)
            self.version += 1
            item["metadata"]["resourceVersion"] = str(self.version)
            data = json.dumps(item, separators=(",", ":")).encode()
            self._append(Event(self.version, "DELETED", plural, key, before, data))
        return item

    def all(self, plural: str, namespace: str = "") -> list[bytes]:
        """Return the objects, in the order of namespace and name."""
        with self.changed:
            items = sorted(self._objects.get(plural, {}).items())
        return [data for key, data in items if namespace in ("", key[0])]

    def page(self, plural: str, namespace: str, start: int, limit: int, version: int) -> Page:
        """Return a part of the list; ``version`` 0 begins a new one, else that of the first part goes on.

        Raises:
            RejectedError: 410, the first part is too old.
        """
        with self.changed:
            if not version:
                version, items = self.version, self.all(plural, namespace)
                if limit:
                    self._lists[plural, namespace, version] = items
                    while len(self._lists) > _KEPT_LISTS:
                        del self._lists[next(iter(self._lists))]
            elif version < self.compacted or (plural, namespace, version) not in self._lists:
                raise RejectedError(
                    410,
                    "Expired",
                    "The provided continue parameter is too old to display a consistent list result.",
                )
            else:
                items = self._lists[plural, namespace, version]
        end = start + limit if limit else len(items)
        remaining = max(len(items) - end, 0)
        return Page(version, items[start:end], end if remaining else 0, remaining)

    def log(self, plural: str) -> list[Event]:
        """Return every change since the last compaction, oldest first."""
        with self.changed:
            return [event for event in self._log if event.plural == plural]

    def compact(self) -> None:
        """Forget every change so far, and the lists that are being paged through."""
        with self.changed:
            self.compacted = self.version
            self._log.clear()
            self._lists.clear()

    def copy(self) -> Copy:
        """Return a backup of it."""
        with self.changed:
            return Copy(self.version, {plural: kept.copy() for plural, kept in self._objects.items()})

    def restore(self, copy: Copy) -> None:
        """Go back to a backup, with its version and without a log. Watches ended with the API server."""
        with self.changed:
            self.version = self.compacted = copy.version
            self._objects = {plural: kept.copy() for plural, kept in copy.objects.items()}
            self._log.clear()
            self._lists.clear()

    def events(self, since: int, closed: Callable[[], bool], wait: float) -> Iterator[Event | None]:
        """Changes after ``since``; None when nothing happened for ``wait`` seconds; ends when ``closed``.

        Raises:
            RejectedError: 410, they are forgotten.
        """
        while not closed():
            with self.changed:
                if since < self.compacted:
                    raise RejectedError(
                        410, "Expired", f"too old resource version: {since} ({self.compacted})"
                    )
                if not self._log or self._log[-1].version <= since:
                    self.changed.wait(wait)
                found = self._since(since)
            if not found:
                yield None
            for event in found:
                since = event.version
                yield event

    def _append(self, event: Event) -> None:
        self._log.append(event)
        self.changed.notify_all()

    def _since(self, version: int) -> list[Event]:
        log = self._log
        at = len(log)
        while at and log[at - 1].version > version:
            at -= 1
        return log[at:]
