"""Gangs in the second scheduler: bound together, or not at all."""

from __future__ import annotations

from typing import Any

from mooring.framework import Pod
from mooring.framework.objects import (
    GangSchedulingPolicy,
    ObjectMeta,
    PodGroup,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
)
from mooring.testing import make_node, make_pod

from .world import World

GATES = {"GenericWorkload": True, "GangScheduling": True}
GROUP = {"schedulingGroup": {"podGroupName": "g"}}
NEAR_A = {
    "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "kubernetes.io/hostname"}
        ]
    }
}


def gang(min_count: int) -> PodGroup:
    policy = PodGroupSchedulingPolicy(gang=GangSchedulingPolicy(min_count))
    return PodGroup(
        metadata=ObjectMeta(name="g", namespace="default"), spec=PodGroupSpec(scheduling_policy=policy)
    )


def member(name: str, **fields: Any) -> Pod:
    spec = {**GROUP, **fields.pop("spec", {})}
    return make_pod(name, requests={"cpu": "1"}, spec=spec, **fields)


def bound(world: World) -> set[str]:
    """Whom the binding threads have bound once none of them waits."""
    for waiter in tuple(world.scheduler._binders._waiters):
        waiter.join(10)
    world.settle()
    return {name for name, _ in world.cluster.bindings}


def test_nobody_is_tried_before_the_group_and_enough_pods_are_there() -> None:
    world = World(nodes=[make_node("a")], gates=GATES, version="1.36")
    world.add(member("one"), make_pod("alone"))
    world.add(gang(2))
    assert bound(world) == {"alone"}
    assert world.queue.count_pods()["gated"] == 1
    world.add(member("two"))
    assert bound(world) == {"alone", "one", "two"}


def test_nobody_is_bound_before_enough_pods_have_a_node() -> None:
    small = {"cpu": "1"}
    world = World(nodes=[make_node("a", allocatable=small)], gates=GATES, version="1.36")
    world.add(gang(2), member("one"), member("two"))
    assert world.cluster.bindings == []
    world.add(make_node("b", allocatable=small))
    assert bound(world) == {"one", "two"}


def test_after_five_minutes_a_pod_gives_its_node_back() -> None:
    world = World(nodes=[make_node("a", allocatable={"cpu": "1"})], gates=GATES, version="1.36")
    world.add(gang(2), member("one"), member("two"))
    world.clock.advance(301)
    assert bound(world) == set()
    said = "rejected due to timeout after waiting 5m0s at plugin GangScheduling"
    assert any(said in note for reason, _, note in world.cluster.events if reason == "FailedScheduling")


def test_a_pod_that_waits_has_the_others_tried_again() -> None:
    world = World(nodes=[make_node("a")], gates=GATES, version="1.36")
    near = member("first", spec={"affinity": NEAR_A, "priority": 10})
    world.add(gang(2), near, member("second", labels={"app": "a"}))
    assert bound(world) == {"first", "second"}
