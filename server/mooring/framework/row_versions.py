"""How long a verdict on a pod and a node stays true."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from msgspec.structs import replace

from mooring.framework.objects import Pod
from mooring.framework.recent_changes import next_version
from mooring.framework.view import NodeView, Snapshot
from mooring.kernels.arrays import Int32s, Int64s

LikePods = tuple[bytes, int]
"""Pods that are alike but for their names, while no object that is neither node nor pod changes."""

_encode = msgspec.msgpack.Encoder().encode


class AsOf(msgspec.Struct, frozen=True):
    """The versions of a pod and the state before anything was read; the data read may be newer, never older.

    Attributes:
        like: The pods that are like the pod.
        versions: int64[capacity], a number for each row that changes as ``NodeTable.row_version`` does. The
            node nominated for the pod has one of its own, since the pod's room there counts for others alone.
    """

    like: LikePods
    versions: Int64s


def as_of_now(pod: Pod, snapshot: Snapshot) -> AsOf:
    """Return what ``pod`` and the state are like."""
    versions = snapshot.nodes.row_version.copy()
    newest = max((kind.changes.version for kind in tuple(snapshot.objects.kinds.values())), default=0)
    like = replace(pod.metadata, name="", uid="", resource_version="", creation_timestamp=None)
    known = snapshot.pods.get(pod.metadata.uid)
    if known is not None and not known.node_name:
        row = snapshot.nodes.index.get(known.kind.base.template.status.nominated_node_name)
        if row is not None and row < len(versions):
            versions[row] = -next_version()
    return AsOf((_encode((like, pod.spec, pod.status)), newest), versions)


class RowBasis:
    """The version and the counts of each row on which an answer about it is based.

    For one thread at a time.

    Args:
        capacity: How many rows there are.
        counters: How many counters are read.
    """

    __slots__ = ("_counts", "_versions")

    def __init__(self, capacity: int, counters: int) -> None:
        self._versions: Int64s = np.full(capacity, -1, np.int64)
        self._counts: Int64s = np.zeros((counters, capacity), np.int64)

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays."""
        return self._versions.nbytes + self._counts.nbytes

    @property
    def counters(self) -> int:
        """How many counters are read."""
        return len(self._counts)

    def stale(self, nodes: NodeView, versions: Int64s, counts: Sequence[Int64s]) -> Int64s:
        """int64[C]: the positions in ``nodes`` without an answer that is based on the same.

        Args:
            nodes: K nodes.
            versions: int64[K], their versions.
            counts: int64[capacity] for each counter, what it counts in the domain of each row.
        """
        differs = nodes.take(self._versions, live=True) != versions
        for known, now in zip(self._counts, counts, strict=True):
            differs |= nodes.take(known, live=True) != nodes.take(now, live=True)
        return np.flatnonzero(differs)

    def put(self, rows: Int32s, versions: Int64s, counts: Sequence[Int64s]) -> None:
        """Note that answers about ``rows`` (int32[K]) are based on ``versions`` (int64[K]) and ``counts``."""
        self._versions[rows] = versions
        for known, now in zip(self._counts, counts, strict=True):
            known[rows] = now[rows]
