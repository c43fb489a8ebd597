"""v1.Node: the fields that scheduling reads."""

from __future__ import annotations

from msgspec import field

from mooring.framework.objects.meta import Condition, Int64, Object, ObjectMeta
from mooring.framework.quantity import Quantity

HOSTNAME = "kubernetes.io/hostname"
"""The label that is a node's own name."""


class Taint(Object, frozen=True):
    """A mark that keeps pods away; ``effect`` is NoSchedule, PreferNoSchedule or NoExecute."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Object, frozen=True):
    """The desired state of the node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class ContainerImage(Object, frozen=True):
    """An image that the node has, under all its names."""

    names: tuple[str, ...] = ()
    size_bytes: Int64 = 0


class NodeAddress(Object, frozen=True):
    """An address of the node."""

    type: str = ""
    address: str = ""


class NodeStatus(Object, frozen=True):
    """The amounts that the node offers."""

    capacity: dict[str, Quantity] = field(default_factory=dict)
    allocatable: dict[str, Quantity] = field(default_factory=dict)
    images: tuple[ContainerImage, ...] = ()
    conditions: tuple[Condition, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(Object, frozen=True):
    """A node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
