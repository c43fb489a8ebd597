"""The small values of the framework: statuses, notes of a cycle, verdicts, versions, label columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mooring.framework import (
    SUCCESS,
    BindPlugin,
    Code,
    CycleState,
    FilterPlugin,
    KubeVersion,
    LabelColumn,
    ScorePlugin,
    Status,
    Verdicts,
)
from mooring.framework.cycle_state import NotWrittenError
from mooring.framework.points import POINTS, points_of
from mooring.framework.releases import NEWEST, OLDEST


def test_codes_are_in_the_frameworks_order_and_spelling() -> None:
    assert [code.label for code in Code] == [
        "Success",
        "Error",
        "Unschedulable",
        "UnschedulableAndUnresolvable",
        "Wait",
        "Skip",
        "Pending",
    ]


@pytest.mark.parametrize("code", Code)
def test_what_counts_as_a_rejection(code: Code) -> None:
    expected = {"Unschedulable", "UnschedulableAndUnresolvable", "Pending"}
    assert Status(code).rejected == (code.label in expected)
    assert Status(code).ok == (code is Code.SUCCESS)


def test_a_status_keeps_the_first_plugin_that_said_it() -> None:
    said = Status.unschedulable("no").by("First")
    assert (said.plugin, said.by("Second").plugin, SUCCESS.by("Any").plugin) == ("First", "First", "")


class Notes:
    """A mutable note that can be cloned."""

    def __init__(self, values: list[int]) -> None:
        self.values = values

    def clone(self) -> Notes:
        return Notes(list(self.values))


@pytest.mark.parametrize(
    "cloned", [CycleState.clone, CycleState.cloned_when_read], ids=["at once", "when read"]
)
def test_a_cloned_state_shares_nothing_mutable(cloned: Callable[[CycleState], CycleState]) -> None:
    state = CycleState()
    state.write("notes", Notes([1]))
    state.write("name", "x")
    copy = cloned(state)
    for number in (2, 3):
        copy.read("notes", Notes).values.append(number)
    assert copy.read("notes", Notes).values == [1, 2, 3]
    copy.delete("name")
    assert state.read("notes", Notes).values == [1]
    assert (state.get("name", str), copy.get("name", str)) == ("x", None)


def test_what_is_written_to_a_copy_is_what_is_read_there() -> None:
    state = CycleState()
    state.write("notes", Notes([1]))
    copy = state.cloned_when_read()
    copy.shared().read("notes", Notes).values.append(2)
    own = Notes([3])
    copy.write("notes", own)
    assert copy.get("notes", Notes) is own
    assert state.read("notes", Notes).values == [1]


def test_notes_are_read_as_what_they_are() -> None:
    state = CycleState()
    state.write("key", 1)
    with pytest.raises(TypeError, match="holds int, not str"):
        state.read("key", str)
    with pytest.raises(
        NotWrittenError, match=r"^unwritten is not in the cycle state: the profile leaves out"
    ):
        state.read("unwritten", int)


def test_verdicts_are_coded_with_a_table() -> None:
    no = Status.unschedulable("no")
    verdicts = Verdicts.of([SUCCESS, no, SUCCESS, no])
    assert verdicts.codes.tolist() == [0, 1, 0, 1]
    assert verdicts.statuses == (SUCCESS, no)
    assert (verdicts.status(3), len(Verdicts.passed(3))) == (no, 3)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        pytest.param("1.36", (1, 36), id="minor"),
        pytest.param("v1.36.3", (1, 36), id="as Kubernetes prints it"),
        pytest.param("1", None, id="too short"),
        pytest.param("1.x", None, id="no number"),
    ],
)
def test_kubernetes_versions(text: str, version: tuple[int, int] | None) -> None:
    if version is None:
        with pytest.raises(ValueError, match="is not a Kubernetes version"):
            KubeVersion.parse(text)
    else:
        assert KubeVersion.parse(text) == KubeVersion(*version)


def test_versions_are_ordered_as_numbers() -> None:
    assert KubeVersion(1, 9) < KubeVersion(1, 36)


@pytest.mark.parametrize("text", ["1.32", f"1.{NEWEST.minor + 1}", "2.36"])
def test_other_releases_are_rejected_by_name(text: str) -> None:
    with pytest.raises(ValueError, match=rf"does not follow Kubernetes {text}; .* {OLDEST} to {NEWEST}"):
        KubeVersion.parse(text)


def test_a_class_has_the_points_of_its_bases_in_the_cycles_order() -> None:
    class Both(BindPlugin[None], ScorePlugin[None], FilterPlugin[None]):
        pass

    assert points_of(Both) == ["filter", "score", "bind"]
    assert next(iter(POINTS)) == "preEnqueue"


def test_a_label_column_answers_by_distinct_value() -> None:
    column = LabelColumn(4)
    for row, value in enumerate(["a", "b", None, "a"]):
        column.put(row, value)
    rows = np.arange(4, dtype=np.int32)
    asked: list[str] = []

    def short(value: str) -> bool:
        asked.append(value)
        return value == "a"

    assert column.is_in(rows, ["a", "unknown"]).tolist() == [True, False, False, True]
    assert column.is_in(rows, ["a", "b"]).tolist() == [True, True, False, True]
    assert column.is_in(rows, []).tolist() == [False] * 4
    assert column.exists(rows).tolist() == [True, True, False, True]
    assert column.holds(rows, short).tolist() == [True, False, False, True]
    assert sorted(asked) == ["a", "b"]


def test_ids_as_they_are_now_stay_and_are_one_array_until_something_changes() -> None:
    column = LabelColumn(2)
    column.put(0, "a")
    before = column.ids_as_now()
    assert column.ids_as_now() is before
    column.put(1, "b")
    now = column.ids_as_now()
    column.put(0, None)
    column.grow(3)
    column.put(1, "a")
    assert [ids.tolist() for ids in (before, now, column.ids)] == [[1, 0], [1, 2], [0, 1, 0]]


def test_a_copied_label_column_goes_its_own_way() -> None:
    column = LabelColumn(1)
    column.put(0, "a")
    twin = column.copy()
    twin.grow(2)
    twin.put(1, "new")
    assert (len(column.ids), column.id_of("new")) == (1, 0)
    assert twin.is_in(np.arange(2, dtype=np.int32), ["new"]).tolist() == [False, True]
