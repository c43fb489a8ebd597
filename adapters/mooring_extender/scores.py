"""mooring's totals as the extender's scores: the scale 0..10 exists only here."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from mooring_extender.failures import misfit
from mooring_extender.names import Names

Int64s = npt.NDArray[np.int64]

MAX_EXTENDER_SCORE: Final = 10
MAX_NODE_SCORE: Final = 100


class Scores(msgspec.Struct, frozen=True):
    """mooring's answer about some nodes.

    Attributes:
        totals: int64[M], their totals.
        weight_sum: As in ScoreResponse.
    """

    names: Names
    totals: Int64s
    weight_sum: int


def priorities(scores: Scores) -> bytes:
    """Return a HostPriorityList as JSON. Raises CallError if a total is outside 0..100 times the weights."""
    return scores.names.priorities(extender_scores(scores.totals, scores.weight_sum))


def extender_scores(totals: Int64s, weight_sum: int) -> Int64s:
    """Return the nodes' totals (int64[M]) as integers 0..10, rounded half up.

    The scale is absolute: it does not depend on the other nodes of the call. ``weight_sum`` counts every
    score plugin of the profile, those that skipped the pod too; 0, a profile that scores nothing, gives 0.
    Raises CallError if a total is outside 0..100 times ``weight_sum``.
    """
    if not weight_sum:
        return np.zeros(len(totals), np.int64)
    highest = MAX_NODE_SCORE * weight_sum
    for total in (int(totals.min()), int(totals.max())):
        if not 0 <= total <= highest:
            raise misfit(f"a total of {total}, outside 0..{highest}")
    # As many scores as a total has reached.
    return _begins(highest).searchsorted(totals, side="right")


@lru_cache(maxsize=16)
def _begins(highest: int) -> Int64s:
    """int64[10]: from which totals on (10·total + highest/2) // highest is 1, 2, and so on."""
    begins = [(score * highest - highest // 2 + 9) // 10 for score in range(1, MAX_EXTENDER_SCORE + 1)]
    return np.array(begins, np.int64)
