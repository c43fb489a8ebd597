"""Counts the pods of a class by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from mooring.cluster.shared_values import SharedValues
from mooring.framework.pod_table import AffinityClass, PodClass

_SPARSE = 8
"""While a class has pods on fewer than one row in so many, it has no column."""

K = TypeVar("K")
ClassT = TypeVar("ClassT", PodClass, AffinityClass)


def count(pods: PodClass | AffinityClass, row: int, amount: int, capacity: int) -> None:
    """So many more pods of the class on ``row``; it gets a column once that takes less than ``counts``."""
    counts = pods.counts
    number = counts[row] = counts.get(row, 0) + amount
    if not number:
        del counts[row]
    if pods.column is not None and row < len(pods.column):
        pods.column[row] = number
    else:
        _make_column(pods, capacity)


def count_each(pods: PodClass, rows: Sequence[int], capacity: int) -> None:
    """As ``count`` of one more pod on each of ``rows``, of which one may be there several times."""
    counts, column = pods.counts, pods.column
    for row in rows:
        counts[row] = counts.get(row, 0) + 1
    if column is not None and max(rows) < len(column):
        np.add.at(column, np.array(rows, np.int32), 1)
    else:
        _make_column(pods, capacity)


def _make_column(pods: PodClass | AffinityClass, capacity: int) -> None:
    """Give the class a column for all rows, or none while few rows have any."""
    counts = pods.counts
    pods.column = None
    if len(counts) * _SPARSE > capacity:
        pods.column = np.zeros(capacity, np.int64)
        pods.column[list(counts)] = list(counts.values())


def discount(classes: SharedValues[K, ClassT], key: K, row: int, capacity: int) -> None:
    """One pod of the class less on ``row``; a class without pods is dropped."""
    found = classes.writable(key)
    if found is not None:
        count(found, row, -1, capacity)
        if not found.counts:
            classes.drop(key)


def copy_of_class(pod_class: ClassT) -> ClassT:
    """An independent class with the same counts."""
    column = None if pod_class.column is None else pod_class.column.copy()
    return replace(pod_class, counts=pod_class.counts.copy(), column=column)
