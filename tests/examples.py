"""How many examples a property tries, and which seeds: all in a full run, a part in ``make test``."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings

_FULL = 100
"""Examples that a property without settings tries in a full run."""


def register_profile() -> None:
    """Make the profile ``dev``: the first fifth of the examples that hypothesis' own profile ``ci`` tries."""
    settings.register_profile("dev", settings.get_profile("ci"), max_examples=_FULL // 5)


def examples(count: int) -> settings:
    """Return settings: ``count`` examples in a full run, otherwise the profile's share of them."""
    tried = settings().max_examples
    return settings(max_examples=-(-count * tried // _FULL))


def seeds(count: int, inner: int = 1) -> list[Any]:
    """Return the numbers below ``count`` as cases. All but the first ``inner`` are slow."""
    return [pytest.param(seed, marks=() if seed < inner else pytest.mark.slow) for seed in range(count)]
