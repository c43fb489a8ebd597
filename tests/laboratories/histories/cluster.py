"""Events of a cluster: nodes, pods and all other objects come, change and go."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random

from msgspec.structs import replace

from mooring.cluster.kinds import Change, ClusterObject, Put
from mooring.framework import Node, Pod
from mooring.testing import make_node
from tests.laboratories.histories.objects import (
    draw_node,
    draw_object,
    labels_of_node,
    offer_of_node,
    removal,
    status_of_node,
    taints_of_node,
)
from tests.laboratories.histories.pods import APPS, Kind, kind_of_pod, pod_of, sized

SIZES = (range(3, 9), range(9, 30), range(101, 151))
SIZE_ODDS = (60, 36, 4)
"""How many nodes there may be, and how often."""

LEAVING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@dataclass(frozen=True)
class Scene:
    """The setting of a history.

    Attributes:
        nodes: The names that nodes may have.
        kinds: The kinds of pods; some differ from another in their requests alone.
        asked: The kinds whose pods are decided, a few, so that pods are alike.
        devices: Whether there are device classes, devices and claims for them.
    """

    nodes: tuple[str, ...]
    kinds: tuple[Kind, ...]
    asked: tuple[Kind, ...]
    devices: bool = True

    @classmethod
    def of(cls, dice: Random, most_nodes: int = 150) -> Scene:
        """Return a scene, mostly with few nodes, since each is evaluated one by one."""
        count = min(dice.choice(dice.choices(SIZES, SIZE_ODDS)[0]), most_nodes)
        kinds = list[Kind]()
        while len(kinds) < 8:
            others = kinds and dice.random() < 0.3
            kinds.append({**dice.choice(kinds), "requests": sized(dice)} if others else kind_of_pod(dice))
        names = tuple(f"n{at}" for at in range(count))
        return cls(names, tuple(kinds), tuple(kinds[: dice.randint(2, 4)]))


class Cluster:
    """The objects that a source delivered so far. Every event is its next delivery.

    Attributes:
        nodes: By name.
        pods: By namespace and name.
        objects: All others, by kind, namespace and name.
        assumed: The pods that were only decided, and the node of each, by UID.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.nodes: dict[str, Node] = {}
        self.pods: dict[tuple[str, str], Pod] = {}
        self.objects: dict[tuple[str, str, str], ClusterObject] = {}
        self.assumed: dict[str, tuple[Pod, str]] = {}
        self._count = 0

    def begin(self, dice: Random) -> list[Change]:
        """Most of the nodes, some pods and objects."""
        count = dice.randint(min(3, len(self.scene.nodes)), len(self.scene.nodes))
        changes = self.put(*(draw_node(dice, name) for name in dice.sample(self.scene.nodes, count)))
        for _ in range(dice.randint(0, 2 * count)):
            changes += self.place(dice)
        for _ in range(dice.randint(0, 8)):
            changes += self.other(dice)
        return changes

    def happen(self, dice: Random) -> list[Change]:
        """Return one to four events."""
        changes = self._end_nominations(dice)
        for event in dice.choices(EVENTS, WEIGHTS, k=dice.choice((1, 1, 1, 2, 2, 3, 4))):
            changes += event(self, dice)
        return changes

    def everything(self) -> Iterable[ClusterObject]:
        """Return all that is there."""
        return (*self.nodes.values(), *self.pods.values(), *self.objects.values())

    def kind(self, dice: Random) -> Kind:
        """Return one of the kinds whose pods are decided, or any."""
        return dice.choice(self.scene.asked if dice.random() < 0.8 else self.scene.kinds)

    def new_name(self, stem: str) -> str:
        """Return a name that no pod has had."""
        self._count += 1
        return f"{stem}-{self._count}"

    def add_node(self, dice: Random) -> list[Change]:
        """Return a new node, one that was there before, or an existing one with all its fields."""
        return self.put(draw_node(dice, dice.choice(self.scene.nodes)))

    def remove_node(self, dice: Random) -> list[Change]:
        """A node is gone; its pods may be there a little longer."""
        if len(self.nodes) < 3:
            return []
        return self._remove(self.nodes.pop(dice.choice(sorted(self.nodes))))

    def change_node(self, dice: Random) -> list[Change]:
        """Return labels, taints, images, amounts, or whether it is cordoned."""
        if not self.nodes:
            return []
        node = self.nodes[dice.choice(sorted(self.nodes))]
        meta, spec, status = node.metadata, node.spec, node.status
        fresh = make_node(
            meta.name,
            labels=labels_of_node(dice),
            taints=taints_of_node(dice),
            allocatable=offer_of_node(dice),
            status=status_of_node(dice),
        )
        match dice.choice(("labels", "taints", "cordon", "images", "offer", "column")):
            case "labels":
                meta = replace(meta, labels=fresh.metadata.labels)
            case "taints":
                spec = replace(spec, taints=fresh.spec.taints)
            case "cordon":
                spec = replace(spec, unschedulable=not spec.unschedulable and dice.random() < 0.3)
            case "images":
                status = replace(status, images=fresh.status.images)
            case "offer":
                status = replace(status, allocatable=fresh.status.allocatable)
            case _:
                offered = {**status.allocatable, f"example.com/r{dice.randint(1, 3)}": "2"}
                status = replace(status, allocatable=offered)
        return self.put(replace(node, metadata=meta, spec=spec, status=status))

    def heartbeat(self, dice: Random) -> list[Change]:
        """Return the same again: all of it, or with a version that says that something was written."""
        if not self.nodes:
            return []
        node = self.nodes[dice.choice(sorted(self.nodes))]
        if dice.random() < 0.5:
            return self.put(node)
        version = self.new_name("version")
        return self.put(replace(node, metadata=replace(node.metadata, resource_version=version)))

    def place(self, dice: Random) -> list[Change]:
        """Return a pod that another client has placed."""
        return self._new_pod(dice, self._node(dice))

    def pend(self, dice: Random) -> list[Change]:
        """Return a pod without a node."""
        return self._new_pod(dice, "")

    def nominate(self, dice: Random) -> list[Change]:
        """Return a pod that waits for victims to leave a node; while it does, nothing is kept."""
        name = self.new_name("nominated")
        status = {"nominatedNodeName": self._node(dice)}
        return self.put(pod_of(self.kind(dice), name, spec={"priority": 100}, status=status))

    def change_pod(self, dice: Random) -> list[Change]:
        """It moves, is resized, relabelled or about to go, or has finished."""
        if not self.pods:
            return []
        key = dice.choice(sorted(self.pods))
        pod = self.pods[key]
        meta, spec, status = pod.metadata, pod.spec, pod.status
        match dice.choice(("move", "resize", "relabel", "terminate", "finish", "spec")):
            case "move":
                return self.put(replace(pod, spec=replace(spec, node_name=self._node(dice))))
            case "resize":
                other = pod_of({}, "x", requests={"cpu": f"{dice.randint(1, 3000)}m"})
                spec = replace(spec, containers=other.spec.containers)
            case "relabel":
                meta = replace(meta, labels={"app": dice.choice(APPS)})
            case "terminate":
                meta = pod_of({}, "x", metadata={**LEAVING, **_identity(pod)}).metadata
            case "finish":
                status = replace(status, phase=dice.choice(("Succeeded", "Failed")))
            case _:
                other = pod_of(self.kind(dice), "x")
                spec = replace(other.spec, node_name=spec.node_name)
        return self.put(replace(pod, metadata=meta, spec=spec, status=status))

    def remove_pod(self, dice: Random) -> list[Change]:
        """Remove some pods, more of them if there are many."""
        count = min(len(self.pods), 1 + len(self.pods) // (1 + 3 * len(self.nodes)) * 3)
        gone = dice.sample(sorted(self.pods), count)
        return [change for key in gone for change in self._remove(self.pods.pop(key))]

    def recreate_pod(self, dice: Random) -> list[Change]:
        """Create another pod with the same name; the end of the old one is delivered or not."""
        if not self.pods:
            return []
        old = self.pods[dice.choice(sorted(self.pods))]
        uid = self.new_name("again")
        said = [removal(old)] if dice.random() < 0.5 else []
        fields = {"metadata": {"uid": uid}, "namespace": old.metadata.namespace, "node": self._node(dice)}
        return [*said, *self.put(pod_of(self.kind(dice), old.metadata.name, **fields))]

    def swap(self, dice: Random) -> list[Change]:
        """One node has room again, and another has no more."""
        full = [key for key in sorted(self.pods) if key[1].startswith("filler")]
        changes = self._remove(self.pods.pop(dice.choice(full))) if full else []
        if len(full) > 1 + len(self.nodes) // 3:
            return changes
        name = f"filler-{self._node(dice)}"
        uid = self.new_name("filler")
        filler = pod_of(
            {}, name, node=name.removeprefix("filler-"), requests={"cpu": "32"}, metadata={"uid": uid}
        )
        return changes + self.put(filler)

    def odd(self, dice: Random) -> list[Change]:
        """Amounts that no node has had."""
        changes: list[Change] = []
        for _ in range(dice.choice((1, 3, 8))):
            requests = {"cpu": f"{dice.randint(1, 900)}m", "memory": f"{dice.randint(1, 900)}Mi"}
            name = f"odd-{dice.randrange(6)}"
            changes += self.put(pod_of({}, name, node=self._node(dice), requests=requests))
        return changes

    def confirm(self, dice: Random) -> list[Change]:
        """A source delivers a decided pod with its node, as waiting, or as gone."""
        if not self.assumed:
            return []
        uid = dice.choice(sorted(self.assumed))
        pod, node = self.assumed[uid]
        match dice.choices(("there", "elsewhere", "waits"), (5, 1, 2))[0]:
            case "waits":
                return self.put(pod)
            case "elsewhere":
                node = self._node(dice)
        del self.assumed[uid]
        return self.put(replace(pod, spec=replace(pod.spec, node_name=node)))

    def other(self, dice: Random) -> list[Change]:
        """An object that is neither node nor pod comes, changes or goes."""
        item = draw_object(dice, self.scene.nodes, devices=self.scene.devices)
        key = _key(item)
        if key in self.objects and dice.random() < 0.4:
            return self._remove(self.objects.pop(key))
        return self.put(item)

    def forget(self, uid: str, *, removed: bool = False) -> None:
        """The pod was not decided after all; if it was ``removed``, its source has it no more, either."""
        pod, _ = self.assumed.pop(uid)
        key = pod.metadata.namespace, pod.metadata.name
        if removed and key in self.pods and self.pods[key].metadata.uid == uid:
            del self.pods[key]

    def _new_pod(self, dice: Random, node: str) -> list[Change]:
        name = self.new_name("pod")
        kind = self.kind(dice)
        leaving = LEAVING if dice.random() < 0.05 else {}
        return self.put(pod_of(kind, name, node=node, metadata=leaving))

    def _end_nominations(self, dice: Random) -> list[Change]:
        waiting = [key for key in sorted(self.pods) if key[1].startswith("nominated")]
        gone = [key for key in waiting if dice.random() < 0.5]
        return [change for key in gone for change in self._remove(self.pods.pop(key))]

    def _node(self, dice: Random) -> str:
        """Return one of the nodes; now and then one that isn't there."""
        some = self.scene.nodes if dice.random() < 0.05 or not self.nodes else sorted(self.nodes)
        return dice.choice(some)

    def put(self, *items: ClusterObject) -> list[Change]:
        """That these are there now."""
        for item in items:
            if isinstance(item, Node):
                self.nodes[item.metadata.name] = item
            elif isinstance(item, Pod):
                key = item.metadata.namespace, item.metadata.name
                before = self.pods.get(key)
                if before is not None and before.metadata.uid != item.metadata.uid:
                    self.assumed.pop(before.metadata.uid, None)
                self.pods[key] = item
                if item.spec.node_name or item.status.phase in ("Succeeded", "Failed"):
                    self.assumed.pop(item.metadata.uid, None)
            else:
                self.objects[_key(item)] = item
        return [Put(item) for item in items]

    def _remove(self, item: ClusterObject) -> list[Change]:
        if isinstance(item, Pod):
            self.assumed.pop(item.metadata.uid, None)
        return [removal(item)]


def _key(item: ClusterObject) -> tuple[str, str, str]:
    return type(item).__name__, item.metadata.namespace, item.metadata.name


def _identity(pod: Pod) -> dict[str, object]:
    meta = pod.metadata
    return {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid, "labels": dict(meta.labels)}


Event = Callable[[Cluster, Random], list[Change]]
ODDS: dict[Event, int] = {
    Cluster.add_node: 3,
    Cluster.remove_node: 2,
    Cluster.change_node: 6,
    Cluster.heartbeat: 2,
    Cluster.place: 6,
    Cluster.pend: 2,
    Cluster.nominate: 1,
    Cluster.change_pod: 6,
    Cluster.remove_pod: 6,
    Cluster.recreate_pod: 2,
    Cluster.swap: 8,
    Cluster.odd: 3,
    Cluster.confirm: 5,
    Cluster.other: 4,
}
"""Everything that can happen, by how often it does."""

EVENTS, WEIGHTS = list(ODDS), list(ODDS.values())
