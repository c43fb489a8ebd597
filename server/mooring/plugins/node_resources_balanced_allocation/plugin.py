"""Prefers nodes whose resources fill up evenly. Mirrors ``plugins/noderesources/balanced_allocation.go``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mooring.framework import (
    MAX_NODE_SCORE,
    SUCCESS,
    Bools,
    CycleState,
    Handle,
    Int32s,
    Int64s,
    KubeVersion,
    NodeView,
    Pod,
    PreScorePlugin,
    ScorePlugin,
    Status,
)
from mooring.framework.batch import BatchPlugin, BatchScorer, add_scores
from mooring.framework.cacheable import Aspect, CacheablePlugin, Dependencies
from mooring.framework.objects import DeviceClass
from mooring.framework.pod_requests import PodUsage, ResourceRules
from mooring.framework.remembering import MAX_AT_ONCE, MAX_POD_BYTES, ByIdentity
from mooring.framework.resource_ratings import ResourceRating
from mooring.framework.upstream import Upstream
from mooring.kernels.resources import add_improvements
from mooring.plugins.dynamic_resources.extended_resources import DevicesInstead
from mooring.plugins.node_resources_balanced_allocation.args import NodeResourcesBalancedAllocationArgs
from mooring.plugins.resource_uses import (
    FIXED_ROWS,
    Requests,
    amounts_of,
    counted_requests,
    listed_requests,
    resource_uses,
)

_IMPROVEMENT_SINCE = KubeVersion(1, 36)
"""Before, the score was the balance with the pod, however it was without."""

_PRE_SCORE = "PreScoreNodeResourcesBalancedAllocation"

_Shares = npt.NDArray[np.float64]


class NodeResourcesBalancedAllocation(
    PreScorePlugin[NodeResourcesBalancedAllocationArgs],
    ScorePlugin[NodeResourcesBalancedAllocationArgs],
    CacheablePlugin,
    BatchPlugin,
):
    """Scores how much more even the use of the listed resources becomes with the pod: 75 = no change."""

    name = "NodeResourcesBalancedAllocation"
    upstream = Upstream(weight=1)
    Args = NodeResourcesBalancedAllocationArgs
    reads = (DeviceClass,)
    aspects = Aspect.AMOUNTS

    def __init__(self, args: NodeResourcesBalancedAllocationArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._rules = ResourceRules.of(handle.gates)
        self._names = tuple(resource.name for resource in args.resources)
        self._requests = ByIdentity(self._listed, MAX_AT_ONCE, MAX_POD_BYTES)
        self._devices = DevicesInstead(handle)
        self._improves = handle.kube_version >= _IMPROVEMENT_SINCE

    def dependencies(self, pod: Pod) -> Dependencies:
        requests = self._requests(pod)
        parts, kinds = self._devices.read_by_scores(requests)
        return Dependencies(signature=requests, parts=parts, kinds=kinds)

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        requests = self._requests(pod)
        if not any(amount for _, amount in requests):
            return Status.skip()
        state.write(_PRE_SCORE, requests)
        return SUCCESS

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        return self._rated(state.get(_PRE_SCORE, tuple) or self._requests(pod), nodes)

    def scorer(self, pod: Pod) -> BatchScorer:
        return self._rating(self._listed(pod))

    def usage_scorer(self, usage: PodUsage) -> BatchScorer:
        amounts = amounts_of(usage, non_zero=False)
        return self._rating(tuple([(name, amounts.get(name, 0)) for name in self._names]))

    def _rated(self, requests: Requests, nodes: NodeView) -> Int64s:
        totals: Int32s = np.zeros(len(nodes), np.int32)
        if any(amount for _, amount in requests):
            seen = self._devices.among(requests, nodes)
            if seen is not nodes or not self._resource_rating(requests).compiled(nodes, 1, totals):
                return self._scores(requests, seen)
        return totals.astype(np.int64)

    def _rating(self, requests: Requests) -> BatchScorer:
        if not any(amount for _, amount in requests):
            return lambda _nodes, _weight, _totals: None
        return self._resource_rating(requests)

    def _resource_rating(self, requests: Requests) -> ResourceRating:
        def rate(nodes: NodeView, weight: int, totals: Int32s) -> None:
            add_scores(self._scores(requests, nodes), np.zeros(len(nodes), np.bool_), weight, totals)

        return ResourceRating(add_improvements, self._asked(requests), rate)

    def _asked(self, requests: Requests) -> tuple[Int64s] | None:
        """Return what ``add_improvements`` takes; None where that isn't what is scored, other than two
        resources count, or others than those that each node has.
        """
        asked = [(FIXED_ROWS.get(name, -1), request) for _, name, request in counted_requests(requests)]
        if not self._improves or len(asked) != 2 or -1 in (asked[0][0], asked[1][0]):
            return None
        return (np.array(asked, np.int64),)

    def _scores(self, requests: Requests, nodes: NodeView) -> Int64s:
        uses = list(resource_uses(requests, nodes, non_zero=False))
        counts = [use.counts for use in uses]
        capacities = [use.capacity.astype(np.float64) for use in uses]
        with_pod = _balance(
            [_share(use.wanted, capacity) for use, capacity in zip(uses, capacities, strict=True)],
            counts,
            len(nodes),
        )
        if not self._improves:
            return with_pod
        without_pod = _balance(
            [_share(use.used, capacity) for use, capacity in zip(uses, capacities, strict=True)],
            counts,
            len(nodes),
        )
        half = MAX_NODE_SCORE // 2
        with_pod -= without_pod
        with_pod += half
        with_pod >>= 1
        with_pod += half
        return with_pod

    def _listed(self, pod: Pod) -> Requests:
        return listed_requests(pod, self._rules, self._names, non_zero=False)


def _share(amount: Int64s, capacity: _Shares) -> _Shares:
    """float64[K]: how much of its capacity is taken, at most 1."""
    share = amount.astype(np.float64)
    share /= capacity
    return np.minimum(share, 1.0, out=share) if share.max(initial=0.0) > 1 else share


def _balance(shares: Sequence[_Shares], found: Sequence[Bools | None], length: int) -> Int64s:
    """int64[K]: 100 where all shares are equal, down to 50; ``found`` says which shares a node has.

    Every step rounds as upstream's does: half the difference for two shares, the standard deviation of
    more, summed in the list's order.
    """
    if len(shares) == 2 and found[0] is found[1] is None:
        difference = shares[0] - shares[1]
        np.abs(difference, out=difference)
        difference /= 2
        return _score(difference)
    counts = [np.ones(length, np.bool_) if each is None else each for each in found]
    if len(shares) == 2:
        difference = np.where(counts[0] & counts[1], np.abs(shares[0] - shares[1]), 0.0)
        return _score(difference / 2)
    number, total, squares = np.zeros((3, length))
    lowest, highest = np.full(length, np.inf), np.full(length, -np.inf)
    for share, counted in zip(shares, counts, strict=True):
        number += counted
        total += np.where(counted, share, 0.0)
        np.minimum(lowest, share, out=lowest, where=counted)
        np.maximum(highest, share, out=highest, where=counted)
    mean = total / np.maximum(number, 1)
    for share, counted in zip(shares, counts, strict=True):
        squares += np.where(counted, (share - mean) * (share - mean), 0.0)
    deviation = np.where(number > 2, np.sqrt(squares / np.maximum(number, 1)), 0.0)
    two = number == 2
    deviation[two] = (highest[two] - lowest[two]) / 2
    return _score(deviation)


def _score(deviation: _Shares) -> Int64s:
    np.subtract(1, deviation, out=deviation)
    deviation *= MAX_NODE_SCORE
    return deviation.astype(np.int64)
