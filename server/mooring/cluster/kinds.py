"""The kinds of objects that the state keeps, and how each is identified."""

from __future__ import annotations

from dataclasses import dataclass

from mooring.framework.objects import Node, Object, ObjectMeta, Pod
from mooring.framework.objects.numbers import Int32


class Namespace(Object, frozen=True):
    """A namespace; its labels are what namespace selectors read."""

    metadata: ObjectMeta = ObjectMeta()


class PriorityClass(Object, frozen=True):
    """What a pod's ``priorityClassName`` stands for."""

    metadata: ObjectMeta = ObjectMeta()
    value: Int32 = 0
    global_default: bool = False
    preemption_policy: str | None = None


ClusterObject = Node | Pod | Namespace | PriorityClass
"""What a source may deliver."""

KINDS: dict[str, type[ClusterObject]] = {
    "Node": Node,
    "Pod": Pod,
    "Namespace": Namespace,
    "PriorityClass": PriorityClass,
}
"""The kinds by their API name."""


@dataclass(frozen=True, slots=True)
class Put:
    """The object is there, or is now like this."""

    object: ClusterObject


@dataclass(frozen=True, slots=True)
class Remove:
    """The object is gone. With a ``uid``, one of that name with another UID stays."""

    kind: str
    namespace: str
    name: str
    uid: str = ""


Change = Put | Remove
"""One step of a source."""


def default_uid(kind: str, namespace: str, name: str) -> str:
    """The UID of an object that came without one: the same every time."""
    return f"{kind.lower()}/{namespace}/{name}" if namespace else f"{kind.lower()}/{name}"
