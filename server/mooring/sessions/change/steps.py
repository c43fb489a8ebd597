"""Changes that may let a pod or a group fit: what pod and node are with them, and what sets of them cost."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar, NamedTuple

from msgspec.structs import replace

from mooring.framework import Node, ObjectTable, Pod, Status
from mooring.framework.objects import (
    Container,
    CSINode,
    ObjectMeta,
    ResourceRequirements,
    ResourceSlice,
    Taint,
    Toleration,
)
from mooring.framework.objects.node import HOSTNAME
from mooring.framework.preemption import Candidate
from mooring.framework.quantity import Quantity
from mooring.framework.resources import CPU, EPHEMERAL_STORAGE, MEMORY, counted_amounts, parse_amounts
from mooring.framework.taints import is_of_condition


class Kind(IntEnum):
    """The kinds of change; the numbers are those of the contract."""

    TOLERATION = 1
    LABEL = 2
    REQUEST = 3
    MOVE = 4
    NODE = 5
    END = 6

    @property
    def drastic(self) -> int:
        """Its place among the kinds, the mildest first."""
        return _MILDEST_FIRST.index(self)


_MILDEST_FIRST = (Kind.TOLERATION, Kind.END, Kind.LABEL, Kind.REQUEST, Kind.MOVE, Kind.NODE)


@dataclass(frozen=True, slots=True)
class Tolerate:
    """The pod tolerates one taint of the node."""

    kind: ClassVar = Kind.TOLERATION
    taint: Taint


@dataclass(frozen=True, slots=True)
class Relabel:
    """A label of the node is set; ``value`` None = it is taken away."""

    kind: ClassVar = Kind.LABEL
    node_name: str
    key: str
    value: str | None


@dataclass(frozen=True, slots=True)
class LowerRequest:
    """The pod requests less of a resource.

    Attributes:
        amount: The most that all containers may request together, CPU in thousandths, the rest in units.
        before: Their requests now.
    """

    kind: ClassVar = Kind.REQUEST
    resource: str
    amount: int
    before: int

    @property
    def share(self) -> float:
        """The share of the request that is given up, 0 to 1."""
        return (self.before - self.amount) / self.before


@dataclass(frozen=True, slots=True)
class Move:
    """A pod of the node goes to another one, as if it were evicted and its controller recreated it."""

    kind: ClassVar = Kind.MOVE
    pod: Pod
    node_name: str = ""


@dataclass(frozen=True, slots=True)
class End:
    """A pod that runs to completion ends, and leaves its node."""

    kind: ClassVar = Kind.END
    pod: Pod


@dataclass(frozen=True, slots=True)
class AddNode:
    """There is one more node like one that is there, without pods."""

    kind: ClassVar = Kind.NODE
    node: Node
    like: str


Step = Tolerate | Relabel | LowerRequest | Move | AddNode | End


def most_drastic(steps: Iterable[Step]) -> Kind:
    """Return the most drastic kind of one or more changes."""
    return max((step.kind for step in steps), key=lambda kind: kind.drastic)


def changed_pod(pod: Pod, steps: Iterable[Step]) -> Pod:
    """Return ``pod`` with those of the steps that change it."""
    for step in steps:
        if isinstance(step, Tolerate):
            taint = step.taint
            # Without a value it is one that any version of the API takes for a taint without a value.
            toleration = Toleration(taint.key, "Equal", taint.value, taint.effect)
            spec = replace(pod.spec, tolerations=(*pod.spec.tolerations, toleration))
            pod = replace(pod, spec=spec)
        elif isinstance(step, LowerRequest):
            pod = lowered(pod, step.resource, step.amount)
    return pod


def changed_node(node: Node, steps: Iterable[Step]) -> Node:
    """Return ``node`` with those of the steps that change its labels."""
    labels = dict(node.metadata.labels)
    for step in steps:
        if isinstance(step, Relabel):
            labels.pop(step.key, None)
            if step.value is not None:
                labels[step.key] = step.value
    return replace(node, metadata=replace(node.metadata, labels=labels))


def one_more(node: Node, taken: Mapping[str, int]) -> Node:
    """Return a new node like ``node``: not cordoned, and without the taints of its present state."""
    numbered = (f"{node.metadata.name}-{number}" for number in range(1, len(taken) + 2))
    name = next(name for name in numbered if name not in taken)
    labels = {**node.metadata.labels, **({HOSTNAME: name} if HOSTNAME in node.metadata.labels else {})}
    taints = tuple(taint for taint in node.spec.taints if not is_of_condition(taint))
    metadata = replace(node.metadata, name=name, uid=f"node/{name}", labels=labels)
    return replace(node, metadata=metadata, spec=replace(node.spec, unschedulable=False, taints=taints))


def reports(new: str, old: str, objects: ObjectTable) -> Iterator[CSINode | ResourceSlice]:
    """Yield what drivers will report of the node ``new``: the same as of ``old``, which it is like."""
    drivers = objects.get(CSINode, old)
    if drivers is not None:
        yield replace(drivers, metadata=ObjectMeta(name=new))
    for each in objects.all(ResourceSlice):
        if each.spec.node_name == old:
            known = each.spec.pool.name
            pool = replace(each.spec.pool, name=known.replace(old, new) if old in known else f"{known}-{new}")
            metadata = ObjectMeta(name=f"{new}-{each.metadata.name}", uid=f"{new}/{each.metadata.uid}")
            yield replace(each, metadata=metadata, spec=replace(each.spec, node_name=new, pool=pool))


def kind_of_new(node: Node) -> Hashable:
    """Return a value that is equal for nodes whose copies would differ only in their names."""
    status, name = node.status, node.metadata.name
    labels = frozenset(
        (key, value) for key, value in node.metadata.labels.items() if value != name and key != HOSTNAME
    )
    return frozenset(status.allocatable.items()), node.spec.taints, labels, status.declared_features


def lowered(pod: Pod, resource: str, total: int) -> Pod:
    """Return ``pod`` with requests for ``resource`` of ``total`` together, where they are more.

    The containers that request most give first. ``total`` counts CPU in thousandths, the rest in units.
    """
    spec = pod.spec
    room = max(0, total - _counted(spec.overhead, resource))
    sidecars = [each for each in spec.init_containers if each.restart_policy == "Always"]
    less = _shared(resource, room, [*spec.containers, *sidecars])
    containers = [less[id(each)] for each in spec.containers]
    first, running = [], 0
    for each in spec.init_containers:
        if id(each) in less:
            first.append(less[id(each)])
            running += _requested(first[-1], resource)
        else:
            first.append(_limited(each, resource, room - running))
    own = spec.resources
    if own is not None and _counted(own.requests, resource) > room:
        own = _at_most(own, resource, room)
    return replace(
        pod,
        spec=replace(spec, containers=tuple(containers), init_containers=tuple(first), resources=own),
    )


def _shared(resource: str, room: int, containers: Sequence[Container]) -> dict[int, Container]:
    """Return by identity what the containers are when all together request no more than ``room``."""
    amounts = {id(each): _requested(each, resource) for each in containers}
    excess = sum(amounts.values()) - room
    less: dict[int, Container] = {}
    for each in sorted(containers, key=lambda container: -amounts[id(container)]):
        given = max(0, min(excess, amounts[id(each)]))
        excess -= given
        less[id(each)] = _limited(each, resource, amounts[id(each)] - given) if given else each
    return less


def _limited(container: Container, resource: str, amount: int) -> Container:
    if _requested(container, resource) <= amount:
        return container
    return replace(container, resources=_at_most(container.resources, resource, max(0, amount)))


def _at_most(resources: ResourceRequirements, resource: str, amount: int) -> ResourceRequirements:
    quantity = f"{amount}m" if resource == CPU else str(amount)
    requests = {**resources.requests, resource: quantity}
    limits = resources.limits
    if resource in limits and resource not in (CPU, MEMORY, EPHEMERAL_STORAGE):
        # Resources whose limit has to equal the request.
        limits = {**limits, resource: quantity}
    return replace(resources, requests=requests, limits=limits)


def _requested(container: Container, resource: str) -> int:
    return _counted(container.resources.requests, resource)


def _counted(quantities: Mapping[str, Quantity], resource: str) -> int:
    return counted_amounts(parse_amounts(quantities, "")).get(resource, 0)


class Cost(NamedTuple):
    """Orders sets of changes: by their number, then by how many there are of each kind, the most drastic kind
    first, and then by the shares of requests that are given up, added.
    """

    changes: int
    nodes: int = 0
    moves: int = 0
    requests: int = 0
    labels: int = 0
    ends: int = 0
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class ChangeOption:
    """A set of changes with which the pod, or the group, fits.

    Attributes:
        steps: The changes: all of them are needed; none if the unchanged pod fits.
        node_name: The node that takes the pod then; "" for a group,
        landings: whose pods, as they are then, each get a node.
        nodes: How many nodes take the pod then; for a group, how many its pods get.
    """

    steps: tuple[Step, ...]
    node_name: str
    cost: Cost
    landings: tuple[tuple[Pod, str], ...] = ()
    nodes: int = 1


@dataclass(slots=True)
class NeededChanges:
    """The changes that would make a pod fit.

    Attributes:
        status: The status of the unchanged pod.
        message: The same as a sentence.
        options: Sets of changes, the cheapest first. Each one after the first is the cheapest that does
            without the most drastic kind of change of each one before.
        candidates: The nodes where preemption could make room for the unchanged pod.
        room_on: The node that the scheduler would nominate it for; "" = none.
        warnings: Why the pod would be left alone in a cluster.
        complete: All was tried that could be cheaper; otherwise there was too much of it, or too little time.
    """

    status: Status
    message: str = ""
    candidates: tuple[Candidate, ...] = ()
    room_on: str = ""
    warnings: tuple[str, ...] = ()
    options: list[ChangeOption] = field(default_factory=list)
    complete: bool = True
