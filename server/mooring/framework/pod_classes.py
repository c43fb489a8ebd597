"""The placed pods as columns, so that a selector is matched with all of them at once.

Mirrors what ``countPodsMatchSelector`` (``plugins/podtopologyspread/common.go``) and ``processExistingPod``
(``plugins/interpodaffinity``) find out pod by pod.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

import numpy as np

from mooring.framework.columns import LabelColumn, LabelColumns
from mooring.framework.deadline import timely
from mooring.framework.label_selector import LabelMatcher, Requirement
from mooring.kernels.arrays import Bools, Int32s, Int64s

ClassKey = tuple[str, ...]
"""The identity of a class: namespace, ``TERMINATING`` or "", and the labels: keys, in order, each before its
value. One tuple takes least, and many pods have labels of their own."""

TERMINATING = "terminating"
"""Pods of the class are being deleted."""

_LABELS = 2
"""The index of the first label."""

NO_CLASS = 0
"""The number that no class has."""

PLACE: Final = "i"
"""The format of a place's number among the bytes of ``PodClasses.places``."""


@dataclass(slots=True)
class PodClasses:
    """The classes of placed pods, and where each pod is.

    A class is all pods that no selector can distinguish: same namespace, same labels, all being deleted or
    none. Pods with a label of their own are a class each, so nothing here iterates over
    classes: a selector's condition is one comparison of a column, and a label that no selector names has
    none.

    Readers take no lock. Their data is consistent only if nothing was written meanwhile; the engine
    detects that and retries.

    Attributes:
        lock: Held by the writer while it adds a class; taken by readers only to build a label column.
        numbers: Each class's number, from 1 on. A number is used again once its class has no pods.
        namespaces: The namespace of each number.
        terminating: bool[C], the pods of the number are being deleted. ``C`` is how many numbers there is
            room for; the other columns are never shorter.
        label_columns: For each label key that a selector has used, its values by number.
        placed: int32[2, P]: for each place of a pod the number of its class, ``NO_CLASS`` when it is free,
            and the row.
        uids: The UID of the pod in each place, "" when it is free.
        places: By row the places of its pods, in the order in which they came; as the bytes of int32s, since
            an int takes 40.
    """

    lock: threading.RLock = field(default_factory=threading.RLock)
    numbers: dict[ClassKey, int] = field(default_factory=dict)
    namespaces: LabelColumn = field(default_factory=lambda: LabelColumn(1))
    terminating: Bools = field(default_factory=lambda: np.zeros(1, np.bool_))
    label_columns: LabelColumns = field(default_factory=LabelColumns)
    placed: Int32s = field(default_factory=lambda: np.zeros((2, 0), np.int32))
    uids: list[str] = field(default_factory=list)
    places: dict[int, bytes] = field(default_factory=dict)

    def places_on(self, row: int) -> Sequence[int]:
        """Return the places of the pods on a row, in the order in which they came."""
        return memoryview(self.places.get(row, b"")).cast(PLACE)

    def uids_on(self, row: int) -> list[str]:
        """Return the UIDs of the pods on a row, in the order in which they came."""
        return list(map(self.uids.__getitem__, self.places_on(row)))

    def by_row(
        self,
        selector: LabelMatcher,
        namespaces: Iterable[str] | None,
        capacity: int,
        *,
        terminating: bool = True,
    ) -> Int64s:
        """int64[capacity]: how many pods each row has that ``selector`` matches.

        Args:
            selector: Selects by the pods' labels.
            namespaces: The pods' possible namespaces; None = all.
            capacity: How many rows to count; pods on later ones are left out.
            terminating: Whether pods that are being deleted count.
        """
        if selector.nothing:
            return np.zeros(capacity, np.int64)
        matching = self._matching(selector.requirements, namespaces, terminating=terminating)
        if not matching.any():
            return np.zeros(capacity, np.int64)
        classes, rows = self.placed
        # Clipped, as classes may have come since they were matched.
        found = rows[np.flatnonzero(matching.take(classes, mode="clip"))]
        return np.bincount(found, minlength=capacity)[:capacity].astype(np.int64, copy=False)

    def _matching(
        self, requirements: Collection[Requirement], namespaces: Iterable[str] | None, *, terminating: bool
    ) -> Bools:
        """bool[C]: whether the number is of a class that is meant; what freed ones say doesn't matter."""
        leaving = self.terminating
        numbers = slice(0, len(leaving))
        spaces = self.namespaces
        found = spaces.exists(numbers) if namespaces is None else spaces.is_in(numbers, namespaces)
        if not terminating:
            found &= ~leaving
        for requirement in timely(requirements):
            found &= self._holds(requirement, numbers)
        return found

    def _holds(self, requirement: Requirement, numbers: slice) -> Bools:
        """bool[C]: ``requirement.holds`` for the labels of each number."""
        column = self.label_columns.find(requirement.key, self.lock, self._label_column)
        if requirement.operator == "Exists":
            return column.exists(numbers)
        if requirement.operator == "DoesNotExist":
            return ~column.exists(numbers)
        found = column.is_in(numbers, requirement.values)
        return found if requirement.operator == "In" else ~found

    def _label_column(self, key: str) -> LabelColumn:
        """Return the column of label ``key`` for the current classes."""
        classes = tuple(self.numbers.items())
        values = ((number, label_of_class(of, key)) for of, number in classes)
        return LabelColumn.of(len(self.terminating), values)


def class_key(namespace: str, labels: Mapping[str, str], *, terminating: bool) -> ClassKey:
    """Return the class of pods with these ``labels``."""
    texts = chain.from_iterable(sorted(labels.items())) if labels else ()
    return (namespace, TERMINATING if terminating else "", *texts)


def labels_of_class(key: ClassKey) -> dict[str, str]:
    """Return the labels of its pods."""
    return dict(zip(key[_LABELS::2], key[_LABELS + 1 :: 2], strict=True))


def label_of_class(key: ClassKey, label: str) -> str | None:
    """Return the value that its pods have of ``label``."""
    return next((key[at + 1] for at in range(_LABELS, len(key), 2) if key[at] == label), None)
