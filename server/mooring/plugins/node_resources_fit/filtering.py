"""Which nodes have room for a pod, and what the others lack."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from mooring.framework import REFUSED, SUCCESS, Bools, Code, Int32s, Int64s, NodeView, Pod, Status, Verdicts
from mooring.framework.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    PODS,
    ResourceRules,
    counted_amounts,
    is_extended_resource,
    pod_amounts,
)
from mooring.plugins.loops import loop
from mooring.plugins.node_resources_fit.args import NodeResourcesFitArgs
from mooring.plugins.resource_uses import Requests

_FIXED = (CPU, MEMORY, EPHEMERAL_STORAGE)
"""These come first among the reasons, in this order; scalar resources follow by name."""

_NO_SCALARS = {*_FIXED, PODS}


def checked_requests(pod: Pod, args: NodeResourcesFitArgs, rules: ResourceRules) -> Requests:
    """What the pod asks for of the resources that are checked, in the order of the reasons."""
    counted = counted_amounts(pod_amounts(pod, rules))
    scalars = sorted(name for name in counted if name not in _NO_SCALARS and not _ignored(name, args))
    return tuple([(name, counted[name]) for name in (*_FIXED, *scalars) if counted.get(name)])


def room(requests: Requests, nodes: NodeView, by_devices: Container[str], *, resolvable: bool) -> Verdicts:
    """What each node lacks: all of it, with the code that says whether an empty node would do.

    With ``resolvable`` the code never says that it would not. Where a node offers nothing of a resource for
    which devices may stand, which are ``by_devices``, DynamicResources looks for these.
    """
    table = _StatusTable(len(nodes))
    if not _all_have(1, PODS, nodes):
        full = nodes.requested(PODS) >= nodes.allocatable(PODS)
        table.change_where(full, partial(_with_reason, "Too many pods"))
    for name, request in requests:
        if _all_have(request, name, nodes):
            continue
        offered = nodes.allocatable(name)
        free = offered - nodes.requested(name)
        if name in by_devices:
            elsewhere = offered == 0
            offered, free = np.where(elsewhere, request, offered), np.where(elsewhere, request, free)
        table.change_where(free < request, partial(_with_reason, f"Insufficient {name}"))
        if not resolvable:
            table.change_where(offered < request, _unresolvable)
    return Verdicts(table.codes, tuple(table.statuses))


def refuse(requests: Requests, nodes: NodeView, scores: Int64s) -> None:
    """Put ``REFUSED`` in place of the scores (int64[K]) of nodes that lack something."""
    for name, request in ((PODS, 1), *requests):
        if not _all_have(request, name, nodes):
            scores[nodes.allocatable(name) - nodes.requested(name) < request] = REFUSED


def _all_have(request: int, name: str, nodes: NodeView) -> bool:
    """Whether every node has so much left of a resource, as is so most often."""
    offered, used = nodes.allocatable(name, live=True), nodes.requested(name, live=True)
    least = least_free.over(nodes)
    if least is not None:
        return least(offered, used) >= request
    return int((offered - used).min(initial=request)) >= request


@loop("(int64[::1], int64[::1])")
def least_free(offered: Int64s, used: Int64s) -> int:
    """What the fullest node has left; columns int64[K], K at least 1."""
    least: int = offered[0] - used[0]
    for at in range(len(offered)):
        least = min(least, offered[at] - used[at])
    return least


def _ignored(name: str, args: NodeResourcesFitArgs) -> bool:
    if not is_extended_resource(name):
        return False
    return name in args.ignored_resources or name.partition("/")[0] in args.ignored_resource_groups


def _with_reason(reason: str, status: Status) -> Status:
    code = Code.UNSCHEDULABLE if status.ok else status.code
    return Status(code, (*status.reasons, reason))


def _unresolvable(status: Status) -> Status:
    return replace(status, code=Code.UNSCHEDULABLE_AND_UNRESOLVABLE)


class _StatusTable:
    """Statuses of K nodes, dictionary-coded, that grow reason by reason.

    There are never more statuses than kinds of nodes, however many resources are checked.
    """

    def __init__(self, count: int) -> None:
        self.codes: Int32s = np.zeros(count, np.int32)
        self.statuses = [SUCCESS]

    def change_where(self, chosen: Bools, change: Callable[[Status], Status]) -> None:
        """Put ``change(status)`` in place of each status where ``chosen`` (bool[K]) is true."""
        if not chosen.any():
            return
        pairs = self.codes * 2 + chosen
        present = np.bincount(pairs, minlength=2 * len(self.statuses)) > 0
        present[0] = True
        renumbered = np.cumsum(present, dtype=np.int32) - 1
        self.codes = renumbered[pairs]
        self.statuses = list(self._changed(np.flatnonzero(present).tolist(), change))

    def _changed(self, pairs: list[int], change: Callable[[Status], Status]) -> Iterator[Status]:
        for pair in pairs:
            number, chosen = divmod(pair, 2)
            yield change(self.statuses[number]) if chosen else self.statuses[number]
