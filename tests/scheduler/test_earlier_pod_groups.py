"""Pod groups in the second scheduler as in Kubernetes 1.36: their pods wait one by one, tried together."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.framework import Pod
from mooring.framework.objects import PodGroupSchedulingConstraints, TopologyConstraint
from mooring.testing import make_node, make_pod

from .test_pod_groups import bound, gang, member, members, node, pod_condition, waits
from .world import World

GATES = {"GenericWorkload": True, "GangScheduling": True}
TOPOLOGY = {**GATES, "TopologyAwareWorkloadScheduling": True}
FOR_GROUPS = {**GATES, "WorkloadAwarePreemption": True}
ASKED_TO_WAIT = (
    "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, "
    "one or more plugins asked to wait and no plugin rejected pod"
)


def world(*cpus: int, gates: dict[str, bool] = GATES, **options: Any) -> World:
    """A cluster of nodes with so many CPUs each."""
    nodes = [node(f"n{at}", cpu) for at, cpu in enumerate(cpus)]
    return World(nodes=nodes, gates=gates, version="1.36", **options)


def condition(made: World, name: str = "g") -> tuple[str, str, str]:
    (found,) = made.cluster.groups[name].status.conditions
    assert found.type == "PodGroupScheduled"
    return found.status, found.reason, found.message


def high(count: int) -> list[Pod]:
    return members(count, spec={"priority": 10})


class TestDecision:
    def test_a_gang_is_bound_as_a_whole(self) -> None:
        made = world(2, 2)
        made.add(gang(4), *members(4))
        assert bound(made) == {"m0", "m1", "m2", "m3"}
        assert condition(made) == ("True", "Scheduled", "")
        assert not waits(made)

    def test_a_gang_that_does_not_fit_holds_no_node(self) -> None:
        made = world(3)
        made.add(gang(4), *members(4), make_pod("alone", requests={"cpu": "3"}))
        assert bound(made) == {"alone"}
        assert condition(made) == ("False", "Unschedulable", "pod group is unschedulable")
        assert waits(made) == {"backoff": 4}

    def test_each_pod_says_what_became_of_it(self) -> None:
        made = world(3)
        made.add(gang(4), *members(4))
        said = [pod_condition(made, f"m{number}")[1] for number in range(4)]
        assert said[:3] == [ASKED_TO_WAIT] * 3
        assert said[3].startswith("0/1 nodes are available: 1 Insufficient cpu.")

    def test_it_is_tried_again_after_its_backoff(self) -> None:
        made = world(3)
        made.add(gang(4), *members(4))
        made.add(node("more", 1))
        assert bound(made) == set(), "its pods aren't taken early"
        made.wait(3)
        assert bound(made) == {"m0", "m1", "m2", "m3"}
        assert condition(made)[:2] == ("True", "Scheduled")

    def test_the_pods_of_a_group_share_a_topology_domain(self) -> None:
        racks = {"n0": "a", "n1": "b", "n2": "b", "n3": "c"}
        nodes = [
            make_node(name, labels={"rack": rack}, allocatable={"cpu": "2"}) for name, rack in racks.items()
        ]
        made = World(nodes=nodes, gates=TOPOLOGY, version="1.36")
        together = PodGroupSchedulingConstraints((TopologyConstraint("rack"),))
        made.add(gang(3, scheduling_constraints=together), *members(3))
        assert bound(made) == {"m0", "m1", "m2"}
        assert {racks[made.cluster.node_of(f"m{at}")] for at in range(3)} == {"b"}

    def test_two_schedulers(self) -> None:
        made = world(4, schedulers=("default-scheduler", "another"))
        made.add(gang(2), member("m0"), member("m1", spec={"schedulerName": "another"}))
        assert bound(made) == set()
        assert "the same .spec.schedulerName set" in condition(made)[2]

    def test_priorities_may_differ(self) -> None:
        made = world(4)
        made.add(gang(2, priority=5), member("m0", spec={"priority": 7}), member("m1"))
        assert bound(made) == {"m0", "m1"}


class TestQueue:
    def test_nobody_is_tried_before_the_group_and_enough_pods_are_there(self) -> None:
        made = world(4)
        made.add(member("m0"), make_pod("alone"))
        made.add(gang(2))
        assert bound(made) == {"alone"}
        assert waits(made) == {"gated": 1}
        made.add(member("m1"))
        assert bound(made) == {"alone", "m0", "m1"}

    def test_a_gated_pod_holds_back_no_other(self) -> None:
        made = world(4)
        held = member("held", spec={"schedulingGates": [{"name": "wait"}]})
        made.add(gang(2), *members(2), held)
        assert bound(made) == {"m0", "m1"}
        assert waits(made) == {"gated": 1}
        made.add(member("held"))
        assert bound(made) == {"m0", "m1", "held"}

    def test_a_pod_that_comes_later_takes_those_along_that_back_off(self) -> None:
        made = world(3)
        made.add(gang(3), *members(2), member("large", cpu="4"))
        assert waits(made) == {"backoff": 3}
        made.add(member("late"))
        assert bound(made) == {"m0", "m1", "late"}
        assert waits(made) == {"backoff": 1}


class TestPreemption:
    def test_room_is_made_for_each_pod_by_itself(self) -> None:
        made = world(2, 2)
        made.add(*(make_pod(f"low{at}", requests={"cpu": "2"}, node=f"n{at}") for at in range(2)))
        made.cluster.graceful = True
        made.add(gang(2, priority=10), *(member(f"m{at}", "2", spec={"priority": 10}) for at in range(2)))
        assert sorted(made.cluster.deleted) == ["low0", "low1"]
        waiting = "pod group is unschedulable, pod group is waiting for preemption to complete"
        assert condition(made) == ("False", "Unschedulable", waiting)
        nominated = {made.cluster.named(f"m{at}").status.nominated_node_name for at in range(2)}
        assert nominated == {"n0", "n1"}

    def test_those_who_go_leave_their_places_to_the_group(self) -> None:
        made = world(2, 2)
        made.add(*(make_pod(f"low{at}", requests={"cpu": "2"}, node=f"n{at}") for at in range(2)))
        made.add(gang(2, priority=10), *(member(f"m{at}", "2", spec={"priority": 10}) for at in range(2)))
        made.wait(5)
        assert bound(made) == {"m0", "m1"}

    def test_with_its_gate_room_is_made_for_the_group(self) -> None:
        made = world(2, 2, gates=FOR_GROUPS)
        made.add(*(make_pod(f"low{at}", requests={"cpu": "2"}, node=f"n{at}") for at in range(2)))
        made.add(gang(3, priority=10), *high(3))
        assert sorted(made.cluster.deleted) == ["low0", "low1"]
        made.wait(5)
        assert bound(made) == {"m0", "m1", "m2"}

    def test_nobody_goes_for_a_group_that_would_not_fit_anyway(self) -> None:
        made = world(2, gates=FOR_GROUPS)
        made.add(make_pod("low", requests={"cpu": "2"}, node="n0"))
        made.add(gang(3, priority=10), *high(3))
        assert made.cluster.deleted == []
        assert condition(made)[2] == "pod group is unschedulable, pod group is unschedulable"

    @pytest.mark.parametrize(
        ("constraints", "policy", "message"),
        [
            pytest.param(
                PodGroupSchedulingConstraints((TopologyConstraint("rack"),)),
                "PreemptLowerPriority",
                "workload aware preemption is not supported for pod groups with scheduling constraints",
                id="in domains",
            ),
            pytest.param(None, "Never", "not eligible due to preemptionPolicy=Never.", id="never"),
        ],
    )
    def test_why_no_room_is_made(self, constraints: Any, policy: str, message: str) -> None:
        made = world(2, gates=FOR_GROUPS)
        made.add(make_pod("low", requests={"cpu": "2"}, node="n0"))
        spec = {"priority": 10, "preemptionPolicy": policy}
        made.add(gang(2, priority=10, scheduling_constraints=constraints), *members(2, spec=spec))
        assert made.cluster.deleted == []
        assert condition(made)[2] == f"pod group is unschedulable, {message}"
