"""Measured values of nodes: the sources that a plugin names, and how its rules read them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

import numpy as np

from mooring.framework.args import FieldError
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import Measurement, Node
from mooring.framework.objects.measurement import MAX_MEASURED, MOST_ADDED
from mooring.kernels.arrays import Bools, Int32s, Int64s

_NO_TIME = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementSource(ABC):
    """Measures the nodes; a plugin names it in ``measures``, and arguments may hold it.

    While a profile with the plugin is in force, ``measure`` is called in the background, and no decision
    waits for it. Several plugins may name equal sources, which are called once.

    Attributes:
        name: The name under which rules find the values.
        interval: Between two calls. After failures it is up to eight times as long.
        timeout: A call that takes longer has failed.
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


class _MeasuredColumn:
    """One measurement, by row. Never changed once it is made.

    Attributes:
        measurement: The measurement.
        nodes: The node of each row.
        values: int64[capacity], the values without pods that are too new; 0 without one.
        there: bool[capacity], whether there is one.
        counted: int64[capacity], as of ``Measurement.pods``.
        lacking: float64[capacity], likewise.
    """

    __slots__ = ("counted", "lacking", "measurement", "nodes", "there", "values")

    def __init__(
        self, measurement: Measurement, nodes: list[Node | None], before: _MeasuredColumn | None
    ) -> None:
        self.measurement, self.nodes = measurement, nodes
        width = len(nodes)
        known: Sequence[Node | None] = ()
        if before is not None and before.measurement is measurement:
            known = before.nodes
        self.values: Int64s = np.zeros(width, np.int64)
        self.there: Bools = np.zeros(width, np.bool_)
        self.counted: Int64s = np.zeros(width, np.int64)
        self.lacking = np.zeros(width, np.float64)
        if before is not None and known:
            same = min(width, len(known))
            for name in ("values", "there", "counted", "lacking"):
                getattr(self, name)[:same] = getattr(before, name)[:same]
        for row, node in enumerate(nodes):
            if row >= len(known) or node is not known[row]:
                self._read(row, node)

    def _read(self, row: int, node: Node | None) -> None:
        found = self.measurement
        value = None if node is None else found.measured(node)
        if value is None:
            value = found.unmeasured
        self.values[row], self.there[row] = value or 0, value is not None
        name = "" if node is None else node.metadata.name
        self.counted[row], self.lacking[row] = found.pods.get(name, (0, 0.0))


_columns: dict[str, _MeasuredColumn] = {}
"""The last column of each name; readers check that its measurement and nodes are theirs."""


def measured_rows(
    measurement: Measurement, nodes: Sequence[Node | None], pod_counts: Int64s, rows: Int32s
) -> tuple[Int64s, Bools]:
    """int64[K], bool[K]: ``Measurement.of`` for each of ``rows`` (int32[K]), 0 without a value; and whether
    there is one.

    Args:
        measurement: The measurement.
        nodes: The node of each row.
        pod_counts: int64[K], the pods on each of ``rows``.
        rows: The rows.
    """
    name = measurement.metadata.name
    column = _columns.get(name)
    if column is None or column.measurement is not measurement or column.nodes != nodes:
        column = _columns[name] = _MeasuredColumn(measurement, list(nodes), column)
    values, there = column.values.take(rows), column.there.take(rows)
    if measurement.per_pod:
        new = np.maximum(pod_counts - column.counted.take(rows), 0) + column.lacking.take(rows)
        added = np.minimum(new * measurement.per_pod, MOST_ADDED).astype(np.int64)
        added[~there] = 0
        values = np.minimum(values, MAX_MEASURED - added) + added
    return values, there


class NodeMeasurements(Mapping[str, int | None]):
    """The measured values of one node by name, each read when it is needed.

    The value under a name is None if the node has none, or there are no recent ones.
    """

    __slots__ = ("_node", "_objects", "_pod_count")

    def __init__(self, objects: ObjectTable, node: Node, pod_count: int) -> None:
        self._objects = objects
        self._node = node
        self._pod_count = pod_count

    def __getitem__(self, name: str) -> int | None:
        found = self._objects.get(Measurement, name)
        return None if found is None else found.of(self._node, self._pod_count)

    def get(self, name: str, default: Any = None) -> Any:
        value = self[name]
        return default if value is None else value

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self[name] is not None

    def __iter__(self) -> Iterator[str]:
        names = [each.metadata.name for each in self._objects.all(Measurement)]
        return (name for name in names if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)
