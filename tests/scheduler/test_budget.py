"""One pod keeps the others waiting for no longer than its attempt may take."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from mooring.cluster.state import State
from mooring.framework import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    HintedEvent,
    NodeInfo,
    NodeView,
    Pod,
    PreFilterPlugin,
    PreFilterResult,
    Status,
    timely,
)
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource
from mooring.framework.deadline import at_others_expense, check_deadline
from mooring.framework.errors import DeadlineExceededError
from mooring.framework.objects import ObjectMeta, PodGroup
from mooring.scheduler import budget
from mooring.scheduler.budget import AttemptBudget, Overruns, group_seconds
from mooring.scheduler.recorder import EventRecorder
from mooring.scheduler.scheduler import LONGEST_DECISION_SECONDS
from mooring.telemetry.metrics import Metrics
from mooring.telemetry.scheduler_metrics import SchedulerMetrics
from mooring.telemetry.scheduler_observer import SchedulerObserver
from mooring.testing import make_node, make_pod
from tests.scheduler.fakes import FakeClock
from tests.scheduler.world import FakeCluster, World

ROUNDS = 3_000_000
HUGE = "huge"


class Thorough(PreFilterPlugin[None]):
    """Works through what a huge pod lists; it counts the rounds. A new label of a node may help."""

    name = "Thorough"
    rounds = 0

    def events_to_register(self) -> Sequence[HintedEvent]:
        return (HintedEvent(ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL)),)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> PreFilterResult | Status:
        if pod.metadata.name == HUGE:
            for _ in timely(range(ROUNDS)):
                type(self).rounds += 1
        return SUCCESS


def test_other_pods_go_on_after_one_that_takes_too_long() -> None:
    metrics = Metrics()
    world = World(Thorough, nodes=[make_node("a")], observer=SchedulerMetrics(metrics), attempt_seconds=0.05)
    Thorough.rounds = 0
    world.add(make_pod(HUGE), *(make_pod(f"p{at}") for at in range(20)))
    assert sorted(world.cluster.bindings) == sorted((f"p{at}", "a") for at in range(20))
    [(reason, _, note)] = [event for event in world.cluster.events if event[1] == HUGE]
    assert reason == "FailedScheduling"
    assert "more than 0.05 s of processor time and was ended in plugin Thorough at PreFilter" in note
    assert world.cluster.named(HUGE).status.conditions[0].reason == "SchedulerError"
    labels = {"plugin": "Thorough", "extension_point": "PreFilter", "blame": "pod"}
    assert metrics.registry.get_sample_value("mooring_pod_scheduling_overruns_total", labels) == 1

    once = Thorough.rounds
    assert 0 < once < ROUNDS
    world.wait(60)
    assert world.queue.count_pods()["unschedulable"] == 1
    assert Thorough.rounds == once, "it was tried again although nothing had changed for it"
    world.add(make_node("a", labels={"new": "label"}))
    world.wait(20)
    assert Thorough.rounds > once
    assert world.reasons(HUGE) == ["FailedScheduling"] * 2


def test_what_may_help_such_a_pod_makes_others_wait_for_it_no_sooner_than_its_pause_is_over() -> None:
    world = World(Thorough, nodes=[make_node("a")], attempt_seconds=0.05)
    Thorough.rounds = 0
    world.add(make_pod(HUGE))
    once = Thorough.rounds
    world.add(make_node("a", labels={"new": "label"}))
    world.wait(2)
    assert world.queue.count_pods()["backoff"] == 1
    assert Thorough.rounds == once, "it was tried again although it had just kept others waiting"
    world.wait(60)
    assert Thorough.rounds > once
    assert world.queue.count_pods()["unschedulable"] == 1


def test_a_group_may_take_what_its_pods_may_and_then_pauses_as_a_whole() -> None:
    gates = {"GenericWorkload": True}
    world = World(Thorough, nodes=[make_node("a")], attempt_seconds=0.05, gates=gates, version="1.37")
    Thorough.rounds = 0
    meta = ObjectMeta(name="g", namespace="default", uid="group")
    spec = {"schedulingGroup": {"podGroupName": "g"}}
    world.add(PodGroup(metadata=meta), make_pod("m", spec=spec), make_pod(HUGE, spec=spec), make_pod("alone"))
    world.settle()
    assert world.cluster.node_of("alone") == "a"
    assert 0 < Thorough.rounds < ROUNDS
    [condition] = world.cluster.groups["g"].status.conditions
    assert condition.reason == "SchedulerError"
    assert "and was ended in plugin Thorough at PreFilter" in condition.message
    once = Thorough.rounds
    world.wait(5)
    assert Thorough.rounds == once, "it was tried again although it had just kept others waiting"
    world.wait(60)
    assert Thorough.rounds > once


@pytest.mark.parametrize(
    ("seconds", "pods", "together"),
    [
        pytest.param(1.0, 1, 1.0, id="a pod"),
        pytest.param(1.0, 4, 4.0, id="a group"),
        pytest.param(1.0, 1000, 30.0, id="a large group"),
        pytest.param(50.0, 3, 50.0, id="as long as one pod at least"),
        pytest.param(0.0, 3, 0.0, id="without limit"),
    ],
)
def test_what_several_pods_may_take_together(seconds: float, pods: int, together: float) -> None:
    assert group_seconds(seconds, pods) == together


def test_the_pause_grows_with_what_an_attempt_took_beyond_its_free_share() -> None:
    budget = AttemptBudget(2.0, now=iter((100.0, 100.0, 100.5, 101.0, 102.0)).__next__)
    assert [budget.pause() for _ in range(4)] == [0.0, 0.0, 50.0, 150.0]
    assert AttemptBudget(0.0).pause() == 0.0


class Slow(FilterPlugin[None]):
    """Doesn't come back for as long as a test wants."""

    name = "Slow"
    meanwhile: Callable[[], Any] = staticmethod(lambda: None)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        self.meanwhile()
        return SUCCESS


@pytest.mark.parametrize(
    ("seconds", "fault"),
    [
        pytest.param(LONGEST_DECISION_SECONDS, "", id="a minute"),
        pytest.param(
            LONGEST_DECISION_SECONDS + 1,
            "the decision about pod default/pod has lasted 61 s, in plugin Slow",
            id="more than a minute",
        ),
    ],
)
def test_a_decision_that_lasts_is_a_fault(
    seconds: float, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, faults = World(Slow, nodes=[make_node("a")]), []

    def meanwhile() -> None:
        world.clock.advance(seconds)
        faults.append(world.scheduler.fault())

    monkeypatch.setattr(Slow, "meanwhile", staticmethod(meanwhile))
    assert world.scheduler.fault() == ""
    world.add(make_pod())
    assert faults == [fault]
    assert world.scheduler.fault() == ""
    assert world.cluster.bindings == [("pod", "a")]


def test_a_budget_counts_from_when_it_was_made() -> None:
    now = 100.0
    budget, boundless = AttemptBudget(2.0, now=lambda: now), AttemptBudget(0.0, now=lambda: now)
    now = 101.9
    budget.check()
    now = 102.0
    boundless.check()
    with pytest.raises(DeadlineExceededError, match="was ended in mooring itself"):
        budget.check()


class Crowded(PreFilterPlugin[None]):
    """Works through what other pods ask for, and takes longer than an attempt may."""

    name = "Crowded"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> PreFilterResult | Status:
        with at_others_expense(nodes.snapshot.pods.with_most_terms):
            until = time.thread_time() + 2 * ATTEMPT_SECONDS
            while time.thread_time() < until:
                check_deadline()
        return SUCCESS


ATTEMPT_SECONDS = 0.2


def crowded(metrics: Metrics) -> World:
    terms = [{"labelSelector": {}, "topologyKey": "zone"}]
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    observer = SchedulerMetrics(metrics)
    world = World(Crowded, nodes=[make_node("a")], observer=observer, attempt_seconds=ATTEMPT_SECONDS)
    world.cluster.put(make_pod("culprit", node="a", spec={"affinity": apart}))
    return world


def test_what_others_ask_for_ends_no_attempt_and_is_told_of_the_pod_that_asks_for_most() -> None:
    metrics = Metrics()
    world = crowded(metrics)
    world.add(make_pod("p"))
    assert world.cluster.node_of("p") == "a"
    [(reason, note)] = [(event[0], event[2]) for event in world.cluster.events if event[1] == "culprit"]
    assert reason == "SlowsScheduling"
    assert "an attempt to schedule pod default/p spent" in note
    labels = {"plugin": "Crowded", "extension_point": "PreFilter", "blame": "others"}
    assert metrics.registry.get_sample_value("mooring_pod_scheduling_overruns_total", labels) == 1


def test_an_attempt_that_others_end_parks_nobody_and_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MAX_GROUP_SECONDS", 0.0)
    world = crowded(Metrics())
    world.add(make_pod("p"))
    [condition] = world.cluster.named("p").status.conditions
    assert "check what other pods ask for, default/culprit most" in condition.message
    counts = world.queue.count_pods()
    assert (counts["backoff"], counts["unschedulable"]) == (1, 0)


@pytest.mark.parametrize(
    ("owners", "blames"),
    [
        pytest.param("aaa", ["pod"] * 3, id="one owner"),
        pytest.param("ab", ["pod", "unknown"], id="two in a row"),
        pytest.param("a.b", ["pod", "pod"], id="a pod in between"),
        pytest.param("aba", ["pod", "unknown", "unknown"], id="in turn"),
    ],
)
def test_overruns_of_pods_of_different_owners_in_a_row_are_of_something_that_they_share(
    owners: str, blames: list[str]
) -> None:
    told: list[str] = []

    class Counting(SchedulerObserver):
        def overran(self, plugin: str, extension_point: str, blame: str) -> None:
            told.append(blame)

    cluster = FakeCluster(State())
    overruns = Overruns(Counting(), EventRecorder(cluster, FakeClock(), SchedulerObserver()))
    for owner in owners:
        spent = AttemptBudget(1.0)
        spent.blame = "" if owner == "." else "pod"
        overruns.attempted(make_pod("pod", namespace=owner), spent)
    assert told == blames
