"""The pods of each node as columns, the most important first: read once for all pods that need room."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mooring.framework import Bools, Int32s, Int64s, Snapshot
from mooring.framework.pod_table import PodRecord
from mooring.kernels.arrays import Float64s
from mooring.plugins.default_preemption.importance import moment_of

_MAX_PODS = 1 << 20
"""At this many pods of all rows, all are forgotten."""


@dataclass(frozen=True, slots=True)
class RowPods:
    """The pods of one node, the most important first.

    Attributes:
        version: The version of the row that was read.
        priorities: int64[P].
        starts: float64[P], when each started, in seconds since the epoch; infinity where it hasn't.
        places: int64[P], the order in which they were added to the node.
        latest: When the last of them started; minus infinity if none has.
        mixed: Only some have started.
    """

    version: int
    records: Sequence[PodRecord]
    priorities: Int64s
    starts: Float64s
    places: Sequence[int]
    latest: float
    mixed: bool


@dataclass(frozen=True, slots=True)
class LowerPods:
    """The pods of K nodes that are less important than some pod, node after node.

    Attributes:
        counts: int64[K], how many each node has.
        firsts: int64[K], the index of each node's first one.
        priorities: int64[P].
        starts: float64[P], as in ``RowPods``, like
        places: int[P].
        latest: float64[K], as in ``RowPods``, like
        mixed: bool[K].
    """

    records: list[PodRecord]
    counts: Int64s
    firsts: Int64s
    priorities: Int64s
    starts: Float64s
    places: list[int]
    latest: Float64s
    mixed: Bools


class PodsByRow:
    """The pods of rows, for as long as these don't change. Safe from any thread.

    Args:
        in_order: Pods that haven't started count in the order of their coming, as they do since Kubernetes
            1.37; before, the later one comes first.
    """

    def __init__(self, *, in_order: bool) -> None:
        self._in_order = in_order
        self._rows: dict[int, RowPods] = {}
        self._pods = 0

    def lower(self, snapshot: Snapshot, rows: Int32s, priority: int) -> LowerPods:
        """Return the pods on ``rows`` (int32[K]) whose priority is less than ``priority``."""
        found = self._known(snapshot, rows)
        # The most important come first, so those that are less important than the pod come last.
        every = np.concatenate([one.priorities for one in found])
        sizes = np.array([len(one.records) for one in found], np.int64)
        ends = np.cumsum(sizes)
        below = np.concatenate(([0], np.cumsum(every < priority)))
        counts = below[ends] - below[ends - sizes]
        kept = every < priority
        some = [(one, len(one.records) - count) for one, count in zip(found, counts.tolist(), strict=True)]
        return LowerPods(
            [record for one, first in some for record in one.records[first:]],
            counts,
            np.cumsum(counts) - counts,
            every[kept],
            np.concatenate([one.starts for one in found])[kept],
            [place for one, first in some for place in one.places[first:]],
            np.array([one.latest for one in found]),
            np.array([one.mixed for one in found], np.bool_),
        )

    def _known(self, snapshot: Snapshot, rows: Int32s) -> list[RowPods]:
        """Return the pods of each of ``rows``, which are read where they changed."""
        versions, wanted = snapshot.nodes.row_version.take(rows).tolist(), rows.tolist()
        known = self._rows
        found = {row: known.get(row) for row in wanted}
        old = [
            (row, version)
            for row, version in zip(wanted, versions, strict=True)
            if (pods := found[row]) is None or pods.version != version
        ]
        if old:
            made = self._read(snapshot, old)
            self._pods += sum(len(pods.records) for pods in made)
            self._pods -= sum(len(pods.records) for row, _ in old if (pods := found[row]) is not None)
            if self._pods > _MAX_PODS:
                self._rows = known = {}
                self._pods = sum(len(pods.records) for pods in made)
            new = dict(zip([row for row, _ in old], made, strict=True))
            known.update(new)
            found.update(new)
        return [pods for row in wanted if (pods := found[row]) is not None]

    def _read(self, snapshot: Snapshot, rows: Sequence[tuple[int, int]]) -> list[RowPods]:
        """Return the pods of each row with its version, each row as one column after the other."""
        came = [list(snapshot.pods.records_on(row)) for row, _ in rows]
        records = [record for some in came for record in some]
        counts = np.array([len(some) for some in came], np.int64)
        ends = np.cumsum(counts)
        firsts = ends - counts
        at = np.repeat(np.arange(len(rows)), counts)
        places = np.arange(len(records)) - firsts[at]
        priorities = np.array([record.kind.base.template.priority for record in records], np.int64)
        starts = np.array([_start(record) for record in records], np.float64)
        waits = starts == math.inf
        turns = places if self._in_order else np.where(waits, -places, places)
        order = np.lexsort((places, turns, starts, -priorities, at))
        latest = np.full(len(rows), -math.inf)
        np.maximum.at(latest, at[~waits], starts[~waits])
        mixed = (latest > -math.inf) & (np.bincount(at[waits], minlength=len(rows)) > 0)
        priorities, starts, in_turn = priorities[order], starts[order], places[order].tolist()
        sorted_records = [records[number] for number in order.tolist()]
        return [
            RowPods(
                version,
                sorted_records[first:end],
                priorities[first:end],
                starts[first:end],
                in_turn[first:end],
                last,
                some,
            )
            for (_, version), first, end, last, some in zip(
                rows, firsts.tolist(), ends.tolist(), latest.tolist(), mixed.tolist(), strict=True
            )
        ]


def _start(record: PodRecord) -> float:
    return math.inf if record.start_time is None else moment_of(record.start_time)
