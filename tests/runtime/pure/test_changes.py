"""A pod that a rule rejected is tried again after changes that the rule reads, and after no others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from mooring.cluster.kinds import Put, Remove
from mooring.framework import (
    ActionType,
    CycleState,
    EventResource,
    FilterPlugin,
    HintedEvent,
    NodeInfo,
    NodeView,
    Pod,
    PreFilterPlugin,
    Pure,
    Status,
    pods_by,
)
from mooring.framework.objects import Measurement, Namespace, ObjectMeta, Service
from mooring.testing import make_node, make_pod
from tests.scheduler.world import SOURCE, World

BY_RACK = pods_by(label="app", topology="rack")
WAITS = make_pod("waits", labels={"app": "x"})
ON_B = make_pod("on-b", node="b", labels={"app": "x"})

Read = Callable[[Pod, NodeView], object]


def of_nodes(read: Callable[[Pod, NodeInfo], object]) -> Read:
    """Read something of each node."""
    return lambda pod, nodes: [read(pod, node) for node in nodes.infos()]


def of_objects(read: Callable[[NodeView], object]) -> Read:
    """Read something besides nodes and pods."""
    return lambda _, nodes: read(nodes)


READS: dict[str, tuple[bool, Read]] = {
    "a label of nodes": (True, of_nodes(lambda _, node: node.labels.get("rack"))),
    "an annotation of nodes": (True, of_nodes(lambda _, node: node.annotations.get("owner"))),
    "what nodes offer": (True, of_nodes(lambda _, node: node.allocatable.get("cpu"))),
    "what is requested": (False, of_nodes(lambda _, node: node.requested.get("pods"))),
    "the pods on nodes": (False, of_nodes(lambda _, node: [pod.metadata.name for pod in node.pods])),
    "pods by rack": (False, of_nodes(lambda pod, node: node.count_pods(BY_RACK, pod))),
    "a measured value": (False, of_nodes(lambda _, node: node.measurements["load"])),
    "another measured value": (False, of_nodes(lambda _, node: node.measurements["heat"])),
    "a label of its pod": (True, lambda pod, _: pod.metadata.labels.get("tier")),
    "labels of namespaces": (
        True,
        of_objects(lambda n: dict(n.snapshot.objects.namespace_labels("default"))),
    ),
    "services": (True, of_objects(lambda n: n.snapshot.objects.all(Service))),
    "nothing": (True, lambda *_: None),
}
"""Parts that rules may read, and whether nothing else wakes their pods; counts may change with any pod."""


def put(*objects: object) -> Callable[[World], None]:
    return lambda world: world.state.apply(SOURCE, [Put(each) for each in objects])  # type: ignore[arg-type]


def measured(name: str, **values: int) -> Callable[[World], None]:
    return lambda world: world.state.assume_object(Measurement(ObjectMeta(name=name), values))


def namespace(**labels: str) -> Namespace:
    return Namespace(metadata=ObjectMeta(name="default", labels=labels))


CHANGES: dict[str, Callable[[World], None]] = {
    "a label of a node": put(make_node("a", labels={"rack": "r9"})),
    "another label of a node": put(make_node("a", labels={"rack": "r1", "disk": "fast"})),
    "an annotation of a node": put(
        make_node("a", labels={"rack": "r1"}, metadata={"annotations": {"owner": "me"}})
    ),
    "a node offers more": put(make_node("a", labels={"rack": "r1"}, allocatable={"cpu": "99", "pods": 9})),
    "a pod leaves": lambda world: world.state.apply(SOURCE, [Remove("Pod", "default", "on-b")]),
    "a pod comes": put(make_pod("more", node="b", labels={"app": "x"})),
    "a pod on a node is labelled": put(make_pod("on-b", node="b", labels={"app": "y"})),
    "new values": measured("load", a=7),
    "values that are too old": lambda world: world.state.forget_object(Measurement, "load"),
    "values where there were none": measured("heat", a=7),
    "a label of the pod": lambda w: w.cluster.put(make_pod("waits", labels={"app": "x", "tier": "t"})),
    "a label of the namespace": put(namespace(pool="p")),
    "a service": put(Service(metadata=ObjectMeta(name="s", namespace="default"))),
}


def world_of(read: Read, events: Sequence[HintedEvent] | None = None) -> World:
    """A rule that reads, and rejects each node, has rejected a pod."""

    class Reads(PreFilterPlugin[None], FilterPlugin[None], Pure):
        name = "Reads"

        def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
            read(pod, nodes)
            return Status.unschedulable("never fits")

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
            return Status.unschedulable("never fits")

    own = {} if events is None else {"events_to_register": lambda _: events}
    rule = type(Reads.name, (Reads,), own)
    world = World(rule, nodes=[make_node("a", labels={"rack": "r1"}), make_node("b", labels={"rack": "r2"})])
    put(ON_B, namespace())(world)
    measured("load", a=1)(world)
    world.add(WAITS)
    assert attempts(world) == 1
    return world


def attempts(world: World) -> int:
    return world.reasons("waits").count("FailedScheduling")


def value(world: World, read: Read) -> object:
    snapshot = world.state.snapshot
    (waits,) = (each.pod for each in snapshot.pods.records.values() if each.name == "waits")
    return read(waits, NodeView(snapshot, snapshot.nodes.rows()))


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("what", READS)
def test_a_change_of_what_is_read_wakes_the_pods_that_were_rejected(what: str, change: str) -> None:
    exact, read = READS[what]
    world = world_of(read)
    before = value(world, read)
    CHANGES[change](world)
    differs = value(world, read) != before
    world.settle()
    woken = attempts(world) == 2
    assert woken >= differs
    assert woken == differs or not exact


def test_events_of_the_authors_own_stay() -> None:
    namespaces = (HintedEvent.of(EventResource.NAMESPACE, ActionType.UPDATE),)
    world = world_of(lambda *_: None, namespaces)
    for change, tried in (("a label of a node", 1), ("a label of the namespace", 2)):
        CHANGES[change](world)
        world.settle()
        assert attempts(world) == tried
