"""Writes which classes of placed pods there are and where each pod is."""

from __future__ import annotations

from collections.abc import Sequence
from struct import calcsize
from sys import byteorder
from threading import RLock

from mooring.cluster.shared_values import SharedValues
from mooring.framework.columns import STALE_VALUES, LabelColumn, LabelColumns, copied, grown
from mooring.framework.pod_classes import NO_CLASS, PLACE, TERMINATING, ClassKey, PodClasses, labels_of_class

_FIRST_ROOM = 16
_MORE_PLACES = 1 << 8
"""How many places are added at once, at least."""

_PLACE_BYTES = calcsize(PLACE)


class ClassWriter:
    """The one writer of ``classes``. The caller holds the tables' lock.

    A write changes an array's element or a reference to a new array, never an array's size: readers take
    no lock.
    """

    def __init__(self, classes: PodClasses) -> None:
        self.classes = classes
        self._columns = SharedValues(classes.label_columns, LabelColumn.copy)
        self._sizes = [0]
        """How many pods each number has."""
        self._free_numbers: list[int] = []
        self._free_places: list[int] = []
        """Places that no pod has."""
        self._view()

    def fork(self) -> ClassWriter:
        """Return an independent writer of a copy."""
        old = self.classes
        with old.lock:
            twin = ClassWriter(copied(old, lock=RLock(), label_columns=LabelColumns(old.label_columns)))
            twin._columns = self._columns.fork(twin.classes.label_columns)
        twin._sizes = self._sizes.copy()
        twin._free_numbers = self._free_numbers.copy()
        twin._free_places = self._free_places.copy()
        return twin

    def place_pod(self, key: ClassKey, row: int, uid: str) -> None:
        """Count a pod of the class on ``row``."""
        number = self._number(key)
        self._sizes[number] += 1
        if not self._free_places:
            self._add_places(1)
        place, places = self._free_places.pop(), self.classes.places
        self._row_view[place] = row
        self._number_view[place] = number
        self.classes.uids[place] = uid
        places[row] = places.get(row, b"") + place.to_bytes(_PLACE_BYTES, byteorder)

    def place_pods(self, key: ClassKey, rows: Sequence[int], uids: Sequence[str]) -> None:
        """Count one pod on each of ``rows``; a row may occur more than once."""
        number = self._number(key)
        self._sizes[number] += len(rows)
        if len(rows) > len(self._free_places):
            self._add_places(len(rows) - len(self._free_places))
        pop, places, known = self._free_places.pop, self.classes.places, self.classes.uids
        numbers_at, rows_at = self._number_view, self._row_view
        for row, uid in zip(rows, uids, strict=True):
            place = pop()
            rows_at[place] = row
            numbers_at[place] = number
            known[place] = uid
            places[row] = places.get(row, b"") + place.to_bytes(_PLACE_BYTES, byteorder)

    def remove_pod(self, key: ClassKey, row: int, uid: str) -> None:
        """Drop a pod of the class from ``row``."""
        classes, (index, place) = self.classes, self._find(row, uid)
        self._number_view[place] = NO_CLASS
        classes.uids[place] = ""
        self._free_places.append(place)
        there, at = classes.places[row], index * _PLACE_BYTES
        left = there[:at] + there[at + _PLACE_BYTES :]
        if left:
            classes.places[row] = left
        else:
            del classes.places[row]
        self._discount(key)

    def relabel_pod(self, old: ClassKey, new: ClassKey, row: int, uid: str) -> None:
        """Count a pod of class ``old`` on ``row`` as one of ``new``."""
        numbers = self.classes.numbers
        if self._sizes[numbers[old]] == 1 and new not in numbers:
            # The only one of its labels: the class itself gets other ones, and the pod stays in it.
            with self.classes.lock:
                number = numbers.pop(old)
                self._describe(number, new)
                numbers[new] = number
            return
        number = self._number(new)
        self._sizes[number] += 1
        _, place = self._find(row, uid)
        self._number_view[place] = number
        self._discount(old)

    def _find(self, row: int, uid: str) -> tuple[int, int]:
        """Return which of the pods on ``row`` has the UID, and its place."""
        index = self.classes.uids_on(row).index(uid)
        return index, self.classes.places_on(row)[index]

    def _discount(self, key: ClassKey) -> None:
        """Count one pod less of the class."""
        number = self.classes.numbers[key]
        self._sizes[number] -= 1
        if not self._sizes[number]:
            del self.classes.numbers[key]
            self._free_numbers.append(number)

    def _number(self, key: ClassKey) -> int:
        number = self.classes.numbers.get(key)
        if number is None:
            with self.classes.lock:
                number = self._new_number()
                self._describe(number, key)
                self.classes.numbers[key] = number
        return number

    def _new_number(self) -> int:
        """Return an index that no class has, with room in all columns."""
        if self._free_numbers:
            return self._free_numbers.pop()
        classes = self.classes
        number = len(self._sizes)
        self._sizes.append(0)
        if number == len(classes.terminating):
            room = max(_FIRST_ROOM, 2 * number)
            classes.namespaces.grow(room)
            for key in tuple(classes.label_columns):
                self._column(key).grow(room)
            # Last: a reader takes the length of this one for that of all.
            classes.terminating = grown(classes.terminating, room)
        return number

    def _describe(self, number: int, key: ClassKey) -> None:
        classes = self.classes
        namespace, terminating, *_ = key
        if len(classes.namespaces.values) > STALE_VALUES * len(classes.terminating):
            self._renew_namespaces()
        classes.namespaces.put(number, namespace)
        classes.terminating[number] = terminating == TERMINATING
        labels = labels_of_class(key) if classes.label_columns else {}
        for label in tuple(classes.label_columns):
            column = self._column(label)
            column.put(number, labels.get(label))
            if len(column.values) > STALE_VALUES * len(classes.terminating):
                self._columns.drop(label)

    def _renew_namespaces(self) -> None:
        classes = self.classes
        named = ((number, namespace) for (namespace, *_), number in classes.numbers.items())
        classes.namespaces = LabelColumn.of(len(classes.terminating), named)

    def _column(self, label: str) -> LabelColumn:
        """Return the column to write to; readers add and remove some under the lock that the caller holds."""
        column = self._columns.writable(label)
        assert column is not None  # noqa: S101  # for the type checker
        return column

    def _add_places(self, count: int) -> None:
        """Add ``count`` free places or more."""
        first, room = len(self.classes.uids), self.classes.placed.shape[1]
        used = first + max(count, _MORE_PLACES)
        self.classes.uids += [""] * (used - first)
        if used > room:
            self.classes.placed = grown(self.classes.placed, max(2 * room, used))
            self._view()
        self._free_places += range(used - 1, first - 1, -1)

    def _view(self) -> None:
        """Access both columns of places through memory views, which take a Python int faster than arrays."""
        numbers, rows = self.classes.placed
        self._number_view, self._row_view = numbers.data, rows.data
