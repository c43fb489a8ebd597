"""Percentages are those of exact numbers."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from mooring.kernels.percentages import percentage

MAX = 2**63 - 1


@given(st.integers(1, MAX).flatmap(lambda whole: st.tuples(st.integers(0, whole), st.just(whole))))
@example((2**53 // 100 - 1, 2**53 // 100))
@example((2**53 // 100, 2**53 // 100))
@example((2**53 // 100 - 1, MAX))
def test_percentages_are_exact_however_large_the_amounts(amounts: tuple[int, int]) -> None:
    part, whole = amounts
    parts = np.array([part, 0], np.int64)
    exact = [100 * part // whole, 0]
    assert percentage(parts, np.array([whole, 1], np.int64)).tolist() == exact
    assert percentage(parts, whole).tolist() == exact
