"""The three ways to make a score of how full nodes would be.

Mirrors ``least_allocated.go``, ``most_allocated.go`` and ``requested_to_capacity_ratio.go``. Amounts may
be anything that int64 holds; where kube-scheduler's hundredfold would overflow, the true value is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from mooring.framework import MAX_NODE_SCORE, Int64s, NodeView
from mooring.kernels.resources import PERCENTAGES, mean, rounded_mean, taken_percentage
from mooring.plugins.node_resources_fit.args import (
    MAX_SHAPE_SCORE,
    ScoringStrategy,
    ScoringStrategyType,
    UtilizationShapePoint,
)
from mooring.plugins.resource_uses import (
    FIXED_ROWS,
    NON_ZERO_ROWS,
    Requests,
    counted_requests,
    resource_uses,
)

Scorer = Callable[[Requests, NodeView], Int64s]
"""int64[K]: the scores, 0..100, of the nodes for a pod with these requests."""


def scorer_of(strategy: ScoringStrategy) -> Scorer:
    """Return the strategy as a function."""
    weights = [resource.weight for resource in strategy.resources]
    percentage = PERCENTAGES.get(strategy.type)
    if percentage is not None:
        return lambda requests, nodes: _mean(weights, requests, nodes, percentage)
    ratio = strategy.requested_to_capacity_ratio
    if ratio is None:
        raise ValueError("scoringStrategy.requestedToCapacityRatio is required, as type asks for it")
    curve = score_curve(ratio.shape)
    return lambda requests, nodes: _rounded_mean(weights, requests, nodes, curve)


def asked_shares(
    strategy: ScoringStrategy, scored: Requests, checked: Requests
) -> tuple[Int64s, Int64s] | None:
    """Return what ``add_free_shares`` takes of a pod: what it requests, and what of it nodes must have.

    The latter are only resources that each node has. None if that loop has no such score, or if others are
    scored.
    """
    if strategy.type is not ScoringStrategyType.LEAST_ALLOCATED:
        return None
    rows, resources = FIXED_ROWS, strategy.resources
    try:
        parts = [
            (rows[name], NON_ZERO_ROWS.get(name, -1), resources[position].weight, request)
            for position, name, request in counted_requests(scored)
        ]
    except KeyError:
        return None
    lacking = [(rows[name], request) for name, request in checked if name in rows]
    return np.array(parts, np.int64).reshape(-1, 4), np.array(lacking, np.int64).reshape(-1, 2)


def score_curve(shape: Sequence[UtilizationShapePoint]) -> Int64s:
    """int64[101]: the score, 0..100, at each whole percentage of utilization."""
    scale = MAX_NODE_SCORE // MAX_SHAPE_SCORE
    points = [(point.utilization, point.score * scale) for point in shape]
    return np.array([_value_at(points, percent) for percent in range(101)], np.int64)


def _value_at(points: Sequence[tuple[int, int]], percent: int) -> int:
    before = points[0]
    for at in points:
        if percent <= at[0]:
            if at is before:
                return at[1]
            rise = (at[1] - before[1]) * (percent - before[0])
            return before[1] + math.trunc(rise / (at[0] - before[0]))
        before = at
    return before[1]


def _mean(
    weights: Sequence[int],
    requests: Requests,
    nodes: NodeView,
    score: Callable[[Int64s, Int64s], Int64s],
) -> Int64s:
    """Return the weighted mean over the resources that a node has, rounded down."""
    uses = resource_uses(requests, nodes, non_zero=True)
    parts = [(score(use.capacity, use.wanted), use.counts, weights[use.position]) for use in uses]
    return mean(parts, len(nodes))


def _rounded_mean(weights: Sequence[int], requests: Requests, nodes: NodeView, curve: Int64s) -> Int64s:
    """Return the weighted mean over the resources that score anything, rounded half up."""
    parts = []
    for use in resource_uses(requests, nodes, non_zero=True):
        scores = curve[taken_percentage(use.capacity, use.wanted)]
        counts = scores > 0 if use.counts is None else use.counts & (scores > 0)
        parts.append((scores, counts, weights[use.position]))
    return rounded_mean(parts, len(nodes))
