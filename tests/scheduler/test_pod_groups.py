"""Pod groups in the second scheduler: scheduled as a whole, as Kubernetes 1.37 does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from mooring.cluster.state import State
from mooring.decisions.decisions import Decisions
from mooring.decisions.journal import DecisionJournal
from mooring.decisions.records import Record
from mooring.framework import (
    ClusterApi,
    GroupPreemption,
    GroupWhatIf,
    ObjectReference,
    Pod,
    PodGroupInfo,
    PodGroupPostFilterPlugin,
    PreEnqueuePlugin,
    Remedy,
    ReservePlugin,
    Status,
)
from mooring.framework.cycle_state import CycleState
from mooring.framework.errors import FailedPreconditionError, UnavailableError
from mooring.framework.objects import (
    AllDisruptionMode,
    BasicSchedulingPolicy,
    DisruptionMode,
    GangSchedulingPolicy,
    ObjectMeta,
    PodGroup,
    PodGroupSchedulingConstraints,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
    TopologyConstraint,
)
from mooring.scheduler.group_status import GroupStatusWriter, changed_conditions, condition_of
from mooring.scheduler.messages import CONDITION_LIMIT
from mooring.telemetry.metrics import Metrics
from mooring.telemetry.scheduler_metrics import SchedulerMetrics
from mooring.testing import make_node, make_pod

from .fakes import FakeClock
from .world import FakeCluster, World

GATES = {"GenericWorkload": True}
STARTED = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}
LEAVING = "2026-01-01T00:00:00Z"


def gang(min_count: int = 0, name: str = "g", **spec: Any) -> PodGroup:
    """Return a gang with this minimum; with 0 a group whose pods are bound as they fit."""
    policy = PodGroupSchedulingPolicy(
        gang=GangSchedulingPolicy(min_count) if min_count else None,
        basic=None if min_count else BasicSchedulingPolicy(),
    )
    meta = ObjectMeta(name=name, namespace="default", uid=f"group-{name}")
    return PodGroup(metadata=meta, spec=PodGroupSpec(scheduling_policy=policy, **spec))


def member(name: str, cpu: str = "1", group: str = "g", **fields: Any) -> Pod:
    spec = {"schedulingGroup": {"podGroupName": group}, **fields.pop("spec", {})}
    return make_pod(name, requests={"cpu": cpu}, spec=spec, **fields)


def members(count: int, **fields: Any) -> list[Pod]:
    return [member(f"m{number}", **fields) for number in range(count)]


def node(name: str, cpu: int) -> Any:
    return make_node(name, allocatable={"cpu": str(cpu)})


def world(*cpus: int, plugins: tuple[type[Any], ...] = (), **options: Any) -> World:
    """Return a cluster with a node for each number of CPUs."""
    nodes = [node(f"n{at}", cpu) for at, cpu in enumerate(cpus)]
    return World(*plugins, nodes=nodes, gates=GATES, version="1.37", **options)


def bound(made: World) -> set[str]:
    made.settle()
    return {pod.metadata.name for pod in made.cluster.pods.values() if pod.spec.node_name}


def condition(made: World, name: str = "g") -> tuple[str, str, str]:
    (found,) = made.cluster.groups[name].status.conditions
    assert found.type == "PodGroupInitiallyScheduled"
    return found.status, found.reason, found.message


def pod_condition(made: World, name: str) -> tuple[str, str]:
    found = {each.type: each for each in made.cluster.named(name).status.conditions}["PodScheduled"]
    return found.reason, found.message


def waits(made: World) -> dict[str, int]:
    return {place: count for place, count in made.queue.count_pods().items() if count}


class TestDecision:
    def test_a_gang_is_bound_as_a_whole(self) -> None:
        made = world(2, 2)
        made.add(gang(4), *members(4))
        assert bound(made) == {"m0", "m1", "m2", "m3"}
        assert condition(made) == ("True", "Scheduled", "")
        assert not waits(made)

    def test_a_gang_that_does_not_fit_is_not_bound_at_all(self) -> None:
        made = world(3)
        made.add(gang(4), *members(4), make_pod("alone"))
        assert bound(made) == {"alone"}
        status, reason, message = condition(made)
        assert (status, reason) == ("False", "Unschedulable")
        assert "minCount (4) cannot be satisfied: 3 scheduled, 0 remaining" in message
        said = {pod_condition(made, f"m{number}") for number in range(3)}
        assert said == {("Unschedulable", f"pod group is unschedulable, {message}")}
        assert "1 Insufficient cpu" in pod_condition(made, "m3")[1]
        assert waits(made) == {"backoff": 4}

    def test_it_is_tried_again_after_its_backoff(self) -> None:
        made = world(3)
        made.add(gang(4), *members(4))
        made.add(node("more", 1))
        assert bound(made) == set(), "a group isn't taken early"
        made.wait(3)
        assert bound(made) == {"m0", "m1", "m2", "m3"}
        assert condition(made)[:2] == ("True", "Scheduled")

    def test_more_than_the_gang_needs_are_bound_as_they_fit(self) -> None:
        made = world(3)
        made.add(gang(2), *members(4))
        assert bound(made) == {"m0", "m1", "m2"}
        assert condition(made) == ("True", "Scheduled", "")
        made.wait(3)
        assert condition(made) == ("True", "Scheduled", ""), "it was scheduled, whatever becomes of the rest"
        made.add(node("more", 1))
        made.wait(20)
        assert bound(made) == {"m0", "m1", "m2", "m3"}

    def test_pods_of_a_group_without_a_gang_are_bound_as_they_fit(self) -> None:
        made = world(2)
        made.add(gang(), *members(3))
        assert bound(made) == {"m0", "m1"}

    def test_the_pods_of_a_group_share_a_topology_domain(self) -> None:
        racks = {"n0": "a", "n1": "b", "n2": "b", "n3": "c"}
        nodes = [
            make_node(name, labels={"rack": rack}, allocatable={"cpu": "2"}) for name, rack in racks.items()
        ]
        made = World(nodes=nodes, gates={**GATES, "TopologyAwareWorkloadScheduling": True}, version="1.37")
        together = PodGroupSchedulingConstraints((TopologyConstraint("rack"),))
        made.add(gang(3, scheduling_constraints=together), *members(3))
        assert bound(made) == {"m0", "m1", "m2"}
        assert {racks[made.cluster.node_of(f"m{at}")] for at in range(3)} == {"b"}

    def test_the_most_important_group_goes_first(self) -> None:
        made = world()
        low, high = gang(2, "low"), gang(2, "high", priority=10)
        made.add(low, high, *(member(f"low{at}", group="low") for at in range(2)))
        made.add(*(member(f"high{at}", group="high", spec={"priority": 10}) for at in range(2)))
        made.wait(3)
        made.cluster.put(node("a", 2))
        made.wait(20)
        assert bound(made) == {"high0", "high1"}


class TestGathering:
    def test_pods_wait_for_their_group(self) -> None:
        made = world(4)
        made.add(*members(2), make_pod("alone"))
        assert bound(made) == {"alone"}
        assert waits(made) == {"incomplete": 2}
        made.add(gang(2))
        assert bound(made) == {"alone", "m0", "m1"}

    def test_a_gang_waits_until_there_are_enough(self) -> None:
        made = world(4)
        made.add(gang(3), *members(2))
        assert waits(made) == {"gated": 2}
        made.add(member("last"))
        assert bound(made) == {"m0", "m1", "last"}

    def test_one_gated_pod_holds_back_all(self) -> None:
        made = world(4)
        held = member("held", spec={"schedulingGates": [{"name": "wait"}]})
        made.add(gang(2), *members(2), held)
        assert waits(made) == {"gated": 3}
        made.add(member("held"))
        assert bound(made) == {"m0", "m1", "held"}

    def test_a_group_that_gets_smaller_goes_on(self) -> None:
        made = world(4)
        made.add(gang(3), *members(2))
        assert waits(made) == {"gated": 2}
        made.add(gang(2))
        assert bound(made) == {"m0", "m1"}

    def test_a_group_that_is_gone_holds_its_pods(self) -> None:
        made = world(1)
        made.add(gang(2), *members(2))
        made.cluster.remove(made.cluster.groups["g"])
        made.add(node("more", 1))
        made.wait(10)
        assert bound(made) == set()
        assert waits(made) == {"incomplete": 2}
        made.add(gang(2))
        assert bound(made) == {"m0", "m1"}

    def test_pods_that_go_take_the_group_with_them(self) -> None:
        made = world(1)
        made.add(gang(2), *members(2))
        for name in ("m0", "m1"):
            made.cluster.remove(made.cluster.named(name))
        made.settle()
        assert not waits(made)

    def test_a_pod_that_comes_too_late_is_bound_alone(self) -> None:
        made = world(4)
        made.add(gang(2), *members(2))
        made.add(member("late"))
        assert bound(made) == {"m0", "m1", "late"}

    def test_another_namespace_has_other_groups(self) -> None:
        made = world(4)
        made.add(gang(2), member("m0"), member("far", namespace="other"))
        assert bound(made) == set()
        assert waits(made) == {"gated": 1, "incomplete": 1}

    def test_a_pod_that_is_being_deleted_does_not_count(self) -> None:
        made = world(4)
        leaving = member("leaving")
        made.add(
            gang(2),
            member("m0"),
            replace(leaving, metadata=replace(leaving.metadata, deletion_timestamp=LEAVING)),
        )
        made.wait(3)
        assert bound(made) == set()
        assert condition(made)[0] == "False"


class Asked(PreEnqueuePlugin[None]):
    """Counts its calls, and lets every pod go."""

    name = "Asked"
    count = 0

    def pre_enqueue(self, pod: Pod) -> Status:
        type(self).count += 1
        return Status()


def test_gates_are_not_asked_again_about_all_pods_of_a_group_for_each_that_comes() -> None:
    Asked.count = 0
    made = world(100, plugins=(Asked,))
    made.add(gang(50), *members(50))
    assert len(bound(made)) == 50
    assert Asked.count == 50


class TestRejectedByName:
    @pytest.mark.parametrize(
        ("group", "pods", "reason", "message"),
        [
            pytest.param(
                gang(2, parent_composite_pod_group_name="parent"),
                members(2),
                "Unschedulable",
                "groups in a CompositePodGroup are not supported yet",
                id="a composite group",
            ),
            pytest.param(
                gang(2, priority=5),
                members(2),
                "SchedulerError",
                "all pods in a single pod group should have the same priority as the pod group's priority, "
                "got 0 and 5",
                id="another priority",
            ),
        ],
    )
    def test_rejected(self, group: PodGroup, pods: list[Pod], reason: str, message: str) -> None:
        made = world(4)
        made.add(group, *pods)
        assert bound(made) == set()
        assert condition(made)[1] == reason
        assert message in condition(made)[2]
        assert {pod_condition(made, pod.metadata.name)[0] for pod in pods} == {reason}
        assert waits(made) == {"backoff": 2}

    def test_two_schedulers(self) -> None:
        made = world(4, schedulers=("default-scheduler", "another"))
        made.add(gang(2), member("m0"), member("m1", spec={"schedulerName": "another"}))
        assert bound(made) == set()
        assert "the same .spec.schedulerName set" in condition(made)[2]


class TestRemedies:
    """The scheduler makes the changes that PodGroupPostFilter proposes for a group that fits nowhere."""

    @pytest.mark.parametrize(
        ("error", "ended"),
        [
            pytest.param(None, ("Unschedulable", "preemptionPolicy=Never., changed"), id="done"),
            pytest.param(
                UnavailableError("no answer", reason="API_SERVER_UNAVAILABLE"),
                ("SchedulerError", "no answer"),
                id="failed",
            ),
        ],
    )
    def test_it_is_carried_out(self, error: Exception | None, ended: tuple[str, str]) -> None:
        asked: list[ClusterApi] = []

        def change(cluster: ClusterApi) -> None:
            asked.append(cluster)
            if error is not None:
                raise error

        class Proposing(PodGroupPostFilterPlugin[None]):
            name = "Proposing"

            def post_filter_group(
                self, state: CycleState, group: PodGroupInfo, what_if: GroupWhatIf
            ) -> GroupPreemption:
                remedy = Remedy("may change", "changed", change)
                return GroupPreemption(Status.unschedulable("changed"), remedies=(remedy,))

        made = world(1, plugins=(Proposing,))
        # Preemption comes first. It leaves pods that preempt no pods to the next plugin.
        made.add(gang(2), *members(2, spec={"preemptionPolicy": "Never"}))
        assert bound(made) == set()
        assert asked == [made.cluster]
        _, reason, message = condition(made)
        assert (reason, ended[1] in message) == (ended[0], True), message
        assert waits(made) == {"backoff": 2}


class RejectsAll(ReservePlugin[None]):
    """Has no place for any pod of a group."""

    name = "RejectsAll"
    asked = 0

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        type(self).asked += 1
        return Status() if pod.group is None else Status.unschedulable("no place")

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        pass


class RejectsLast(ReservePlugin[None]):
    """Has no place for the pod ``m3`` the first time."""

    name = "RejectsLast"
    asked = 0
    meanwhile: Callable[[], None] = staticmethod(lambda: None)

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        if pod.metadata.name == "m3":
            self.meanwhile()
            type(self).asked += 1
            if self.asked == 1:
                return Status.unschedulable("no place")
        return Status()

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        pass


class TestCommit:
    def test_nothing_is_bound_before_the_gang_has_its_places(self) -> None:
        RejectsLast.asked = 0
        made = world(4, plugins=(RejectsLast,))
        counted: list[int] = []
        made.cluster.before_bind = lambda _: counted.append(RejectsLast.asked)
        made.add(gang(4), *members(4))
        made.settle()
        for waiter in tuple(made.scheduler._binders._waiters):
            waiter.join(10)
        assert bound(made) == {"m0", "m1", "m2", "m3"}
        assert counted == [2] * 4, "the three others waited at Permit for the second attempt"

    def test_after_a_failed_binding_the_rest_goes_on(self) -> None:
        made = world(4)
        failed: list[str] = []

        def fail_once(pod: Pod) -> None:
            if pod.metadata.name == "m1" and not failed:
                failed.append("m1")
                raise FailedPreconditionError("not now", reason="NODE_NO_LONGER_FITS")

        made.cluster.before_bind = fail_once
        made.add(gang(4), *members(4))
        made.wait(3)
        assert failed
        assert bound(made) == {"m0", "m1", "m2", "m3"}

    def test_pods_that_all_lose_their_places_back_off(self) -> None:
        RejectsAll.asked = 0
        made = world(4, plugins=(RejectsAll,))
        made.add(gang(2), *members(2), make_pod("alone"))
        assert bound(made) == {"alone"}
        assert RejectsAll.asked == 3
        assert waits(made) == {"backoff": 2}
        assert condition(made)[:2] == ("False", "Unschedulable")
        assert "pod default/m0: 0/1 nodes are available: 1 no place." in condition(made)[2]

    def test_a_group_that_goes_in_between_is_not_bound(self) -> None:
        """A pod that has a place already waits at Permit, and gives it back."""
        made = world(4, plugins=(RejectsLast,))
        RejectsLast.asked = 0
        RejectsLast.meanwhile = staticmethod(lambda: made.cluster.remove(made.cluster.groups["g"]))
        try:
            made.add(gang(4), *members(4))
        finally:
            RejectsLast.meanwhile = staticmethod(lambda: None)
        assert bound(made) == set()
        made.clock.advance(301)
        for waiter in tuple(made.scheduler._binders._waiters):
            waiter.join(10)
        assert bound(made) == set()
        assert waits(made) == {"incomplete": 4}

    def test_what_is_permitted_is_bound_though_the_scheduler_stops(self) -> None:
        made = world(8)
        made.cluster.before_bind = lambda _: made.scheduler.stop()
        made.cluster.put(gang(4), *members(4))
        while made.scheduler.try_next() == 0:
            pass
        made.scheduler.finish_bindings()
        there = {pod.metadata.name for pod in made.cluster.pods.values() if pod.spec.node_name}
        assert {"m0", "m1", "m2", "m3"} <= there

    def test_an_unknown_outcome_is_waited_for(self) -> None:
        made = world(4)
        lost: list[str] = []

        def lose_once(pod: Pod) -> None:
            if pod.metadata.name == "m1" and not lost:
                lost.append("m1")
                raise UnavailableError("no answer", reason="API_SERVER_UNAVAILABLE")

        made.cluster.before_bind = lose_once
        made.add(gang(2), *members(2))
        assert bound(made) == {"m0"}
        while len(made.cycle.reservations):
            made.wait(1)
        made.wait(15)
        assert bound(made) == {"m0", "m1"}

    def test_a_new_leader_ends_what_was_begun(self) -> None:
        """A gang with half of its pods bound by the dead leader comes before an older one."""
        made = world()
        leads = made.scheduler._components.leadership
        made.cluster.put(gang(2, "first"), *(member(f"f{at}", group="first") for at in range(2)))
        made.cluster.put(gang(3), *members(2), member("begun", node="n0"), node("n0", 3))
        assert leads.is_leader()
        assert bound(made) == {"begun", "m0", "m1"}


class TestPreemption:
    def test_a_group_makes_room_and_is_nominated(self) -> None:
        noted = Decisions(DecisionJournal())
        made = world(2, 2, decisions=noted)
        made.add(*(make_pod(f"low{at}", requests={"cpu": "2"}, node=f"n{at}") for at in range(2)))
        made.cluster.graceful = True
        made.add(gang(4, priority=10), *members(4, spec={"priority": 10}))
        assert sorted(made.cluster.deleted) == ["low0", "low1"]
        assert condition(made)[:2] == ("False", "Unschedulable")
        assert (
            "pod group preemption: found a placement for podgroup, preempting 2 victims" in condition(made)[2]
        )
        nominated = sorted(made.cluster.named(f"m{at}").status.nominated_node_name for at in range(4))
        assert nominated == ["n0", "n0", "n1", "n1"]
        notes = [note for reason, _, note in made.cluster.events if reason == "Preempted"]
        assert notes == ["Preempted by podgroup group-g on node cluster"] * 2
        records = [entry for _, entry in noted.journal.newest_entries() if isinstance(entry, Record)]
        victims = {frozenset(each.details.victims) for each in records}
        assert victims == {frozenset(("default/low0", "default/low1"))}
        for name in ("low0", "low1"):
            made.cluster.remove(made.cluster.named(name))
        made.wait(20)
        assert bound(made) == {"m0", "m1", "m2", "m3"}

    def test_group_as_victim(self) -> None:
        """The case of that name: a group is preempted as a whole, on all nodes, for one pod on one node."""
        made = world(4, 4, 4)
        together = DisruptionMode(all=AllDisruptionMode())
        mine = {"schedulingGroup": {"podGroupName": "low"}, "priority": 0}
        low = (
            make_pod(f"low-{at}", node=f"n{at}", requests={"cpu": "3"}, spec=mine, status=STARTED)
            for at in range(2)
        )
        single = make_pod("single", node="n2", requests={"cpu": "3"}, spec={"priority": 10}, status=STARTED)
        made.add(gang(2, "low", disruption_mode=together, priority=0), *low, single)
        made.cluster.graceful = True
        made.add(make_pod("high", requests={"cpu": "2"}, spec={"priority": 1000}))
        assert sorted(made.cluster.deleted) == ["low-0", "low-1"]
        nominated = made.cluster.named("high").status.nominated_node_name
        assert nominated in ("n0", "n1")
        notes = [note for reason, _, note in made.cluster.events if reason == "Preempted"]
        assert len(notes) == 2
        assert all(note.endswith(f"on node {nominated}") for note in notes)
        said = [note for reason, name, note in made.cluster.events if name == "high"]
        place = f"found a potential placement for pod on node {nominated}, preempting 2 victims"
        assert said == [f"0/3 nodes are available: 3 Insufficient cpu. preemption: {place}"]


OLD = {
    "type": "PodGroupInitiallyScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "no",
    "observedGeneration": 1,
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
OTHER = {"type": "DisruptionTarget", "status": "True", "reason": "x", "message": ""}


class TestConditions:
    @pytest.mark.parametrize(
        ("known", "status", "changed"),
        [
            pytest.param([OLD], Status.unschedulable("no"), None, id="the same"),
            pytest.param([{**OLD, "status": "True"}], Status.unschedulable("no"), None, id="was scheduled"),
            pytest.param(
                [OTHER, OLD],
                Status.unschedulable("still no"),
                [OTHER, {**OLD, "message": "still no"}],
                id="another message keeps the time",
            ),
            pytest.param(
                [OLD],
                Status(),
                [
                    {
                        **OLD,
                        "status": "True",
                        "reason": "Scheduled",
                        "message": "",
                        "lastTransitionTime": "2027-01-15T08:00:00Z",
                    }
                ],
                id="another status has another time",
            ),
            pytest.param(
                [OLD],
                Status.error("broken"),
                [{**OLD, "reason": "SchedulerError", "message": "broken"}],
                id="an error",
            ),
            pytest.param(
                [OLD],
                Status.error("x" * (CONDITION_LIMIT + 1)),
                [{**OLD, "reason": "SchedulerError", "message": "x" * (CONDITION_LIMIT - 4) + " ..."}],
                id="longer than the API server allows",
            ),
        ],
    )
    def test_changed(self, known: list[Any], status: Status, changed: list[Any] | None) -> None:
        group = {"metadata": {"generation": 1}, "status": {"conditions": known}}
        assert changed_conditions(group, condition_of(status), 1_800_000_000.0) == changed

    def test_those_that_wait_are_written_before_the_end(self) -> None:
        """No later attempt would write them: groups that are bound are not tried again."""
        goes_on = threading.Event()

        class Slow(FakeCluster):
            def read(self, target: ObjectReference) -> dict[str, Any] | None:
                goes_on.wait(60)
                return super().read(target)

        cluster = Slow(State())
        groups = [gang(2, name) for name in ("a", "b", "c")]
        cluster.put(*groups)
        writer = GroupStatusWriter(cluster, FakeClock())
        for group in groups:
            writer.attempted(group, Status())
        stopping = threading.Thread(target=writer.stop, args=(60.0,))
        stopping.start()
        goes_on.set()
        stopping.join()
        assert [cluster.groups[name].status.conditions[0].status for name in "abc"] == ["True"] * 3


def test_metrics() -> None:
    metrics = Metrics()
    observer = SchedulerMetrics(metrics)
    made = world(2, observer=observer)
    observer.measure_queue(made.queue)
    made.add(gang(2), *members(2), gang(2, "large"), *(member(f"l{at}", group="large") for at in range(2)))
    made.add(member("lost", group="unknown"))

    def value(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(f"mooring_{name}", labels)

    profile = {"profile": "default-scheduler"}
    assert value("podgroup_schedule_attempts_total", result="scheduled", **profile) == 1
    assert value("podgroup_schedule_attempts_total", result="unschedulable", **profile) == 1
    assert value("podgroup_scheduling_attempt_duration_seconds_count", result="scheduled", **profile) == 1
    assert value("podgroup_scheduling_algorithm_duration_seconds_count") == 2
    assert value("workload_preemption_attempts_total", result="UnschedulableAndUnresolvable") == 1
    assert value("queued_entities", queue="backoff", type="podgroup") == 1
    assert value("queued_entities", queue="backoff", type="pod") == 0
    assert value("pending_pods", queue="backoff") == 2
    assert value("pending_pods", queue="incomplete") == 1
    labels = {"queue": "active", "event": "UnschedulablePodAdd", "type": "podgroup"}
    assert value("queue_incoming_entities_total", **labels) == 2
