"""Counts of placed pods by a label and a domain of nodes, which a rule declares in one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from mooring.framework.label_selector import LabelMatcher, Requirement
from mooring.framework.objects import Pod
from mooring.kernels.arrays import Int64s

if TYPE_CHECKING:
    from mooring.framework.batch import Move
    from mooring.framework.node_info import NodeInfo
    from mooring.framework.pod_table import PodKind
    from mooring.framework.view import Snapshot

_FEW_DOMAINS = 8
"""Up to this many changed domains, a pass over the rows for each takes less time than writing all rows."""


@dataclass(frozen=True, slots=True)
class PodCounter:
    """Counts the placed pods that have the same value of a label as the pod, in the domain of a node.

    Make it with ``pods_by``, and call it at Filter or Score: ``self.in_rack(pod, node)``. The counts of all
    domains are found in one pass, and a ``Pure`` rule is called again only for counts that it has not seen.

    Attributes:
        label: The label of pods. Pods without it are counted for a pod without it.
        topology: The label of nodes; a domain is all nodes with the same value, or all without the label.
        own_namespace: Whether only pods of the pod's namespace count.
    """

    label: str
    topology: str
    own_namespace: bool

    def __call__(self, pod: Pod, node: NodeInfo) -> int:
        """Return how many pods like ``pod`` are in the domain of ``node``, assumed ones included."""
        return node.count_pods(self, pod)

    def selects(self, pod: Pod) -> tuple[LabelMatcher, Sequence[str] | None]:
        """Return which pods count for ``pod``: those that match, in these namespaces; None = all."""
        value = pod.metadata.labels.get(self.label)
        requirement = Requirement(self.label, "DoesNotExist")
        if value is not None:
            requirement = Requirement(self.label, "In", frozenset((value,)))
        return LabelMatcher((requirement,)), (pod.metadata.namespace,) if self.own_namespace else None

    def by_row(self, snapshot: Snapshot, pod: Pod) -> Int64s:
        """int64[capacity]: the count of each row's domain for ``pod``."""
        return RunningCounts(self, snapshot, pod).by_row()


class RunningCounts:
    """The counts of a counter for one pod, while pods come and go and nodes stay as they are.

    For one thread at a time.

    Args:
        counter: The counter.
        snapshot: The tables, in which all pods are counted once.
        pod: The pod.
    """

    def __init__(self, counter: PodCounter, snapshot: Snapshot, pod: Pod) -> None:
        capacity = snapshot.nodes.capacity
        self.counter = counter
        self._pod = pod
        self._domains = snapshot.nodes.label(counter.topology).ids[:capacity].copy()
        there = snapshot.pods.classes.by_row(*counter.selects(pod), capacity)
        sums = np.bincount(self._domains, weights=there[: len(self._domains)])
        self._sums: Int64s = sums.astype(np.int64)
        self._by_row: Int64s = self._sums[self._domains]
        self._moved: set[int] = set()

    def adds(self, kind: PodKind) -> Sequence[tuple[Move, int]]:
        """Return what one pod of ``kind`` adds, as ``PodCounts.adds`` does."""
        label, own = self.counter.label, self._pod.metadata
        alike = kind.labels.get(label) == own.labels.get(label)
        there = not self.counter.own_namespace or kind.namespace == own.namespace
        return [(self._move, 1)] if alike and there else []

    def by_row(self) -> Int64s:
        """int64[capacity]: the count of each row's domain, until the next pod comes or goes."""
        if len(self._moved) > _FEW_DOMAINS:
            self._by_row = self._sums[self._domains]
        else:
            for domain in self._moved:
                self._by_row[self._domains == domain] = self._sums[domain]
        self._moved.clear()
        return self._by_row

    def _move(self, row: int, amount: int) -> None:
        domain = self._domains.item(row)
        self._sums[domain] += amount
        self._moved.add(domain)


class CountsByRow(msgspec.Struct, frozen=True):
    """Counts that a CycleState has, so that they aren't found again.

    Attributes:
        by_counter: int64[capacity] for each counter.
    """

    by_counter: Mapping[PodCounter, Int64s]


def pods_by(*, label: str, topology: str, own_namespace: bool = False) -> PodCounter:
    """Return a counter, for an attribute of a rule's class.

    Args:
        label: The label by which pods are alike, such as ``app``.
        topology: The label whose values divide the nodes into domains, such as ``example.com/rack``.
        own_namespace: Count pods of the pod's own namespace alone, not of all.
    """
    return PodCounter(label, topology, own_namespace)
