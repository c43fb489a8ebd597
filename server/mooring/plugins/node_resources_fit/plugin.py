"""Keeps pods off nodes without room, and scores the others. Mirrors ``plugins/noderesources/fit.go``."""

from __future__ import annotations

from collections.abc import Hashable

from mooring.framework import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    Handle,
    Int64s,
    NodeView,
    Pod,
    PreFilterPlugin,
    PreScorePlugin,
    Scope,
    ScorePlugin,
    Status,
    Verdicts,
)
from mooring.framework.resources import DEFAULT_AMOUNTS, pod_amounts
from mooring.plugins.node_resources_fit.args import NodeResourcesFitArgs
from mooring.plugins.node_resources_fit.filtering import checked_requests, room
from mooring.plugins.node_resources_fit.scoring import scorer_of
from mooring.plugins.resource_uses import Requests, listed_requests

_PRE_FILTER = "PreFilterNodeResourcesFit"
_PRE_SCORE = "PreScoreNodeResourcesFit"


class NodeResourcesFit(
    PreFilterPlugin[NodeResourcesFitArgs],
    FilterPlugin[NodeResourcesFitArgs],
    PreScorePlugin[NodeResourcesFitArgs],
    ScorePlugin[NodeResourcesFitArgs],
):
    """Compares what the pod requests with what is left, and scores by the strategy in the args."""

    name = "NodeResourcesFit"
    Args = NodeResourcesFitArgs
    scope = Scope.NODE

    def __init__(self, args: NodeResourcesFitArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._scorer = scorer_of(args.scoring_strategy)
        self._scored = tuple(resource.name for resource in args.scoring_strategy.resources)

    def sign(self, pod: Pod) -> Hashable:
        return checked_requests(pod, self.args), self._scored_requests(pod)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        state.write(_PRE_FILTER, checked_requests(pod, self.args))
        return SUCCESS

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        requests: Requests = state.read(_PRE_FILTER, tuple)
        return room(requests, nodes)

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        state.write(_PRE_SCORE, self._scored_requests(pod))
        return SUCCESS

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        requests: Requests | None = state.get(_PRE_SCORE, tuple)
        return self._scorer(self._scored_requests(pod) if requests is None else requests, nodes)

    def _scored_requests(self, pod: Pod) -> Requests:
        """Containers without a request count with the defaults; upstream leaves pod-level ones out."""
        amounts = pod_amounts(pod, DEFAULT_AMOUNTS, pod_level=False, resizing=False)
        return listed_requests(amounts, self._scored)
