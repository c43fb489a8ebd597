"""Pods by node and by topology domain, for the plugins whose answer depends on the pods elsewhere.

A domain is all nodes with the same value of a label, the topology key. Pods are counted per class and
node, so nothing here walks over pods.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from mooring.framework import Bools, CycleState, Int32s, Int64s, NodeTable, NodeView
from mooring.framework.batch import CountingPlugin, FilterCounts, ScoreCounts
from mooring.framework.columns import Scalar
from mooring.framework.interface import ArgsT
from mooring.framework.pod_table import AffinityClass
from mooring.kernels.arrays import ABSENT


@dataclass(frozen=True, slots=True)
class Topology:
    """The domains of one topology key, as they were when this was made.

    Attributes:
        ids: int32[capacity], the domain of each row; ``ABSENT`` where the node lacks the key.
        size: One more than the highest id that can be there.
        nameless: The domain whose name is empty; ``ABSENT`` when no node ever was in it.
    """

    ids: Int32s
    size: int
    nameless: int = ABSENT

    @classmethod
    def of_key(cls, table: NodeTable, key: str) -> Topology:
        """Return the domains of ``key``."""
        column = table.label(key)
        nameless, ids = column.id_of(""), column.ids_as_now()[: table.capacity]
        return cls(ids, len(column.values), nameless)

    @classmethod
    def of_rows(cls, capacity: int) -> Topology:
        """Each row is a domain of its own."""
        return cls(np.arange(1, capacity + 1, dtype=np.int32), capacity + 1)

    def sums(self, amounts: Int64s) -> Int64s:
        """int64[size]: the sum of ``amounts`` (int64[capacity]) in each domain, 0 at ``ABSENT``.

        It is exact, as sums stay far below 2**53.
        """
        sums = np.bincount(self.ids, weights=amounts, minlength=self.size).astype(np.int64)
        sums[ABSENT] = 0
        return sums

    def spread(self, values: npt.NDArray[Scalar], nodes: NodeView) -> npt.NDArray[Scalar]:
        """[K]: the value of each node's domain; ``values`` ([size]) has one for each domain."""
        return values.take(nodes.take(self.ids, live=True))


class Topologies:
    """The topology of each key in use, made once, over the same rows.

    Attributes:
        keys: The label keys that nodes have; over those that none has there is one topology without domains.
    """

    __slots__ = ("_known", "_table", "capacity", "keys")

    def __init__(self, table: NodeTable) -> None:
        self.capacity = table.capacity
        self.keys = table.label_keys
        self._table = table
        self._known: dict[str | None, Topology] = {}

    def __getitem__(self, key: str) -> Topology:
        """Return the topology of ``key``."""
        known = key if key in self.keys else None
        if known not in self._known:
            self._known[known] = Topology.of_key(self._table, key)
        return self._known[known]


@dataclass(frozen=True, slots=True)
class DomainCount:
    """How many pods of some sort there are in each domain of a topology.

    Attributes:
        counts: int[size]; 0 at ``ABSENT``. Pods fit into 32 bits, sums of weights need 64.
        counting: bool[capacity], the rows that count; None = all.
    """

    topology: Topology
    counts: Int32s | Int64s
    counting: Bools | None = None

    def clone(self) -> DomainCount:
        """Return an independent copy."""
        return DomainCount(self.topology, self.counts.copy(), self.counting)

    def move(self, row: int, amount: int) -> None:
        """``amount`` pods came to the row."""
        domain = self.topology.ids.item(row)
        if domain != ABSENT and (self.counting is None or self.counting.item(row)):
            self.counts[domain] += amount

    def at(self, nodes: NodeView) -> Int64s:
        """int64[K]: what the domain of each node has; 0 for a node without one."""
        return self.topology.spread(self.counts, nodes).astype(np.int64)

    def any_at(self, nodes: NodeView) -> Bools:
        """bool[K]: whether the domain of each node has any."""
        return self.topology.spread(self.counts > 0, nodes)


class DomainCounts:
    """How much there is in each domain of some topology keys.

    Args:
        weighted: Whether these are sums of weights instead of numbers of pods.
    """

    __slots__ = ("_by_key", "_topologies", "_weighted")

    def __init__(self, topologies: Topologies, *, weighted: bool = False) -> None:
        self._topologies = topologies
        self._weighted = weighted
        self._by_key: dict[str, DomainCount] = {}

    def __bool__(self) -> bool:
        """Return whether any domain has anything."""
        # Counting takes a fraction of numpy's any, which goes through Python.
        return any(np.count_nonzero(count.counts) for count in self._by_key.values())

    @property
    def unused(self) -> bool:
        """Whether nothing was ever added to any domain."""
        return not self._by_key

    def keys(self) -> Collection[str]:
        """Return the keys to whose domains something was added."""
        return tuple(self._by_key)

    def __iter__(self) -> Iterator[DomainCount]:
        """Iterate over the counts of each key to whose domains something was added."""
        return iter(self._by_key.values())

    def clone(self) -> DomainCounts:
        """Return an independent copy."""
        twin = DomainCounts(self._topologies, weighted=self._weighted)
        twin._by_key = {key: count.clone() for key, count in self._by_key.items()}
        return twin

    def add(self, key: str, pods: Int64s, weight: int = 1) -> None:
        """Count ``weight`` for each of ``pods`` (int64[capacity], by row); pods in no domain add nothing."""
        sums = self._topologies[key].sums(pods)
        if sums.any():
            counts = self[key].counts
            counts += weight * sums

    def add_class(self, key: str, pods: AffinityClass, weight: int = 1) -> None:
        """Add the pods of one class."""
        column = pods.column
        if column is not None:
            self.add(key, _fitted(column, self._topologies.capacity), weight)
            return
        rows, amounts = _placed(pods, self._topologies.capacity)
        domains = self._topologies[key].ids[rows]
        inside = domains != ABSENT
        if inside.any():
            np.add.at(self[key].counts, domains[inside], weight * amounts[inside])

    def __getitem__(self, key: str) -> DomainCount:
        """Return the count of ``key``, which is iterated over from now on."""
        if key not in self._by_key:
            topology = self._topologies[key]
            counts: Int32s | Int64s = np.zeros(topology.size, np.int32)
            self._by_key[key] = DomainCount(topology, counts.astype(np.int64) if self._weighted else counts)
        return self._by_key[key]


class PodCountingPlugin(CountingPlugin[ArgsT]):
    """Base of InterPodAffinity and PodTopologySpread.

    Attributes:
        filter_counts: The counts that PreFilter writes for Filter, under their class as the key.
        score_counts: The counts that PreScore writes, likewise.
    """

    filter_counts: ClassVar[type[FilterCounts]]
    score_counts: ClassVar[type[ScoreCounts]]

    def counts_in(self, state: CycleState) -> tuple[FilterCounts | None, ScoreCounts | None]:
        filtering, scoring = self.filter_counts, self.score_counts
        return state.get(filtering, filtering), state.get(scoring, scoring)


def _fitted(column: Int64s, capacity: int) -> Int64s:
    """int64[capacity]: ``column``, which may be longer or shorter."""
    by_row = np.zeros(capacity, np.int64)
    known = min(len(column), capacity)
    by_row[:known] = column[:known]
    return by_row


def _placed(pods: AffinityClass, capacity: int) -> tuple[Int64s, Int64s]:
    """int64[R] each: the rows that have pods of the class, each once, and how many.

    The writer may change the counts meanwhile: they are read from a copy, and rows that are newer than
    the evaluation are left out; the engine finds out and begins again.
    """
    counts = pods.counts.copy()
    rows = np.fromiter(counts.keys(), np.int64, len(counts))
    amounts = np.fromiter(counts.values(), np.int64, len(counts))
    known = rows < capacity
    return (rows, amounts) if known.all() else (rows[known], amounts[known])
