"""Who leads: compiled passes find the rows that numpy finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.kernels.arrays import REJECTED
from mooring.kernels.compile import FEWEST_NODES
from mooring.kernels.select import Leaders, leader_at, leader_of_each, leaders_of, take_out
from tests.compiled_loops import compiled_loops
from tests.examples import examples


@examples(40)
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


@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(0, 2**64 - 1))
def test_each_group_gets_the_leader_that_it_gets_alone(seed: int, groups: int, mixed: int) -> None:
    numbers = np.random.default_rng(seed)
    sizes = numbers.integers(1, 7, groups)
    firsts, of_rows = np.cumsum(sizes) - sizes, np.repeat(np.arange(groups), sizes)
    totals = numbers.integers(REJECTED, 2, len(of_rows), np.int32)
    alone = []
    for first, size in zip(firsts.tolist(), sizes.tolist(), strict=True):
        leaders = leaders_of(own := totals[first : first + size])
        row = first + leader_at(own, leaders, mixed % leaders.ties)
        alone.append(row if leaders.feasible else REJECTED)
    assert leader_of_each(totals, firsts, of_rows, mixed).tolist() == alone


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("position", [0, 1, 40, 98, 99])
def test_who_is_taken_out_leaves_the_others_in_order(position: int, *, compiled: bool) -> None:
    leaders = np.arange(7, 107, dtype=np.int32)
    others = np.delete(leaders, position)
    take: Any = take_out.compile() if compiled else take_out
    take(leaders, position)
    assert leaders[:-1].tolist() == others.tolist()
