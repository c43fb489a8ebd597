"""Bindings that are sent without waiting for their answers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from mooring.framework import SUCCESS, BindOutcome, CycleState, Pod, PreBindPlugin, ReservePlugin, Status
from mooring.framework.batch import BatchPlugin
from mooring.framework.errors import UnavailableError
from mooring.framework.handle import BindingEnded
from mooring.testing import make_node, make_pod

from .test_expectation import Busy
from .world import World


class Answering:
    """The answers to the bindings that a world sends ahead, given when the test says so."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = world
        self.sent: list[tuple[Pod, str, BindingEnded]] = []
        monkeypatch.setattr(world.cluster, "begin_bind", self._begin)

    def names(self) -> list[str]:
        return [pod.metadata.name for pod, _, _ in self.sent]

    def accept(self) -> None:
        """The oldest one is answered with success."""
        pod, node_name, ended = self.sent.pop(0)
        self.world.cluster.bound(pod, node_name)
        ended(BindOutcome.BOUND)

    def find_out(self, conclude: Callable[[], BindOutcome]) -> None:
        """Answer the oldest one so that the caller has to ask again."""
        _, _, ended = self.sent.pop(0)
        ended(conclude)
        self.world.settle()

    def _begin(self, pod: Pod, node_name: str, ended: BindingEnded) -> bool:
        self.sent.append((pod, node_name, ended))
        return True


def test_a_pod_has_its_turn_when_the_one_before_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(nodes=[make_node("a")])
    answering = Answering(world, monkeypatch)
    world.add(make_pod("first"), make_pod("second"))
    assert answering.names() == ["first"]
    assert world.cluster.events == []
    answering.accept()
    assert answering.names() == ["second"]
    answering.accept()
    world.settle()
    assert [name for _, name, _ in world.cluster.events] == ["first", "second"]
    assert len(world.cycle.reservations) == 0
    assert world.queue.in_flight() == (0, 0)


def test_what_has_to_be_found_out_is_found_out_by_a_thread_that_may_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(nodes=[make_node("a")])
    answering = Answering(world, monkeypatch)
    world.add(make_pod("web"))
    threads = []

    def conclude() -> BindOutcome:
        threads.append(threading.current_thread().name)
        world.cluster.bound(world.cluster.named("web"), "a")
        return BindOutcome.ALREADY_BOUND

    answering.find_out(conclude)
    assert threads == ["binder_0"]
    assert world.reasons("web") == ["Scheduled"]


def test_a_pod_whose_outcome_is_unknown_keeps_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(nodes=[make_node("a", allocatable={"cpu": "1", "pods": 1})])
    answering = Answering(world, monkeypatch)
    world.add(make_pod("web"), make_pod("other"))

    def conclude() -> BindOutcome:
        raise UnavailableError("no answer", reason="API_SERVER_UNAVAILABLE")

    answering.find_out(conclude)
    assert len(world.cycle.reservations) == 1
    assert (world.reasons("web"), answering.sent) == ([], [])


def test_what_is_not_sent_at_the_end_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(nodes=[make_node("a")])
    answering = Answering(world, monkeypatch)
    world.add(make_pod("first"), make_pod("second"))
    world.scheduler.stop()
    ending = threading.Thread(target=world.scheduler.finish_bindings)
    ending.start()
    answering.accept()
    ending.join(30)
    assert (answering.names(), len(world.cycle.reservations)) == ([], 0)
    assert [world.cluster.node_of(name) for name in ("first", "second")] == ["a", ""]


@pytest.mark.parametrize(
    ("plugins", "ready", "pod"),
    [
        pytest.param((Busy,), True, "busy", id="when a plugin has something to do before"),
        pytest.param((), False, "web", id="when there is no connection"),
    ],
)
def test_nothing_is_sent_ahead(
    monkeypatch: pytest.MonkeyPatch, plugins: tuple[Any, ...], ready: bool, pod: str
) -> None:
    world = World(*plugins, nodes=[make_node("a")])
    world.cluster.ready = ready
    answering = Answering(world, monkeypatch)
    world.add(make_pod(pod))
    assert answering.sent == []
    assert world.cluster.bindings == [(pod, "a")]


def test_a_binding_comes_after_what_was_to_be_said_of_the_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that decides doesn't wait for it: another one does."""
    world = World()
    written, order = threading.Event(), list[str]()
    patch = world.cluster.patch_pod_status

    def patch_later(pod: Pod, status: Any) -> None:
        assert written.wait(30)
        order.append("status")
        patch(pod, status)

    monkeypatch.setattr(world.cluster, "patch_pod_status", patch_later)
    world.cluster.before_bind = lambda _: order.append("binding")
    world.cluster.put(make_pod("web"))
    world.scheduler.try_next()
    world.cluster.put(make_node("a"))
    world.clock.advance(30)
    while world.scheduler.try_next() == 0:
        pass
    assert order == []
    written.set()
    world.settle()
    assert order == ["status", "binding"]


def test_plugins_are_asked_about_those_alone_that_they_may_reserve_for() -> None:
    asked: list[tuple[str, str]] = []

    class Some(ReservePlugin[None], PreBindPlugin[None], BatchPlugin):
        name = "Some"

        def reserves_for(self, pod: Pod) -> bool:
            return pod.metadata.name == "mine"

        def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
            asked.append((pod.metadata.name, "reserve"))
            return SUCCESS

        def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
            raise AssertionError("all are bound")

        def pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> Status:
            asked.append((pod.metadata.name, "pre_flight"))
            return Status.skip()

        def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
            raise AssertionError("it has nothing to do")

    world = World(Some, nodes=[make_node("a")])
    world.add(make_pod("mine"), make_pod("other"))
    assert [world.cluster.node_of(name) for name in ("mine", "other")] == ["a", "a"]
    assert asked == [("mine", "reserve"), ("mine", "pre_flight")]
