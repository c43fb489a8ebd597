"""Made-up clusters, with the labels, annotations and resources that a plugin's code names."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from mooring.cluster.kinds import NAMESPACED, Change, ClusterObject, Put, Remove
from mooring.cluster.state import State
from mooring.framework import Node, Pod
from mooring.framework.objects import Measurement, Namespace, Object, ObjectMeta
from mooring.plugin_check.source import texts_of
from mooring.plugin_check.subject import Subject
from mooring.testing.builders import make_node, make_pod

NODES, PLACED, PENDING = 12, 24, 6
"""The size of a made-up cluster."""

MAX_KEYS = 24
"""The texts of a plugin's code that are tried as keys."""

TIMES = 5
"""Changes of each kind."""

_KEY = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_./]{0,60}[A-Za-z0-9])?")
_ENTRY = re.compile(r"[][]| by ")
_MEASURED = re.compile(r"measured\[(.+)\]")


def keys_of(subject: Subject) -> list[str]:
    """Return the texts in a plugin's module, declaration and arguments that it may read as keys."""
    given = re.findall('"(.+?)"', json.dumps(subject.args))
    named = [word for each in subject.declared for word in _ENTRY.split(each)[1:]]
    words = dict.fromkeys([*given, *(named or texts_of(subject.kind)), "app"])
    return [word for word in words if _KEY.fullmatch(word)][:MAX_KEYS]


def pods_to_ask(objects: Iterable[ClusterObject]) -> list[Pod]:
    """Return some pending pods; without any, copies of placed ones."""
    pods = [item for item in objects if isinstance(item, Pod)]
    pending = [pod for pod in pods if pod.pending]
    return pending[:PENDING] or [pod.on_node("") for pod in pods[:PENDING]]


@dataclass(frozen=True, slots=True)
class MadeUp:
    """Makes objects by chance.

    Attributes:
        keys: Keys of labels, annotations and resources.
        chance: The source of all choices.
        values: The values of labels and annotations.
        even: Whether nodes have no taints and equal amounts.
        measured: The names of measured values.
        reads: The kinds of other objects.
        extended: Whether some nodes offer the resources among ``keys``.
    """

    keys: Sequence[str]
    chance: random.Random
    values: Sequence[str] = ("", "a", "b", "1", "3", "50", "true")
    even: bool = False
    measured: Sequence[str] = ()
    reads: Sequence[type[Object]] = ()
    extended: bool = True

    def objects(self) -> list[ClusterObject]:
        """Return nodes, a namespace, other objects, measured values, placed and pending pods."""
        nodes = [self.node(f"n{number}") for number in range(NODES)]
        placed = [self.pod(f"p{number}", f"n{self.chance.randrange(NODES)}") for number in range(PLACED)]
        others = [self.other(kind, name) for kind in self.kinds for name in ("default", "other")]
        measured = self.measurements(nodes)
        return [*nodes, *others, *measured, *placed, *(self.pod(f"q{number}") for number in range(PENDING))]

    @property
    def kinds(self) -> list[type[Any]]:
        """The kinds of objects besides nodes and pods."""
        return list(dict.fromkeys([Namespace, *self.reads]))

    def other(self, kind: type[Any], name: str) -> Any:
        """Return an object of another kind that has metadata and nothing else."""
        namespace = "default" if kind in NAMESPACED else ""
        labels, annotations = self.pairs(), self.pairs()
        return kind(metadata=ObjectMeta(name, namespace, name, labels=labels, annotations=annotations))

    def node(self, name: str) -> Node:
        """Return a node."""
        taint = {"key": self.chance.choice(self.keys), "effect": "NoSchedule"}
        taints = [taint] if self.chance.random() < 0.3 and not self.even else []
        metadata = {"annotations": self.pairs(), "uid": name}
        return make_node(
            name, labels=self.pairs(), taints=taints, allocatable=self.amounts(), metadata=metadata
        )

    def pod(self, name: str, on: str = "") -> Pod:
        """Return a pod on a node, or a pending one."""
        requests = {"cpu": self.chance.choice(("0", "100m", "1"))}
        metadata = {"annotations": self.pairs(), "uid": name}
        return make_pod(name, labels=self.pairs(), node=on, requests=requests, metadata=metadata)

    def measurements(self, nodes: Iterable[Node]) -> list[Measurement]:
        """Return the measured values; some nodes have none."""
        names = [node.metadata.name for node in nodes]
        values = [
            {name: self.chance.choice((0, 1, 7, 1 << 40)) for name in names if self.chance.random() < 0.8}
            for _ in self.measured
        ]
        return [
            Measurement(ObjectMeta(name=name), each) for name, each in zip(self.measured, values, strict=True)
        ]

    def pairs(self) -> dict[str, str]:
        """Return labels or annotations with about half of the keys."""
        # Few values now and then, so that some are equal.
        values = self.values if self.even else self.chance.choice(((*self.values, *self.keys), ("a", "b")))
        return {key: self.chance.choice(values) for key in self.keys if self.chance.random() < 0.5}

    def amounts(self) -> dict[str, str]:
        """Return amounts; some are 0."""
        if self.even:
            return {"cpu": "4", "memory": "32Gi"}
        keys = [key for key in self.keys if "/" in key] if self.extended else []
        own = {key: self.chance.choice("013") for key in keys if self.chance.random() < 0.3}
        return {"cpu": self.chance.choice("1248"), "memory": self.chance.choice(("0", "3", "64Gi")), **own}

    def changes(self, state: State) -> Iterator[tuple[str, Change]]:
        """Yield changes of the objects in ``state`` at that moment, each with a name for people."""
        choose = self.chance.choice
        for number in range(TIMES):
            for part in ("labels", "annotations", "taints", "unschedulable", "allocatable"):
                node = choose(_nodes(state))
                yield f"a node's {part} change", Put(_mixed(node, self.node(node.metadata.name), part))
            yield "a node comes", Put(self.node(f"new-{number}"))
            yield "a pod comes to a node", Put(self.pod(f"new-{number}", choose(_nodes(state)).metadata.name))
            if pods := _placed(state):
                pod = choose(pods)
                own = replace(pod.metadata, labels=self.pairs())
                yield "a pod's labels change", Put(replace(pod, metadata=own))
            for kind in self.kinds:
                if found := state.snapshot.objects.all(kind):
                    item = choose(found)
                    own = replace(item.metadata, labels=self.pairs(), annotations=self.pairs())
                    yield (
                        f"labels and annotations of a {kind.__name__} change",
                        Put(replace(item, metadata=own)),
                    )
            for values in self.measurements(_nodes(state)):
                yield "measured values change", Put(values)
            if pods := _placed(state):
                gone = choose(pods).metadata
                yield "a pod leaves", Remove("Pod", gone.namespace, gone.name)
        yield "a node goes", Remove("Node", "", choose(_nodes(state)).metadata.name)


def made_up_for(subject: Subject, seed: int) -> MadeUp:
    """Return what makes objects with all that a plugin may read; the same ones for the same seed."""
    read = [found[1] for each in subject.declared if (found := _MEASURED.fullmatch(each))]
    measured = list(dict.fromkeys([*read, *(each.name for each in subject.make(subject.alone()).measures())]))
    chance = random.Random(seed)  # noqa: S311 - to be repeated
    # With the first seed; in another cluster no node has such a resource.
    extended = seed < 2
    return MadeUp(keys_of(subject), chance, measured=measured, reads=subject.kind.reads, extended=extended)


def _nodes(state: State) -> list[Node]:
    return [node for node in state.snapshot.nodes.nodes if node is not None]


def _placed(state: State) -> list[Pod]:
    return [record.pod for record in state.snapshot.pods.records.values() if record.node_name]


def _mixed(node: Node, other: Node, part: str) -> Node:
    """Return ``node`` with one part of another."""
    new: Mapping[str, Any] = {
        "labels": other.metadata.labels,
        "annotations": other.metadata.annotations,
        "taints": other.spec.taints,
        "unschedulable": not node.spec.unschedulable,
        "allocatable": other.status.allocatable,
    }
    holder = (
        "metadata" if part in ("labels", "annotations") else "status" if part == "allocatable" else "spec"
    )
    return replace(node, **{holder: replace(getattr(node, holder), **{part: new[part]})})
