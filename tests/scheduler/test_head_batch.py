"""Pods that are decided in one step get what they would get one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.framework import Pod
from mooring.framework.errors import UnavailableError
from mooring.runtime.commit.committer import Committer
from mooring.runtime.commit.placement import PlacedPod
from mooring.scheduler import head_batch
from mooring.scheduler.queue import QueuedPod, SchedulingQueue
from mooring.testing import make_node, make_pod
from tests.examples import examples

from .world import World

OFFERS = {"cpu": "8", "memory": "32Gi", "pods": "110", "example.com/gpu": "4"}
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "apart"}}}
        ]
    }
}

SHAPES: dict[str, Callable[[str], Pod]] = {
    "small": lambda name: make_pod(name, requests={"cpu": "1"}),
    "large": lambda name: make_pod(name, requests={"cpu": "3"}),
    "huge": lambda name: make_pod(name, requests={"cpu": "100"}),
    "own": lambda name: make_pod(name, labels={"name": name}, requests={"cpu": "1"}),
    "gpu": lambda name: make_pod(name, requests={"cpu": "1", "example.com/gpu": "1"}),
    "first": lambda name: make_pod(
        name, requests={"cpu": "2"}, spec={"priority": 7, "preemptionPolicy": "Never"}
    ),
    "apart": lambda name: make_pod(name, labels={"app": "apart"}, spec={"affinity": APART}),
    "leaving": lambda name: make_pod(name, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
    "gated": lambda name: make_pod(name, spec={"schedulingGates": [{"name": "example.com/later"}]}),
}


def scheduled(shapes: Sequence[str]) -> World:
    """Return a world in which pods of these shapes were there at once."""
    world = World(nodes=[make_node(name, allocatable=OFFERS) for name in "abc"])
    world.add(*(SHAPES[shape](f"{shape}-{number}") for number, shape in enumerate(shapes)))
    return world


@examples(15)
@given(st.lists(st.sampled_from(sorted(SHAPES)), max_size=30))
def test_each_pod_gets_what_it_would_get_alone(shapes: list[str]) -> None:
    in_turn = scheduled(shapes)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(head_batch, "MOST_PODS", 1)
        one_by_one = scheduled(shapes)
    assert in_turn.cluster.bindings == one_by_one.cluster.bindings
    assert sorted(in_turn.cluster.events) == sorted(one_by_one.cluster.events)
    assert attempts(in_turn) == attempts(one_by_one)
    assert in_turn.queue.in_flight() == one_by_one.queue.in_flight() == (0, 0)
    assert len(in_turn.cycle.reservations) == 0


def attempts(world: World) -> dict[str, tuple[str, int]]:
    """Return the place in the queue of each pod, and the number of its attempts."""
    return {each.pod.metadata.name: (each.place, each.attempts) for each in world.queue.list_pods()}


def test_pods_that_are_alike_or_differ_take_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = steps_of(monkeypatch)
    # The first of a template is evaluated in full.
    scheduled(["small"] * 16 + ["own"] * 4 + ["gpu"] * 4)
    assert [len(step) for step in steps] == [16, 8]


def test_a_step_ends_before_a_pod_that_fits_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = steps_of(monkeypatch)
    world = scheduled(["small", "small", "small", "huge", "small", "small"])
    assert len(steps[0]) == 3
    assert attempts(world) == {"huge-3": ("unschedulable", 1)}
    assert len(world.cluster.bindings) == 5


def test_after_an_error_each_pod_is_tried_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> list[PlacedPod]:
        raise UnavailableError("not now", reason="NOT_LEADER")

    monkeypatch.setattr(Committer, "begin_placing_in_turn", fail)
    world = scheduled(["small"] * 5)
    assert [name for name, _ in world.cluster.bindings] == [f"small-{number}" for number in range(5)]
    assert attempts(world) == {}


def test_a_step_ends_before_a_pod_that_the_state_knows_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    steps, pop_more = steps_of(monkeypatch), SchedulingQueue.pop_more
    world = World(nodes=[make_node("a", allocatable=OFFERS)])

    def changing_one(queue: SchedulingQueue, *arguments: Any) -> list[QueuedPod]:
        if not steps:
            world.cluster.put(SHAPES["large"]("small-2"))
        return pop_more(queue, *arguments)

    monkeypatch.setattr(SchedulingQueue, "pop_more", changing_one)
    world.add(*(SHAPES["small"](f"small-{number}") for number in range(4)))
    assert len(steps[0]) == 2
    assert len(world.cluster.bindings) == 4


def steps_of(monkeypatch: pytest.MonkeyPatch) -> list[list[PlacedPod]]:
    """Return the pods that are decided in one step, from now on."""
    steps: list[list[PlacedPod]] = []
    place = Committer.begin_placing_in_turn

    def noted(*arguments: object) -> list[PlacedPod]:
        steps.append(place(*arguments))  # type: ignore[arg-type] # as it is called
        return steps[-1]

    monkeypatch.setattr(Committer, "begin_placing_in_turn", noted)
    return steps
