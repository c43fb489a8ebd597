"""Shares of a whole in percent, which is what scores are."""

from __future__ import annotations

import numpy as np

from mooring.kernels.arrays import Int64s

MAX_NODE_SCORE = 100
MIN_NODE_SCORE = 0

MAX_EXACT = 2**53 // MAX_NODE_SCORE - 1
"""Up to here float64 divides faster and still rounds down right: a quotient of whole numbers below 2**53 that
falls short of the next whole number does so by more than rounding makes up."""

MAX_FACTOR = (2**63 - 1) // MAX_NODE_SCORE
"""The largest number whose hundredfold int64 holds; what is larger is computed with Python's own ints."""


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


def between(values: Int64s) -> Int64s:
    """int64[K]: ``100 * (value - lowest) / (highest - lowest)``, cut off; zeros if all are equal."""
    if not len(values):
        return values.copy()
    lowest, highest = int(values.min()), int(values.max())
    if highest == lowest:
        return np.zeros(len(values), np.int64)
    share = MAX_NODE_SCORE * ((values - lowest).astype(np.float64) / (highest - lowest))
    return share.astype(np.int64)
