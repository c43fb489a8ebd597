"""Places pods near some pods and away from others. Mirrors ``plugins/interpodaffinity/plugin.go``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mooring.framework import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    Finding,
    Handle,
    HintedEvent,
    Int64s,
    NodeInfo,
    NodeTable,
    NodeView,
    Normalizer,
    Part,
    Pod,
    PreScorePlugin,
    ReasonCode,
    ScorePlugin,
    Status,
    Verdicts,
    hashable,
)
from mooring.framework.cacheable import Aspect, Dependencies
from mooring.framework.new_node_rules import Rule
from mooring.framework.objects import Namespace, PodAffinity
from mooring.framework.pod_affinity import affinity_terms
from mooring.framework.pod_table import PodKind
from mooring.framework.remembering import MAX_POD_BYTES, MAX_PODS, ByIdentity
from mooring.framework.upstream import Upstream
from mooring.plugins.inter_pod_affinity.alike import rules_among_alike, tells_alike_apart
from mooring.plugins.inter_pod_affinity.args import InterPodAffinityArgs
from mooring.plugins.inter_pod_affinity.filtering import AffinityCounts, affinity_counts
from mooring.plugins.inter_pod_affinity.findings import terms_in_the_way
from mooring.plugins.inter_pod_affinity.hints import events
from mooring.plugins.inter_pod_affinity.scoring import Worth, worth_of_domains
from mooring.plugins.inter_pod_affinity.terms import namespace_labels, own_terms
from mooring.plugins.topology import PodCountingPlugin

_OTHERS = Part.TERMS_ABOUT_POD | Part.NODES_BUT_IMAGES | Part.OBJECTS | Part.OTHER_NODES
_OTHERS_AND_PODS = _OTHERS | Part.PODS
"""The parts that a pod without terms of its own depends on, and those of a pod with terms."""


class InterPodAffinity(
    PodCountingPlugin[InterPodAffinityArgs],
    FilterPlugin[InterPodAffinityArgs],
    PreScorePlugin[InterPodAffinityArgs],
    ScorePlugin[InterPodAffinityArgs],
):
    """Rejects nodes by required affinity and anti-affinity between pods, and scores preferred terms.

    Both sides count: the pod's own terms and those of the pods that are placed already. All nodes of the
    cluster count, whichever are candidates.
    """

    name = "InterPodAffinity"
    upstream = Upstream(weight=2)
    Args = InterPodAffinityArgs
    reads = (Namespace,)
    aspects = Aspect.SELECTED_LABELS
    filter_counts = AffinityCounts
    score_counts = Worth
    normalizer = Normalizer.BY_MIN_MAX

    def __init__(self, args: InterPodAffinityArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._terms = ByIdentity(affinity_terms, MAX_PODS, MAX_POD_BYTES)

    def dependencies(self, pod: Pod) -> Dependencies:
        own = _own(pod)
        return Dependencies(
            signature=hashable(pod.metadata.namespace, pod.metadata.labels, *own),
            parts=_OTHERS_AND_PODS if any(own) else _OTHERS,
            kinds=self.reads,
        )

    def affected_by_removal(self, pod: Pod, nodes: NodeTable, row: int) -> bool:
        return any(_own(pod))

    def new_node_rules(self, pod: Pod, nodes: NodeView, kinds: Sequence[PodKind]) -> Sequence[Rule] | None:
        terms, snapshot, version = self._terms(pod), nodes.snapshot, self.handle.kube_version
        labels = namespace_labels(pod, snapshot)
        if terms.errors or tells_alike_apart(pod, terms, labels, kinds):
            return None
        near, apart = (own_terms(each, snapshot, version) for each in (terms.required, terms.required_anti))
        return rules_among_alike(affinity_counts(pod, snapshot, near, apart, labels), nodes, kinds)

    def events_to_register(self) -> Sequence[HintedEvent]:
        return events(self.handle.kube_version)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        counts = state.get(AffinityCounts, AffinityCounts)
        if counts is None:
            terms = self._terms(pod)
            if terms.errors:
                return Status.unresolvable(f"parsing pod: [{', '.join(terms.errors)}]")
            version, snapshot = self.handle.kube_version, nodes.snapshot
            counts = affinity_counts(
                pod,
                snapshot,
                own_terms(terms.required, snapshot, version),
                own_terms(terms.required_anti, snapshot, version),
                namespace_labels(pod, snapshot),
            )
            state.write(AffinityCounts, counts)
        return Status.skip() if counts.idle else SUCCESS

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        return state.read(AffinityCounts, AffinityCounts).verdicts(nodes)

    def explain(
        self, state: CycleState, pod: Pod, node: NodeInfo | None, status: Status
    ) -> Sequence[Finding]:
        if node is None:
            said = "; ".join(self._terms(pod).errors)
            return [Finding(ReasonCode.POD_AFFINITY_INVALID, "", said, pod_change="correct the term")]
        return list(terms_in_the_way(state, pod, node))

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        worth = state.get(Worth, Worth)
        if worth is None:
            terms = self._terms(pod)
            if terms.errors:
                return Status.error(*terms.errors)
            away = tuple(replace(term, weight=-term.weight) for term in terms.preferred_anti)
            wishes = (*terms.preferred, *away)
            if self.args.ignore_preferred_terms_of_existing_pods and not wishes:
                return Status.skip()
            worth = worth_of_domains(
                pod,
                nodes.snapshot,
                own_terms(wishes, nodes.snapshot, self.handle.kube_version),
                namespace_labels(pod, nodes.snapshot),
                self.args.hard_pod_affinity_weight,
            )
            state.write(Worth, worth)
        return Status.skip() if worth.domains.unused else SUCCESS

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        return state.read(Worth, Worth).scores(nodes)


def _own(pod: Pod) -> tuple[PodAffinity | None, PodAffinity | None]:
    """Return the pod's affinity and anti-affinity to other pods."""
    affinity = pod.spec.affinity
    return (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity is not None else (None, None)
