"""What the change log says, read once for all kept evaluations."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from mooring.framework import ClusterState, Int32s, Int64s, NodeTable, Part
from mooring.framework.node_table import PODS_ROW
from mooring.framework.pod_table import UNPLACED
from mooring.framework.resources import PodUsage
from mooring.framework.state import RowChange
from mooring.runtime.kept.standing import NotKeptError

_NUMBERS_PER_ROW, _FEWEST_NUMBERS = 4, 1 << 12
"""At so many distinct amounts the numbers begin anew, and with them what is known of amounts."""

_MOST_FOLLOWERS, _MOST_USAGES = 1 << 20, 1 << 12


class Moved(msgspec.Struct, frozen=True):
    """Where the log was read to, taken in one step under the state's lock.

    Attributes:
        version: The version of the state up to which the log was read.
        generation: What numbers mean, as in ``Movements``.
        structure: As there.
        changes: What changed since the version that was asked for; None when that is forgotten.
    """

    version: int
    generation: int
    structure: int
    changes: Sequence[RowChange] | None


class Movements:
    """Follows the state: when which part last changed, and which rows have the same amounts.

    It is written to under the state's lock, and ``version`` last of all: who reads without the lock may see
    more than ``version`` says, never less.

    Attributes:
        version: Up to here the log was read.
        numbers: int32[capacity], equal where rows offer the same and have given away the same of everything.
        generation: Changes when numbers get a new meaning.
        structure: Changes when anything moved but amounts and pods without terms about others.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._known: dict[bytes, int] = {}
        self._keys: list[bytes] = []
        self._followers: dict[PodUsage, dict[int, int]] = {}
        self._followers_count = 0
        self._usage: PodUsage | None = None
        self._after_usage: dict[int, int] = {}
        self._moved = {Part.NODES: 0, Part.OBJECTS: 0, Part.AFFINITIES: 0}
        self.version = -1
        self.generation = 0
        self.structure = 0
        self.numbers: Int32s = np.zeros(0, np.int32)

    @property
    def count(self) -> int:
        """How many numbers there are."""
        return len(self._known)

    def moved_since(self, version: int, parts: Part) -> bool:
        """Whether one of ``parts``, amounts and pods aside, changed after ``version``."""
        return any(at > version for part, at in self._moved.items() if part in parts)

    def follow(self, version: int) -> Moved:
        """Read what was logged since the last time, and say what changed after ``version``."""
        with self._state.lock:
            before = self.version
            changes = self._state.changes_since(before)
            if changes is None or self.count > max(_FEWEST_NUMBERS, _NUMBERS_PER_ROW * len(self.numbers)):
                self._begin()
            else:
                self._read(changes)
            if version != before:
                changes = self._state.changes_since(version)
            return Moved(self.version, self.generation, self.structure, changes)

    def forget(self) -> None:
        """Number every row anew the next time."""
        with self._state.lock:
            self.version = -1

    def followers(self, usage: PodUsage) -> dict[int, int]:
        """What is known of ``after`` for ``usage`` in this generation, by number. As there."""
        if usage is not self._usage:
            if len(self._followers) >= _MOST_USAGES:
                self._followers.clear()
            self._usage, self._after_usage = usage, self._followers.setdefault(usage, {})
        return self._after_usage

    def after(self, number: int, usage: PodUsage) -> int:
        """The number that rows with ``number`` have once a pod takes ``usage``.

        The caller holds the state's lock.

        Raises:
            NotKeptError: A resource that it takes has no column yet.
        """
        amounts, resources = self._amounts(number), self._state.snapshot.nodes.resource_index
        width = len(resources)
        if len(amounts) != 2 * width + 2 or any(name not in resources for name, _ in usage.requests):
            raise NotKeptError
        requested, non_zero = amounts[width : 2 * width], amounts[2 * width :]
        requested[PODS_ROW] += 1
        for name, amount in usage.requests:
            requested[resources[name]] += amount
        non_zero += (usage.non_zero_cpu, usage.non_zero_memory)
        after = self._number_of(amounts.tobytes())
        self._note(number, after, self.followers(usage))
        return after

    def show(self, number: int, table: NodeTable, row: int) -> None:
        """Give ``row`` of ``table``, a scratch copy, the amounts with this number. As ``after``."""
        amounts, width = self._amounts(number), len(table.allocatable)
        if len(amounts) != 2 * width + 2:
            raise NotKeptError
        table.allocatable[:, row] = amounts[:width]
        table.requested[:, row] = amounts[width : 2 * width]
        table.non_zero_requested[:, row] = amounts[2 * width :]

    def _note(self, number: int, after: int, followers: dict[int, int]) -> None:
        if self._followers_count >= _MOST_FOLLOWERS:
            self._followers.clear()
            self._followers_count, self._usage = 0, None
        self._followers_count += 1
        followers[number] = after

    def _amounts(self, number: int) -> Int64s:
        """int64[2 * R + 2]: allocatable, requested and the non-zero requests, a copy."""
        return np.frombuffer(self._keys[number], np.int64).copy()

    def _number_of(self, key: bytes) -> int:
        number = self._known.setdefault(key, len(self._known))
        if number == len(self._keys):
            self._keys.append(key)
        return number

    def _read(self, changes: Sequence[RowChange]) -> None:
        alone = len(changes) == 1
        for version, (row, record, amount) in enumerate(changes, self.version + 1):
            if record is None and amount:
                continue
            if record is None:
                self._move(Part.OBJECTS if row == UNPLACED else Part.NODES, version)
            elif row == UNPLACED or not amount:
                continue
            elif record.kind.affinity_key is not None:
                self._move(Part.AFFINITIES, version)
            if alone and record is not None and amount > 0:
                self._number_after(row, record.kind.usage)
            elif row != UNPLACED:
                self._number(row)
        self.version += len(changes)

    def _move(self, part: Part, version: int) -> None:
        self._moved[part] = version
        self.structure += 1

    def _begin(self) -> None:
        """Number every row, as if everything had changed."""
        version = self._state.version
        table = self._state.snapshot.nodes
        amounts = np.concatenate((table.allocatable, table.requested, table.non_zero_requested))
        for part in self._moved:
            self._move(part, version)
        self.generation += 1
        keys, width = np.ascontiguousarray(amounts.T).tobytes(), amounts.shape[0] * amounts.itemsize
        known: dict[bytes, int] = {}
        self.numbers = np.fromiter(
            (known.setdefault(keys[at : at + width], len(known)) for at in range(0, len(keys), width)),
            np.int32,
            amounts.shape[1],
        )
        self._known, self._keys = known, list(known)
        self._followers, self._followers_count = {}, 0
        self._usage = None
        self.version = version

    def _number_after(self, row: int, usage: PodUsage) -> None:
        """Number ``row``, of which nothing else is new than a pod that takes ``usage``."""
        numbers, followers = self.numbers.data, self.followers(usage)
        before = numbers[row]
        after = followers.get(before)
        if after is not None:
            numbers[row] = after
            return
        self._number(row)
        self._note(before, self.numbers.data[row], followers)

    def _number(self, row: int) -> None:
        table = self._state.snapshot.nodes
        if row >= len(self.numbers):
            larger = np.zeros(table.capacity, np.int32)
            larger[: len(self.numbers)] = self.numbers
            self.numbers = larger
        key = (
            table.allocatable[:, row].tobytes()
            + table.requested[:, row].tobytes()
            + table.non_zero_requested[:, row].tobytes()
        )
        self.numbers.data[row] = self._number_of(key)
