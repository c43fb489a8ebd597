"""The nodes with the highest total equal those of a search of all totals each time, and twins
share nothing.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.kernels.arrays import REJECTED
from mooring.runtime.cache.layers import ranking
from mooring.runtime.cache.layers.ranking import Ranking
from tests.examples import examples

ROWS = 20
totals = st.integers(REJECTED, 3)
# Most rows have the same total, and as a rule the row that is read has less afterwards.
steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(("take", "take", "look")), st.integers(0, ROWS), st.just(0)),
        st.tuples(st.sampled_from(("take", "put")), st.integers(0, ROWS - 1), totals),
        st.tuples(st.sampled_from(("twin", "lower")), st.just(0), totals),
    ),
    max_size=30,
)


def check(found: Ranking, expected: list[int]) -> None:
    assert found.totals.tolist() == expected
    top = max(expected)
    leaders = [row for row, total in enumerate(expected) if total == top != REJECTED]
    assert (found.top, found.ties) == (top, len(leaders))


@examples(400)
@given(
    st.lists(st.sampled_from((3, 3, 3, 2)), min_size=ROWS, max_size=ROWS),
    steps,
    st.sampled_from((2, 5, 1024)),
    st.booleans(),
)
def test_the_leaders_are_those_of_all_totals(
    begin: list[int], course: list[tuple[str, int, int]], block: int, small: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "_SMALLEST_BLOCK", block if small else 1)
        patch.setattr(ranking, "_MAX_BLOCKS", ROWS if small else 3)
        pairs = [(Ranking(np.array(begin, np.int32)), list(begin))]
        last = 0
        for what, number, total in course:
            found, expected = pairs[-1]
            if what == "twin":
                pairs.append((found.copy(), list(expected)))
            elif what == "lower":
                # Only the row that was read last has less now.
                expected[last] = min(total, expected[last])
                found.put(last, expected[last])
            elif what == "put":
                found.put(number, total)
                expected[number] = total
            elif found.ties:
                row = last = found.leader(number % found.ties)
                leaders = [at for at, one in enumerate(expected) if one == found.top]
                assert row == leaders[number % found.ties]
                if what == "take":
                    expected[row] = found.top - 1
                    found.put(row, found.top - 1)
            check(*pairs[-1])
        for found, expected in pairs:
            check(found, expected)
            leaders = [row for row, total in enumerate(expected) if total == found.top]
            assert [found.leader(at) for at in range(found.ties)] == leaders[: found.ties]
