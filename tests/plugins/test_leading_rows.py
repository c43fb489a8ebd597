"""Who leads: compiled passes find the rows that numpy finds."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.framework.internal import REJECTED
from mooring.plugins.leading_rows import Leaders, leader_at, leaders_of
from mooring.plugins.loops import FEWEST_NODES
from tests.compiled_loops import compiled_loops


@settings(max_examples=40)
@given(
    st.integers(0, 2**32),
    st.sampled_from((1, 3, 500)),
    st.sampled_from((0.0, 0.5, 0.999, 1.0)),
    st.floats(0, 1),
)
def test_a_leader_is_the_one_that_numpy_finds(seed: int, most: int, rejected: float, part: float) -> None:
    numbers, rows = np.random.default_rng(seed), FEWEST_NODES
    drawn = np.where(numbers.random(rows) < rejected, REJECTED, numbers.integers(0, most, rows))
    totals = drawn.astype(np.int32)
    with compiled_loops():
        leaders = leaders_of(totals)
        position = int(part * (leaders.ties - 1))
        row = leader_at(totals, leaders, position)
    assert leaders == leaders_of(totals)
    assert row == leader_at(totals, leaders, position)
    top = totals.max()
    assert leaders == Leaders(top, (totals == top).sum(), (totals != REJECTED).sum())
    assert row == np.flatnonzero(totals == top)[position]
