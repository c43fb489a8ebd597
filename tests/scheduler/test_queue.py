"""The scheduling queue, with a clock that the test moves."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.framework import (
    EVERY_EVENT,
    SUCCESS,
    ActionType,
    ClusterEvent,
    EventResource,
    HintedEvent,
    ObjectChange,
    Pod,
    QueueingHint,
    Status,
)
from mooring.framework.cluster_events import StateChange
from mooring.framework.errors import UnavailableError
from mooring.scheduler.queue import Rejection, SchedulingQueue
from mooring.scheduler.queue.cluster_events import POD_LEFT, POD_PLACED
from mooring.testing import make_node, make_pod

from .fakes import (
    FIT,
    HEARS_NODES,
    NODE_ADDED,
    FakeClock,
    as_told,
    new_queue,
    popped,
    reject,
    seconds_until_active,
)

NODE_RELABELLED = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL)


def raising(*_: object) -> QueueingHint:
    raise RuntimeError("broken")


def names(queue: SchedulingQueue) -> list[str]:
    found = []
    while (item := queue.pop()) is not None:
        found.append(item.sorted_as.metadata.name)
    return found


def counts(queue: SchedulingQueue) -> dict[str, int]:
    return {place: count for place, count in queue.count_pods().items() if count}


def where(queue: SchedulingQueue) -> str:
    return next(iter(counts(queue)))


class TestOrder:
    def test_priority_then_time(self) -> None:
        clock = FakeClock()
        queue = new_queue(clock)
        for name, priority in [("a", 0), ("b", 10), ("c", 0), ("d", 10)]:
            queue.add_pod(make_pod(name, spec={"priority": priority}))
            clock.advance(1)
        assert names(queue) == ["b", "d", "a", "c"]

    def test_a_deleted_pod_is_not_tried(self) -> None:
        queue = new_queue(FakeClock())
        for name in "abc":
            queue.add_pod(make_pod(name))
        queue.delete_pod(make_pod("b"))
        assert names(queue) == ["a", "c"]

    def test_the_age_of_the_oldest_active_pod(self) -> None:
        clock = FakeClock()
        queue = new_queue(clock)
        ages = [queue.oldest_active()]
        for name in "ab":
            queue.add_pod(make_pod(name))
            clock.advance(10)
            ages.append(queue.oldest_active())
        queue.delete_pod(make_pod("a"))
        assert [*ages, queue.oldest_active()] == [0, 10, 20, 10]

    def test_an_update_finds_its_new_place(self) -> None:
        queue = new_queue(FakeClock())
        old, new = make_pod("b"), make_pod("b", spec={"priority": 5})
        queue.add_pod(make_pod("a"))
        queue.add_pod(old)
        queue.update_pod(old, new)
        assert names(queue) == ["b", "a"]


class TestBackoff:
    @pytest.mark.parametrize(
        ("rejection", "into_second", "waits"),
        [
            # The end is cut to the whole second, and the backoff lasts through that second.
            pytest.param(Rejection(), 0.0, [2, 3, 5, 9, 11, 11], id="errors"),
            pytest.param(FIT, 0.0, [2, 3, 5, 9, 11, 11], id="rejections"),
            pytest.param(FIT, 0.75, [1.25, 2.25, 4.25, 8.25, 10.25, 10.25], id="late in a second"),
        ],
    )
    def test_queue_backoff(self, rejection: Rejection, into_second: float, waits: list[float]) -> None:
        """C3: a pod that always fails backs off 1, 2, 4, 8, 10, 10 s; others are tried meanwhile."""
        clock = FakeClock(1_700_000_000.0 + into_second)
        queue = new_queue(clock, HEARS_NODES)
        queue.add_pod(make_pod("failing"))
        found = []
        for number in range(6):
            reject(queue, rejection)
            queue.move_pods(NODE_ADDED, None, None)
            assert where(queue) == "backoff"
            queue.add_pod(make_pod(f"other-{number}"))
            assert popped(queue).pod.metadata.name == f"other-{number}"
            found.append(seconds_until_active(queue, clock))
            clock.time = int(clock.time) + into_second
        assert found == waits

    @pytest.mark.parametrize(
        ("seconds", "place"),
        [
            pytest.param(0.5, "backoff", id="in the first second"),
            pytest.param(1.5, "backoff", id="in the second in which it ends"),
            pytest.param(2.0, "active", id="after it"),
        ],
    )
    def test_an_event_while_the_backoff_lasts(self, seconds: float, place: str) -> None:
        clock = FakeClock()
        queue = new_queue(clock, HEARS_NODES)
        queue.add_pod(make_pod())
        reject(queue)
        clock.advance(seconds)
        queue.move_pods(NODE_ADDED, None, None)
        assert where(queue) == place

    def test_a_rejection_ends_the_row_of_errors(self) -> None:
        clock = FakeClock()
        queue = new_queue(clock, HEARS_NODES)
        queue.add_pod(make_pod())
        for _ in range(4):
            reject(queue, Rejection())
            seconds_until_active(queue, clock)
        item = reject(queue, FIT)
        assert (item.error_count, item.unschedulable_count) == (0, 1)
        queue.move_pods(NODE_ADDED, None, None)
        assert item.backoff_ends == clock.time + 1

    @pytest.mark.parametrize(
        ("rejection", "taken"),
        [
            pytest.param(FIT, "pod", id="a rejected pod is taken early when nothing else waits"),
            pytest.param(Rejection(), None, id="one that failed is not"),
        ],
    )
    def test_taken_early(self, rejection: Rejection, taken: str | None) -> None:
        queue = new_queue(FakeClock(), HEARS_NODES)
        queue.add_pod(make_pod())
        reject(queue, rejection)
        queue.move_pods(NODE_ADDED, None, None)
        assert where(queue) == "backoff"
        item = queue.pop()
        assert (item and item.sorted_as.metadata.name) == taken

    @pytest.mark.parametrize(
        ("options", "longest"),
        [pytest.param({}, 300, id="5 minutes"), pytest.param({"longest_wait": 60.0}, 60, id="as asked")],
    )
    def test_unschedulable_flush(self, options: dict[str, Any], longest: int) -> None:
        """C4: no event comes; the pod is tried again after a while, at the latest 30 s later."""
        clock = FakeClock()
        queue = new_queue(clock, HEARS_NODES, **options)
        queue.move_due_pods()
        clock.advance(7)
        queue.add_pod(make_pod())
        item = reject(queue)
        [listed] = queue.list_pods()
        assert listed.swept == clock.now() + longest
        waited = seconds_until_active(queue, clock)
        assert longest < waited <= longest + 30
        assert item.flushed
        assert counts(queue) == {"active": 1}


class TestEvents:
    @pytest.mark.parametrize(
        ("events", "happened", "place"),
        [
            pytest.param([HintedEvent(NODE_ADDED)], NODE_ADDED, "backoff", id="registered"),
            pytest.param([HintedEvent(NODE_ADDED)], NODE_RELABELLED, "unschedulable", id="not registered"),
            pytest.param([EVERY_EVENT], NODE_RELABELLED, "backoff", id="every event"),
            pytest.param(
                [HintedEvent(NODE_ADDED, lambda *_: QueueingHint.SKIP)],
                NODE_ADDED,
                "unschedulable",
                id="the hint says no",
            ),
            pytest.param([HintedEvent(NODE_ADDED, raising)], NODE_ADDED, "backoff", id="the hint fails"),
            pytest.param(
                [HintedEvent(ClusterEvent(EventResource.POD, ActionType.DELETE))],
                POD_LEFT,
                "backoff",
                id="any pod",
            ),
        ],
    )
    def test_who_is_tried_again(self, events: list[HintedEvent], happened: ClusterEvent, place: str) -> None:
        queue = new_queue(FakeClock(), {"Fit": events, "Other": [EVERY_EVENT]})
        queue.add_pod(make_pod())
        reject(queue)
        queue.move_pods(happened, None, None)
        assert where(queue) == place

    @pytest.mark.parametrize(
        ("happened", "place"),
        [
            pytest.param(NODE_ADDED, "backoff", id="it may help"),
            pytest.param(NODE_RELABELLED, "unschedulable", id="it can't"),
        ],
    )
    def test_events_while_the_pod_is_tried_count(self, happened: ClusterEvent, place: str) -> None:
        queue = new_queue(FakeClock(), {**HEARS_NODES, "Other": [HintedEvent(NODE_RELABELLED)]})
        queue.add_pod(make_pod())
        item = popped(queue)
        queue.move_pods(happened, None, None)
        queue.give_back(item, FIT)
        assert where(queue) == place
        assert queue.in_flight() == (0, 0)

    def test_events_are_forgotten_with_the_last_pod_that_needs_them(self) -> None:
        queue = new_queue(FakeClock(), HEARS_NODES)
        for name in "abc":
            queue.add_pod(make_pod(name))
        taken = []
        for _ in range(3):
            taken.append(popped(queue).uid)
            queue.move_pods(NODE_ADDED, None, None)
        left = []
        for uid in (taken[1], taken[0], taken[2]):
            queue.end_attempt(uid)
            left.append(queue.in_flight())
        assert left == [(2, 3), (1, 1), (0, 0)]

    def test_pending_skips_the_backoff(self) -> None:
        queue = new_queue(FakeClock(), HEARS_NODES)
        queue.add_pod(make_pod())
        reject(queue, Rejection(pending=frozenset({"Fit"})))
        queue.move_pods(NODE_ADDED, None, None)
        assert where(queue) == "active"

    def test_only_some_pods_are_concerned(self) -> None:
        queue = new_queue(FakeClock(), HEARS_NODES)
        for name in "ab":
            queue.add_pod(make_pod(name))
        for _ in range(2):
            reject(queue)
        queue.move_pods(NODE_ADDED, None, None, lambda pod: pod.metadata.name == "a")
        assert counts(queue) == {"backoff": 1, "unschedulable": 1}

    def test_forced_pods_are_tried_at_once(self) -> None:
        queue = new_queue(FakeClock(), HEARS_NODES)
        pod = make_pod()
        queue.add_pod(pod)
        reject(queue)
        queue.activate_pods([pod])
        assert where(queue) == "active"


class TestGates:
    def test_a_gated_pod_waits_for_its_gate(self) -> None:
        closed = {"yes": True}

        def gate(_: Pod) -> Status:
            return Status.unresolvable("closed") if closed["yes"] else SUCCESS

        queue = new_queue(
            FakeClock(), {**HEARS_NODES, "Gate": [HintedEvent(NODE_RELABELLED)]}, {"Gate": gate}
        )
        queue.add_pod(make_pod())
        assert where(queue) == "gated"
        queue.move_pods(NODE_ADDED, None, None)
        queue.move_pods(NODE_RELABELLED, None, None)
        assert where(queue) == "gated"
        closed["yes"] = False
        queue.move_pods(NODE_ADDED, None, None)
        assert where(queue) == "gated", "not an event of the plugin that gates it"
        queue.move_pods(NODE_RELABELLED, None, None)
        assert names(queue) == ["pod"]

    def test_a_gate_that_fails_holds_the_pod_alone(self) -> None:
        def gate(pod: Pod) -> Status:
            if pod.metadata.name == "poison":
                raise UnavailableError("broken", reason="OVERLOADED")
            return SUCCESS

        queue = new_queue(FakeClock(), {}, {"Gate": gate})
        for name in ("poison", "good"):
            queue.add_pod(make_pod(name))
        assert names(queue) == ["good"]
        assert where(queue) == "gated"
        assert queue.count_rejections() == {("Gate", "default-scheduler"): 1}


def test_events_are_followed_while_a_pod_is_tried_or_rejected() -> None:
    queue = new_queue(FakeClock())
    queue.add_pod(make_pod())
    change = ObjectChange("Node", None, make_node("a"))
    followed = [queue.follows(change)]
    item = popped(queue)
    followed.append(queue.follows(change))
    queue.give_back(item, Rejection(frozenset({"Fit"})))
    followed.append(queue.follows(change))
    queue.delete_pod(item.pod)
    assert [*followed, queue.follows(change)] == [False, True, True, False]


PLACED = make_pod("other", node="a")
BOUND = as_told("Pod", make_pod("other"), PLACED)


@pytest.mark.parametrize(
    ("change", "rejector", "heeded"),
    [
        pytest.param(BOUND, "Fit", False, id="a pod is bound, and who waits for nodes waits on"),
        pytest.param(BOUND, "Neighbour", True, id="a pod is bound that may be the neighbour"),
        pytest.param(as_told("Pod", None, PLACED), "Fit", False, id="a bound pod appears"),
        pytest.param(as_told("Pod", PLACED, None), "Fit", True, id="a pod leaves its node"),
        pytest.param(as_told("Node", None, make_node("b")), "Fit", True, id="a node comes"),
    ],
)
def test_a_pod_that_got_its_node_is_heeded_by_who_registered_for_that(
    change: StateChange, rejector: str, heeded: bool
) -> None:
    queue = new_queue(FakeClock(), {**HEARS_NODES, "Neighbour": [HintedEvent(POD_PLACED)]})
    assert not queue.is_relevant(change)
    queue.add_pod(make_pod())
    reject(queue, Rejection(frozenset({rejector})))
    assert queue.is_relevant(change) is heeded
    queue.move_pods(POD_PLACED, None, PLACED)
    assert (where(queue) == "unschedulable") is (rejector == "Fit")


def with_rejected(rejector: str) -> SchedulingQueue:
    queue = new_queue(FakeClock(), {**HEARS_NODES, "Neighbour": [HintedEvent(POD_PLACED)]})
    queue.add_pod(make_pod())
    reject(queue, Rejection(frozenset({rejector})))
    return queue


def with_one_in_flight() -> SchedulingQueue:
    queue = with_active("p")
    popped(queue)
    return queue


def with_active(*names: str) -> SchedulingQueue:
    queue = new_queue(FakeClock())
    for name in names:
        queue.add_pod(make_pod(name))
    return queue


IN_A_GROUP = make_pod("other", node="a", spec={"schedulingGroup": {"podGroupName": "g"}})
FINISHED = make_pod("other", node="a", status={"phase": "Succeeded"})


@pytest.mark.parametrize(
    ("queue", "change", "ignored"),
    [
        pytest.param(with_active("p"), BOUND, True, id="another pod waits"),
        pytest.param(with_active("other"), BOUND, False, id="the pod itself waits"),
        pytest.param(with_one_in_flight(), BOUND, False, id="a pod is tried, and may fail"),
        pytest.param(with_rejected("Fit"), BOUND, True, id="what was rejected waits for something else"),
        pytest.param(with_rejected("Neighbour"), BOUND, False, id="what was rejected waits for that"),
        pytest.param(with_active(), as_told("Pod", None, IN_A_GROUP), False, id="it is in a group"),
        pytest.param(with_active(), as_told("Pod", None, make_pod("other")), False, id="it has no node"),
        pytest.param(with_active(), as_told("Pod", PLACED, PLACED), False, id="it had its node before"),
        pytest.param(with_active(), as_told("Pod", PLACED, None), False, id="it is gone"),
        pytest.param(with_active(), as_told("Pod", PLACED, FINISHED), False, id="it has ended"),
        pytest.param(with_active(), as_told("Node", None, make_node("b")), False, id="a node"),
    ],
)
def test_a_pod_that_got_its_node_may_leave_the_queue_as_it_is(
    queue: SchedulingQueue, change: StateChange, ignored: bool
) -> None:
    assert queue.ignores(change) is ignored
    if ignored:
        before = queue.count_pods()
        queue.delete_pod(PLACED)
        queue.move_pods(POD_PLACED, None, PLACED)
        assert queue.count_pods() == before, "so telling it would have changed nothing"


def test_a_pod_that_comes_back_rejected_heeds_events_and_wakes_who_tells_of_them() -> None:
    woken: list[None] = []
    queue = new_queue(FakeClock(), wake=lambda: woken.append(None))
    queue.add_pod(make_pod())
    item = popped(queue)
    woken.clear()
    change = ObjectChange("Node", None, make_node("a"))
    before = queue.is_relevant(change)
    queue.give_back(item, Rejection(frozenset({"Fit"})))
    assert (before, queue.is_relevant(change), len(woken)) == (False, True, 1)
