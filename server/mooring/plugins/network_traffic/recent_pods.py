"""Pods that a rate over some minutes doesn't show yet, because they came while it was averaged."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from mooring.framework import Int64s

Float64s = npt.NDArray[np.float64]


@dataclass(slots=True)
class RecentPods:
    """How many pods each node had at the refreshes of the last minutes. For one thread.

    Attributes:
        window: Seconds over which traffic is averaged.
    """

    window: float
    _counts: deque[tuple[float, Int64s]] = field(default_factory=deque, init=False)

    def missing(self, now: float, counts: Int64s) -> Float64s:
        """float64[capacity]: the pods on each row whose traffic a measurement of ``now`` lacks.

        A pod that came half the window ago lacks half of its traffic. Remembers ``counts``, int64[capacity],
        the pods on each row.
        """
        while len(self._counts) > 1 and self._counts[1][0] <= now - self.window:
            self._counts.popleft()
        self._counts.append((now, counts))
        total = np.zeros(len(counts), np.float64)
        for (_, before), (at, after) in pairwise(self._counts):
            share = 1 - (now - at) / self.window
            total[: len(after)] += share * arrived(before, after)
        return total


def arrived(before: Int64s, after: Int64s) -> Int64s:
    """int64[capacity]: by how much each row grew; rows that ``before`` lacks had nothing."""
    known = np.zeros(len(after), np.int64)
    width = min(len(before), len(after))
    known[:width] = before[:width]
    grown: Int64s = np.maximum(after - known, 0)
    return grown
