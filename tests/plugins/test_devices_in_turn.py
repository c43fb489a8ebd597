"""Pods that request resources which devices may back: placed in one step while no class of devices does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import Put, Remove
from mooring.framework import BindOutcome
from mooring.plugins.dynamic_resources.plugin import DynamicResources
from mooring.runtime.cache.layers.cached_evaluation import CachedEvaluation
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.engine import Engine
from mooring.testing import make_node
from tests.plugins.test_claim_reserving import CLASS, using, wanting
from tests.plugins.test_dynamic_resources import slice_of
from tests.runtime.committing import ROOM, World, committing

NAMES = ("p", "q", "r")
GPUS = "example.com/gpu"


@contextmanager
def gpu_world(*, known: bool = True) -> Iterator[World]:
    """Yield a node with a device plugin, without a class that backs its resource; pods that request it are
    ``known``.
    """
    with committing(DynamicResources, nodes=()) as world:
        offered = {GPUS: 8, ROOM: 9, "pods": 9}
        world.state.apply("test", [Put(make_node("a", allocatable=offered))])
        world.add(*map(wanting, (*NAMES, "before", "earlier")))
        # They are from the second use on.
        for name in ("before", "earlier") if known else ():
            assert reserved_in_turn(world, name) == ["a"]
        yield world


def reserved_in_turn(world: World, *names: str) -> Sequence[str | None]:
    """Return the nodes of those that got a reservation in one step."""
    uids = [f"uid-{name}" for name in names]
    like = world.pod(names[0]), world.engine.profile()
    placed = world.committer.place_reserved_in_turn([like], [0] * len(names), names, uids, owner="me")
    return [choice.node_name for choice in placed]


def begun_in_turn(world: World, *names: str) -> list[str]:
    """Return how the bindings of those ended that got their places in one step, once a class had come."""
    pods = [world.pod(name) for name in names]
    like = pods[0], world.engine.profile()
    placed = world.committer.begin_placing_in_turn([like], [0] * len(names), pods, None)
    class_comes(world)
    reservations = [one.reservation for one in placed if one.reservation is not None]
    ended = [world.committer.finish_binding(each) for each in reservations]
    return [str(each.outcome) for each in ended]


def class_comes(world: World) -> None:
    world.state.apply("test", [Put(from_manifest(item)) for item in (CLASS, slice_of("a", {}, {}, {}))])


def assumed(world: World) -> set[str]:
    return {uid for uid, record in world.state.snapshot.pods.records.items() if record.assumed}


def test_they_are_reserved_in_one_step() -> None:
    with gpu_world() as world:
        assert reserved_in_turn(world, *NAMES) == ["a"] * 3


@pytest.mark.parametrize(
    ("where", "name"),
    [
        pytest.param(Engine, "place_batch", id="before anything is decided"),
        pytest.param(CachedEvaluation, "update", id="while nodes are looked at"),
    ],
)
def test_none_is_where_a_class_comes_before_the_places_are_taken(
    where: type[Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gpu_world() as world:
        known, call = assumed(world), getattr(where, name)

        def after_a_class(*args: Any, **how: Any) -> Any:
            monkeypatch.undo()
            class_comes(world)
            return call(*args, **how)

        monkeypatch.setattr(where, name, after_a_class)
        assert reserved_in_turn(world, *NAMES) == []
        assert assumed(world) == known
        assert reserved_in_turn(world, *NAMES) == []
        world.state.apply("test", [Remove("DeviceClass", "", "gpu")])
        assert reserved_in_turn(world, *NAMES) == ["a"] * 3


def test_nor_where_a_pod_that_asks_for_none_was_asked_about_first() -> None:
    """Both name their node, and may have the same static scores."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    naming: dict[str, Any] = {"affinity": {"nodeAffinity": required}}
    with gpu_world(known=False) as world:
        world.add(*(using(name, **naming) for name in "xy"), *(wanting(name, **naming) for name in "uvw"))
        for name in "xyuv":
            assert reserved_in_turn(world, name) == ["a"]
        class_comes(world)
        like = world.pod("w"), world.engine.profile()
        assert not world.engine.place_batch([like], [0], ["w"], ["uid-w"])


def test_those_that_are_placed_are_bound_whatever_class_comes() -> None:
    with gpu_world() as world:
        assert begun_in_turn(world, *NAMES) == ["BindOutcome.BOUND"] * 3
        assert world.bind(world.pod("before"), "a") is BindOutcome.BOUND
        assert world.fake.all("ResourceClaim") == []


def test_a_claim_is_written_though_its_class_goes_before_the_pod_is_bound() -> None:
    with committing(DynamicResources) as world:
        [pod] = world.add(wanting("p"), CLASS, slice_of("a", {}))
        begun = world.committer.begin_placing(pod, world.engine.profile(), ALL_NODES)
        world.state.apply("test", [Remove("DeviceClass", "", "gpu")])
        assert begun.reservation is not None
        assert world.committer.finish_binding(begun.reservation).outcome is BindOutcome.BOUND
        assert len(world.fake.all("ResourceClaim")) == 1
