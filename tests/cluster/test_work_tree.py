"""A work tree is what the live state was, whatever way it came there."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.decoding import from_manifest
from mooring.cluster.journal import Journal, PodEntry
from mooring.cluster.kinds import Change, Put, Remove
from mooring.cluster.state import State
from mooring.cluster.work_tree import WorkTree
from mooring.framework.errors import FailedPreconditionError, InvalidArgumentError
from mooring.framework.objects import PersistentVolumeClaim
from mooring.testing import make_node, make_pod
from tests.cluster.histories import changes, content
from tests.cluster.test_state_properties import Step, run, steps


def contents(state: State) -> dict[str, Any]:
    """Return the content of the tables, with the row of each node."""
    found = copy.deepcopy(content(state))
    return {**found, "index": dict(state.snapshot.nodes.index)}


@given(
    st.lists(steps(), max_size=12),
    st.lists(st.lists(steps(), max_size=4), min_size=1, max_size=5),
    st.lists(st.integers(0, 5), max_size=8),
)
def test_it_is_what_the_live_state_was_at_each_of_its_positions(
    history: list[Step], later: list[list[Step]], visits: list[int]
) -> None:
    live = State()
    run(live, history)
    tree = WorkTree(live)
    seen = [(tree.position, contents(live))]
    for each in later:
        run(live, each)
        seen.append((live.journal().end, contents(live)))
    for visit in visits:
        position, expected = seen[visit % len(seen)]
        tree.follow(position)
        assert contents(tree) == expected


@given(st.lists(steps(), max_size=12), st.lists(st.lists(changes(), max_size=5), min_size=1, max_size=4))
def test_changes_are_taken_back_and_made_again(history: list[Step], each: list[list[Change]]) -> None:
    live = State()
    run(live, history)
    tree = WorkTree(live)
    seen, made = [contents(tree)], []
    for some in each:
        apply_those_that_can_be(tree, some)
        made.append(tree.take_changes())
        seen.append(contents(tree))
    for entries, before in zip(reversed(made), reversed(seen[:-1]), strict=True):
        tree.undo(entries)
        assert contents(tree) == before
    for entries, after in zip(made, seen[1:], strict=True):
        tree.redo(entries)
        assert contents(tree) == after
    assert contents(live) == seen[0]


@given(
    st.lists(steps(), max_size=12),
    st.lists(changes(), max_size=5),
    st.lists(steps(), max_size=5),
    st.lists(changes(), max_size=5),
)
def test_two_sessions_with_other_beginnings_share_one_tree(
    history: list[Step], first: list[Change], meanwhile: list[Step], second: list[Change]
) -> None:
    live = State()
    run(live, history)
    tree = WorkTree(live)
    early = tree.position
    apply_those_that_can_be(tree, first)
    ours, after_first = tree.take_changes(), contents(tree)
    run(live, meanwhile)
    late = live.journal().end
    tree.undo(ours)
    tree.follow(late)
    assert contents(tree) == contents(live)
    apply_those_that_can_be(tree, second)
    tree.undo(tree.take_changes())
    tree.follow(early)
    tree.redo(ours)
    assert contents(tree) == after_first


def apply_those_that_can_be(tree: WorkTree, some: list[Change]) -> None:
    """Each that does not remove what isn't there."""
    for change in some:
        with suppress(InvalidArgumentError):
            tree.apply_changes([change])


def test_other_objects_follow_and_come_back() -> None:
    live = State()
    claim = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": {"name": "data"}}
    tree = WorkTree(live)
    begin = tree.position
    live.replace("test", [from_manifest(claim)])
    tree.follow(live.journal().end)
    assert tree.snapshot.objects.get(PersistentVolumeClaim, "data", "default") is not None
    tree.follow(begin)
    assert tree.snapshot.objects.get(PersistentVolumeClaim, "data", "default") is None


def test_what_is_assumed_in_it_can_be_taken_back_and_is_not_in_the_live_state() -> None:
    live = State()
    live.replace("test", [make_node("a"), make_pod("p")])
    tree = WorkTree(live)
    before = contents(live)
    tree.assume(make_pod("p"), "a")
    assert contents(live) == before
    tree.undo(tree.take_changes())
    assert contents(tree) == before


@pytest.mark.parametrize(
    "removal",
    [Remove("Node", "", "b"), Remove("Pod", "default", "q"), Remove("Pod", "default", "p", "other")],
    ids=["node", "pod", "another UID"],
)
def test_removing_what_is_not_there_is_an_error(removal: Remove) -> None:
    live = State()
    live.replace("test", [make_node("a"), make_pod("p")])
    with pytest.raises(InvalidArgumentError, match=rf"changes\[0\].remove.*there is no {removal.kind}"):
        WorkTree(live).apply_changes([removal])


def test_a_pod_is_found_by_its_name_also_when_it_is_in_the_tree_alone() -> None:
    live = State()
    live.replace("test", [make_node("a"), make_pod("p")])
    tree = WorkTree(live)
    tree.apply_changes([Put(make_pod("q", metadata={"uid": "q-1"})), Remove("Pod", "default", "p")])
    assert tree.find_uid("default", "q") == "q-1"
    assert tree.find_uid("default", "p") is None


def test_a_journal_keeps_its_last_entries_and_says_when_others_are_wanted() -> None:
    journal = Journal(length=2)
    for number in range(5):
        journal.add(PodEntry(str(number), None, None))
    assert journal.end == 5
    assert journal.between(0, 5) is None
    kept = journal.between(journal.first, 5)
    assert kept is not None
    assert [entry.uid for entry in kept if isinstance(entry, PodEntry)] == ["3", "4"]


def test_a_position_that_is_no_longer_kept_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    live = State()
    monkeypatch.setattr(live._writer, "journal", Journal(length=1))
    tree = WorkTree(live)
    for number in range(4):
        live.apply("test", [Put(make_node(str(number)))])
    with pytest.raises(FailedPreconditionError, match="open another one"):
        tree.follow(live.journal().end)
