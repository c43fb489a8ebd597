"""The journal of writes to the tables, with the values before, along which tables go forward and back.

A change log has the rows to read again. A journal has the objects themselves, so that a copy of the
tables can follow the original, return to an earlier version, and get the changes of another version.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

import msgspec

from mooring.cluster.change_log import MAX_BYTES, large_bytes
from mooring.cluster.kinds import TabledObject
from mooring.framework.object_table import ObjectKey
from mooring.framework.objects import Node, Object
from mooring.framework.pod_table import PodRecord

DEFAULT_LENGTH = 1 << 18
"""Entries that are kept; each takes some 100 bytes, besides objects that only the journal still holds."""


class PodEntry(msgspec.Struct, frozen=True, gc=False):
    """A pod came, changed or went.

    Attributes:
        old: Its record before; None = it was not there.
        new: Its record after; None = it is gone.
    """

    uid: str
    old: PodRecord | None
    new: PodRecord | None


class NodeEntry(msgspec.Struct, frozen=True, gc=False):
    """A node came, changed or went.

    Attributes:
        old: It before; None = it was not there.
        new: It after; None = it is gone.
    """

    row: int
    old: Node | None
    new: Node | None


class ObjectEntry(msgspec.Struct, frozen=True, gc=False):
    """An object of another kind came, changed or went, as decisions see it.

    Attributes:
        kind: Its struct type.
        key: Its namespace and name.
        old: It before; None = it was not there.
        new: It after; None = it is gone.
    """

    kind: type[Object]
    key: ObjectKey
    old: TabledObject | None
    new: TabledObject | None


Entry = PodEntry | NodeEntry | ObjectEntry


def happening(entry: Entry) -> str:
    """Return what happened, in words for many; "" = nothing that lets a pod fit or keeps one away."""
    old, new = entry.old, entry.new
    verb = "added" if old is None else "gone" if new is None else "changed"
    if isinstance(entry, PodEntry):
        was, now = (each is not None and bool(each.node_name) for each in (entry.old, entry.new))
        if was != now:
            return "pods placed" if now else "pods left their nodes"
        return "pods changed" if now else ""
    if isinstance(entry, NodeEntry):
        return f"nodes {verb}"
    return f"{entry.kind.__name__} objects {verb}"


def subject_of(entry: Entry) -> str:
    """Return what an entry is about: ``Pod namespace/name``, ``Node name`` or the like."""
    if isinstance(entry, PodEntry):
        record = entry.new or entry.old
        return f"Pod {record.pod.key}" if record is not None else ""
    if isinstance(entry, NodeEntry):
        node = entry.new or entry.old
        return f"Node {node.metadata.name}" if node is not None else ""
    return f"{entry.kind.__name__} {'/'.join(filter(None, entry.key))}"


class Journal:
    """The last entries, numbered from 0. The caller holds the lock of the tables that are written to.

    Args:
        length: How many entries are kept at least, if there were as many.
        version: The version of the state so far.

    Attributes:
        version: The version of the state before the writes that are not published yet.
        first: The number of the oldest entry that is kept.
    """

    __slots__ = ("_begins", "_bytes", "_entries", "_length", "_versions", "first", "version")

    def __init__(self, length: int = DEFAULT_LENGTH, version: int = 0) -> None:
        self.version = version
        self._length = length
        self._entries: list[Entry] = []
        self._versions: list[int] = []
        self._bytes = 0
        self.first = 0
        self._begins = version

    @property
    def end(self) -> int:
        """The number that the next entry gets."""
        return self.first + len(self._entries)

    def add(self, entry: Entry, changes: int = 0) -> None:
        """Note one more, before which ``changes`` rows were changed and not published yet."""
        self._entries.append(entry)
        self._versions.append(self.version + changes)
        if isinstance(entry, PodEntry):
            self._bytes += sum(large_bytes(record) for record in (entry.old, entry.new) if record is not None)
        if len(self._entries) > 2 * self._length:
            self._forget_oldest(len(self._entries) - self._length)
        elif self._bytes > MAX_BYTES:
            self._forget_oldest(len(self._entries) - 1)
            self._bytes = 0

    def add_alike(self, entries: Sequence[Entry], changes: int) -> None:
        """Add many entries that change one row each."""
        first = self.version + changes
        self._entries += entries
        self._versions += range(first, first + len(entries))
        if len(self._entries) > 2 * self._length:
            self._forget_oldest(len(self._entries) - self._length)

    def _forget_oldest(self, surplus: int) -> None:
        self._begins = self._versions[surplus]
        del self._entries[:surplus], self._versions[:surplus]
        self.first += surplus

    def position_at(self, version: int) -> int | None:
        """Return the number of the first entry that isn't in this version; None when it is too old."""
        if version < self._begins:
            return None
        return self.first + bisect_left(self._versions, version)

    def between(self, first: int, end: int) -> Sequence[Entry] | None:
        """Return the entries from number ``first`` to before ``end``; None when some are no longer kept."""
        if first < self.first:
            return None
        return self._entries[first - self.first : end - self.first]

    def versioned(self, first: int) -> Sequence[tuple[int, Entry]] | None:
        """Return the entries from number ``first`` on, each with the version of the state before it.

        None when some are no longer kept.
        """
        if first < self.first:
            return None
        at = first - self.first
        return list(zip(self._versions[at:], self._entries[at:], strict=True))

    def since(self, first: int) -> Sequence[Entry]:
        """Return the entries from number ``first`` on that are kept."""
        return self._entries[max(0, first - self.first) :]

    def take(self) -> tuple[Entry, ...]:
        """Return all entries, and keep none of them."""
        taken = tuple(self._entries)
        self.first += len(taken)
        self._entries.clear()
        self._versions.clear()
        self._bytes = 0
        self._begins = self.version
        return taken


def backwards(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield the entries that take back ``entries``, in the order in which that is done."""
    for entry in reversed(entries):
        yield msgspec.structs.replace(entry, old=entry.new, new=entry.old)
