"""Pods by node and by topology domain, for the plugins whose answer depends on the pods elsewhere.

A domain is all nodes with the same value of a label, the topology key. Pods are counted per class and
node, so nothing here walks over pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from mooring.framework import Int32s, Int64s, NodeTable
from mooring.framework.columns import ABSENT
from mooring.framework.pod_table import AffinityClass, PodClass


class Topology:
    """The domains of one topology key, as they were when this was made.

    Attributes:
        ids: int32[capacity], the domain of each row; ``ABSENT`` where the node lacks the key.
        size: One more than the highest id that can be there.
    """

    __slots__ = ("_column", "_key", "ids", "size")

    def __init__(self, table: NodeTable, key: str) -> None:
        capacity = table.capacity
        self._key = key
        self._column = table.label(key)
        self.ids: Int32s = self._column.ids[:capacity].copy()
        self.size = len(self._column.values)

    def domain(self, labels: Mapping[str, str]) -> int:
        """The domain of a node with ``labels``; ``ABSENT`` when it lacks the key."""
        return self.domain_of(labels[self._key]) if self._key in labels else ABSENT

    def domain_of(self, value: str) -> int:
        """The domain of that name; ``ABSENT`` when no node ever was in it."""
        number = self._column.id_of(value)
        return number if number < self.size else ABSENT

    def sums(self, amounts: Int64s) -> Int64s:
        """int64[size]: the sum of ``amounts`` (int64[capacity]) in each domain, 0 at ``ABSENT``."""
        sums = sum_by(self.ids, amounts, self.size)
        sums[ABSENT] = 0
        return sums


class Topologies:
    """The topology of each key that is asked for, made once, over the same rows.

    Attributes:
        capacity: How many rows there are.
    """

    __slots__ = ("_known", "_table", "capacity")

    def __init__(self, table: NodeTable) -> None:
        self.capacity = table.capacity
        self._table = table
        self._known: dict[str, Topology] = {}

    def __getitem__(self, key: str) -> Topology:
        """The topology of ``key``."""
        if key not in self._known:
            self._known[key] = Topology(self._table, key)
        return self._known[key]


class DomainCounts:
    """How much there is in each domain of some topology keys."""

    __slots__ = ("_by_key", "_topologies")

    def __init__(self, topologies: Topologies) -> None:
        self._topologies = topologies
        self._by_key: dict[str, Int64s] = {}

    def __bool__(self) -> bool:
        """Whether any domain has anything."""
        return any(counts.any() for counts in self._by_key.values())

    @property
    def keys(self) -> tuple[str, ...]:
        """The topology keys of the domains to which something was added."""
        return tuple(self._by_key)

    def clone(self) -> DomainCounts:
        """An independent copy."""
        twin = DomainCounts(self._topologies)
        twin._by_key = {key: counts.copy() for key, counts in self._by_key.items()}
        return twin

    def add(self, key: str, pods: Int64s, weight: int = 1) -> None:
        """Count ``weight`` for each of ``pods`` (int64[capacity], by row); pods in no domain add nothing."""
        sums = self._topologies[key].sums(pods)
        if sums.any():
            self._counts(key)[:] += weight * sums

    def add_class(self, key: str, pods: AffinityClass, weight: int = 1) -> None:
        """The same for the pods of one class."""
        if pods.column is not None:
            self.add(key, pods_by_row((pods,), self._topologies.capacity), weight)
            return
        rows, amounts = placed(pods, self._topologies.capacity)
        domains = self._topologies[key].ids[rows]
        inside = domains != ABSENT
        if inside.any():
            np.add.at(self._counts(key), domains[inside], weight * amounts[inside])

    def add_on(self, key: str, labels: Mapping[str, str], amount: int) -> None:
        """Count ``amount`` on a node with ``labels``, if it is in a domain of ``key``."""
        domain = self._topologies[key].domain(labels)
        if domain != ABSENT:
            self._counts(key)[domain] += amount

    def at(self, key: str, rows: Int32s) -> Int64s:
        """int64[K]: what the domain of each row has; 0 for a row without one."""
        counts = self._by_key.get(key)
        if counts is None:
            return np.zeros(len(rows), np.int64)
        return counts[self._topologies[key].ids[rows]]

    def _counts(self, key: str) -> Int64s:
        if key not in self._by_key:
            self._by_key[key] = np.zeros(self._topologies[key].size, np.int64)
        return self._by_key[key]


def sum_by(ids: Int32s, amounts: Int64s, size: int) -> Int64s:
    """int64[size]: the sum of ``amounts`` for each id; exact, as sums stay far below 2**53."""
    return np.bincount(ids, weights=amounts, minlength=size).astype(np.int64)


def pods_by_row(classes: Iterable[PodClass | AffinityClass], capacity: int) -> Int64s:
    """int64[capacity]: how many pods of ``classes`` each row has."""
    totals: Int64s = np.zeros(capacity, np.int64)
    for pod_class in classes:
        column = pod_class.column
        if column is not None:
            known = min(len(column), capacity)
            totals[:known] += column[:known]
            continue
        rows, amounts = placed(pod_class, capacity)
        totals[rows] += amounts
    return totals


def placed(pod_class: PodClass | AffinityClass, capacity: int) -> tuple[Int64s, Int64s]:
    """int64[R] each: the rows that have pods of the class, each once, and how many.

    The writer may change the counts meanwhile: they are read from a copy, and rows that are newer than
    the evaluation are left out; the engine finds out and begins again.
    """
    counts = pod_class.counts.copy()
    rows = np.fromiter(counts.keys(), np.int64, len(counts))
    amounts = np.fromiter(counts.values(), np.int64, len(counts))
    known = rows < capacity
    return (rows, amounts) if known.all() else (rows[known], amounts[known])
