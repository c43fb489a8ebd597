"""One pod keeps the others waiting for no longer than its attempt may take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

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
from mooring.framework.errors import DeadlineExceededError
from mooring.framework.objects import ObjectMeta, PodGroup
from mooring.scheduler.budget import AttemptBudget, group_seconds
from mooring.scheduler.scheduler import LONGEST_DECISION_SECONDS
from mooring.telemetry.metrics import Metrics
from mooring.telemetry.scheduler_metrics import SchedulerMetrics
from mooring.testing import make_node, make_pod
from tests.scheduler.world import World

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
    labels = {"plugin": "Thorough", "extension_point": "PreFilter"}
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
