"""Another configuration while the scheduler runs: pods that are tried again, and changes that need a
restart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mooring.config import from_document
from mooring.framework import (
    CycleState,
    FilterPlugin,
    NodeInfo,
    Pod,
    PreEnqueuePlugin,
    QueueSortPlugin,
    Status,
)
from mooring.framework.errors import InvalidArgumentError
from mooring.runtime.assembly import ProfileBuilder
from mooring.runtime.profiles.profiles import Profiles
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.scheduler.assembly import sorted_by
from mooring.scheduler.queue.queued_pod import QueuedPod
from mooring.testing import make_node, make_pod

from .world import World, configuration


class Closed(PreEnqueuePlugin[None]):
    name = "Closed"

    def pre_enqueue(self, pod: Pod) -> Status:
        return Status.unresolvable("closed")


class NoNode(FilterPlugin[None]):
    name = "NoNode"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return Status.unschedulable("no")


class Backwards(QueueSortPlugin[None]):
    name = "Backwards"

    def less(self, first: Pod, first_queued: float, second: Pod, second_queued: float) -> bool:
        return first_queued > second_queued


def without_plugins(w: World, document: Mapping[str, Any] | None = None) -> Profiles:
    registry = new_in_tree_registry()
    registry.register(Backwards.name, Backwards)
    found = from_document(document or configuration((), ("default-scheduler",)), registry.catalog())
    return ProfileBuilder.over(registry, w.state, w.cluster, cluster=w.cluster).build(found)


def reconfigure(w: World, profiles: Profiles) -> None:
    w.scheduler.check_profiles(profiles)
    w.scheduler.reconfigure(profiles)
    w.wait(20)


@pytest.mark.parametrize("plugin", [Closed, NoNode], ids=lambda plugin: plugin.name)
def test_a_pod_that_a_plugin_held_back_is_bound_without_it(plugin: type[Any]) -> None:
    w = World(plugin, nodes=[make_node("n1")])
    w.add(make_pod("p"))
    w.wait(20)
    assert w.cluster.node_of("p") == ""
    reconfigure(w, without_plugins(w))
    assert w.cluster.node_of("p") == "n1"


def test_profiles_of_other_names_need_a_restart() -> None:
    w = World()
    others = without_plugins(w, configuration((), ("default-scheduler", "second")))
    with pytest.raises(InvalidArgumentError, match="restart to schedule for default-scheduler, second"):
        w.scheduler.check_profiles(others)


def backwards(w: World) -> Profiles:
    plugins = {"queueSort": {"disabled": [{"name": "*"}], "enabled": [{"name": "Backwards"}]}}
    document = configuration((), ("default-scheduler",))
    document["profiles"][0].setdefault("plugins", {}).update(plugins)
    return without_plugins(w, document)


def test_another_order_of_the_queue_needs_a_restart() -> None:
    w = World()
    with pytest.raises(InvalidArgumentError, match="queueSort"):
        w.scheduler.check_profiles(backwards(w))


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        pytest.param(without_plugins, [3, 1, 2], id="by a key"),
        pytest.param(backwards, [3, 2, 1], id="by comparing"),
    ],
)
def test_the_queue_is_in_the_order_of_its_plugin(
    made: Callable[[World], Profiles], wanted: list[int]
) -> None:
    pods = {1: make_pod("p1"), 2: make_pod("p2"), 3: make_pod("p3", spec={"priority": 1})}
    waiting = [QueuedPod(pod, queued_at=float(number)) for number, pod in pods.items()]
    waiting.sort(key=sorted_by(made(World())["default-scheduler"]))
    assert [int(item.queued_at) for item in waiting] == wanted
