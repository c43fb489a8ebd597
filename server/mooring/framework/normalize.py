"""The built-in ways to bring raw scores to 0..100.

A plugin names one in ``normalizer``; because these are declared values, the engine may keep running
maxima instead of calling the plugin again. Mirrors ``plugins/helper/normalize_score.go``.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from mooring.kernels.arrays import Int64s
from mooring.kernels.percentages import MAX_NODE_SCORE, between, percentage


class Normalizer(Enum):
    """How raw scores become normalised ones."""

    BY_MAX = "by_max"
    """``100 * score / highest``, rounded down; all zero stays zero."""

    BY_MAX_REVERSED = "by_max_reversed"
    """``100 - 100 * score / highest``; all zero becomes 100."""

    BY_MIN_MAX = "by_min_max"
    """``100 * (score - lowest) / (highest - lowest)``, cut off; all equal becomes zero."""

    def apply(self, scores: Int64s) -> Int64s:
        """int64[K] raw scores, 0 or more for the first two, to int64[K] in 0..100; the input is kept."""
        if not len(scores):
            return scores.copy()
        if self is Normalizer.BY_MIN_MAX:
            return between(scores)
        highest = int(scores.max())
        if highest <= 0:
            reversed_ = self is Normalizer.BY_MAX_REVERSED
            return np.full(len(scores), MAX_NODE_SCORE, np.int64) if reversed_ else scores.copy()
        share = percentage(scores, highest)
        return MAX_NODE_SCORE - share if self is Normalizer.BY_MAX_REVERSED else share
