"""Prefers nodes whose resources fill up evenly. Mirrors ``plugins/noderesources/balanced_allocation.go``."""

from __future__ import annotations

import numpy as np

from mooring.framework import (
    SUCCESS,
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
from mooring.kernels.resources import add_improvements, balance, improvement, share
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
        """Return the argument of ``add_improvements``.

        None if the score is not its improvement, if not two resources count, or if a node lacks one of them.
        """
        asked = [(FIXED_ROWS.get(name, -1), request) for _, name, request in counted_requests(requests)]
        if not self._improves or len(asked) != 2 or -1 in (asked[0][0], asked[1][0]):
            return None
        return (np.array(asked, np.int64),)

    def _scores(self, requests: Requests, nodes: NodeView) -> Int64s:
        uses = list(resource_uses(requests, nodes, non_zero=False))
        counts = [use.counts for use in uses]
        with_pod = balance([share(use.wanted, use.capacity) for use in uses], counts, len(nodes))
        if not self._improves:
            return with_pod
        without_pod = balance([share(use.used, use.capacity) for use in uses], counts, len(nodes))
        improved: Int64s = improvement(without_pod, with_pod)
        return improved

    def _listed(self, pod: Pod) -> Requests:
        return listed_requests(pod, self._rules, self._names, non_zero=False)
