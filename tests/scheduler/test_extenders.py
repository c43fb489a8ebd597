"""Extenders in the second scheduler: binding, preemption, messages, when a pod is tried again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from mooring.framework import Pod, Status
from mooring.framework.preemption import Candidate
from mooring.runtime.profiles.extender import MetaVictims, extender_failure
from mooring.testing.builders import make_node, make_pod

from .extenders import FakeExtender
from .world import World

FAILURE = extender_failure("http://extender", "Filter", "out of order")
NO = Status.error("not now")


def world_of(*extenders: FakeExtender, nodes: str = "a") -> World:
    return World(nodes=[make_node(name, allocatable={"cpu": "4"}) for name in nodes], extenders=extenders)


class Binder:
    """Binds pods as an extender does, or returns why not."""

    def __init__(self, *answers: Status | Exception) -> None:
        self.world: World | None = None
        self.answers = list(answers)

    def __call__(self, pod: Pod, node_name: str) -> Status:
        answer = self.answers.pop(0) if self.answers else Status()
        if isinstance(answer, Exception):
            raise answer
        if answer.ok:
            assert self.world is not None
            self.world.cluster.bound(pod, node_name)
        return answer


def bound_by(*answers: Status | Exception, ignorable: bool = False) -> tuple[World, FakeExtender]:
    binder = Binder(*answers)
    extender = FakeExtender(binding=binder, ignorable=ignorable)
    binder.world = world_of(extender)
    return binder.world, extender


class TestBind:
    def test_the_extender_binds(self) -> None:
        world, extender = bound_by()
        world.add(make_pod())
        assert world.cluster.node_of("pod") == "a"
        assert world.cluster.bindings == []
        assert extender.calls[-1] == ("bind", ("a",))
        assert world.reasons("pod") == ["Scheduled"]

    def test_the_bind_plugins_bind_what_it_is_not_interested_in(self) -> None:
        world, extender = bound_by()
        extender.interested = lambda pod: pod.metadata.name != "pod"
        world.add(make_pod())
        assert (world.cluster.bindings, extender.calls) == ([("pod", "a")], [])

    @pytest.mark.parametrize(
        "answer", [pytest.param(NO, id="rejection"), pytest.param(FAILURE, id="no answer")]
    )
    def test_the_bind_plugins_take_over_from_one_that_is_ignorable(self, answer: Status | Exception) -> None:
        world, _ = bound_by(answer, ignorable=True)
        world.add(make_pod())
        assert world.cluster.bindings == [("pod", "a")]

    def test_a_rejection_is_told_and_tried_again(self) -> None:
        world, _ = bound_by(NO)
        world.add(make_pod())
        assert world.cluster.events == [("FailedScheduling", "pod", "not now")]
        assert not world.cluster.node_of("pod")
        world.wait(2)
        assert world.cluster.node_of("pod") == "a"

    def test_without_an_answer_the_place_is_kept_until_the_pod_is_read(self) -> None:
        world, _ = bound_by(FAILURE)
        pod = make_pod()
        world.add(pod)
        record = world.state.snapshot.pods.get(pod.metadata.uid)
        assert record is not None
        assert record.assumed


class TestFailures:
    def test_the_attempt_fails_and_is_repeated(self) -> None:
        extender = FakeExtender(fails=FAILURE)
        world = world_of(extender)
        world.add(make_pod())
        assert world.cluster.events == [("FailedScheduling", "pod", "out of order")]
        assert world.cluster.named("pod").status.conditions[0].reason == "SchedulerError"
        extender.fails = None
        world.wait(2)
        assert world.cluster.node_of("pod") == "a"

    @pytest.mark.parametrize(
        "why", [pytest.param("no", id="with a reason"), pytest.param(None, id="without one")]
    )
    def test_any_event_has_a_rejected_pod_tried_again(self, why: str | None) -> None:
        extender = FakeExtender(rejects={"a": why})
        world = world_of(extender)
        world.add(make_pod())
        assert world.queue.count_rejections() == {("Extender", "default-scheduler"): 1}
        assert world.queue.count_causes() == {("Extender", "ExtenderRejects", "default-scheduler"): 1}
        # Its own condition is an event, too.
        world.wait(10)
        calls = len(extender.calls)
        world.wait(30)
        assert len(extender.calls) == calls
        extender.rejects = {}
        world.add(make_pod("other", node="a", spec={"schedulerName": "other"}))
        assert world.cluster.node_of("pod") == "a"


Answer = Mapping[str, MetaVictims]


def all_of(candidates: Sequence[Candidate]) -> Answer:
    return {
        one.node_name: MetaVictims([pod.metadata.uid for pod in one.victims], one.violations)
        for one in candidates
    }


def only(*names: str) -> FakeExtender:
    return FakeExtender(
        preempting=lambda found: {name: entry for name, entry in all_of(found).items() if name in names}
    )


def saying(answer: Answer, *, ignorable: bool = False) -> FakeExtender:
    return FakeExtender(preempting=lambda _: answer, ignorable=ignorable)


def crowded(*extenders: FakeExtender) -> World:
    """On each node a pod that could go; on b it matters less than on a."""
    world = world_of(*extenders, nodes="ab")
    for name, priority in (("a", 2), ("b", 1)):
        victim = make_pod(f"on-{name}", node=name, requests={"cpu": "4"}, spec={"priority": priority})
        world.cluster.put(victim)
    world.add(make_pod("high", requests={"cpu": "4"}, spec={"priority": 10}))
    return world


UID_A = make_pod("on-a").metadata.uid
MIND = "expected at least one victim pod on node"
NO_CANDIDATE = "no candidate node for preemption"


class TestPreemption:
    @pytest.mark.parametrize(
        ("extenders", "deleted"),
        [
            pytest.param([], ["on-b"], id="none"),
            pytest.param([FakeExtender()], ["on-b"], id="one that takes no part"),
            pytest.param([FakeExtender(preempting=all_of)], ["on-b"], id="one that agrees"),
            pytest.param([only("a")], ["on-a"], id="one that prefers the other node"),
            pytest.param([only("a", "b"), only("a")], ["on-a"], id="one after the other"),
            pytest.param([only()], [], id="one that is against it"),
            pytest.param([only("a"), only("b")], [], id="two that differ"),
            pytest.param([saying({"a": MetaVictims([], 0)})], [], id="no victims"),
            pytest.param(
                [saying({"a": MetaVictims([UID_A], 0), "b": MetaVictims([], 0)}, ignorable=True)],
                ["on-a"],
                id="ignorable, no victims on one",
            ),
            pytest.param([saying({"z": MetaVictims([UID_A], 0)})], [], id="an unknown node"),
            pytest.param(
                [saying({"b": MetaVictims([UID_A], 0)}, ignorable=True)],
                ["on-b"],
                id="ignorable, a pod of another node",
            ),
        ],
    )
    def test_who_goes(self, extenders: list[FakeExtender], deleted: list[str]) -> None:
        assert crowded(*extenders).cluster.deleted == deleted

    def test_they_are_asked_once_and_about_all_candidates(self) -> None:
        extender = FakeExtender(preempting=all_of)
        assert not extender.calls
        crowded(extender)
        assert extender.calls[0] == ("preempt", ("a", "b"))
        assert [verb for verb, _ in extender.calls].count("preempt") == 1

    @pytest.mark.parametrize(
        ("extender", "said"),
        [
            pytest.param(only(), NO_CANDIDATE, id="none left"),
            pytest.param(saying({"a": MetaVictims([], 0)}), f'{MIND} "a"', id="no victims"),
            pytest.param(
                saying({"z": MetaVictims([UID_A], 0)}),
                'nodeinfo not found for node name "z"',
                id="an unknown node",
            ),
            pytest.param(
                saying({"a": MetaVictims(["?"], 0)}),
                "extender: http://extender claims to preempt pod (UID: ?) on node: a, "
                "but the pod is not found on that node",
                id="an unknown pod",
            ),
        ],
    )
    def test_what_is_told(self, extender: FakeExtender, said: str) -> None:
        sentence = f"0/2 nodes are available: 2 Insufficient cpu. preemption: {said}"
        assert crowded(extender).cluster.events == [("FailedScheduling", "high", sentence)]
