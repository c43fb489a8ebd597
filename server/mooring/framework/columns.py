"""Arrays that grow by replacement, and interned label values."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from mooring.kernels.arrays import ABSENT, Bools, Int32s

Scalar = TypeVar("Scalar", bound=np.generic)
TableT = TypeVar("TableT", bound=Any)

MAX_LABEL_COLUMNS = 64
"""At most this many label keys of a table have a column: users that create pods select the keys, and each
write of a row goes through all columns."""

STALE_VALUES = 2
"""A column is built again once it has this many times more distinct values than rows: most of its values are
of rows that are gone."""


def grown(array: npt.NDArray[Scalar], length: int) -> npt.NDArray[Scalar]:
    """Return a copy of ``array`` with its last axis ``length`` long, the new part zero.

    Arrays are never resized in place, so that a reader that holds the old one stays safe.
    """
    larger = np.zeros((*array.shape[:-1], length), array.dtype)
    larger[..., : array.shape[-1]] = array
    return larger


def copied(table: TableT, **others: Any) -> TableT:
    """Return a dataclass like ``table``, with ``others`` and with copies of its arrays, lists and dicts."""
    for name in table.__match_args__:
        if name not in others:
            part = getattr(table, name)
            others[name] = part.copy() if hasattr(part, "copy") else part
    twin: TableT = type(table)(**others)
    return twin


def wrapped(amount: int) -> int:
    """Return ``amount`` as int64: beyond it, sums wrap around, as kube-scheduler's do."""
    return (amount + 2**63) % 2**64 - 2**63


class LabelColumn:
    """The values of one label key over all rows of a table; a row is a node or a class of pods.

    Attributes:
        ids: int32[capacity], the interned value of each row; ``ABSENT`` where it lacks the key.
        values: The value of each id; index 0 stands for "absent".

    The writer adds a value before it writes its id, so a reader that first copies ids finds all of them here.
    """

    __slots__ = ("_index", "_shared", "ids", "values")

    def __init__(self, capacity: int) -> None:
        self.ids: Int32s = np.zeros(capacity, np.int32)
        self.values: list[str] = [""]
        self._index: dict[str, int] = {}
        self._shared = False

    @classmethod
    def of(cls, capacity: int, values: Iterable[tuple[int, str | None]]) -> LabelColumn:
        """Return the column of ``capacity`` rows with these values by row."""
        column = cls(capacity)
        for row, value in values:
            column.put(row, value)
        return column

    def id_of(self, value: str) -> int:
        """Return the id of ``value``; ``ABSENT`` when no row ever had it."""
        return self._index.get(value, ABSENT)

    def put(self, row: int, value: str | None) -> None:
        """For the writer: ``row`` now has ``value``, or not the key."""
        if self._shared:
            self.ids, self._shared = self.ids.copy(), False
        if value is None:
            self.ids[row] = ABSENT
            return
        number = self._index.get(value)
        if number is None:
            self.values.append(value)
            number = self._index[value] = len(self.values) - 1
        self.ids[row] = number

    def grow(self, capacity: int) -> None:
        """For the writer: make room for ``capacity`` rows."""
        self.ids, self._shared = grown(self.ids, capacity), False

    def ids_as_now(self) -> Int32s:
        """Return ``ids`` as an array that stays unchanged, the same one until the next change."""
        self._shared = True
        return self.ids

    def copy(self) -> LabelColumn:
        """Return an independent column with the same content."""
        twin = LabelColumn(0)
        twin.ids, twin.values, twin._index = self.ids.copy(), self.values.copy(), self._index.copy()
        return twin

    def is_in(self, rows: Int32s | slice, values: Iterable[str]) -> Bools:
        """bool[K]: each row has one of ``values``."""
        wanted = {self.id_of(value) for value in values} - {ABSENT}
        if len(wanted) == 1:
            return np.equal(self.ids[rows], wanted.pop())
        if not wanted:
            return np.zeros(len(self.ids[rows]), np.bool_)
        return self._lookup(self._at(rows), wanted)

    def exists(self, rows: Int32s | slice) -> Bools:
        """bool[K]: each row has the key."""
        return np.not_equal(self.ids[rows], ABSENT)

    def holds(self, rows: Int32s, test: Callable[[str], bool]) -> Bools:
        """Return bool[K]: the key is there and its value passes ``test``, called once per distinct value."""
        ids = self.ids[rows]
        present = np.unique(ids).tolist()
        return self._lookup(ids, {number for number in present if number and test(self.values[number])})

    def _at(self, rows: Int32s | slice) -> Int32s:
        """Return a copy of these rows."""
        ids = self.ids[rows]
        return ids.copy() if isinstance(rows, slice) else ids

    def _lookup(self, ids: Int32s, wanted: set[int]) -> Bools:
        table = np.zeros(len(self.values) + 1, np.bool_)
        table[list(wanted)] = True
        return table[ids]


class LabelColumns(dict[str, LabelColumn]):
    """A table's label columns by key, each built on first use.

    There are ``MAX_LABEL_COLUMNS`` at most; for one more, the one that was built first is dropped.

    Args:
        columns: Those that are there already.
    """

    __slots__ = ()

    def __init__(self, columns: Mapping[str, LabelColumn] | None = None) -> None:
        super().__init__(columns or {})

    def find(self, key: str, lock: threading.RLock, build: Callable[[str], LabelColumn]) -> LabelColumn:
        """Return the column of ``key``. ``lock`` is the writer's, taken only to ``build`` the column."""
        column = self.get(key)
        if column is not None:
            return column
        with lock:
            column = self.get(key)
            if column is None:
                column = build(key)
                while len(self) >= MAX_LABEL_COLUMNS:
                    del self[next(iter(self))]
                self[key] = column
            return column
