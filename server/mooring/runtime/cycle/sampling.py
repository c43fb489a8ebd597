"""How many feasible nodes are enough, and in which order they are looked for.

Mirrors ``numFeasibleNodesToFind`` in ``schedule_one.go`` and ``backend/cache/node_tree.go``.
"""

from __future__ import annotations

import numpy as np

from mooring.framework import Bools, Int32s, Int64s
from mooring.framework.node_table import NodeTable

MIN_FEASIBLE_NODES = 100
"""Feasible nodes that are always looked for."""

MIN_PERCENTAGE = 5
"""The least that the adaptive rule asks for, in percent."""

_ZONE_LABELS = (
    "failure-domain.beta.kubernetes.io/zone",
    "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/region",
)


def nodes_to_find(percentage: int | None, count: int, compares: bool) -> int:
    """After how many feasible nodes the search among ``count`` nodes ends; the first one will do unless
    feasible nodes are compared (``compares``). ``percentage`` is ``percentageOfNodesToScore``: None = every
    node; 0 = 50 % less one per 125 nodes, at least 5; else 1..100.
    """
    if percentage is None:
        return count
    if not compares:
        return 1
    if count < MIN_FEASIBLE_NODES:
        return count
    if percentage == 0:
        percentage = max(50 - count // 125, MIN_PERCENTAGE)
    return max(count * percentage // 100, MIN_FEASIBLE_NODES)


def search(order: Int32s, fits: Bools, start: int, wanted: int) -> tuple[Int32s, Int32s]:
    """Look for ``wanted`` feasible nodes from ``start`` (0 or more) on.

    ``order`` (int32[M]) are the positions in ``fits`` (bool[N]) of the nodes to evaluate. Returns int32[F],
    the found ones, and int32[L], all evaluated. One feasible node too many ends the search.
    """
    turned = np.roll(order, -(start % len(order)))
    passed = np.flatnonzero(fits[turned])
    if len(passed) <= wanted:
        return turned[passed], turned
    return turned[passed[:wanted]], turned[: passed[wanted]]


def search_order(nodes: NodeTable, rows: Int32s) -> Int32s:
    """int32[N]: the positions in ``rows`` (int32[N]) in the order in which they are evaluated.

    The zones take turns, the one with the oldest node first, and so do the nodes of each zone.
    """
    oldest_first = np.argsort(nodes.row_epoch[rows], kind="stable")
    _, first, zones = np.unique(_zones(nodes, rows[oldest_first]), return_index=True, return_inverse=True)
    by_zone = np.argsort(zones, kind="stable")
    sizes = np.bincount(zones)
    turn = np.empty(len(rows), np.int64)
    turn[by_zone] = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return oldest_first[np.lexsort((first[zones], turn))].astype(np.int32)


def _zones(nodes: NodeTable, rows: Int32s) -> Int64s:
    """int64[N]: a number per row, equal for nodes of the same zone of the same region.

    Mirrors ``GetZoneKey`` of ``k8s.io/component-helpers/node/topology``.
    """
    columns = [nodes.label(key) for key in _ZONE_LABELS]
    codes = np.zeros(len(rows), np.int64)
    for column in columns:
        codes = codes * len(column.values) + column.ids[rows]
    _, example, inverse = np.unique(codes, return_index=True, return_inverse=True)
    numbers: dict[tuple[str, str], int] = {}
    found = []
    for row in rows[example].tolist():
        ids = [int(column.ids[row]) for column in columns]
        zone_beta, zone, region_beta, region = (
            column.values[number] for column, number in zip(columns, ids, strict=True)
        )
        place = (region_beta if ids[2] else region, zone_beta if ids[0] else zone)
        found.append(numbers.setdefault(place, len(numbers)))
    zones: Int64s = np.array(found, np.int64)[inverse]
    return zones
