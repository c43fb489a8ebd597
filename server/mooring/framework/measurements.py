"""Measured values of nodes: the sources that a plugin names, and how its rules read them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from mooring.framework.args import FieldError
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import Measurement, Node

_NO_TIME = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementSource(ABC):
    """What measures the nodes; a plugin names it in ``measures``, and arguments may hold it.

    While a profile with the plugin is in force, ``measure`` is called in the background, and no decision
    waits for it. Several plugins may name equal sources, which are called once.

    Attributes:
        name: The name under which rules find the values.
        interval: Between two calls. After failures it is up to eight times as long.
        timeout: What takes longer has failed.
        max_age: Older values are not used: rules read None.
        window: The time over which the source averages; 0 = it measures a moment. A pod that came since then
            is not, or only partly, in the values. For the part that they lack the mean of a pod is added, so
            that a burst of pods does not go to one node.
        unmeasured_as_highest: A node without a value counts as the highest one; by default it has None.
        of_file: Whether it reads files alone. Commands without a server call no other sources.
    """

    name: str = ""
    interval: timedelta = timedelta(seconds=15)
    timeout: timedelta = timedelta(seconds=10)
    max_age: timedelta = timedelta(minutes=5)
    window: timedelta = _NO_TIME
    unmeasured_as_highest: bool = False
    of_file: ClassVar[bool] = False

    @abstractmethod
    def measure(self) -> Mapping[str, int]:
        """Return the values, 0 to ``MAX_MEASURED``, by the names or addresses of nodes.

        Raises:
            Exception: They can't be had now; the text says why.
        """

    def faults(self) -> Iterator[FieldError]:
        """Yield the errors of the fields that types can't express."""
        if not self.name:
            yield FieldError("name", "is missing: rules find the values by it")
        for field, value in (("interval", self.interval), ("timeout", self.timeout)):
            if value <= _NO_TIME:
                yield FieldError(field, "must be greater than 0")
        if self.max_age < self.interval:
            yield FieldError("maxAge", "must not be shorter than interval")
        if self.window < _NO_TIME:
            yield FieldError("window", "must be 0 or more")


class NodeMeasurements(Mapping[str, int | None]):
    """The measured values of one node by name, each read when it is needed.

    A value is None if the node has none, and under a name without recent values.
    """

    __slots__ = ("_node", "_objects", "_pod_count")

    def __init__(self, objects: ObjectTable, node: Node, pod_count: int) -> None:
        self._objects = objects
        self._node = node
        self._pod_count = pod_count

    def __getitem__(self, name: str) -> int | None:
        found = self._objects.get(Measurement, name)
        return None if found is None else found.of(self._node, self._pod_count)

    def __contains__(self, name: object) -> bool:
        return any(each == name for each in self)

    def __iter__(self) -> Iterator[str]:
        return (each.metadata.name for each in self._objects.all(Measurement))

    def __len__(self) -> int:
        return len(self._objects.all(Measurement))
