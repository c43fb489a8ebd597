"""Changes: ids distinguish resource states, and notifications about a pod equal the change log."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from mooring.cluster.state import State
from mooring.config import default
from mooring.framework import Pod
from mooring.framework.pod_table import PodKind
from mooring.runtime.assembly import build_engine
from mooring.runtime.cache.tracking.change_tracker import ChangeTracker
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing import make_node, make_pod
from mooring.testing.question import NoBinder

NODES = ("a", "b")

APART = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
}


def resources_of(state: State, row: int) -> bytes:
    table = state.snapshot.nodes
    return table.requested[:, row].tobytes() + table.allocatable[:, row].tobytes()


@pytest.mark.parametrize("seed", range(20))
def test_ids_tell_resource_states_apart_also_when_they_are_looked_at_behind_the_state(seed: int) -> None:
    dice, state = Random(seed), State()
    state.replace("test", [make_node(name, allocatable={"cpu": "900", "pods": "900"}) for name in NODES])
    tracker, ids_of = ChangeTracker(state), dict[bytes, int]()
    tracker.read(-1)
    followed = 0
    for number in range(400):
        match dice.choice(("place", "place", "follow", "look", "read", "compare")):
            case "place":
                pod = make_pod("p", requests={"cpu": "1"}, metadata={"uid": f"u{number}"})
                state.assume(pod, dice.choice(NODES))
            case "follow":
                # As an evaluation does with the pod that it has just placed.
                tracker.read(state.version)
                pod = make_pod("p", requests={"cpu": "1"}, metadata={"uid": f"u{number}"})
                node, kind = dice.choice(NODES), state.kind_of(pod)
                row = state.snapshot.nodes.index[node]
                ids = tracker.ids_with(row)
                after = tracker.next_ids(kind.usage).get(ids[row])
                state.assume(pod, node, kind)
                if after is not None:
                    assert ids_of.setdefault(resources_of(state, row), after) == after
                    ids[row] = after
                    tracker.placed(state.version, kind)
                    followed += 1
            case "look":
                # As an evaluation does that read a moment ago: by now the table may have more.
                assert len(tracker.resource_ids) >= len(NODES)
            case "read":
                tracker.read(state.version)
            case "compare":
                tracker.read(state.version)
                for row in state.snapshot.nodes.rows().tolist():
                    known = ids_of.setdefault(resources_of(state, row), tracker.resource_ids[row])
                    assert tracker.resource_ids[row] == known
    assert len(set(ids_of.values())) == len(ids_of)
    assert followed


class Letting:
    """A lock for which another thread is faster once."""

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self.first: Callable[[], object] | None = None

    def __enter__(self) -> None:
        first, self.first = self.first, None
        if first is not None:
            first()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_a_pod_counts_once_when_another_thread_gives_its_row_an_id_first() -> None:
    """If it counted twice, the tracker would learn that a further pod changes nothing, so no row fills."""
    state, kinds = State(), list[PodKind]()
    state.replace("test", [make_node("a", allocatable={"cpu": "900"})])
    lock = state.lock = Letting(state.lock)  # type: ignore[assignment] # all of it that is used
    tracker = ChangeTracker(state)
    tracker.read(-1)

    def place(uid: str) -> None:
        pod = make_pod("p", requests={"cpu": "1"}, metadata={"uid": uid})
        kinds.append(state.kind_of(pod))
        state.assume(pod, "a", kinds[-1])

    def others() -> None:
        place("second")
        assert len(tracker.resource_ids)
        tracker.read(state.version)

    place("first")
    tracker.read(state.version)
    lock.first = others
    row = state.snapshot.nodes.index["a"]
    now = tracker.ids_of([row])[row]
    assert tracker.next_ids(kinds[0].usage).get(now) != now
    place("third")
    tracker.read(state.version)
    assert tracker.ids_of([row])[row] != now


class WaitsError(Exception):
    """A reader waits for the lock."""


class Held:
    """A lock that is held, to another thread."""

    def __enter__(self) -> None:
        raise WaitsError

    def __exit__(self, *_: object) -> None: ...


@pytest.mark.parametrize("number", ["ids_of", "ids_with"])
def test_no_reader_takes_an_id_that_another_thread_is_about_to_replace(
    number: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """V4: the reader took the room of before for that of now, and placed a pod on a full node."""
    state = State()
    state.replace("test", [make_node("a", allocatable={"cpu": "900"})])
    tracker = ChangeTracker(state)
    tracker.read(-1)
    before = tracker.ids_of([0])[0]
    state.assume(make_pod("p", requests={"cpu": "1"}), "a")
    tracker.read(state.version)
    set_id, waited = ChangeTracker._set_id_after, []

    def reading_meanwhile(own: ChangeTracker, row: int, *rest: Any) -> None:
        with monkeypatch.context() as other_thread:
            other_thread.setattr(state, "lock", Held())
            try:
                assert own.ids_of([row])[row] != before
            except WaitsError:
                waited.append(row)
        set_id(own, row, *rest)

    monkeypatch.setattr(ChangeTracker, "_set_id_after", reading_meanwhile)
    if number == "ids_of":
        tracker.ids_of([0])
    else:
        tracker.ids_with(0)
    assert waited == [0]
    assert tracker.ids_of([0])[0] != before


def test_nor_does_a_node_take_more_than_it_has_room_for_then() -> None:
    state, registry = State(), new_in_tree_registry()
    state.replace("test", [make_node("a", allocatable={"cpu": "5"})])
    lock = state.lock = Letting(state.lock)  # type: ignore[assignment] # all of it that is used
    engine = build_engine(default(registry.catalog()), registry, state, NoBinder())
    profile, tracker = engine.profile(), engine._cache.tracker

    def asking(uid: str) -> Pod:
        return make_pod(uid, requests={"cpu": "1"})

    def others() -> None:
        state.assume(asking("second"), "a")
        assert len(tracker.resource_ids)
        tracker.read(state.version)

    for number in range(12):
        # Enough decisions that all nodes are ranked.
        engine.decide(asking(f"dry-{number}"), profile, ALL_NODES)
    state.assume(asking("first"), "a")
    tracker.read(state.version)
    lock.first = others
    tracker.ids_of([state.snapshot.nodes.index["a"]])
    placed = [engine.place(asking(f"p{number}"), profile, ALL_NODES).node_name for number in range(5)]
    assert placed == ["a", "a", "a", None, None]


def test_what_is_to_start_over_does_though_a_pod_is_taken_in_before() -> None:
    state = State()
    state.replace("test", [make_node("a")])
    tracker, pod = ChangeTracker(state), make_pod("p")
    generation = tracker.read(-1).generation
    state.assume(pod, "a")
    tracker.forget()
    tracker.placed(state.version, state.kind_of(pod))
    assert tracker.read(-1).generation != generation


def said_since(tracker: ChangeTracker, version: int, now: int) -> tuple[object, ...]:
    """Return a tracker's rows, pods and parts that changed after ``version``, up to ``now``."""
    rows = tracker.read(version).rows
    pods = tracker.pods_since(version, now)
    assert rows is not None
    assert pods is not None
    moved = [
        (pods.kinds[abs(number) - 1].class_key, row, number > 0)
        for row, number in zip(pods.rows.tolist(), pods.pods.tolist(), strict=True)
        if number
    ]
    terms = tracker.terms_moved_since(version, lambda _: True)
    return rows.tolist(), moved, tracker.moved_since(version), terms, tracker.version


@pytest.mark.parametrize("seed", range(20))
def test_a_tracker_that_is_told_of_pods_says_what_one_does_that_reads_the_log(seed: int) -> None:
    dice, state = Random(seed), State()
    state.replace("test", [make_node(name, allocatable={"cpu": "900"}) for name in NODES])
    told, reading, same = ChangeTracker(state), ChangeTracker(state), dict[int, int]()
    versions = [reading.read(-1).version]
    told.read(-1)
    for number in range(200):
        spec: dict[str, Any] = dice.choice(({}, {}, APART))
        labels = {"app": dice.choice("ab")}
        pod = make_pod(
            "p", requests={"cpu": "1"}, spec=spec, metadata={"uid": f"u{number}", "labels": labels}
        )
        match dice.choice(("told", "told", "told", "unheard", "gone", "node", "look", "compare")):
            case "told" | "unheard" as how:
                kind, row = state.kind_of(pod), dice.randrange(len(NODES))
                with state.lock:
                    state.assume(pod, NODES[row], kind)
                    if how == "told":
                        told.pod_placed(row, kind, state.version)
            case "gone":
                state.forget(f"u{dice.randrange(number + 1)}")
            case "node":
                state.replace("test", [make_node(name, allocatable={"cpu": "900"}) for name in NODES])
            case "look":
                assert len(told.resource_ids) == len(NODES)
            case "compare":
                since = dice.choice(versions[-3:])
                assert said_since(told, since, state.version) == said_since(reading, since, state.version)
                for id_told, id_read in zip(told.resource_ids, reading.resource_ids, strict=True):
                    assert same.setdefault(id_told, id_read) == id_read
                versions.append(state.version)
    assert len(set(same.values())) == len(same) > 1
