"""The node that is selected among all rows: a compiled pass finds the one that numpy finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.plugins import loops
from mooring.plugins.loops import FEWEST_CALLS, FEWEST_NODES, wait_for_compiler
from mooring.runtime.cache.ranking import OUT
from mooring.runtime.cache.selected import best_of_rows

pytest.importorskip("numba", reason="the extra fast isn't installed")


@settings(max_examples=40)
@given(
    st.integers(0, 2**32), st.sampled_from((1, 3, 500)), st.sampled_from((0.0, 0.5, 0.999, 1.0)), st.text()
)
def test_one_pass_selects_what_numpy_selects(seed: int, most: int, rejected: float, uid: str) -> None:
    numbers, rows = np.random.default_rng(seed), FEWEST_NODES
    totals = np.where(numbers.random(rows) < rejected, OUT, numbers.integers(0, most, rows))
    with pytest.MonkeyPatch.context() as patch:
        for _ in range(FEWEST_CALLS):
            best_of_rows(totals, seed, uid, rows)
        wait_for_compiler()
        found = best_of_rows(totals, seed, uid, rows)
        patch.setattr(loops.Loop, "for_rows", lambda _loop, _count, _of=0: None)
        assert found == best_of_rows(totals, seed, uid, rows)
