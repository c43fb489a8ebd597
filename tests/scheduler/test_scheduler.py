"""From a pending pod to a binding or a message: the loop over a cluster in memory."""

from __future__ import annotations

import logging
import threading
from typing import Any, ClassVar

import pytest

from mooring.cli.decisions import document_of, victims_of
from mooring.decisions.decisions import Decisions
from mooring.decisions.journal import DecisionJournal
from mooring.decisions.life import life_of
from mooring.decisions.records import Record
from mooring.framework import (
    SUCCESS,
    Code,
    CycleState,
    PermitPlugin,
    Pod,
    PreBindPlugin,
    PreEnqueuePlugin,
    Status,
)
from mooring.framework.errors import (
    FailedPreconditionError,
    MooringError,
    PermissionDeniedError,
    UnavailableError,
)
from mooring.framework.objects import LabelSelector, ObjectMeta, PodDisruptionBudget, PodDisruptionBudgetSpec
from mooring.service.wire.decision_messages import write_decision
from mooring.testing import make_node, make_pod
from mooring_client.v1 import decision_service_pb2 as pb

from .fakes import Poisoned
from .world import World

SMALL = {"cpu": "1", "pods": 10}


def asking(name: str, cpu: str = "600m", **fields: Any) -> Pod:
    return make_pod(name, requests={"cpu": cpu}, **fields)


class TestBinding:
    def test_a_pod_is_bound_and_told_of(self) -> None:
        world = World(nodes=[make_node("a")])
        world.add(make_pod())
        assert world.cluster.bindings == [("pod", "a")]
        assert world.cluster.events == [("Scheduled", "pod", "Successfully assigned default/pod to a")]
        assert not any(world.queue.count_pods().values())
        assert world.queue.in_flight() == (0, 0)

    def test_the_log_line(self, caplog: pytest.LogCaptureFixture) -> None:
        """S5: four nodes, one of them tainted."""
        tainted = make_node("control", taints=[{"key": "control-plane", "effect": "NoSchedule"}])
        world = World(nodes=[*map(make_node, "abc"), tainted])
        with caplog.at_level(logging.INFO - 1, "mooring.scheduler"):
            world.add(make_pod("silent"))
        assert not caplog.messages
        with caplog.at_level(logging.INFO - 2, "mooring.scheduler"):
            world.add(make_pod("nginx"))
        node = world.cluster.node_of("nginx")
        line = f'"Successfully bound pod to node" pod="default/nginx" node="{node}" '
        assert f"{line}evaluatedNodes=4 feasibleNodes=3" in caplog.messages

    def test_only_own_pods_without_a_node_are_queued(self) -> None:
        world = World(nodes=[make_node("a")], schedulers=["mine", "other"])
        world.add(
            make_pod("mine", spec={"schedulerName": "mine"}),
            make_pod("other", spec={"schedulerName": "other"}),
            make_pod("foreign"),
            make_pod("placed", node="a", spec={"schedulerName": "mine"}),
        )
        assert sorted(world.cluster.bindings) == [("mine", "a"), ("other", "a")]

    @pytest.mark.parametrize(
        ("error", "told"),
        [
            pytest.param(PermissionDeniedError("not allowed"), ["FailedScheduling"], id="rejected"),
            pytest.param(
                UnavailableError("later", reason="NOT_LEADER"), ["FailedScheduling"], id="never sent"
            ),
            pytest.param(
                FailedPreconditionError("gone wrong", reason="POD_BOUND_ELSEWHERE"), [], id="a rival's pod"
            ),
        ],
    )
    def test_a_failed_binding_is_tried_again(self, error: MooringError, told: list[str]) -> None:
        world = World(nodes=[make_node("a")])
        faults = [error]

        def fault(_: Pod) -> None:
            if faults:
                raise faults.pop()

        world.cluster.before_bind = fault
        world.add(make_pod())
        assert len(world.cycle.reservations) == 0
        assert world.queue.count_pods()["backoff"] == 1
        assert world.reasons("pod") == told
        assert bool(world.cluster.named("pod").status.conditions) == bool(told)
        world.wait(3)
        assert world.cluster.node_of("pod") == "a"

    @pytest.mark.parametrize("happened", [True, False], ids=["it was bound", "it was not"])
    def test_a_binding_without_an_answer(self, happened: bool) -> None:
        """The pod keeps its place, gets no wrong message, and ends up bound once."""
        world = World(nodes=[make_node("a", allocatable=SMALL)])
        lost = [UnavailableError("no answer", reason="API_SERVER_UNAVAILABLE")]

        def fault(pod: Pod) -> None:
            if lost:
                if happened:
                    world.cluster.bound(pod, "a", deliver=False)
                raise lost.pop()

        world.cluster.before_bind = fault
        world.add(asking("first"))
        world.add(asking("second"))
        assert world.cluster.bindings == [("first", "a")], "its place is not given away"
        assert world.reasons("first") == []
        while len(world.cycle.reservations):
            world.wait(1)
        world.cluster.deliver()
        world.wait(15)
        assert world.cluster.node_of("first") == "a"
        assert world.cluster.bindings == [("first", "a")] * (1 if happened else 2)
        assert world.queue.in_flight() == (0, 0)

    def test_a_replica_that_does_not_lead_only_listens(self) -> None:
        class Standby:
            leads = False

            def is_leader(self) -> bool:
                return self.leads

            def leader(self) -> str:
                return "another"

        standby = Standby()
        world = World(nodes=[make_node("a")], leadership=standby)
        world.add(make_pod())
        assert world.cluster.bindings == []
        assert world.queue.count_pods()["active"] == 1
        standby.leads = True
        world.settle()
        assert world.cluster.node_of("pod") == "a"


class TestPreEnqueue:
    def test_it_runs_once_for_a_new_pod_and_once_more_when_it_is_to_be_tried_again(self) -> None:
        asked: list[str] = []

        class Asked(PreEnqueuePlugin[None]):
            name = "Asked"

            def pre_enqueue(self, pod: Pod) -> Status:
                asked.append(pod.metadata.name)
                return SUCCESS

        world = World(Asked, nodes=[make_node("a", allocatable=SMALL)])
        world.add(asking("first"))
        assert asked == ["first"]
        world.add(asking("second"))
        assert world.queue.count_pods()["unschedulable"] == 1
        assert asked == ["first", "second"]
        world.add(make_node("b", allocatable=SMALL))
        assert world.cluster.node_of("second") == "b"
        assert asked == ["first", "second", "second"]


class TestWaitingForRoom:
    def test_an_unschedulable_pod_is_told_of_and_tried_when_room_comes(self) -> None:
        world = World(nodes=[make_node("a", allocatable=SMALL)])
        first, second = asking("first"), asking("second")
        world.add(first)
        world.add(second)
        said = (
            "0/1 nodes are available: 1 Insufficient cpu. "
            "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
        )
        assert world.cluster.events[-1] == ("FailedScheduling", "second", said)
        condition = world.cluster.named("second").status.conditions[0]
        assert (condition.type, condition.status, condition.reason) == (
            "PodScheduled",
            "False",
            "Unschedulable",
        )
        assert condition.message == said
        world.cluster.remove(first)
        world.settle()
        assert world.cluster.node_of("second") == "a"

    def test_the_same_again_is_not_written_again(self) -> None:
        world = World(nodes=[make_node("a", allocatable=SMALL)])
        world.add(asking("big", "2"))
        version = world.cluster.named("big").metadata.resource_version
        world.queue.activate_pods([world.cluster.named("big")])
        world.settle()
        assert world.cluster.named("big").metadata.resource_version == version
        world.add(make_node("b", allocatable=SMALL))
        world.queue.activate_pods([world.cluster.named("big")])
        world.settle()
        assert world.cluster.named("big").metadata.resource_version != version, "two nodes, another message"

    def test_a_gated_pod_is_bound_once_its_gates_are_gone(self) -> None:
        world = World(nodes=[make_node("a")])
        world.add(make_pod("gated", spec={"schedulingGates": [{"name": "example.com/wait"}]}))
        assert world.queue.count_pods()["gated"] == 1
        world.add(make_pod("gated"))
        assert world.cluster.node_of("gated") == "a"

    def test_no_node_at_all(self) -> None:
        world = World()
        world.add(make_pod())
        assert world.cluster.events == [("FailedScheduling", "pod", "no nodes available to schedule pods")]
        world.add(make_node("a"))
        world.wait(3)
        assert world.cluster.node_of("pod") == "a"

    def test_a_pod_that_leaves_is_not_scheduled(self) -> None:
        world = World(nodes=[make_node("a")])
        world.add(make_pod(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}))
        assert world.cluster.bindings == []
        assert world.cluster.events == [
            ("FailedScheduling", "pod", "skip schedule deleting pod: default/pod")
        ]


class TestPoison:
    def test_poison_pod(self) -> None:
        """C6: a pod whose filter raises is parked with an event; the queue moves on."""
        world = World(Poisoned, nodes=[make_node("a", allocatable={"pods": 500})])
        world.add(make_pod("poison"), *(make_pod(f"good-{number}") for number in range(50)))
        assert len(world.cluster.bindings) == 50
        assert world.queue.count_pods()["backoff"] == 1
        reason, _, note = next(event for event in world.cluster.events if event[1] == "poison")
        assert reason == "FailedScheduling"
        assert "Poisoned" in note
        assert "boom" in note
        assert world.cluster.named("poison").status.conditions[0].reason == "SchedulerError"
        attempts = len(world.reasons("poison"))
        world.wait(20)
        assert attempts < len(world.reasons("poison")) + 4
        assert world.cluster.node_of("poison") == ""

    def test_a_pre_bind_that_fails_gives_the_place_back(self) -> None:
        class Broken(PreBindPlugin[None]):
            """Rejects a pod once."""

            name = "Broken"
            answers: ClassVar = [Status.unschedulable("not now")]

            def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
                return self.answers.pop() if self.answers else SUCCESS

        world = World(Broken, nodes=[make_node("a", allocatable=SMALL)])
        world.add(asking("rejected"))
        said = "0/1 nodes are available: 1 not now."
        assert world.cluster.events[0] == ("FailedScheduling", "rejected", said)
        assert world.cluster.node_of("rejected") == "a", "nothing else waits, so it is tried again early"


class TestPermit:
    def test_pods_that_wait_keep_nobody_up(self) -> None:
        class Together(PermitPlugin[None]):
            """Makes pods wait for the third."""

            name = "Together"

            def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
                waiting = list(self.handle.waiting)
                if len(waiting) < 2:
                    return Status(Code.WAIT), 60.0
                for other in waiting:
                    other.allow(self.name)
                return SUCCESS, 0.0

        world = World(Together, nodes=[make_node("a")])
        world.add(*(make_pod(f"p-{number}") for number in range(3)))
        for waiter in tuple(world.scheduler._binders._waiters):
            waiter.join(10)
        world.settle()
        assert len(world.cluster.bindings) == 3


class TestPreemption:
    def full_node(self) -> World:
        world = World(nodes=[make_node("a", allocatable=SMALL)])
        world.add(asking("low", spec={"priority": 1}))
        assert world.cluster.node_of("low") == "a"
        return world

    def test_a_less_important_pod_makes_room(self) -> None:
        world = self.full_node()
        world.add(asking("high", spec={"priority": 1000}))
        assert world.cluster.deleted == ["low"]
        assert ("Preempted", "low") in [event[:2] for event in world.cluster.events]
        world.wait(3)
        assert world.cluster.node_of("high") == "a"

    def test_a_decision_has_its_victims_and_the_budgets_that_they_violate(self) -> None:
        noted = Decisions(DecisionJournal())
        world = World(nodes=[make_node("a", allocatable=SMALL)], decisions=noted)
        selector = LabelSelector(match_labels={"app": "web"})
        world.state.replace(
            "budgets",
            [PodDisruptionBudget(ObjectMeta("web", "default"), PodDisruptionBudgetSpec(selector))],
        )
        world.add(asking("low", labels={"app": "web"}, spec={"priority": 1}))
        world.add(asking("high", spec={"priority": 1000}))
        made = [entry for _, entry in noted.journal.newest_entries() if isinstance(entry, Record)]
        (details,) = (each.details for each in made if each.details.nominated)
        assert (details.victims, details.budgets) == (("default/low",), ("default/web",))
        message = pb.Decision()
        write_decision(message, 1, next(each for each in made if each.details is details))
        assert document_of(message)["victims"] == ["default/low"]
        assert victims_of(message) == "default/low, violating default/web"

    def test_attempts_know_what_woke_them_and_what_held_them_back(self) -> None:
        noted = Decisions(DecisionJournal())
        world = World(nodes=[make_node("full", allocatable={**SMALL, "cpu": "1m"})], decisions=noted)
        gated = asking("p", spec={"schedulingGates": [{"name": "g"}]})
        world.add(gated)
        world.add(asking("p", spec={"schedulingGates": []}))
        world.wait(3)
        world.add(make_node("a", allocatable=SMALL))
        world.wait(3)
        made = [entry for _, entry in noted.journal.entries_after(0) if isinstance(entry, Record)]
        assert [each.details.gated[0] for each in made] == ["SchedulingGates"] * len(made)
        assert [each.details.woken[0] for each in made][-1] == "NodeAdd"
        kinds = [moment.kind.name for moment in life_of(list(enumerate(made, 1)), None, None)]
        assert kinds[-2:] == ["WOKEN", "PLACED"]
        assert kinds.count("GATED") == 1

    def test_the_room_is_kept_while_the_victim_leaves(self) -> None:
        world = self.full_node()
        world.cluster.graceful = True
        world.add(asking("high", spec={"priority": 1000}))
        victim = world.cluster.named("low")
        target = victim.status.conditions[-1]
        assert (target.type, target.status, target.reason) == (
            "DisruptionTarget",
            "True",
            "PreemptionByScheduler",
        )
        assert world.cluster.named("high").status.nominated_node_name == "a"
        world.add(asking("middle", spec={"priority": 500}))
        world.wait(40)
        assert world.cluster.deleted == ["low"], "it is asked to leave once"
        assert world.cluster.named("high").status.nominated_node_name == "a"
        world.cluster.remove(victim)
        world.wait(12)
        assert (world.cluster.node_of("high"), world.cluster.node_of("middle")) == ("a", "")

    def test_the_pod_is_gated_while_its_victims_are_being_deleted(self) -> None:
        world = self.full_node()
        may_go = threading.Event()

        def wait(_: Pod) -> None:
            may_go.wait(30)

        world.cluster.before_delete = wait
        high = asking("high", spec={"priority": 1000})
        world.cluster.put(high)
        world.scheduler.try_next()
        world.queue.activate_pods([high])
        assert world.queue.count_pods()["gated"] == 1
        may_go.set()
        world.settle()
        world.wait(3)
        assert world.cluster.deleted == ["low"]
        assert world.cluster.node_of("high") == "a"

    def test_a_deletion_that_fails_is_tried_again(self) -> None:
        world = self.full_node()
        faults: list[MooringError] = [UnavailableError("no answer", reason="API_SERVER_UNAVAILABLE")]

        def fault(_: Pod) -> None:
            if faults:
                raise faults.pop()

        world.cluster.before_delete = fault
        world.add(asking("high", spec={"priority": 1000}))
        world.wait(15)
        assert world.cluster.deleted == ["low", "low"]
        assert world.cluster.node_of("high") == "a"

    @pytest.mark.parametrize(
        "spec",
        [
            pytest.param({"priority": 1}, id="not more important"),
            pytest.param({"priority": 1000, "preemptionPolicy": "Never"}, id="may not"),
        ],
    )
    def test_nobody_has_to_go(self, spec: dict[str, Any]) -> None:
        world = self.full_node()
        world.add(asking("other", spec=spec))
        world.wait(3)
        assert world.cluster.deleted == []
        assert world.cluster.node_of("other") == ""


def test_a_pod_that_waits_for_its_word_is_given_back_at_the_end() -> None:
    class Waiting(PermitPlugin[None]):
        """Makes every pod wait."""

        name = "Waiting"

        def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
            return Status(Code.WAIT), 60.0

    world = World(Waiting, nodes=[make_node("a")])
    world.add(make_pod("web"))
    assert len(world.cycle.reservations) == 1
    world.scheduler.stop()
    world.scheduler.finish_bindings()
    assert len(world.cycle.reservations) == 0
    assert (world.cluster.node_of("web"), world.reasons("web")) == ("", [])
