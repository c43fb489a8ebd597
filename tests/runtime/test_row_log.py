"""The rows of the last changes: a column, however the log is read."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mooring.cluster.kinds import Put
from mooring.cluster.state import State
from mooring.framework import Int32s
from mooring.framework.pod_table import UNPLACED
from mooring.runtime.cache.tracking import row_log
from mooring.runtime.cache.tracking.row_log import RowLog
from mooring.testing import make_node, make_pod

NODES = tuple(f"n{number}" for number in range(5))


def changed(log: RowLog, version: int) -> list[int] | None:
    rows = log.since(version)
    return None if rows is None else rows.tolist()


def rows_of(state: State, nodes: Sequence[int]) -> list[int]:
    return [state.snapshot.nodes.index[NODES[node]] for node in nodes]


@pytest.mark.parametrize("each", [1, 2, 3, 7], ids=lambda each: f"read-after-{each}")
def test_every_version_that_is_remembered_gives_the_rows_since(
    each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_log, "_LENGTH", 8)
    state = State()
    state.replace("test", [make_node(name) for name in NODES])
    log, first = RowLog(state), state.version
    nodes = [(number * number) % len(NODES) for number in range(40)]
    for number, node in enumerate(nodes, 1):
        state.assume(make_pod("p", metadata={"uid": f"u{number}"}), NODES[node])
        if number % each:
            continue
        for back in range(9):
            if back <= number:
                assert changed(log, state.version - back) == rows_of(state, nodes[number - back : number])
        if number > 8:
            assert changed(log, first) is None


def test_more_changes_than_the_state_remembers_are_forgotten() -> None:
    state = State(log_length=2)
    state.replace("test", [make_node(name) for name in NODES])
    log, version = RowLog(state), state.version
    for number in range(3):
        state.assume(make_pod("p", metadata={"uid": f"u{number}"}), NODES[number])
    assert log.since(version) is None
    assert changed(log, state.version) == []


def test_what_changes_nothing_of_a_row_is_no_row() -> None:
    state, running = State(), make_pod("p", node="n0")
    state.replace("test", [make_node(name) for name in NODES])
    log, version = RowLog(state), state.version
    state.assume(make_pod("p"), NODES[0])
    state.apply("test", [Put(running), Put(make_node("n1", metadata={"resourceVersion": "2"}))])
    state.apply("test", [Put(make_node("n2", allocatable={"cpu": "1"}))])
    images = [{"names": ["app:1"], "sizeBytes": 5}]
    state.apply("test", [Put(make_node("n3", status={"images": images}))])
    state.apply("test", [Put(make_pod("p", node="n0", labels={"zone": "as-the-node"}))])
    [first, third] = rows_of(state, (0, 2))
    confirmed, beat, listed, relabelled = UNPLACED, UNPLACED, UNPLACED, [UNPLACED] * 2
    assert changed(log, version) == [first, confirmed, beat, third, listed, *relabelled]


def test_rows_that_were_read_stay_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_log, "_LENGTH", 4)
    state = State(log_length=4)
    state.replace("test", [make_node(name) for name in NODES])
    log = RowLog(state)
    read: list[tuple[Int32s, list[int]]] = []
    for number in range(40):
        state.assume(make_pod("p", metadata={"uid": f"u{number}"}), NODES[number % 5])
        if number % 7:
            rows = log.since(max(state.version - 3, log.version))
            read += [(rows, rows.tolist())] if rows is not None else []
    assert read
    assert all(rows.tolist() == then for rows, then in read)


def moved(state: State, version: int, until: int) -> list[tuple[int, str, int]]:
    """Return the pods that came and left, as the state's log has them."""
    log = state.changes_since(version)
    assert log is not None
    return [
        (row, record.kind.labels["app"], 1 if amount > 0 else -1)
        for row, record, amount in log[: until - version]
        if record is not None and amount and row != UNPLACED
    ]


def noted(log: RowLog, version: int, until: int) -> list[tuple[int, str, int]] | None:
    found = log.pods_since(version, until)
    if found is None:
        return None
    return [
        (row, found.kinds[abs(number) - 1].labels["app"], 1 if number > 0 else -1)
        for row, number in zip(found.rows.tolist(), found.pods.tolist(), strict=True)
        if number
    ]


@pytest.mark.parametrize("each", [1, 3], ids=lambda each: f"read-after-{each}")
def test_pods_that_came_and_left_are_told_by_kind(each: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_log, "_LENGTH", 16)
    monkeypatch.setattr(row_log, "_KINDS", 30)
    state = State()
    state.replace("test", [make_node(name) for name in NODES])
    log, known, forgotten = RowLog(state), 0, 0
    for number in range(60):
        app = str(number % 7 * (number % 3))
        pod = make_pod(f"p{number % 9}", labels={"app": app}, node=NODES[number % 5] if number % 4 else "")
        state.apply("test", [Put(pod), Put(make_node("n1", metadata={"resourceVersion": str(number)}))])
        if number % each:
            continue
        for version in range(state.version - 12, state.version):
            found = noted(log, version, state.version - 1)
            if found is None:
                forgotten += 1
            else:
                known += 1
                assert found == moved(state, version, state.version - 1)
    assert known > forgotten > 0
