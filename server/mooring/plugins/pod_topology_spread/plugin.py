"""Spreads pods evenly over topology domains. Mirrors ``plugins/podtopologyspread/plugin.go``."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

from mooring.framework import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    Handle,
    HintedEvent,
    Int64s,
    NodeInfo,
    NodeView,
    ObjectTable,
    Part,
    Pod,
    PodChange,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    Status,
    Verdicts,
    signature,
)
from mooring.framework.label_selector import SelectorError
from mooring.framework.objects import ReplicaSet, ReplicationController, Service, StatefulSet
from mooring.framework.remembering import MOST_POD_BYTES, MOST_PODS, ByIdentity
from mooring.plugins.pod_topology_spread.args import Defaulting, PodTopologySpreadArgs
from mooring.plugins.pod_topology_spread.constraints import (
    HARD,
    SOFT,
    SYSTEM_DEFAULTS,
    Constraint,
    default_constraints,
    own_constraints,
)
from mooring.plugins.pod_topology_spread.eligibility import Cluster
from mooring.plugins.pod_topology_spread.filtering import FilterNotes, filter_notes
from mooring.plugins.pod_topology_spread.hints import events
from mooring.plugins.pod_topology_spread.scoring import ScoreCounts, ScoreNotes, score_counts
from mooring.plugins.taint_toleration.plugin import COMPARISON_GATE

MATCH_LABEL_KEYS_GATE = "MatchLabelKeysInPodTopologySpread"
"""The feature gate, on by default, without which ``matchLabelKeys`` are not read."""


class PodTopologySpread(
    PreFilterPlugin[PodTopologySpreadArgs],
    FilterPlugin[PodTopologySpreadArgs],
    PreScorePlugin[PodTopologySpreadArgs],
    ScorePlugin[PodTopologySpreadArgs],
):
    """Refuses nodes on which the pod would lie too unevenly, and prefers the emptier domains.

    A pod without constraints has the default ones, over the pods of its services and of its controller.
    All nodes of the cluster count, whichever are asked about.
    """

    name = "PodTopologySpread"
    Args = PodTopologySpreadArgs
    reads = (ReplicaSet, ReplicationController, Service, StatefulSet)
    signs_requests = False

    def __init__(self, args: PodTopologySpreadArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._system = args.defaulting_type is Defaulting.SYSTEM
        self._defaults = SYSTEM_DEFAULTS if self._system else args.default_constraints
        self._reads_keys = handle.gates.enabled(MATCH_LABEL_KEYS_GATE)
        self._own = {
            action: ByIdentity(
                partial(own_constraints, action=action, reads_keys=self._reads_keys),
                MOST_PODS,
                MOST_POD_BYTES,
            )
            for action in (HARD, SOFT)
        }
        self._comparing = handle.gates.enabled(COMPARISON_GATE)

    def sign(self, pod: Pod) -> Hashable:
        meta, spec = pod.metadata, pod.spec
        node_affinity = spec.affinity.node_affinity if spec.affinity is not None else None
        return signature(
            (meta.namespace, meta.labels, meta.owner_references),
            (spec.topology_spread_constraints, spec.node_selector, node_affinity, spec.tolerations),
        )

    def depends_on(self, pod: Pod, *, idle: bool) -> Part:
        by_default = Part.NONE if pod.spec.topology_spread_constraints else Part.OBJECTS
        return by_default if idle else by_default | Part.NODES | Part.PODS | Part.FEASIBLE

    def events_to_register(self) -> Sequence[HintedEvent]:
        own = ByIdentity(partial(own_constraints, action=HARD, reads_keys=self._reads_keys), most=20_000)

        def constraints_of(pod: Pod) -> tuple[Constraint, ...]:
            """A pod that waits is asked about time and again; the default constraints may change."""
            if pod.spec.topology_spread_constraints:
                return own(pod)
            return self._constraints(pod, HARD, self.handle.snapshot().objects)

        return events(constraints_of, self.handle.kube_version)

    def follow(self, state: CycleState, pod: Pod, changes: Sequence[PodChange]) -> bool:
        for notes in (state.get(FilterNotes, FilterNotes), state.get(ScoreCounts, ScoreCounts)):
            if notes is not None:
                notes.follow(changes)
        return True

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        if state.get(FilterNotes, FilterNotes) is not None:
            return SUCCESS
        try:
            constraints = self._constraints(pod, HARD, nodes.snapshot.objects)
        except SelectorError as error:
            return Status.error(str(error))
        if not constraints:
            return Status.skip()
        cluster = Cluster(nodes, pod, comparing=self._comparing)
        state.write(FilterNotes, filter_notes(constraints, cluster, pod, nodes.table.index))
        return SUCCESS

    def add_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status:
        """Count ``other`` on ``node``."""
        state.read(FilterNotes, FilterNotes).add(other, node, 1)
        return SUCCESS

    def remove_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status:
        """Count ``other`` on ``node`` no longer."""
        state.read(FilterNotes, FilterNotes).add(other, node, -1)
        return SUCCESS

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        return state.read(FilterNotes, FilterNotes).verdicts(nodes)

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        counts = state.get(ScoreCounts, ScoreCounts)
        if counts is None:
            try:
                constraints = self._constraints(pod, SOFT, nodes.snapshot.objects)
            except SelectorError as error:
                return Status.error(str(error))
            if not constraints:
                return Status.skip()
            needs_all_keys = bool(pod.spec.topology_spread_constraints) or not self._system
            cluster = Cluster(nodes, pod, comparing=self._comparing)
            counts = score_counts(constraints, cluster, pod, needs_all_keys=needs_all_keys)
            state.write(ScoreCounts, counts)
        state.write(ScoreNotes, counts.score(nodes))
        return SUCCESS

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        return state.read(ScoreNotes, ScoreNotes).scores()

    def normalize_score(self, state: CycleState, pod: Pod, scores: Int64s) -> Int64s:
        return state.read(ScoreNotes, ScoreNotes).normalized(scores)

    def _constraints(self, pod: Pod, action: str, objects: ObjectTable) -> tuple[Constraint, ...]:
        if pod.spec.topology_spread_constraints:
            return self._own[action](pod)
        return default_constraints(self._defaults, action, pod, objects)
