"""Counts the pods with the same affinity by row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mooring.cluster.shared_values import SharedValues
from mooring.framework.pod_affinity import AffinityKey
from mooring.framework.pod_table import AffinityClass

_SPARSE = 8
"""A class gets a column once it has pods on more than one row in this many."""


def count(pods: AffinityClass, row: int, amount: int, capacity: int) -> None:
    """Add ``amount`` to the count on ``row``; a class gets a column once that takes less than ``counts``."""
    counts = pods.counts
    number = counts[row] = counts.get(row, 0) + amount
    if not number:
        del counts[row]
    if pods.column is not None and row < len(pods.column):
        pods.column[row] = number
        return
    pods.column = None
    if len(counts) * _SPARSE > capacity:
        pods.column = np.zeros(capacity, np.int64)
        pods.column[list(counts)] = list(counts.values())


def discount(
    classes: SharedValues[AffinityKey, AffinityClass], key: AffinityKey, row: int, capacity: int
) -> None:
    """Remove one pod of the class from ``row``; drop the class when it has none left."""
    found = classes.writable(key)
    if found is not None:
        count(found, row, -1, capacity)
        if not found.counts:
            classes.drop(key)


def copy_of_class(pods: AffinityClass) -> AffinityClass:
    """Return an independent class with the same counts."""
    column = None if pods.column is None else pods.column.copy()
    return replace(pods, counts=pods.counts.copy(), column=column)
