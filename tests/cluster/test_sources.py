from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.kinds import Put, Remove
from mooring.cluster.manifests import objects_from
from mooring.cluster.sources import (
    FilesSource,
    PushSource,
    SampleSource,
    SnapshotBegin,
    SnapshotEnd,
    sample_objects,
)
from mooring.cluster.sources.push import MAX_SOURCES, PushEvent
from mooring.cluster.state import State
from mooring.framework.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    PermissionDeniedError,
)
from mooring.framework.objects import Node, Pod
from mooring.testing.builders import make_node
from tests.cluster.histories import content, nodes, pods

LOAD: Sequence[PushEvent] = (SnapshotBegin(), [Put(make_node("a"))], [Put(make_node("b"))], SnapshotEnd())


def names(state: State) -> set[str]:
    return set(state.snapshot.nodes.index)


def test_the_sample_shows_zones_taints_and_pods_that_wait() -> None:
    state = State()
    source = SampleSource(state)
    assert [status.synced for status in source.describe()] == [False]
    source.start()
    source.stop()
    assert source.synced
    assert len(state.snapshot.nodes) == 6
    zones = {
        node.metadata.labels["topology.kubernetes.io/zone"] for node in state.snapshot.nodes.nodes if node
    }
    assert len(zones) == 3
    assert len(list(state.snapshot.pods.pending())) == 3
    assert sample_objects() == sample_objects()
    assert [(status.name, status.node_count, status.pod_count) for status in source.describe()] == [
        ("sample", 6, 8)
    ]


def rewritten(file: Path, text: str) -> None:
    """Write the file so that its time differs even on a coarse clock."""
    before = file.stat().st_mtime_ns if file.exists() else 0
    file.write_text(text)
    os.utime(file, ns=(before + 1_000_000_000, before + 1_000_000_000))


def test_files_are_loaded_again_when_they_change(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    rewritten(file, "{kind: Node, metadata: {name: a}}")
    state = State()
    source = FilesSource(state, [file], poll_seconds=3600)
    source.start()
    assert names(state) == {"a"}
    assert not source.poll_files()
    rewritten(file, "{kind: Node, metadata: {name: b}}")
    assert source.poll_files()
    assert names(state) == {"b"}
    source.stop()


def test_the_last_good_load_stays_and_the_error_names_file_and_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "cluster.yaml"
    rewritten(file, "{kind: Node, metadata: {name: a}}")
    state = State()
    source = FilesSource(state, [file], poll_seconds=3600)
    source.start()
    rewritten(file, "kind: Node\nspec: !!int 'z'")
    assert not source.poll_files()
    assert f"{file}:2" in source.describe()[0].error
    rewritten(file, "kind: Node\nkind: Pod")
    assert not source.poll_files()
    assert names(state) == {"a"}
    assert f"{file}:2" in caplog.text
    assert f"{file}:2" in source.describe()[0].error
    file.unlink()
    assert not source.poll_files()
    assert names(state) == {"a"}
    rewritten(file, "{kind: Node, metadata: {name: c}}")
    assert source.poll_files()
    assert source.describe()[0].error == ""
    source.stop()


def test_a_folder_behind_a_link_is_read_again_when_the_link_moves(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "n.yaml").write_text(f"{{kind: Node, metadata: {{name: {name}}}}}")
    link = tmp_path / "data"
    link.symlink_to(tmp_path / "first")
    state = State()
    source = FilesSource(state, [link / "n.yaml"], poll_seconds=3600)
    source.start()
    link.unlink()
    link.symlink_to(tmp_path / "second")
    assert source.poll_files()
    assert names(state) == {"second"}
    source.stop()


def test_files_are_followed_by_a_thread(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    rewritten(file, "{kind: Node, metadata: {name: a}}")
    state = State()
    source = FilesSource(state, [file], poll_seconds=0.01)
    source.start()
    rewritten(file, "{kind: Node, metadata: {name: b}}")
    waiting = threading.Event()
    for _ in range(1000):
        if names(state) == {"b"}:
            break
        waiting.wait(0.01)
    source.stop()
    assert names(state) == {"b"}


def test_a_first_load_that_fails_is_the_callers_to_handle(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError):
        FilesSource(State(), [tmp_path / "absent.yaml"]).start()


def test_kinds_that_nobody_reads_are_named_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "cluster.yaml"
    rewritten(file, "{kind: Secret, metadata: {name: s}}")
    source = FilesSource(State(), [file], poll_seconds=3600)
    with caplog.at_level(logging.WARNING):
        source.start()
        rewritten(file, "{kind: Secret, metadata: {name: t}}")
        source.poll_files()
    source.stop()
    assert caplog.text.count("Secret (1)") == 1


def test_a_full_load_takes_effect_at_its_end() -> None:
    state = State()
    source = PushSource(state)
    assert source.push_objects("inventory", "s1", 1, LOAD[:3]).next_sequence == 4
    assert names(state) == set()
    assert [status.synced for status in source.describe()] == [False]
    assert source.push_objects("inventory", "s1", 4, LOAD[3:]).applied_count == 1
    assert names(state) == {"a", "b"}
    assert source.synced
    status = source.describe()[0]
    assert (status.name, status.session, status.next_sequence, status.node_count) == (
        "push:inventory",
        "s1",
        5,
        2,
    )


def test_repeats_do_nothing() -> None:
    state = State()
    source = PushSource(state)
    source.push_objects("inventory", "s1", 1, LOAD)
    version = state.version
    assert source.push_objects("inventory", "s1", 1, LOAD).applied_count == 0
    assert source.push_objects("inventory", "s1", 2, LOAD[1:]).next_sequence == 5
    assert state.version == version
    answer = source.push_objects("inventory", "s1", 4, [LOAD[3], [Put(make_node("c"))]])
    assert (answer.applied_count, answer.next_sequence) == (1, 6)
    assert names(state) == {"a", "b", "c"}


def test_a_gap_asks_for_what_is_missing() -> None:
    source = PushSource(State())
    source.push_objects("inventory", "s1", 1, LOAD)
    with pytest.raises(OutOfRangeError) as raised:
        source.push_objects("inventory", "s1", 7, [[Put(make_node("c"))]])
    assert raised.value.reason == "RESYNC_REQUIRED"
    assert raised.value.metadata == {"expected_sequence": "5"}
    with pytest.raises(OutOfRangeError):
        source.push_objects("inventory", "s2", 2, [])


def test_a_new_session_replaces_what_earlier_ones_pushed() -> None:
    state = State()
    source = PushSource(state)
    source.push_objects("inventory", "s1", 1, LOAD)
    source.push_objects("inventory", "s2", 1, [SnapshotBegin(), [Put(make_node("c"))]])
    assert names(state) == {"a", "b"}
    assert source.synced
    source.push_objects("inventory", "s2", 3, [SnapshotEnd(), Remove("Node", "", "c"), [Put(make_node("d"))]])
    assert names(state) == {"d"}


@pytest.mark.parametrize(
    ("events", "path"),
    [
        pytest.param([[Put(make_node("c"))], SnapshotEnd()], "events[1]", id="an end without a beginning"),
        pytest.param([[Put(make_node("c"))], [Put(make_node("z"))]], "Node z", id="another source's object"),
    ],
)
def test_a_push_is_applied_as_a_whole_or_not_at_all(events: Sequence[PushEvent], path: str) -> None:
    state = State()
    state.replace("other", [make_node("z")])
    source = PushSource(state)
    source.push_objects("inventory", "s1", 1, LOAD)
    with pytest.raises(InvalidArgumentError) as raised:
        source.push_objects("inventory", "s1", 5, events)
    assert raised.value.violations[0].path == path
    assert names(state) == {"a", "b", "z"}
    assert source.push_objects("inventory", "s1", 5, []).next_sequence == 5


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([], id="no events"),
        pytest.param(LOAD[:1], id="a load that has only begun"),
        pytest.param(LOAD[:3], id="a load without an end"),
        pytest.param([[Put(make_node("c"))]], id="a change without a load"),
    ],
)
def test_a_new_source_counts_once_its_first_load_is_whole(events: Sequence[PushEvent]) -> None:
    source = PushSource(State())
    synced = []
    for name, sent in (("typo", events), ("inventory", LOAD), ("typo", [])):
        source.push_objects(name, "s1", 1, sent)
        synced.append(source.synced)
    assert synced == [False, True, True]
    whole = {status.name: status.synced for status in source.describe()}
    assert whole == {"push:inventory": True, **({"push:typo": False} if events else {})}


def test_who_asks_for_the_next_number_of_a_session_changes_nothing() -> None:
    source = PushSource(State())
    source.push_objects("inventory", "s1", 1, LOAD)
    before = source.describe()
    assert source.push_objects("inventory", "s2", 1, []).next_sequence == 1
    assert source.push_objects("inventory", "s1", 5, []).next_sequence == 5
    assert [replace(each, silence=0) for each in source.describe()] == [
        replace(each, silence=0) for each in before
    ]


@pytest.mark.parametrize(
    ("owner", "client", "may"),
    [
        pytest.param("cn:a", "cn:a", True, id="its owner"),
        pytest.param("cn:a", "cn:b", False, id="another client"),
        pytest.param("cn:a", "", False, id="a client without a name"),
        pytest.param("", "cn:b", True, id="nobody's source, a named client"),
        pytest.param("", "", True, id="nobody has a name"),
    ],
)
def test_a_source_belongs_to_who_made_it(owner: str, client: str, may: bool) -> None:
    state = State()
    source = PushSource(state)
    source.push_objects("inventory", "s1", 1, LOAD, owner)
    for attempt in (
        lambda: source.push_objects("inventory", "s2", 1, [SnapshotBegin(), SnapshotEnd()], client),
        lambda: source.remove_source("inventory", client),
    ):
        if may:
            attempt()
        else:
            with pytest.raises(PermissionDeniedError, match="'inventory' belongs to another client"):
                attempt()
    assert names(state) == (set() if may else {"a", "b"})
    assert source.synced is not may


def test_a_removed_source_leaves_nothing() -> None:
    state = State()
    source = PushSource(state)
    source.push_objects("inventory", "s1", 1, LOAD, "cn:a")
    source.push_objects("extra", "s1", 1, [SnapshotBegin(), [Put(make_node("z"))], SnapshotEnd()], "cn:a")
    source.remove_source("inventory", "cn:a")
    assert (names(state), source.synced) == ({"z"}, True)
    assert [status.name for status in source.describe()] == ["push:extra"]
    with pytest.raises(NotFoundError) as raised:
        source.remove_source("inventory", "cn:a")
    assert (raised.value.reason, raised.value.metadata) == ("SOURCE_NOT_FOUND", {"source": "inventory"})
    source.push_objects("inventory", "s1", 1, LOAD, "cn:b")
    assert names(state) == {"a", "b", "z"}


def test_there_are_so_many_sources_at_most() -> None:
    source = PushSource(State())
    for number in range(MAX_SOURCES):
        source.push_objects(f"s{number}", "s1", 1, [SnapshotBegin()])
    with pytest.raises(FailedPreconditionError) as raised:
        source.push_objects("late", "s1", 1, LOAD)
    assert raised.value.reason == "TOO_MANY_SOURCES"
    source.push_objects("s0", "s1", 2, [SnapshotEnd()])
    source.remove_source("s1")
    source.push_objects("late", "s1", 1, LOAD)
    assert len(source.describe()) == MAX_SOURCES


@given(st.lists(st.one_of(nodes(), pods()), max_size=8), st.integers(0, 8))
def test_pushing_and_reading_files_give_the_same_state(
    tmp_path_factory: pytest.TempPathFactory, objects: list[Node | Pod], in_the_load: int
) -> None:
    unique = {(type(item), item.metadata.namespace, item.metadata.name): item for item in objects}
    items = list(unique.values())
    folder = tmp_path_factory.mktemp("files")
    manifests = [{"kind": type(item).__name__, **msgspec.to_builtins(item, enc_hook=dict)} for item in items]
    for index, manifest in enumerate(manifests):
        (folder / f"{index}.json").write_bytes(msgspec.json.encode(manifest))
    # Who pushes has the objects as they are stored.
    stored = objects_from(manifests).objects
    from_files, pushed = State(), State()
    source = FilesSource(from_files, [folder], poll_seconds=3600)
    source.start()
    source.stop()
    load = [[Put(item)] for item in stored[:in_the_load]]
    later = [[Put(item)] for item in stored[in_the_load:]]
    PushSource(pushed).push_objects("test", "s", 1, [SnapshotBegin(), *load, SnapshotEnd(), *later])
    assert content(pushed) == content(from_files)
