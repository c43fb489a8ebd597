"""Room for a group that fits nowhere: the victims are those of Kubernetes 1.37."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mooring.framework import Code, Pod, PodGroupInfo
from mooring.framework.objects import (
    AllDisruptionMode,
    DisruptionMode,
    LabelSelector,
    ObjectMeta,
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
    PodGroup,
)
from mooring.runtime.cycle.group_result import GroupDecision
from mooring.testing import make_node, make_pod
from tests.runtime.test_group_cycle import GATES, engine_of, group, member, node

VERSION = "1.37"
TOGETHER = DisruptionMode(all=AllDisruptionMode())


def important(count: int, **spec: Any) -> tuple[Pod, ...]:
    return tuple(member(f"m{i}", spec={"priority": 10, **spec}) for i in range(count))


def low(name: str, on: str, priority: int = 0, hour: int = 0, **fields: Any) -> Pod:
    start = {"startTime": f"2026-01-01T{hour:02d}:00:00Z"}
    spec = {"priority": priority, **fields.pop("spec", {})}
    return make_pod(name, requests={"cpu": "1"}, node=on, spec=spec, status=start, **fields)


def decide(pods: tuple[Pod, ...], *objects: Any, **spec: Any) -> GroupDecision:
    of = group(len(pods), priority=10, **spec)
    engine = engine_of(of, *pods, *objects, version=VERSION)
    return engine.decide_group(PodGroupInfo(of, pods), engine.profile("default-scheduler"))


def victims(decision: GroupDecision) -> list[str]:
    found = decision.preemption
    return [] if found is None else [pod.metadata.name for pod in found.victims]


def test_only_as_many_go_as_must_and_the_least_important_ones() -> None:
    there = (low("a", "n", 5), low("b", "n", 0, 1), low("c", "n", 0, 2), low("d", "n", 20))
    decision = decide(important(2), node("n", 4), *there)
    assert victims(decision) == ["b", "c"]
    assert decision.status.code is Code.UNSCHEDULABLE
    said = "pod group preemption: found a placement for podgroup, preempting 2 victims"
    assert decision.message.endswith(said)
    assert decision.preemption is not None
    assert [node for _, node in decision.preemption.nominations] == ["n", "n"]
    told = [each.message for each in decision.members if each.choice is not None]
    assert set(told) <= {decision.message, "0/1 nodes are available: 1 Insufficient cpu."}


def test_nobody_goes_for_a_group_that_fits() -> None:
    decision = decide(important(1), node("n", 2), low("a", "n"))
    assert decision.status.ok
    assert decision.preemption is None


@pytest.mark.parametrize(
    ("pods", "there", "said"),
    [
        pytest.param(
            important(1),
            (low("a", "n", 10),),
            "No preemption victims found for incoming preemptor",
            id="all are as important",
        ),
        pytest.param(
            important(1, preemptionPolicy="Never"),
            (low("a", "n"),),
            "not eligible due to preemptionPolicy=Never.",
            id="it may not",
        ),
        pytest.param(
            important(3),
            (low("a", "n"),),
            "pod group is unschedulable, 0/1 placements are available, first placement status: "
            "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining",
            id="it doesn't help",
        ),
    ],
)
def test_where_no_room_can_be_made(pods: tuple[Pod, ...], there: tuple[Pod, ...], said: str) -> None:
    decision = decide(pods, node("n", 1), *there)
    assert victims(decision) == []
    assert decision.message.endswith(f"pod group preemption: {said}")


def other(mode: DisruptionMode | None, priority: int) -> PodGroup:
    named = replace(group(1), metadata=ObjectMeta(name="h", namespace="default", uid="h"))
    return replace(named, spec=replace(named.spec, disruption_mode=mode, priority=priority))


IN_OTHER = {"schedulingGroup": {"podGroupName": "h"}}


@pytest.mark.parametrize(
    ("mode", "gone"),
    [
        pytest.param(TOGETHER, ["x", "y"], id="together"),
        pytest.param("PodGroup", ["x", "y"], id="together, as v1alpha2 says it"),
        pytest.param(None, ["y"], id="one by one"),
    ],
)
def test_a_group_goes_as_a_whole_if_it_says_so(mode: Any, gone: list[str]) -> None:
    there = (low("x", "n", 0, 1, spec=IN_OTHER), low("y", "n", 0, 2, spec=IN_OTHER))
    decision = decide(important(1), node("n", 2), other(mode, 3), *there)
    assert sorted(victims(decision)) == gone


def test_a_groups_priority_counts_and_not_its_pods() -> None:
    there = (low("x", "n", 0, 1, spec=IN_OTHER), low("y", "m", 5, 2))
    decision = decide(important(1), node("n", 1), node("m", 1), other(None, 20), *there)
    assert victims(decision) == ["y"]


def test_who_is_protected_comes_back_first() -> None:
    budget = PodDisruptionBudget(
        metadata=ObjectMeta(name="b", namespace="default"),
        spec=PodDisruptionBudgetSpec(selector=LabelSelector(match_labels={"app": "web"})),
        status=PodDisruptionBudgetStatus(disruptions_allowed=0),
    )
    there = (low("old", "n", 5), low("web", "n", 0, 9, labels={"app": "web"}))
    decision = decide(important(1), node("n", 2), budget, *there)
    assert victims(decision) == ["old"]
    assert decision.preemption is not None
    assert decision.preemption.violations == 0


def test_equals_that_have_not_started_go_as_their_nodes_take_turns() -> None:
    """Nodes are listed zone by zone alternately, and a pod without a start counts as started when it
    is met.
    """
    zones = {"a": "east", "b": "east", "c": "west"}
    nodes = [
        make_node(name, allocatable={"cpu": "1"}, labels={"topology.kubernetes.io/zone": zone})
        for name, zone in zones.items()
    ]
    there = [make_pod(f"on-{name}", node=name, requests={"cpu": "1"}) for name in zones]
    decision = decide(important(3), *nodes, *there)
    assert victims(decision) == ["on-a", "on-c", "on-b"]


WITHOUT_PLACEMENTS = GATES | {"TopologyAwareWorkloadScheduling": False}


@pytest.mark.parametrize(
    ("count", "pods", "code", "said"),
    [
        pytest.param(
            1,
            important(1, preemptionPolicy="Never"),
            Code.UNSCHEDULABLE,
            "deallocation and deletion of ResourceClaims completed, "
            "pod group preemption: not eligible due to preemptionPolicy=Never.",
            id="nothing to do",
        ),
        pytest.param(
            2,
            important(1),
            Code.ERROR,
            'error in "DynamicResources" PodGroupPostFilter plugins: not found',
            id="no pod was tried, which fails there",
        ),
    ],
)
def test_what_the_plugin_of_devices_says_of_a_group(
    count: int, pods: tuple[Pod, ...], code: Code, said: str
) -> None:
    of = group(count, priority=10)
    engine = engine_of(of, *pods, node("n", 0), gates=WITHOUT_PLACEMENTS, version=VERSION)
    decision = engine.decide_group(PodGroupInfo(of, pods), engine.profile("default-scheduler"))
    assert decision.status.code is code
    assert decision.message.endswith(said)
    if code is Code.ERROR:
        assert [each.message for each in decision.members] == [said]
