"""The places of pods in a what-if: in a private copy of the state, or as sums of their usage."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from mooring.framework import Int32s, Int64s, Pod, Snapshot
from mooring.framework.columns import wrapped
from mooring.framework.node_table import PODS_ROW
from mooring.framework.pod_requests import PodUsage
from mooring.framework.pod_table import PodRecord
from mooring.framework.remembering import ByIdentity
from mooring.framework.state import ClusterState

MAX_USAGES = 1 << 12
"""Kinds of pods whose amounts one what-if remembers."""


class TriedPods(Protocol):
    """Pods that come and go while the state stays as it is. For one thread.

    Attributes:
        snapshot: The tables with the pods as they are now.
    """

    snapshot: Snapshot

    def add(self, node_name: str, pod: Pod) -> None:
        """Count ``pod`` on the node."""
        ...

    def take_back(self, node_name: str, pod: Pod) -> None:
        """Undo ``add`` of a pod that has no node otherwise."""
        ...

    def remove(self, node_name: str, pod: Pod) -> None:
        """Take ``pod`` off the node."""
        ...

    def restore(self) -> None:
        """Bring the removed pods back. Only the next what-if may be tried then."""
        ...


class PodsOnFork:
    """``TriedPods`` in a private copy of the state, for filters that read the pods themselves.

    Args:
        cluster: The copy. It changes with the pods.
    """

    def __init__(self, cluster: ClusterState) -> None:
        self.snapshot = cluster.snapshot
        self._cluster = cluster
        self._gone: dict[str, tuple[str, PodRecord]] = {}

    def add(self, node_name: str, pod: Pod) -> None:
        _, record = self._gone.pop(pod.metadata.uid, ("", None))
        self._cluster.assume(pod, node_name, record.kind if record is not None else None)

    def take_back(self, node_name: str, pod: Pod) -> None:
        self._cluster.forget(pod.metadata.uid)

    def remove(self, node_name: str, pod: Pod) -> None:
        uid = pod.metadata.uid
        self._gone[uid] = (node_name, self.snapshot.pods.records[uid])
        self._cluster.discard(uid)

    def restore(self) -> None:
        for node_name, record in self._gone.values():
            self._cluster.assume(record.pod, node_name, record.kind)
        self._gone.clear()


class PodsAsSums:
    """``TriedPods`` as sums, for filters that read nothing of pods but their usage.

    The tables are those of ``cluster``, but for the requests of the pods on each node.
    """

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        table = cluster.snapshot.nodes
        self._sums: Int64s = np.concatenate((table.requested, table.non_zero_requested))
        width = len(table.requested)
        # Versions do not change with these amounts.
        columns = replace(
            table,
            requested=self._sums[:width],
            non_zero_requested=self._sums[width:],
            row_version=np.zeros(0, np.int64),
        )
        self.snapshot = replace(cluster.snapshot, nodes=columns)
        self._amounts = ByIdentity(self._amounts_of, most=MAX_USAGES)
        self._changed: set[int] = set()

    def add(self, node_name: str, pod: Pod) -> None:
        self._sums[:, self._row(node_name)] += self._of(pod)

    def take_back(self, node_name: str, pod: Pod) -> None:
        self.remove(node_name, pod)

    def remove(self, node_name: str, pod: Pod) -> None:
        self._sums[:, self._row(node_name)] -= self._of(pod)

    def restore(self) -> None:
        table, width, rows = self._cluster.snapshot.nodes, len(self._sums) - 2, list(self._changed)
        self._sums[:width, rows] = table.requested[:width, rows]
        self._sums[width:, rows] = table.non_zero_requested[:, rows]
        self._changed.clear()

    def taken(self, rows: Int32s) -> Int64s:
        """int64[R + 2, K]: the sums of ``rows`` (int32[K])."""
        return self._sums[:, rows]

    def set_taken(self, rows: Int32s, taken: Int64s) -> None:
        """Set the sums of ``rows`` (int32[K]) to ``taken`` (int64[R + 2, K])."""
        self._sums[:, rows] = taken

    def amounts(self, usage: PodUsage) -> Int64s:
        """int64[R + 2]: what a pod takes."""
        return self._amounts(usage)

    def _row(self, node_name: str) -> int:
        row = self.snapshot.nodes.index[node_name]
        self._changed.add(row)
        return row

    def _of(self, pod: Pod) -> Int64s:
        """int64[R + 2]: what ``pod`` takes of each resource, and of CPU and memory at least."""
        record = self.snapshot.pods.get(pod.metadata.uid)
        kind = record.kind if record is not None else self._cluster.kind_of(pod, remember=False)
        return self._amounts(kind.usage)

    def _amounts_of(self, usage: PodUsage) -> Int64s:
        """As ``_of``. A resource that no node offers has no column, and is not counted."""
        amounts = np.zeros(len(self._sums), np.int64)
        amounts[PODS_ROW] = 1
        amounts[-2:] = wrapped(usage.non_zero_cpu), wrapped(usage.non_zero_memory)
        for position, amount in self.snapshot.nodes.by_position(usage.requests):
            amounts[position] = wrapped(amount)
        return amounts
