"""A pod that has its node and is not bound at once names the node in its status meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from mooring.framework import SUCCESS, Code, CycleState, PermitPlugin, Pod, PreBindPlugin, Status
from mooring.testing import make_node, make_pod
from tests.process import until

from .world import World


class Busy(PreBindPlugin[None]):
    """Has to do something for each pod whose name doesn't begin with "idle"."""

    name = "Busy"
    rejections: ClassVar[int] = 0

    def pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return Status.skip() if pod.metadata.name.startswith("idle") else SUCCESS

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        assert not pod.metadata.name.startswith("idle")
        Busy.rejections -= 1
        return Status.unschedulable("not now") if Busy.rejections >= 0 else SUCCESS


class Waits(PermitPlugin[None]):
    """Makes every pod wait for a second."""

    name = "Waits"

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        return Status(Code.WAIT), 1.0


def expected_at_binding(*plugins: Any, **options: Any) -> tuple[World, dict[str, str]]:
    """Return a scheduler, and by pod the node that its status names when the binding is sent."""
    world = World(*plugins, nodes=[make_node("a")], **options)
    found: dict[str, str] = {}

    def look(pod: Pod) -> None:
        name = pod.metadata.name
        found[name] = world.cluster.named(name).status.nominated_node_name

    world.cluster.before_bind = look
    return world, found


@pytest.mark.parametrize(
    ("gates", "named"), [({}, "a"), ({"NominatedNodeNameForExpectation": False}, "")], ids=["on", "off"]
)
def test_a_pod_for_which_pre_bind_has_something_to_do(gates: dict[str, bool], named: str) -> None:
    world, found = expected_at_binding(Busy, gates=gates)
    world.add(make_pod("busy"), make_pod("idle"))
    assert found == {"busy": named, "idle": ""}
    assert world.cluster.node_of("busy") == world.cluster.node_of("idle") == "a"


def test_a_pod_that_waits_for_permit() -> None:
    world = World(Waits, nodes=[make_node("a")])
    world.cluster.put(make_pod("p"))
    world.scheduler.try_next()
    (waiting,) = world.scheduler._components.engine.profiles.waiting
    (waiter,) = world.scheduler._binders._waiters
    until(lambda: world.cluster.named("p").status.nominated_node_name == "a")
    waiting.allow("Waits")
    waiter.join(10)
    assert world.cluster.node_of("p") == "a"


def test_a_pod_that_is_not_bound_after_all(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(Busy, nodes=[make_node("a")])
    patched, patches = world.cluster.patch_pod_status, list[Any]()

    def patch(pod: Pod, status: Mapping[str, Any]) -> None:
        patches.append(status.get("nominatedNodeName", "as before"))
        patched(pod, status)

    monkeypatch.setattr(world.cluster, "patch_pod_status", patch)
    monkeypatch.setattr(Busy, "rejections", 1)
    world.add(make_pod("p"))
    assert patches == ["a", None, "a"], "not expected there until it is tried again"
    assert world.cluster.node_of("p") == "a"


def test_a_plugin_must_say_whether_it_has_something_to_do() -> None:
    class Vague(PreBindPlugin[None]):
        name = "Vague"

        def pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> Status:
            return Status.unschedulable("perhaps")

        def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
            return SUCCESS

    world = World(Vague, nodes=[make_node("a")])
    world.cluster.put(make_pod("p"))
    world.scheduler.try_next()
    world._finish_threads()
    assert world.cluster.bindings == []
    condition = world.cluster.named("p").status.conditions[0]
    assert condition.reason == "SchedulerError"
    assert "plugin 'Vague' failed at PreBindPreFlight" in condition.message
