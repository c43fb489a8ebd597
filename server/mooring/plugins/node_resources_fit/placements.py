"""How full the nodes of a placement would be with the pods of a group.

Mirrors ``scorePlacement`` in ``resource_allocation.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mooring.framework import Int32s, Int64s, NodeView, Pod, PodGroupAssignments
from mooring.framework.groups import AssignedEverywhere
from mooring.framework.resource_ratings import columns_and_places
from mooring.kernels.resources import add_up_fullness, fullness
from mooring.plugins.resource_uses import (
    FIXED_ROWS,
    NON_ZERO_ROWS,
    Requests,
    counted_requests,
    listed_columns,
)


class RequestedTogether:
    """The requests of some pods of a group, most of which are evaluated in each placement.

    Args:
        requests_of: The listed resources' requests of a pod.
        nothing: The requests of a pod that asks for none of them.
    """

    def __init__(self, requests_of: Callable[[Pod], Requests], nothing: Requests) -> None:
        self._requests_of = requests_of
        self._nothing = nothing
        self._each: dict[str, Requests] = {}
        self._last: tuple[Sequence[Pod], Requests] = (), nothing

    def by(self, pods: Sequence[Pod]) -> Requests:
        """Return the sums, by resource in the order of the list."""
        asked, sums = self._last
        if pods is not asked:
            columns = zip(self._nothing, *map(self._of, pods), strict=True)
            sums = tuple((entries[0][0], sum(amount for _, amount in entries)) for entries in columns)
            self._last = pods, sums
        return sums

    def _of(self, pod: Pod) -> Requests:
        uid = pod.metadata.uid
        known = self._each.get(uid)
        if known is None:
            known = self._each[uid] = self._requests_of(pod)
        return known


def placement_scores(
    weights: Sequence[int],
    requested_by: Callable[[Sequence[Pod]], Requests],
    found: Sequence[PodGroupAssignments],
) -> Int64s:
    """int64[P]: how full placements are with the pods of a group on them, 0..100: the fuller, the more.

    Whatever the strategy is that nodes are scored by.
    """
    if isinstance(found, AssignedEverywhere):
        nodes = NodeView(found.snapshot, found.placements.rows)
        return _fullness(weights, requested_by(found.pods), nodes, found.placements.ends)
    scores: Int64s = np.zeros(len(found), np.int64)
    alike: dict[Requests, list[int]] = {}
    for at, one in enumerate(found):
        if len(one.placement.rows):
            alike.setdefault(requested_by(one.pods), []).append(at)
    for requests, positions in alike.items():
        rows = [found[at].placement.rows for at in positions]
        ends = np.cumsum([len(each) for each in rows], dtype=np.int32)
        nodes = NodeView(found[0].snapshot, rows[0] if len(rows) == 1 else np.concatenate(rows))
        scores[positions] = _fullness(weights, requests, nodes, ends)
    return scores


def _fullness(weights: Sequence[int], requests: Requests, nodes: NodeView, ends: Int32s) -> Int64s:
    """int64[P]: as ``placement_scores``, of placements that end at ``ends`` (int32[P]) among ``nodes``."""
    scores: Int64s = np.zeros(len(ends), np.int64)
    counted = list(counted_requests(requests))
    add = add_up_fullness.for_rows(len(nodes), len(nodes.table.alive))
    if add is not None and all(name in FIXED_ROWS for _, name, _ in counted):
        scored = [
            (FIXED_ROWS[name], NON_ZERO_ROWS.get(name, -1), request, weights[position])
            for position, name, request in counted
        ]
        asked: Int64s = np.array(scored, np.int64).reshape(-1, 4)
        if add(*columns_and_places(nodes), asked, ends, scores):
            return scores
    listed = listed_columns(requests, nodes, non_zero=True, live=True)
    parts = [(weights[position], request, offered, used) for position, request, offered, used in listed]
    return fullness(parts, np.append(0, ends[:-1]))
