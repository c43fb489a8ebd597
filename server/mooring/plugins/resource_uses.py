"""How full nodes are of the resources in a score, without and with the pod.

Mirrors ``plugins/noderesources/resource_allocation.go``, which NodeResourcesFit and
NodeResourcesBalancedAllocation share.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from mooring.framework import Bools, Int64s, NodeTable, NodeView, Pod, Snapshot
from mooring.framework.deadline import timely
from mooring.framework.node_table import CPU_ROW, EPHEMERAL_STORAGE_ROW, MEMORY_ROW, PODS_ROW
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import DeviceClass
from mooring.framework.pod_requests import PodUsage, ResourceRules, pod_amounts, pod_usage
from mooring.framework.quantity import MAX_INT64, units
from mooring.framework.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, is_scalar_resource

Requests = tuple[tuple[str, int], ...]
"""The pod's request of each listed resource, in the list's order: CPU in thousandths, others in units."""

_COUNTED = CPU, MEMORY, EPHEMERAL_STORAGE
"""The resources in ``PodUsage.requests`` besides scalar resources."""

FIXED_ROWS = {
    CPU: CPU_ROW,
    MEMORY: MEMORY_ROW,
    EPHEMERAL_STORAGE: EPHEMERAL_STORAGE_ROW,
    PODS: PODS_ROW,
}
"""Where NodeTable.allocatable and NodeTable.requested hold the resources that each node has."""

NON_ZERO_ROWS = {CPU: 0, MEMORY: 1}
"""Where NodeTable.non_zero_requested holds a resource."""


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """One listed resource over K nodes.

    Attributes:
        position: The resource's place in the list.
        counts: bool[K], the node has any of it; elsewhere the resource is left out of the score. None if
            every node has some, which is almost always so and takes half the time.
        capacity: int64[K], what the node offers; 1 where it has none, so that it can divide.
        used: int64[K], what the pods on the node take.
        wanted: int64[K], the same with the pod; int64's largest value stands for anything above.
    """

    position: int
    counts: Bools | None
    capacity: Int64s
    used: Int64s
    wanted: Int64s


class ScalarRows:
    """``ResourceRating.scalars``. Safe from any thread: two that search at once find the same.

    The place of a resource in the columns changes only with the columns, so it is found once for each.

    Args:
        asked: int64[., 2], the rows that come first.
        requests: The scalar resources and what is requested of them.
        by_devices: Gives those for which devices may stand, by the objects of a state; those are the same for
            as long as no ``DeviceClass`` changes.
    """

    def __init__(
        self, asked: Int64s, requests: Requests, by_devices: Callable[[ObjectTable], Collection[str]]
    ) -> None:
        self._asked = asked
        self._requests = requests
        self._by_devices = by_devices
        self._found: tuple[Mapping[str, int] | None, tuple[int, ...], Int64s | None] = None, (), None

    def __call__(self, snapshot: Snapshot) -> Int64s | None:
        table, objects = snapshot.nodes, snapshot.objects
        versions = objects.version(DeviceClass), len(table.allocatable), len(table.requested)
        index, known, rows = self._found
        if index is not table.resource_index or known != versions:
            rows = self._looked_up(snapshot)
            self._found = table.resource_index, versions, rows
        return rows

    def _looked_up(self, snapshot: Snapshot) -> Int64s | None:
        if self._by_devices(snapshot.objects):
            return None
        more = rows_of(self._requests, snapshot.nodes)
        return None if more is None else np.concatenate((self._asked, more))


def listed_requests(pod: Pod, rules: ResourceRules, names: Iterable[str], *, non_zero: bool) -> Requests:
    """Return what ``pod`` requests of the listed resources.

    With ``non_zero``, containers without a CPU or memory request count with the defaults.
    """
    amounts = amounts_of(pod_usage(pod, rules), non_zero=non_zero)
    return tuple(
        [(name, amounts[name] if name in amounts else _uncounted(pod, rules, name)) for name in names]
    )


def amounts_of(usage: PodUsage, *, non_zero: bool) -> dict[str, int]:
    """Return the requests of a pod that takes ``usage``, ``non_zero`` as in ``listed_requests``."""
    amounts = dict(usage.requests)
    if non_zero:
        amounts[CPU], amounts[MEMORY] = usage.non_zero_cpu, usage.non_zero_memory
    return amounts


def _uncounted(pod: Pod, rules: ResourceRules, name: str) -> int:
    """Return the request for a resource that is not in ``PodUsage.requests``, as one that no node counts."""
    return 0 if name in _COUNTED or is_scalar_resource(name) else units(pod_amounts(pod, rules).get(name, 0))


def resource_uses(requests: Requests, nodes: NodeView, *, non_zero: bool) -> Iterator[ResourceUse]:
    """Yield the uses of the listed resources that can count at all; a scalar resource that the pod doesn't
    ask for is left out. With ``non_zero``, pods without a CPU or memory request count with the defaults, as
    in ``NodeTable.non_zero_requested``.
    """
    for position, request, offered, used in listed_columns(requests, nodes, non_zero=non_zero):
        everywhere = int(offered.min(initial=1)) > 0
        most = MAX_INT64 - request
        yield ResourceUse(
            position=position,
            counts=None if everywhere else np.greater(offered, 0),
            capacity=offered if everywhere else np.maximum(offered, 1),
            used=used,
            wanted=(used if int(used.max(initial=0)) <= most else np.minimum(used, most)) + request,
        )


def listed_columns(
    requests: Requests, nodes: NodeView, *, non_zero: bool, live: bool = False
) -> Iterator[tuple[int, int, Int64s, Int64s]]:
    """Yield of each resource: its place in the list, the pod's request, and columns allocatable and
    requested.

    ``live`` is as in ``NodeView.take``.
    """
    for position, name, request in counted_requests(requests):
        if non_zero and name in NON_ZERO_ROWS:
            used: Int64s = nodes.take(nodes.table.non_zero_requested[NON_ZERO_ROWS[name]], live=live)
        else:
            used = nodes.requested(name, live=live)
        yield position, request, nodes.allocatable(name, live=live), used


def counted_requests(requests: Requests) -> Iterator[tuple[int, str, int]]:
    """Yield the listed resources that can count at all: the place in the list, the name and the request."""
    for position, (name, request) in enumerate(timely(requests)):
        if name in _COUNTED or (request and is_scalar_resource(name)):
            yield position, name, request


def rows_of(requests: Requests, table: NodeTable) -> Int64s | None:
    """int64[., 2]: where the columns have each resource, and the request; None when they lack one."""
    rows = [(table.resource_index.get(name, -1), request) for name, request in requests]
    known = min(len(table.allocatable), len(table.requested))
    return np.array(rows, np.int64) if all(0 <= row < known for row, _ in rows) else None
