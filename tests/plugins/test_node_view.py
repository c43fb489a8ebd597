"""The columns of a view."""

import numpy as np
import pytest

from mooring.cluster.state import State
from mooring.framework import NodeView
from mooring.testing.builders import make_node


def _state() -> State:
    state = State()
    state.replace("test", [make_node(f"node-{number}", allocatable={"cpu": number}) for number in range(5)])
    return state


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([0, 1, 2, 3, 4], id="all, in order"),
        pytest.param([1, 2, 3], id="an unbroken part"),
        pytest.param([3], id="one"),
        pytest.param([], id="none"),
        pytest.param([4, 3, 2, 1, 0], id="backwards"),
        pytest.param([3, 4, 0, 1, 2], id="rotated"),
        pytest.param([0, 2, 1, 3], id="first and last as if unbroken"),
        pytest.param([0, 1, 1, 3], id="one twice"),
    ],
)
def test_columns_follow_the_rows_and_belong_to_the_asker(rows: list[int]) -> None:
    state = _state()
    view = NodeView(state.snapshot, np.array(rows, np.int32))
    cpu = view.allocatable("cpu")
    assert cpu.tolist() == [1000 * row for row in rows]
    cpu[:] = -1
    assert view.allocatable("cpu").tolist() == [1000 * row for row in rows]


def test_a_column_taken_stays_as_it_was_when_the_node_changes() -> None:
    state = _state()
    view = NodeView(state.snapshot, state.snapshot.nodes.rows())
    before = view.take(view.table.unschedulable)
    state.snapshot.nodes.unschedulable[2] = True
    assert not before.any()
    assert view.take(view.table.unschedulable).tolist() == [False, False, True, False, False]
