"""Keeps pods off nodes without room, and scores the others. Mirrors ``plugins/noderesources/fit.go``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from mooring.framework import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    Finding,
    Handle,
    HintedEvent,
    Int32s,
    Int64s,
    NodeInfo,
    NodeView,
    Part,
    PlacementScorePlugin,
    Pod,
    PodGroupAssignments,
    PodGroupInfo,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    Status,
    Verdicts,
)
from mooring.framework.batch import BatchPlugin, BatchScorer, add_scores
from mooring.framework.cacheable import Aspect, CacheablePlugin, Dependencies
from mooring.framework.findings import NominatedPods
from mooring.framework.objects import DeviceClass
from mooring.framework.pod_requests import PodUsage, ResourceRules
from mooring.framework.remembering import MAX_AT_ONCE, MAX_POD_BYTES, ByIdentity
from mooring.framework.resource_ratings import ResourceRating
from mooring.framework.resources import PODS
from mooring.framework.upstream import Upstream
from mooring.kernels.resources import add_free_shares
from mooring.plugins.dynamic_resources.extended_resources import DevicesInstead
from mooring.plugins.node_resources_fit.args import NodeResourcesFitArgs
from mooring.plugins.node_resources_fit.filtering import (
    checked_of,
    checked_requests,
    count_room,
    lacking,
    room,
)
from mooring.plugins.node_resources_fit.findings import shortages
from mooring.plugins.node_resources_fit.hints import events
from mooring.plugins.node_resources_fit.placements import RequestedTogether, placement_scores
from mooring.plugins.node_resources_fit.scoring import (
    asked_shares,
    scorer_of,
)
from mooring.plugins.resource_uses import (
    FIXED_ROWS,
    Requests,
    ScalarRows,
    amounts_of,
    listed_requests,
)

_PRE_FILTER = "PreFilterNodeResourcesFit"
_PRE_SCORE = "PreScoreNodeResourcesFit"


class NodeResourcesFit(
    PreFilterPlugin[NodeResourcesFitArgs],
    FilterPlugin[NodeResourcesFitArgs],
    PreScorePlugin[NodeResourcesFitArgs],
    ScorePlugin[NodeResourcesFitArgs],
    PlacementScorePlugin[NodeResourcesFitArgs],
    CacheablePlugin,
    BatchPlugin,
):
    """Compares the pod's requests with the room on nodes, and scores by the strategy in the args."""

    name = "NodeResourcesFit"
    upstream = Upstream(weight=1)
    Args = NodeResourcesFitArgs
    reads = (DeviceClass,)
    aspects = Aspect.AMOUNTS

    def __init__(self, args: NodeResourcesFitArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._scorer = scorer_of(args.scoring_strategy)
        self._rules = replace(ResourceRules.of(handle.gates), resizing=False)
        self._scored_rules = replace(self._rules, pod_level=False)
        self._weights = [resource.weight for resource in args.scoring_strategy.resources]
        self._scored_names = tuple(resource.name for resource in args.scoring_strategy.resources)
        self._devices = DevicesInstead(handle)
        self._checked_requests = ByIdentity(self._requests_to_check, MAX_AT_ONCE, MAX_POD_BYTES)
        self._scored_requests = ByIdentity(self._requests_to_score, MAX_AT_ONCE, MAX_POD_BYTES)

    def dependencies(self, pod: Pod) -> Dependencies:
        checked, scored = self._checked_requests(pod), self._scored_requests(pod)
        parts, kinds = self._devices.read_by_scores(scored)
        if not kinds and self._devices.concern(checked):
            parts, kinds = Part.RESOURCES | Part.OBJECTS, (DeviceClass,)
        return Dependencies(signature=(checked, scored), parts=parts, kinds=kinds)

    def events_to_register(self) -> Sequence[HintedEvent]:
        return events(self.handle)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        state.write(_PRE_FILTER, self._checked_requests(pod))
        return SUCCESS

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        requests: Requests = state.read(_PRE_FILTER, tuple)
        by_devices = self._devices.of(requests, nodes.snapshot.objects)
        return room(requests, nodes, by_devices)

    def explain(
        self, state: CycleState, pod: Pod, node: NodeInfo | None, status: Status
    ) -> Sequence[Finding]:
        if node is None:
            return ()
        requests: Requests = state.read(_PRE_FILTER, tuple)
        by_devices = self._devices.of(requests, node.snapshot.objects)
        nominated = state.get(NominatedPods, NominatedPods) or ()
        return list(shortages(requests, node, nominated, by_devices, self._rules))

    def count_room(self, pod: Pod, nodes: NodeView) -> Int64s | None:
        requests = self._checked_requests(pod)
        return None if self._devices.of(requests, nodes.snapshot.objects) else count_room(requests, nodes)

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        requests = self._scored_requests(pod)
        state.write(_PRE_SCORE, requests)
        return SUCCESS

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        requests: Requests | None = state.get(_PRE_SCORE, tuple)
        return self._scored(self._scored_requests(pod) if requests is None else requests, nodes)

    def scorer(self, pod: Pod) -> BatchScorer:
        requests, checked = self._requests_to_score(pod), ((PODS, 1), *self._requests_to_check(pod))
        return self._rating(requests, checked)

    def usage_scorer(self, usage: PodUsage) -> BatchScorer:
        amounts = amounts_of(usage, non_zero=True)
        requests = tuple([(name, amounts.get(name, 0)) for name in self._scored_names])
        return self._rating(requests, ((PODS, 1), *checked_of(usage, self.args)))

    def score_placements(
        self, state: CycleState, group: PodGroupInfo, found: Sequence[PodGroupAssignments]
    ) -> Int64s:
        requested = RequestedTogether(
            self._requests_to_score, tuple((name, 0) for name in self._scored_names)
        )
        return placement_scores(self._weights, requested.by, found)

    def _scored(self, requests: Requests, nodes: NodeView) -> Int64s:
        seen = self._devices.among(requests, nodes)
        totals: Int32s = np.zeros(len(nodes), np.int32)
        if seen is nodes and self._rating(requests, ()).compiled(nodes, 1, totals):
            return totals.astype(np.int64)
        return self._scorer(requests, seen)

    def _rating(self, requests: Requests, checked: Requests) -> ResourceRating:
        def rate(nodes: NodeView, weight: int, totals: Int32s) -> None:
            by_devices = self._devices.of(checked, nodes.snapshot.objects)
            add_scores(self._scorer(requests, nodes), lacking(checked, nodes, by_devices), weight, totals)

        asked = asked_shares(self.args.scoring_strategy, requests, checked)
        scalars = tuple([(name, request) for name, request in checked if name not in FIXED_ROWS])
        if asked is None or not scalars:
            return ResourceRating(add_free_shares, asked, rate)
        rows = ScalarRows(asked[-1], scalars, partial(self._devices.of, scalars))
        return ResourceRating(add_free_shares, asked, rate, rows)

    def _requests_to_check(self, pod: Pod) -> Requests:
        """Return the requests to check; a pod without a node counts as if it were not being resized."""
        return checked_requests(pod, self.args, self._rules)

    def _requests_to_score(self, pod: Pod) -> Requests:
        """Containers without a request count with the defaults; upstream leaves pod-level ones out."""
        return listed_requests(pod, self._scored_rules, self._scored_names, non_zero=True)
