"""Numbers as people read them."""

from __future__ import annotations


def number(value: float) -> str:
    """Three digits that count, thousands apart."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
