"""Few nodes: what is selected of them is what looking at all of them for each pod selects."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.runtime.cache.few_nodes import CHECKED, FewNodes
from mooring.runtime.cache.ranking import OUT
from mooring.runtime.cache.rated_states import UNKNOWN
from mooring.runtime.cycle.choice import ChoiceColumns

STATES = 8
Selected = list[tuple[int, int, int, int]]
"""For each pod: row, total, ties, feasible nodes."""


def nodes(bases: Sequence[int], states: Sequence[int], values: Sequence[int], *, stays: bool) -> FewNodes:
    totals = [_total(base, values[state]) for base, state in zip(bases, states, strict=True)]
    return FewNodes([10 + at for at in range(len(bases))], bases, list(states), totals, stays)


def _total(base: int, value: int) -> int:
    return OUT if OUT in (base, value) else base + value


def one_by_one(
    bases: Sequence[int], states: Sequence[int], values: Sequence[int], numbers: Sequence[int], *, stays: bool
) -> Selected:
    now, selected = list(states), Selected()
    for number in numbers:
        totals = [_total(base, values[state]) for base, state in zip(bases, now, strict=True)]
        top = max(totals, default=OUT)
        ties = [at for at, total in enumerate(totals) if total == top != OUT]
        if not ties:
            break
        at = ties[number % len(ties)]
        after = now[at] + 1
        if after == len(values) or values[after] == UNKNOWN or (values[after] == OUT and not stays):
            break
        now[at] = after
        feasible = sum(total != OUT for total in totals)
        selected.append((10 + at, top if feasible > 1 else 0, len(ties), feasible))
    return selected


@given(
    st.lists(st.tuples(st.integers(OUT, 3), st.integers(0, 3)), max_size=6),
    st.lists(st.sampled_from([0, 1, 2, 3, OUT, UNKNOWN]), min_size=4, max_size=STATES),
    st.lists(st.integers(0, 2**64 - 1), max_size=30),
    st.booleans(),
)
def test_it_selects_as_looking_at_all_nodes_for_each_pod_does(
    there: list[tuple[int, int]], values: list[int], numbers: list[int], stays: bool
) -> None:
    # Where a pod fits before anything is placed is known.
    values[:4] = [max(value, OUT) for value in values[:4]]
    bases, states = [base for base, _ in there], [state for _, state in there]
    columns = ChoiceColumns(0, 0)
    following = {state: state + 1 for state in range(len(values) - 1)}
    few = nodes(bases, states, values, stays=stays)
    few.place(numbers, values, following, columns, lambda: None)
    found = list(zip(columns.rows, columns.totals, columns.tie_counts, columns.feasible, strict=True))
    assert found == one_by_one(bases, states, values, numbers, stays=stays)


def test_a_caller_who_leaves_is_noticed() -> None:
    class GoneError(Exception):
        pass

    asked: list[int] = []

    def check() -> None:
        asked.append(len(columns.rows))
        if len(asked) == 2:
            raise GoneError

    columns = ChoiceColumns(0, 0)
    with pytest.raises(GoneError):
        nodes([5], [0], [1], stays=True).place([0] * 1000, [1], {0: 0}, columns, check)
    assert asked == [0, CHECKED]
