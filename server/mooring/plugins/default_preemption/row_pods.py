"""The pods of each node as columns, the most important first: read once for all pods that need room."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mooring.framework import Bools, Int32s, Int64s, Snapshot
from mooring.framework.pod_table import PodRecord
from mooring.plugins.default_preemption.importance import Float64s, moment_of

_MAX_PODS = 1 << 20
"""At this many pods of all rows, all are forgotten."""


@dataclass(frozen=True, slots=True)
class RowPods:
    """The pods of one node, the most important first.

    Attributes:
        version: The version of the row that was read.
        records: The pods.
        priorities: int64[P].
        starts: float64[P], when each started, in seconds since the epoch; infinity where it hasn't.
        places: int64[P], as which each came to the node.
        latest: When the last of them started; minus infinity where none has.
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
    """Of K nodes the pods that are less important than some pod, node after node.

    Attributes:
        records: The pods.
        counts: int64[K], how many each node has.
        firsts: int64[K], where those of each node begin.
        priorities: int64[P].
        starts: float64[P], as in ``RowPods``, like
        places: int[P].
        latest: float64[K], as there, like
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
    """What was read of rows, for as long as they don't change. Safe from any thread.

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
        found = [self._row(snapshot, row) for row in rows.tolist()]
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

    def _row(self, snapshot: Snapshot, row: int) -> RowPods:
        version = snapshot.nodes.row_version.item(row)
        known = self._rows.get(row)
        if known is not None and known.version == version:
            return known
        made = self._read(snapshot, row, version)
        self._pods += len(made.records) - (len(known.records) if known is not None else 0)
        if self._pods > _MAX_PODS:
            self._rows, self._pods = {}, len(made.records)
        self._rows[row] = made
        return made

    def _read(self, snapshot: Snapshot, row: int, version: int) -> RowPods:
        came = list(snapshot.pods.records_on(row))
        starts = [math.inf if one.start_time is None else moment_of(one.start_time) for one in came]
        ranks = [
            (
                -record.kind.template.priority,
                start,
                place if self._in_order or record.start_time is not None else -place,
                place,
            )
            for place, (record, start) in enumerate(zip(came, starts, strict=True))
        ]
        ranks.sort()
        order = [place for *_, place in ranks]
        return RowPods(
            version,
            [came[place] for place in order],
            np.array([-negative for negative, *_ in ranks], np.int64),
            np.array([starts[place] for place in order], np.float64),
            order,
            max((start for start in starts if start < math.inf), default=-math.inf),
            len({start < math.inf for start in starts}) == 2,
        )
