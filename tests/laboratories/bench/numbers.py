"""Numbers as people read them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def number(value: float) -> str:
    """Return three digits that count, thousands apart."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def middle(values: Sequence[float]) -> str:
    """Return the median of some repeats, with the lowest and the highest if there are several."""
    shown = number(statistics.median(values))
    return shown if len(values) == 1 else f"{shown} ({number(min(values))} - {number(max(values))})"
