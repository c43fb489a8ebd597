"""The notifications that the queue gets for each change of the cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mooring.cluster.kinds import Put
from mooring.cluster.state import State
from mooring.framework import ClusterEvent, Pod
from mooring.framework.cluster_events import StateChange
from mooring.framework.releases import NEWEST, Gates
from mooring.framework.waiting import NOBODY_WAITS
from mooring.scheduler.changes import ChangeFeed
from mooring.scheduler.queue import SchedulingQueue
from mooring.scheduler.queue.cluster_events import label_of
from mooring.testing import make_node, make_pod

from .fakes import FakeClock, as_told, new_queue

LEAVING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


class Told:
    """Stands in for a queue: records its notifications."""

    def __init__(self, *, follows: bool = True) -> None:
        self._follows = follows
        self.rejected = False
        self.calls: list[tuple[str, ...]] = []
        self.only: Callable[[Pod], bool] | None = None

    def is_relevant(self, change: StateChange) -> bool:
        return self.rejected

    def follows(self, change: StateChange) -> bool:
        return self._follows

    def ignores(self, change: StateChange) -> bool:
        return False

    def add_pod(self, pod: Pod) -> None:
        self.calls.append(("add", pod.metadata.name))

    def update_pod(self, old: Pod, new: Pod) -> None:
        self.calls.append(("update", new.metadata.name))

    def delete_pod(self, pod: Pod) -> None:
        self.calls.append(("delete", pod.metadata.name))

    def move_pods(
        self, event: ClusterEvent, old: Any, new: Any, only: Callable[[Pod], bool] | None = None
    ) -> None:
        self.calls.append(("move", label_of(event)))
        self.only = only


def told(old: Any, new: Any, kind: str = "Pod", *, follows: bool = True) -> Told:
    state = State()
    if isinstance(new, Pod) and not new.finished:
        state.apply("test", [Put(new)])
    stand_in: Any = Told(follows=follows)
    changes = ChangeFeed(stand_in, state, {"default-scheduler"}, Gates(NEWEST), NOBODY_WAITS, lambda: None)
    changes.note_change(as_told(kind, old, new))
    changes.tell_queue()
    answer: Told = stand_in
    return answer


def foreign(**fields: Any) -> Pod:
    return make_pod("p", spec={"schedulerName": "another"}, **fields)


@pytest.mark.parametrize(
    ("old", "new", "calls"),
    [
        pytest.param(None, make_pod("p"), [("add", "p")], id="a pod to schedule"),
        pytest.param(None, foreign(), [], id="a pod of another scheduler"),
        pytest.param(
            None,
            make_pod("p", node="a"),
            [("delete", "p"), ("move", "AssignedPodAdd")],
            id="a pod that has its node",
        ),
        pytest.param(
            make_pod("p"),
            make_pod("p", node="a"),
            [("delete", "p"), ("move", "AssignedPodAdd")],
            id="a pod got its node",
        ),
        pytest.param(
            foreign(), foreign(node="a"), [("move", "AssignedPodAdd")], id="another scheduler's pod, too"
        ),
        pytest.param(
            make_pod("p"), make_pod("p", labels={"a": "b"}), [("update", "p")], id="a waiting pod changed"
        ),
        pytest.param(
            make_pod("p", node="a"),
            make_pod("p", node="a", labels={"a": "b"}),
            [("move", "AssignedPodUpdatePodLabel")],
            id="a pod on a node changed",
        ),
        pytest.param(make_pod("p"), None, [("delete", "p")], id="a waiting pod went"),
        pytest.param(
            make_pod("p", node="a"), None, [("move", "AssignedPodDelete")], id="a pod left its node"
        ),
        pytest.param(
            make_pod("p", node="a"),
            make_pod("p", node="a", status={"phase": "Succeeded"}),
            [("move", "AssignedPodDelete")],
            id="a pod finished",
        ),
    ],
)
def test_pods(old: Pod | None, new: Pod | None, calls: list[tuple[str, ...]]) -> None:
    assert told(old, new).calls == calls
    themselves = [call for call in calls if call[0] != "move"]
    assert told(old, new, follows=False).calls == themselves, "where nothing waits for events"


@pytest.mark.parametrize(
    ("new", "first"),
    [
        pytest.param(make_pod("p", spec={"priority": 5}), "update", id="taken back"),
        pytest.param(None, "delete", id="the pod went"),
    ],
)
def test_the_end_of_a_nomination_is_room_for_less_important_pods(new: Pod | None, first: str) -> None:
    old = make_pod("p", spec={"priority": 5}, status={"nominatedNodeName": "a"})
    found = told(old, new)
    assert found.calls == [(first, "p"), ("move", "AssignedPodDelete")]
    assert found.only is not None
    asked = [found.only(make_pod("q", spec={"priority": priority})) for priority in (4, 5, 6)]
    assert asked == [True, True, False]


def test_other_objects() -> None:
    assert told(None, make_node("a"), "Node").calls == [("move", "NodeAdd")]
    relabelled = make_node("a", labels={"disk": "fast"})
    assert told(make_node("a"), relabelled, "Node").calls == [("move", "NodeUpdateNodeLabel")]


def test_pods_that_are_there_already_are_told_of_first() -> None:
    state = State()
    state.apply("test", [Put(make_node("a")), Put(make_pod("waiting")), Put(make_pod("placed", node="a"))])
    queue: SchedulingQueue = new_queue(FakeClock())
    changes = ChangeFeed(queue, state, {"default-scheduler"}, Gates(NEWEST), NOBODY_WAITS, lambda: None)
    changes.follow_state()
    state.apply("test", [Put(make_pod("later"))])
    changes.tell_queue()
    assert queue.count_pods()["active"] == 2


PENDING, PLACED = make_pod("p"), make_pod("p", node="a")


@pytest.mark.parametrize("rejected", [False, True], ids=["nothing waits", "a pod was rejected"])
@pytest.mark.parametrize(
    ("change", "always"),
    [
        pytest.param(as_told("Pod", None, PENDING), True, id="a new pod"),
        pytest.param(as_told("Pod", PENDING, PENDING), True, id="a change of a pod that waits"),
        pytest.param(as_told("Pod", PENDING, PLACED), False, id="a pod that is bound"),
        pytest.param(as_told("Pod", PLACED, None), False, id="a pod that leaves its node"),
        pytest.param(as_told("Node", None, make_node("a")), False, id="a node"),
        pytest.param(as_told("PodGroup", None, object()), True, id="a group"),
    ],
)
def test_what_helps_nobody_wakes_nobody(change: StateChange, always: bool, rejected: bool) -> None:
    woken: list[None] = []
    stand_in: Any = Told()
    stand_in.rejected = rejected
    gates = Gates(NEWEST)
    feed = ChangeFeed(
        stand_in, State(), {"default-scheduler"}, gates, NOBODY_WAITS, lambda: woken.append(None)
    )
    feed.note_change(change)
    assert bool(woken) is (always or rejected)
