"""Totals by domain: compiled passes give what numpy gives, whatever the amounts."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.kernels import domains as by_domain
from mooring.kernels.arrays import REJECTED
from mooring.kernels.compile import FEWEST_NODES
from tests.compiled_loops import compiled_loops
from tests.examples import examples

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("numba") is None, reason="the extra fast isn't installed"
)


DOMAINS = st.sampled_from((1, 3, FEWEST_NODES))


COUNTS = st.sampled_from((1, 50, 2**40, 2**52))


@examples(40)
@given(st.integers(0, 2**32), DOMAINS, COUNTS, st.booleans(), st.integers(0, 3), st.floats(0.7, 9.0))
def test_totals_by_domain_are_those_of_numpy(
    seed: int, domains: int, most: int, outside: bool, weight: int, factor: float
) -> None:
    numbers, rows = np.random.default_rng(seed), FEWEST_NODES
    ids = numbers.integers(0, domains, rows + 3, np.int32, endpoint=True)
    worth = numbers.integers(0, most, domains + 1, endpoint=True)
    worth[0] = 0
    counts = np.minimum(worth, 2**31 - 1).astype(np.int32)
    before = np.where(numbers.random(rows) < 0.3, REJECTED, numbers.integers(0, 100, rows)).astype(np.int32)
    ignored = numbers.integers(0, 9, rows + 3) == 0
    least, crowded = int(numbers.integers(0, most, endpoint=True)), numbers.random(rows) * most

    def answers() -> list[Any]:
        limited, between, emptier = before.copy(), before.copy(), before.copy()
        by_domain.limit(ids, counts, limited, least=least, most=most // 2 + least, outside=outside)
        by_domain.add_between(ids, worth - most // 2, weight, between)
        crowding = crowded.copy()
        by_domain.add_crowding(ids, counts, factor, 2.0, crowding)
        by_domain.add_emptier(crowding, ignored, weight, emptier)
        counted = by_domain.count(before, ignored)
        inside = by_domain.distinct(ids, domains + 1, before, ignored)
        return [limited, between, emptier, crowding, counted, inside]

    with compiled_loops():
        looped = answers()
    for compiled, plain in zip(looped, answers(), strict=True):
        np.testing.assert_array_equal(compiled, plain)
