"""Keeps pods on the nodes they ask for. Mirrors ``plugins/nodeaffinity/node_affinity.go``."""

from __future__ import annotations

from collections.abc import Sequence

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
    Normalizer,
    Part,
    Pod,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ReasonCode,
    ScorePlugin,
    Status,
    Verdicts,
)
from mooring.framework.cacheable import Aspect, CacheablePlugin, Dependencies
from mooring.framework.deadline import timely
from mooring.framework.named_node import named_node
from mooring.framework.node_selector import (
    NAME_FIELD,
    preferred_errors,
    preferred_scores,
    required_matches,
    selector_matches,
)
from mooring.framework.objects import (
    NodeAffinityTerms,
    NodeSelector,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
)
from mooring.framework.remembering import MAX_AT_ONCE, MAX_POD_BYTES, ByIdentity
from mooring.framework.upstream import Upstream
from mooring.plugins.node_affinity.args import NodeAffinityArgs
from mooring.plugins.node_affinity.findings import affinity_mismatch, conflict, mismatches
from mooring.plugins.node_affinity.hints import events

REASON_POD = "node(s) didn't match Pod's node affinity/selector"
REASON_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
REASON_CONFLICT = "pod affinity terms conflict"

_STATUSES = (SUCCESS, Status.unresolvable(REASON_POD), Status.unresolvable(REASON_ENFORCED))
_PREFERRED_PATH = "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"


class NodeAffinity(
    PreFilterPlugin[NodeAffinityArgs],
    FilterPlugin[NodeAffinityArgs],
    PreScorePlugin[NodeAffinityArgs],
    ScorePlugin[NodeAffinityArgs],
    CacheablePlugin,
):
    """Rejects nodes that node selector or required affinity don't match, and scores preferred terms.

    The affinity in the args is required and preferred besides the pod's own.
    """

    name = "NodeAffinity"
    upstream = Upstream(weight=2)
    Args = NodeAffinityArgs
    aspects = Aspect.NODE_NAME
    normalizer = Normalizer.BY_MAX

    def __init__(self, args: NodeAffinityArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        added = args.added_affinity or NodeAffinityTerms()
        self._added_required = added.required_during_scheduling_ignored_during_execution
        self._added_preferred = added.preferred_during_scheduling_ignored_during_execution

    def dependencies(self, pod: Pod) -> Dependencies:
        return Dependencies(
            signature=(frozenset(pod.spec.node_selector.items()), _affinity(pod)),
            parts=Part.NODES_BUT_IMAGES,
            only_node=named_node(pod),
        )

    def events_to_register(self) -> Sequence[HintedEvent]:
        return events(self._added_required)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> PreFilterResult | Status:
        required = _affinity(pod).required_during_scheduling_ignored_during_execution
        if required is None and self._added_required is None and not pod.spec.node_selector:
            return Status.skip()
        names = None if required is None else _named_nodes(required)
        if names is not None and not names:
            return Status.unresolvable(REASON_CONFLICT)
        return PreFilterResult(names)

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        codes: Int32s = (~required_matches(pod, nodes)).astype(np.int32)
        if self._added_required is not None:
            codes[~selector_matches(self._added_required, nodes)] = 2
        return Verdicts(codes, _STATUSES)

    def explain(
        self, state: CycleState, pod: Pod, node: NodeInfo | None, status: Status
    ) -> Sequence[Finding]:
        required = _affinity(pod).required_during_scheduling_ignored_during_execution
        if node is None:
            return [conflict(required)] if required is not None else ()
        found = list(mismatches(pod, required, node))
        if self._added_required is not None:
            code, whose = (
                ReasonCode.ENFORCED_AFFINITY_MISMATCH,
                "the affinity of the scheduler's configuration",
            )
            found += affinity_mismatch(code, whose, self._added_required, node.node)
        return found

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        preferred = _affinity(pod).preferred_during_scheduling_ignored_during_execution
        if not preferred and not self._added_preferred:
            return Status.skip()
        errors = _preferred_errors(preferred)
        return Status.error(*errors) if errors else SUCCESS

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        own = _affinity(pod).preferred_during_scheduling_ignored_during_execution
        for error in _preferred_errors(own):
            # A profile may have this plugin without its PreScore.
            raise ValueError(error)
        return preferred_scores((*self._added_preferred, *own), nodes)


def _errors_of(preferred: tuple[PreferredSchedulingTerm, ...]) -> tuple[str, ...]:
    return tuple([str(error) for error in preferred_errors(preferred, _PREFERRED_PATH)])


_preferred_errors = ByIdentity(_errors_of, most=MAX_AT_ONCE, most_bytes=MAX_POD_BYTES)


def _affinity(pod: Pod) -> NodeAffinityTerms:
    affinity = pod.spec.affinity
    return (affinity.node_affinity if affinity else None) or NodeAffinityTerms()


def _named_nodes(required: NodeSelector) -> frozenset[str] | None:
    """Return the only nodes that can match, when every term names its nodes; None = not limited by name."""
    by_term = [_names_of(term) for term in timely(required.node_selector_terms)]
    names = [found for found in by_term if found is not None]
    return frozenset().union(*names) if names and len(names) == len(by_term) else None


def _names_of(term: NodeSelectorTerm) -> frozenset[str] | None:
    """Return the names that all of the term's conditions on the name allow; None without such a condition."""
    allowed = [
        frozenset(requirement.values)
        for requirement in term.match_fields
        if requirement.key == NAME_FIELD and requirement.operator == "In"
    ]
    return frozenset.intersection(*allowed) if allowed else None
