"""A pod group's cycle by the rules of Kubernetes 1.36, where they are others than later."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.framework import Code, Pod, PodGroupInfo
from mooring.framework.objects import PodGroup
from mooring.runtime.cycle.group_result import GroupDecision
from mooring.testing import make_pod

from .test_group_cycle import GATES, engine_of, group, member, members, node

WAITS = "waiting for minCount pods from a gang to be scheduled"
ASKED = f"pod group is unschedulable, {WAITS}, one or more plugins asked to wait and no plugin rejected pod"
NO_ROOM = "no new claims to deallocate, preemption: "
"""How it begins what is said of room that there is not."""


def decide(of: PodGroup, pods: tuple[Pod, ...], *objects: Any, **gates: bool) -> GroupDecision:
    engine = engine_of(of, *pods, *objects, gates=GATES | gates, version="1.36")
    return engine.decide_group(PodGroupInfo(of, pods), engine.profile("default-scheduler"))


def important(count: int, **spec: Any) -> tuple[Pod, ...]:
    return tuple(member(f"m{at}", spec={"priority": 10, **spec}) for at in range(count))


@pytest.mark.parametrize(
    ("placements", "message"),
    [
        pytest.param(
            True,
            "0/1 placements are available, first placement status: pod group is unschedulable",
            id="with placements",
        ),
        pytest.param(False, "pod group is unschedulable", id="without"),
    ],
)
def test_a_gang_that_does_not_fit_gets_nothing(placements: bool, message: str) -> None:
    decision = decide(group(3), members(3), node("a", 2), TopologyAwareWorkloadScheduling=placements)
    assert (decision.status.code, decision.message) == (Code.UNSCHEDULABLE, message)
    *given_up, last = [each.message for each in decision.members]
    assert given_up == [ASKED, ASKED]
    assert last.startswith(f"0/1 nodes are available: 1 Insufficient cpu. {NO_ROOM}")


def test_all_pods_are_tried_though_too_few_are_left() -> None:
    decision = decide(group(3), members(4), node("a", 0))
    assert [len(one.members) for one in decision.tried] == [4]


def test_a_group_too_small_for_its_gang_is_tried() -> None:
    decision = decide(group(3), members(2), node("a", 9))
    assert [each.message for each in decision.members] == [ASKED, ASKED]


NOT_IN_DOMAINS = {"TopologyAwareWorkloadScheduling": False}


def test_a_group_waits_for_the_room_that_its_pods_find() -> None:
    low = [make_pod(f"low{at}", requests={"cpu": "1"}, node="a") for at in range(2)]
    decision = decide(group(2), important(2), node("a", 2), *low, **NOT_IN_DOMAINS)
    waiting = "pod group is unschedulable, pod group is waiting for preemption to complete"
    assert (decision.status.code, decision.message) == (Code.UNSCHEDULABLE, waiting)
    assert [pod.metadata.name for pod, _ in decision.rooms] == ["m0", "m1"]
    assert [each.nominated for each in decision.members] == ["a", "a"]


def test_a_pod_that_fits_waits_for_those_that_need_room() -> None:
    low = make_pod("low", requests={"cpu": "1"}, node="b")
    decision = decide(group(2), important(2), node("a", 1), node("b", 1), low, **NOT_IN_DOMAINS)
    assert decision.tried[0].waits
    assert [(each.node_name, each.nominated) for each in decision.members] == [("a", "a"), ("", "b")]
    assert decision.members[0].message == decision.message


def test_room_is_made_for_some_of_a_group_that_does_not_fit() -> None:
    low = make_pod("low", requests={"cpu": "1"}, node="a")
    decision = decide(group(2), important(2), node("a", 1), low, **NOT_IN_DOMAINS)
    assert [pod.metadata.name for pod, _ in decision.rooms] == ["m0"]
    assert decision.preemption is None
    assert [each.nominated for each in decision.members] == ["", ""]


def test_pods_of_a_group_in_domains_make_no_room() -> None:
    low = make_pod("low", requests={"cpu": "2"}, node="a")
    decision = decide(group(2, "zone"), important(2), node("a", 2, "z"), low)
    assert not decision.rooms
    said = "preemption: not eligible due to placement-based pod group scheduling limitation"
    assert decision.members[0].message.endswith(said)


def test_with_its_gate_room_is_made_for_the_group_as_a_whole() -> None:
    low = [make_pod(f"low{at}", requests={"cpu": "1"}, node="a") for at in range(3)]
    of = group(2, priority=10)
    decision = decide(of, important(2), node("a", 3), *low, WorkloadAwarePreemption=True)
    assert decision.preemption is not None
    assert len(decision.preemption.victims) == 2
    assert not decision.rooms
    assert (
        decision.message == "0/1 placements are available, first placement status: pod group is unschedulable"
    )


def test_pods_that_are_being_deleted_count_for_nothing_else() -> None:
    leaving = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    gone = member("gone", spec={"priority": 7}, metadata=leaving)
    assert decide(group(1), (*members(1), gone), node("a", 4)).status.ok


def test_all_pods_name_one_scheduler() -> None:
    decision = decide(group(1), (member("x"), member("y", spec={"schedulerName": "other"})), node("a", 9))
    assert decision.status.code is Code.ERROR
    assert decision.message == (
        "all pods in a single pod group should have the same .spec.schedulerName set, "
        'got: "default-scheduler" and "other"'
    )
