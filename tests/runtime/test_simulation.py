"""Pods placed without other clients: waits at Permit end at once."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.cluster.binding import LocalBinder
from mooring.cluster.state import State
from mooring.config import from_document
from mooring.framework import (
    SUCCESS,
    Code,
    CycleState,
    FilterPlugin,
    NodeInfo,
    PermitPlugin,
    Plugin,
    Pod,
    Status,
)
from mooring.framework.errors import MooringError
from mooring.runtime.assembly import build_engine
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.runtime.simulation import MOST_PREEMPTIONS, Simulation
from mooring.testing.builders import make_node, make_pod

WAIT = Status(Code.WAIT, ("not yet",))


class Couples(PermitPlugin[None]):
    """A pod waits for an hour for the one that it names in ``for``, which lets it through."""

    name = "Couples"

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        if pod.metadata.name == "rejected":
            return Status.unschedulable("not this one"), 0.0
        for waiting in self.handle.waiting:
            if waiting.pod.metadata.labels.get("for") == pod.metadata.name:
                waiting.allow(self.name)
        return (WAIT, 3600.0) if "for" in pod.metadata.labels else (SUCCESS, 0.0)


class Contrary(FilterPlugin[None]):
    """Passes ``high`` only if a pod was just removed on trial, so never in fact."""

    name = "Contrary"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        snapshot = self.handle.snapshot()
        there = snapshot.pods.records_on(snapshot.nodes.index[node.name])
        if pod.metadata.name != "high" or len(node.pods) < len(list(there)):
            return SUCCESS
        return Status.unschedulable("somebody is still there")


def simulated(pods: list[Pod], slots: int, plugin: type[Plugin[None]] = Couples) -> Simulation:
    registry = new_in_tree_registry()
    registry.register(plugin.name, plugin)
    plugins = {"multiPoint": {"enabled": [{"name": plugin.name}]}}
    state = State()
    nodes = [make_node(f"n{number}", allocatable={"pods": 1}) for number in range(slots)]
    state.replace("test", [*nodes, *pods])
    catalog = registry.catalog()
    document: dict[str, Any] = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", "plugins": plugins}],
    }
    engine = build_engine(from_document(document, catalog), registry, state, LocalBinder(state))
    simulation = Simulation(engine, lambda pod: engine.profile("", pod))
    queue = [pod for pod in pods if pod.pending]
    assert list(simulation.place(queue)) == queue
    return simulation


def pod(name: str, waits_for: str = "") -> Pod:
    return make_pod(name, labels={"for": waits_for} if waits_for else {})


def outcome(simulation: Simulation, name: str) -> str:
    result = simulation.result(pod(name))
    assert result is not None
    if isinstance(result, MooringError):
        return result.message
    said = (result.choice.message if result.choice else "") or result.status.message
    return "placed" if result.status.ok else said.partition(" preemption:")[0]


TOO_LATE = "rejected due to timeout after waiting 15m0s at plugin Couples"


@pytest.mark.parametrize(
    ("pods", "slots", "expected"),
    [
        pytest.param([pod("a", "b"), pod("b")], 2, {"a": "placed", "b": "placed"}, id="the other comes"),
        pytest.param([pod("a", "b")], 1, {"a": TOO_LATE}, id="nobody comes"),
        pytest.param(
            [pod("a", "b"), pod("b"), pod("c")],
            1,
            {"a": TOO_LATE, "b": "placed", "c": "0/1 nodes are available: 1 Too many pods."},
            id="its place is given back, to the first that had found none",
        ),
        pytest.param(
            [pod("a", "x"), pod("b", "c"), pod("c")],
            2,
            {"a": TOO_LATE, "b": TOO_LATE, "c": "placed"},
            id="waits that began together end together",
        ),
        pytest.param(
            [pod("rejected"), pod("a")], 1, {"rejected": "not this one", "a": "placed"}, id="rejected"
        ),
    ],
)
def test_whoever_waits_is_let_through_by_another_or_gives_its_place_back(
    pods: list[Pod], slots: int, expected: dict[str, str]
) -> None:
    simulation = simulated(pods, slots)
    assert {name: outcome(simulation, name) for name in expected} == expected


def test_pods_go_for_one_that_never_fits_only_some_times() -> None:
    owner = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}]
    lows = [
        make_pod(f"low-{at}", metadata={"ownerReferences": owner}, node=f"n{at}", spec={"priority": 0})
        for at in range(2)
    ]
    high = make_pod("high", spec={"priority": 9})
    simulation = simulated([*lows, high], 2, Contrary)
    assert "somebody is still there" in outcome(simulation, "high")
    assert len(simulation.preempted) == MOST_PREEMPTIONS
