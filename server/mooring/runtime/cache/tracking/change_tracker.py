"""The change log, read once for all cached evaluations, and the objects that plugins read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

import msgspec
import numpy as np

from mooring.framework import Dependencies, Int32s, Part
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import Object
from mooring.framework.pod_affinity import AffinityKey, AffinityTerms
from mooring.framework.pod_requests import PodUsage
from mooring.framework.pod_table import UNPLACED, PodKind
from mooring.framework.state import IMAGES_ALONE, ClusterState, RowChange
from mooring.kernels.arrays import UNKNOWN
from mooring.runtime.cache.tracking.row_log import MovedPods, RowLog
from mooring.runtime.tuning import DEFAULT_TUNING, CacheTuning

_MAX_AFFINITIES, _MAX_AFFINITY_BYTES = 1 << 10, 1 << 22
"""Terms about other pods that are remembered with their last change, and their bytes. Prepared, they take
ten times as much, even those of removed pods."""

MOVING = (Part.NODES_BUT_IMAGES, Part.IMAGES, Part.OBJECTS, Part.AFFINITIES)
"""The parts whose last change is known."""

DYNAMIC = Part.RESOURCES | Part.PODS | Part.FEASIBLE | Part.OUTSIDE
"""The parts that every decision changes, or time alone: plugins that read them are dynamic."""

_MAX_NEXT_IDS, _MAX_USAGES = 1 << 20, 1 << 12

_MAX_COLUMNS, _SPARE = 64, 1 << 10
"""Kinds of pods whose next ids are kept as a column too, and the spare room of a column."""


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
        """Return the same with the current versions."""
        return ObjectsRead(self.table, {kind: self.table.version(kind) for kind in self.versions})

    def unchanged(self) -> bool:
        """Return whether no object of these kinds has changed since."""
        return self.table.versions(self.versions) == tuple(self.versions.values())


class Changes(msgspec.Struct, frozen=True):
    """The position in the change log, read in one step under the state's lock.

    Attributes:
        version: The version of the state up to which the log was read.
        generation: The generation of the resource-state ids, as in ``ChangeTracker``.
        rows: int32[C], the rows of the changes since the requested version, as in ``RowLog``; None when that
            is forgotten, or before all versions.
    """

    version: int
    generation: int
    rows: Int32s | None


class ChangeTracker:
    """Follows the state: when which part last changed, and which rows have the same resource state.

    A resource state is what a node has allocatable and requested of everything; each distinct one has an id.

    It is written under the state's lock, and ``version`` last of all: a reader without the lock may see
    more than ``version`` says, never less.

    Attributes:
        version: Up to here the log was read.
        generation: Changes when ids get a new meaning.
        structure: Changes with anything but resources and pods without terms about others.
        resource_index: The resources that ids were made of, as in ``NodeTable``.
    """

    def __init__(self, state: ClusterState, tuning: CacheTuning = DEFAULT_TUNING) -> None:
        self._state = state
        self._tuning = tuning
        self._log = RowLog(state)
        self.resource_index = state.snapshot.nodes.resource_index
        self._known: dict[bytes, int] = {}
        self._keys: list[bytes] = []
        self._next_ids: dict[PodUsage, dict[int, int]] = {}
        self._after_usage: dict[int, int] = {}
        self._columns: dict[PodUsage, tuple[int, Int32s]] = {}
        self._usage: PodUsage | None = None
        self._forget_next_ids()
        self._moved = dict.fromkeys(MOVING, 0)
        # In the order of the versions.
        self._affinities: dict[AffinityKey | None, tuple[int, PodKind]] = {}
        self._affinity_bytes = 0
        self._affinities_since = 0
        self.version = -1
        self.generation = 0
        self.structure = 0
        self._resource_ids: Int32s = np.zeros(0, np.int32)
        self._unnumbered: dict[int, PodUsage | None] = {}

    @property
    def resource_ids(self) -> Int32s:
        """int32[capacity], the resource-state id of each row; one that changed gets it when it is read."""
        if self._unnumbered:
            with self._state.lock:
                self._number()
        return self._resource_ids

    def ids_of(self, rows: Sequence[int]) -> memoryview:
        """Return ``resource_ids``, in which those of ``rows`` are up to date."""
        if self._unnumbered and not self._unnumbered.keys().isdisjoint(rows):
            with self._state.lock:
                if self._state.version != self.version:
                    self._number()
                else:
                    for row in rows:
                        self._number_row(row)
        return self._resource_ids.data

    @property
    def count(self) -> int:
        """How many ids there are."""
        return len(self._known)

    def moved_since(self, version: int) -> list[Part]:
        """Return which parts changed after ``version``, but for resources, and pods without terms."""
        return [part for part, at in self._moved.items() if at > version]

    def terms_moved_since(self, version: int, concerned: Callable[[AffinityTerms], bool]) -> bool:
        """Return whether a pod whose terms are ``concerned`` came or left after ``version``."""
        with self._state.lock:
            if version < self._affinities_since:
                # Some is forgotten.
                return True
            later = list(takewhile(lambda noted: noted[0] > version, reversed(self._affinities.values())))
        return any(concerned(kind.terms) for _, kind in later)

    def rows_since(self, version: int) -> Int32s | None:
        """As ``RowLog.since``. The caller holds the state's lock."""
        return self._log.since(version)

    def pods_since(self, version: int, until: int) -> MovedPods | None:
        """As in ``RowLog``."""
        with self._state.lock:
            return self._log.pods_since(version, until)

    def objects_moved_since(self, version: int) -> bool:
        """Return whether anything but nodes and pods changed after ``version``."""
        return self._moved[Part.OBJECTS] > version

    def read(self, version: int) -> Changes:
        """Read what was logged since the last time, and say what changed after ``version``."""
        with self._state.lock:
            behind = self.version != self._state.version
            changes = self._state.changes_since(self.version) if behind else ()
            tuning = self._tuning
            most = max(tuning.resource_states, tuning.resource_states_per_row * len(self._resource_ids))
            moved = self._state.snapshot.nodes.resource_index is not self.resource_index
            if changes is None or moved or len(self._known) > most:
                self._begin()
            elif changes:
                if version >= 0:
                    self._log.extend_from(self.version, changes)
                self._read(changes)
            rows = self._log.since(version) if version >= 0 else None
            return Changes(self.version, self.generation, rows)

    def placed(self, version: int, kind: PodKind) -> None:
        """Take in pods of ``kind`` whose rows have their ids already, up to ``version``; -1 = start over.

        The caller holds the state's lock.
        """
        if version >= 0 and kind.affinity_key is not None:
            self._note_affinity(version, kind)
        # A tracker that has to start over does so, whatever it takes in before.
        if self.version >= 0:
            self.version = version

    def pod_placed(self, row: int, kind: PodKind, version: int) -> None:
        """Take in that a pod of ``kind`` came to ``row`` with ``version``, so that the change log need not be
        read for it, if everything before is taken in.

        The caller holds the state's lock.
        """
        if self.version != version - 1:
            return
        self._log.add_pod(row, kind, version)
        base = kind.base
        if base.affinity_key is not None:
            self._note_affinity(version, kind)
        self._unnumbered[row] = None if row in self._unnumbered else base.usage
        self.version = version

    def forget(self) -> None:
        """Start over with the next call."""
        with self._state.lock:
            self.version = -1

    def next_ids(self, usage: PodUsage) -> dict[int, int]:
        """Return the known ids after one more pod that takes ``usage``, by the id before."""
        if usage is not self._usage:
            if len(self._next_ids) >= _MAX_USAGES:
                self._forget_next_ids()
            self._usage, self._after_usage = usage, self._next_ids.setdefault(usage, {})
        return self._after_usage

    def column_after(self, usage: PodUsage) -> Int32s:
        """int32[C]: ``next_ids`` as a column that has room for all ids, ``UNKNOWN`` elsewhere.

        An entry is only ever written with the one value that it has in this generation. The caller holds the
        state's lock.
        """
        next_ids, (taken, column) = self.next_ids(usage), self._columns.get(usage, (0, _NO_IDS))
        if self.count > len(column):
            larger: Int32s = np.full(self.count + max(self.count >> 1, _SPARE), UNKNOWN, np.int32)
            larger[: len(column)] = column
            column = larger
        elif taken == len(next_ids):
            return column
        # They are in the order in which they were noted.
        for before, after in islice(next_ids.items(), taken, None):
            column[before] = after
        if len(self._columns) >= _MAX_COLUMNS:
            self._columns.clear()
        self._columns[usage] = len(next_ids), column
        return column

    def ids_with(self, row: int) -> memoryview:
        """Return ``resource_ids``, in which that of ``row`` is up to date, to be written to.

        The caller holds the state's lock, and has read all that changed.
        """
        self._number_row(row)
        return self._resource_ids.data

    def key_of(self, resource_id: int) -> bytes:
        """Return allocatable, requested and the non-zero requests, as int64 one after the other."""
        return self._keys[resource_id]

    def id_of(self, key: bytes) -> int:
        """Return the id of a resource state by its ``key_of``. The caller holds the state's lock."""
        resource_id = self._known.setdefault(key, len(self._known))
        if resource_id == len(self._keys):
            self._keys.append(key)
        return resource_id

    def note_next(self, resource_id: int, after: int, usage: PodUsage) -> None:
        """Note the id that rows with ``resource_id`` have once a pod takes ``usage``."""
        self._note(resource_id, after, self.next_ids(usage))

    def _note(self, resource_id: int, after: int, next_ids: dict[int, int]) -> None:
        if self._next_ids_count >= _MAX_NEXT_IDS:
            self._forget_next_ids()
        self._next_ids_count += 1
        next_ids[resource_id] = after

    def _forget_next_ids(self) -> None:
        self._next_ids.clear()
        self._columns.clear()
        self._next_ids_count, self._usage = 0, None

    def _read(self, changes: Sequence[RowChange]) -> None:
        unnumbered = self._unnumbered
        for version, (row, record, amount) in enumerate(changes, self.version + 1):
            if record is not None:
                if row == UNPLACED or amount not in (1, -1):
                    continue
                base = record.kind.base
                if base.affinity_key is not None:
                    self._note_affinity(version, record.kind)
                unnumbered[row] = base.usage if amount > 0 and row not in unnumbered else None
            elif amount:
                if amount == IMAGES_ALONE:
                    self._move(Part.IMAGES, version)
                continue
            elif row == UNPLACED:
                self._move(Part.OBJECTS, version)
            else:
                self._move(Part.IMAGES, version)
                self._move(Part.NODES_BUT_IMAGES, version)
                unnumbered[row] = None
        self.version += len(changes)

    def _note_affinity(self, version: int, kind: PodKind) -> None:
        noted, key = self._affinities, kind.affinity_key
        if noted.pop(key, None) is None:
            self._affinity_bytes += _length(key)
        noted[key] = version, kind
        while len(noted) > _MAX_AFFINITIES or self._affinity_bytes > _MAX_AFFINITY_BYTES:
            oldest = next(iter(noted))
            self._affinities_since, _ = noted.pop(oldest)
            self._affinity_bytes -= _length(oldest)
        self._move(Part.AFFINITIES, version)

    def _move(self, part: Part, version: int) -> None:
        self._moved[part] = version
        self.structure += 1

    def _begin(self) -> None:
        """Give every row an id, as if everything had changed."""
        version = self._state.version
        table = self._state.snapshot.nodes
        self.resource_index = table.resource_index
        resources = np.concatenate((table.allocatable, table.requested, table.non_zero_requested))
        self._affinities_since = version
        self._affinities = {}
        self._affinity_bytes = 0
        for part in self._moved:
            self._move(part, version)
        self.generation += 1
        keys, width = np.ascontiguousarray(resources.T).tobytes(), resources.shape[0] * resources.itemsize
        known: dict[bytes, int] = {}
        self._resource_ids = np.fromiter(
            (known.setdefault(keys[at : at + width], len(known)) for at in range(0, len(keys), width)),
            np.int32,
            resources.shape[1],
        )
        self._known, self._keys = known, list(known)
        self._forget_next_ids()
        self._unnumbered.clear()
        self.version = version

    def _number(self) -> None:
        """Give the rows that changed their ids."""
        if self._state.version != self.version:
            # The table has what was not read yet, too. So it has the last word once that is read, or a pod
            # that is in the id already would count again.
            self._unnumbered = dict.fromkeys(self._unnumbered)
        for row, usage in self._unnumbered.items():
            self._set_id_after(row, usage)
        if self._state.version == self.version:
            self._unnumbered.clear()

    def _number_row(self, row: int) -> None:
        """Give ``row`` its id if it changed."""
        if row in self._unnumbered:
            self._set_id_after(row, self._unnumbered[row])
            # Last of all: a reader without the lock takes the id of any row that isn't in here.
            del self._unnumbered[row]

    def _set_id_after(self, row: int, usage: PodUsage | None) -> None:
        """Give ``row`` its id; unless ``usage`` is None, a pod that takes it is all that is new there."""
        if usage is None:
            self._set_id(row)
            return
        resource_ids, next_ids = self._resource_ids.data, self.next_ids(usage)
        before = resource_ids[row]
        after = next_ids.get(before)
        if after is not None:
            resource_ids[row] = after
            return
        self._set_id(row)
        self._note(before, self._resource_ids.data[row], next_ids)

    def _set_id(self, row: int) -> None:
        table = self._state.snapshot.nodes
        if row >= len(self._resource_ids):
            larger = np.zeros(table.capacity, np.int32)
            larger[: len(self._resource_ids)] = self._resource_ids
            self._resource_ids = larger
        key = (
            table.allocatable[:, row].tobytes()
            + table.requested[:, row].tobytes()
            + table.non_zero_requested[:, row].tobytes()
        )
        self._resource_ids.data[row] = self.id_of(key)


def _length(key: AffinityKey | None) -> int:
    return len(key[1]) if key is not None else 0


_NO_IDS: Int32s = np.zeros(0, np.int32)
