"""The node that is selected among all rows: a compiled pass finds the one that numpy finds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mooring.kernels.arrays import REJECTED
from mooring.kernels.compile import FEWEST_NODES
from mooring.runtime.cache.layers.ranking import best
from tests.compiled_loops import compiled_loops
from tests.examples import examples


@examples(40)
@given(
    st.integers(0, 2**32), st.sampled_from((1, 3, 500)), st.sampled_from((0.0, 0.5, 0.999, 1.0)), st.text()
)
def test_one_pass_selects_what_numpy_selects(seed: int, most: int, rejected: float, uid: str) -> None:
    numbers, rows = np.random.default_rng(seed), FEWEST_NODES
    totals = np.where(numbers.random(rows) < rejected, REJECTED, numbers.integers(0, most, rows))
    with compiled_loops():
        found = best(totals, seed, uid, rows)
    assert found == best(totals, seed, uid, rows)
