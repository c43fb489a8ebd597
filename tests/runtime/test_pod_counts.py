"""Counts of pods that are cached between decisions: they follow pods that come and go, or are computed
again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.framework import Int32s, NodeInfo, Pod
from mooring.framework.batch import FilterCounts, Move
from mooring.framework.objects import Service
from mooring.framework.pod_table import PodKind
from mooring.runtime.cache.layers.pod_counts import IncrementalPodCounts
from mooring.runtime.cache.tracking.change_tracker import ChangeTracker, ObjectsRead
from mooring.runtime.tuning import DEFAULT_TUNING
from mooring.testing import make_node, make_pod

SERVICE = from_manifest(
    {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": {}}
)


@dataclass(frozen=True, slots=True)
class ByApp(FilterCounts):
    """Counts the pods of one app by row, twice each."""

    app: str = "a"
    there: dict[int, int] = field(default_factory=dict)

    def adds(self, kind: PodKind) -> list[tuple[Move, int]]:
        return [(self.move, 2)] if kind.labels.get("app") == self.app else []

    def clone(self) -> ByApp:
        raise AssertionError("not part of these tests")

    def move(self, row: int, amount: int) -> None:
        self.there[row] = self.there.get(row, 0) + amount

    def reject_in(self, totals: Int32s) -> None:
        raise AssertionError("not part of these tests")

    def add(self, other: Pod, node: NodeInfo, amount: int) -> None:
        raise AssertionError("not part of these tests")


def cluster() -> State:
    state = State()
    state.replace("test", [make_node("a"), make_node("b")])
    return state


def come(state: State, *names: str, app: str = "a", node: str = "a") -> None:
    state.apply("test", [Put(make_pod(name, labels={"app": app}, node=node)) for name in names])


def differ(state: State, kinds: int) -> None:
    """Add one pod of each kind, ``kinds`` in all."""
    state.apply("test", [Put(make_pod(f"p{at}", labels={"app": str(at)}, node="a")) for at in range(kinds)])


def counts_of(state: State, *, reads: bool) -> tuple[ByApp, IncrementalPodCounts, ChangeTracker]:
    counts, tracker = ByApp(), ChangeTracker(state)
    tracker.read(-1)
    objects = ObjectsRead(state.snapshot.objects, {Service: 0} if reads else {})
    return counts, IncrementalPodCounts([counts], [], [], objects, state.version, DEFAULT_TUNING), tracker


def test_pods_that_come_and_leave_are_counted_once() -> None:
    state = cluster()
    [first, second] = (state.snapshot.nodes.index[name] for name in "ab")
    counts, kept, tracker = counts_of(state, reads=False)
    come(state, "waiting", node="")
    come(state, "one", "two")
    come(state, "other", app="b")
    come(state, "one", node="b")
    tracker.read(-1)
    assert kept.follow(state.version, tracker)
    assert kept.follow(state.version, tracker)
    assert counts.there == {first: 2, second: 2}
    state.apply("test", [Remove("Pod", "default", "two")])
    tracker.read(-1)
    assert kept.follow(state.version, tracker)
    assert counts.there == {first: 0, second: 2}


def test_nothing_that_is_later_than_the_version_is_counted() -> None:
    state = cluster()
    counts, kept, tracker = counts_of(state, reads=False)
    come(state, "one")
    version = state.version
    come(state, "two")
    tracker.read(-1)
    assert kept.follow(version, tracker)
    assert counts.there == {state.snapshot.nodes.index["a"]: 2}


def test_a_pod_that_was_followed_is_not_counted_again() -> None:
    state = cluster()
    counts, kept, tracker = counts_of(state, reads=False)
    row, pod = state.snapshot.nodes.index["a"], make_pod("one", labels={"app": "a"})
    kept.move(row, 1, state.kind_of(pod))
    assert not kept.follow(state.version, tracker)
    counts, kept, tracker = counts_of(state, reads=False)
    kept.move(row, 1, state.kind_of(pod))
    state.assume(pod, "a")
    kept.version = state.version
    come(state, "two", node="b")
    tracker.read(-1)
    assert kept.follow(state.version, tracker)
    assert counts.there == {row: 2, state.snapshot.nodes.index["b"]: 2}


@pytest.mark.parametrize(
    ("reads", "happens", "follows"),
    [
        pytest.param(False, lambda _: None, True, id="nothing"),
        pytest.param(False, lambda state: state.apply("test", [Put(SERVICE)]), True, id="an object not read"),
        pytest.param(True, lambda state: state.apply("test", [Put(SERVICE)]), False, id="an object that is"),
        pytest.param(False, lambda state: differ(state, DEFAULT_TUNING.changed_kinds), True, id="many kinds"),
        pytest.param(
            False, lambda state: differ(state, DEFAULT_TUNING.changed_kinds + 1), False, id="too many kinds"
        ),
        pytest.param(
            False,
            lambda state: come(state, *(f"p{at}" for at in range(DEFAULT_TUNING.counted_pods + 1))),
            False,
            id="too much",
        ),
    ],
)
def test_counts_are_found_anew_when_they_cant_follow(
    reads: bool, happens: Callable[[State], None], follows: bool
) -> None:
    state = cluster()
    _, kept, tracker = counts_of(state, reads=reads)
    happens(state)
    tracker.read(-1)
    assert kept.follow(state.version, tracker) is follows
    assert kept.follow(state.version, tracker) is follows


def test_without_counts_any_number_of_pods_is_followed() -> None:
    state = cluster()
    tracker = ChangeTracker(state)
    tracker.read(-1)
    objects = ObjectsRead(state.snapshot.objects, {Service: 0})
    kept = IncrementalPodCounts([], [], [], objects, state.version, DEFAULT_TUNING)
    differ(state, DEFAULT_TUNING.counted_pods + 1)
    tracker.read(-1)
    assert kept.follow(state.version, tracker)
    state.apply("test", [Put(SERVICE)])
    tracker.read(-1)
    assert not kept.follow(state.version, tracker)
