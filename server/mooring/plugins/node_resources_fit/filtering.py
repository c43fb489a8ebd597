"""Which nodes have room for a pod, and what the others lack."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from mooring.framework import SUCCESS, Bools, Int32s, Int64s, NodeView, Pod, Status, Verdicts
from mooring.framework.deadline import timely
from mooring.framework.pod_requests import PodUsage, ResourceRules, pod_usage
from mooring.framework.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, is_extended_resource
from mooring.kernels.resources import lacks, least_free
from mooring.plugins.node_resources_fit.args import NodeResourcesFitArgs
from mooring.plugins.resource_uses import Requests

_FIXED = (CPU, MEMORY, EPHEMERAL_STORAGE)
"""These come first among the reasons, in this order; scalar resources follow by name."""


def checked_requests(pod: Pod, args: NodeResourcesFitArgs, rules: ResourceRules) -> Requests:
    """Return the pod's requests of the resources that are checked, in the order of the reasons."""
    return checked_of(pod_usage(pod, rules), args)


def checked_of(usage: PodUsage, args: NodeResourcesFitArgs) -> Requests:
    """As ``checked_requests``, of a pod that takes ``usage``."""
    counted = dict(usage.requests)
    scalars = sorted([name for name in timely(counted) if name not in _FIXED and not _ignored(name, args)])
    return tuple([(name, counted[name]) for name in (*_FIXED, *scalars) if counted.get(name)])


def room(requests: Requests, nodes: NodeView, by_devices: Container[str]) -> Verdicts:
    """Return all that each node lacks, with the code that says whether an empty node would do.

    If a node offers nothing of a resource in ``by_devices``, which devices may stand for, DynamicResources
    looks for these.
    """
    shortages = _Shortages(len(nodes))
    if not _all_have(1, PODS, nodes):
        shortages.add("Too many pods", _short(PODS, 1, nodes, by_devices))
    for name, request in timely(requests):
        reason = f"Insufficient {name}"
        if name not in by_devices and not nodes.has_column(name):
            shortages.add_everywhere(reason)
            continue
        if _all_have(request, name, nodes):
            continue
        hopeless = nodes.allocatable(name) < request
        if name in by_devices:
            hopeless &= nodes.allocatable(name) != 0
        shortages.add(reason, _short(name, request, nodes, by_devices), hopeless)
    return shortages.verdicts()


def count_room(requests: Requests, nodes: NodeView) -> Int64s:
    """int64[K]: how many pods that each request so much there is room for."""
    room: Int64s = nodes.allocatable(PODS) - nodes.requested(PODS)
    for name, request in timely(requests):
        np.minimum(room, (nodes.allocatable(name) - nodes.requested(name)) // request, out=room)
    return np.maximum(room, 0)


def lacking(requests: Requests, nodes: NodeView, by_devices: Container[str]) -> Bools:
    """bool[K]: whether the node lacks something, as ``room`` says."""
    found: Bools = np.zeros(len(nodes), np.bool_)
    for name, request in timely(requests):
        if name not in by_devices and not nodes.has_column(name):
            return np.ones(len(nodes), np.bool_)
        found |= _short(name, request, nodes, by_devices)
    return found


def _short(name: str, request: int, nodes: NodeView, by_devices: Container[str]) -> Bools:
    """bool[K]: whether the node lacks a resource, for which devices can't stand on it."""
    offered = nodes.allocatable(name)
    short: Bools = lacks(offered, nodes.requested(name), request)
    return short & (offered != 0) if name in by_devices else short


def _all_have(request: int, name: str, nodes: NodeView) -> bool:
    """Return whether every node has so much left of a resource, as is so most often."""
    offered, used = nodes.allocatable(name, live=True), nodes.requested(name, live=True)
    least = least_free.for_rows(len(nodes), len(nodes.table.alive))
    if least is not None:
        return least(offered, used) >= request
    return int((offered - used).min(initial=request)) >= request


def _ignored(name: str, args: NodeResourcesFitArgs) -> bool:
    listed = name in args.ignored_resources or name.partition("/")[0] in args.ignored_resource_groups
    return listed and is_extended_resource(name)


class _Shortages:
    """The shortages of each of K nodes, reason by reason. Nodes with the same shortages share one list of
    reasons, which is copied when they part: many reasons cost no more than the answer's size.
    """

    def __init__(self, count: int) -> None:
        self._codes: Int32s = np.zeros(count, np.int32)
        self._reasons: list[list[str]] = [[]]
        self._hopeless: Bools = np.zeros(count, np.bool_)

    def add(self, reason: str, lacking: Bools, hopeless: Bools | None = None) -> None:
        """Note what the nodes ``lacking`` (bool[K]) lack; ``hopeless`` ones (bool[K]) always will."""
        if not lacking.any():
            return
        if hopeless is not None:
            self._hopeless |= hopeless
        having = np.bincount(self._codes[lacking], minlength=len(self._reasons))
        every = np.bincount(self._codes, minlength=len(self._reasons))
        renumbered = np.arange(len(self._reasons), dtype=np.int32)
        for number in timely(np.flatnonzero(having).tolist()):
            if having[number] == every[number]:
                self._reasons[number].append(reason)
            else:
                renumbered[number] = len(self._reasons)
                self._reasons.append([*self._reasons[number], reason])
        self._codes = np.where(lacking, renumbered[self._codes], self._codes)

    def add_everywhere(self, reason: str) -> None:
        """All nodes lack something, and always will."""
        for reasons in timely(self._reasons):
            reasons.append(reason)
        self._hopeless[:] = True

    def verdicts(self) -> Verdicts:
        """Return what was added, with a status for each kind of nodes."""
        pairs = self._codes * 2 + self._hopeless
        numbers: Int32s = np.zeros(2 * len(self._reasons), np.int32)
        statuses = [SUCCESS]
        for pair in timely(np.flatnonzero(np.bincount(pairs)).tolist()):
            reasons = tuple(self._reasons[pair // 2])
            if reasons:
                numbers[pair] = len(statuses)
                statuses.append(Status.unresolvable(*reasons) if pair % 2 else Status.unschedulable(*reasons))
        return Verdicts(numbers[pairs], tuple(statuses))
