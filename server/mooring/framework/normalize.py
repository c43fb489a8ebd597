"""The built-in ways to bring raw scores to 0..100.

A plugin names one in ``normalizer``; because these are declared values, the engine may keep running
maxima instead of calling the plugin again. Mirrors ``plugins/helper/normalize_score.go``.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from mooring.framework.columns import Int64s

MAX_NODE_SCORE = 100
MIN_NODE_SCORE = 0

MAX_EXACT = 2**53 // MAX_NODE_SCORE - 1
"""Up to here float64 divides faster and still rounds down right: a quotient of whole numbers below 2**53 that
falls short of the next whole number does so by more than rounding makes up."""

MAX_FACTOR = (2**63 - 1) // MAX_NODE_SCORE
"""The largest number whose hundredfold int64 holds; what is larger is computed with Python's own ints."""


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
        highest, lowest = int(scores.max()), int(scores.min())
        if self is Normalizer.BY_MIN_MAX:
            return _between(scores, lowest, highest)
        if highest <= 0:
            reversed_ = self is Normalizer.BY_MAX_REVERSED
            return np.full(len(scores), MAX_NODE_SCORE, np.int64) if reversed_ else scores.copy()
        share = percentage(scores, highest)
        return MAX_NODE_SCORE - share if self is Normalizer.BY_MAX_REVERSED else share


def percentage(part: Int64s, whole: Int64s | int) -> Int64s:
    """int64[K]: ``100 * part / whole`` rounded down, exact for any ``0 <= part <= whole``."""
    highest = int(part.max(initial=0))
    if isinstance(whole, np.ndarray) and highest <= MAX_EXACT:
        # Turning what is not negative into whole numbers rounds down. Mixed types would take several times as
        # long.
        share = part.astype(np.float64)
        share *= MAX_NODE_SCORE
        share /= whole.astype(np.float64)
        return share.astype(np.int64)
    if highest <= MAX_FACTOR:
        return part * MAX_NODE_SCORE // whole
    exact = part.astype(object) * MAX_NODE_SCORE // whole
    return exact.astype(np.int64)


def _between(scores: Int64s, lowest: int, highest: int) -> Int64s:
    if highest == lowest:
        return np.zeros(len(scores), np.int64)
    share = MAX_NODE_SCORE * ((scores - lowest).astype(np.float64) / (highest - lowest))
    return share.astype(np.int64)
