"""Spreads pods evenly over topology domains. Mirrors ``plugins/podtopologyspread/plugin.go``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from mooring.framework import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    Finding,
    Handle,
    HintedEvent,
    Int64s,
    NodeInfo,
    NodeView,
    ObjectTable,
    Part,
    Pod,
    PreScorePlugin,
    ScorePlugin,
    Status,
    Verdicts,
    hashable,
)
from mooring.framework.cacheable import Aspect, Dependencies
from mooring.framework.label_selector import SelectorError
from mooring.framework.new_node_rules import Rule
from mooring.framework.objects import ReplicaSet, ReplicationController, Service, StatefulSet
from mooring.framework.pod_table import PodKind
from mooring.framework.remembering import MAX_POD_BYTES, MAX_PODS, ByIdentity
from mooring.framework.upstream import Upstream
from mooring.plugins.pod_topology_spread.alike import among_alike
from mooring.plugins.pod_topology_spread.args import Defaulting, PodTopologySpreadArgs
from mooring.plugins.pod_topology_spread.constraints import (
    HARD,
    SOFT,
    SYSTEM_DEFAULTS,
    SpreadConstraint,
    default_constraints,
    own_constraints,
)
from mooring.plugins.pod_topology_spread.eligibility import SpreadView
from mooring.plugins.pod_topology_spread.filtering import HardCounts, hard_counts
from mooring.plugins.pod_topology_spread.findings import skews
from mooring.plugins.pod_topology_spread.hints import events
from mooring.plugins.pod_topology_spread.scoring import ScoreNotes, SoftCounts, soft_counts
from mooring.plugins.taint_toleration.plugin import COMPARISON_GATE
from mooring.plugins.topology import PodCountingPlugin

MATCH_LABEL_KEYS_GATE = "MatchLabelKeysInPodTopologySpread"
"""The feature gate, on by default, without which ``matchLabelKeys`` are not read."""


_COUNTS = Part.NODES_BUT_IMAGES | Part.PODS | Part.FEASIBLE | Part.OTHER_NODES
_COUNTS_BY_DEFAULTS = _COUNTS | Part.OBJECTS
"""The parts that a pod with constraints of its own depends on, and those of a pod without."""


class PodTopologySpread(
    PodCountingPlugin[PodTopologySpreadArgs],
    FilterPlugin[PodTopologySpreadArgs],
    PreScorePlugin[PodTopologySpreadArgs],
    ScorePlugin[PodTopologySpreadArgs],
):
    """Rejects nodes where the pod would exceed maxSkew, and prefers the emptier domains.

    A pod without constraints has the default ones, over the pods of its services and of its controller.
    All nodes of the cluster count, whichever the candidates are.
    """

    name = "PodTopologySpread"
    upstream = Upstream(weight=2)
    Args = PodTopologySpreadArgs
    reads = (ReplicaSet, ReplicationController, Service, StatefulSet)
    aspects = Aspect.SELECTED_LABELS | Aspect.NODE_NAME
    filter_counts = HardCounts
    score_counts = SoftCounts

    def __init__(self, args: PodTopologySpreadArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._system = args.defaulting_type is Defaulting.SYSTEM
        self._defaults = SYSTEM_DEFAULTS if self._system else args.default_constraints
        self._reads_keys = handle.gates.enabled(MATCH_LABEL_KEYS_GATE)
        self._own = {
            action: ByIdentity(
                partial(own_constraints, action=action, reads_keys=self._reads_keys),
                MAX_PODS,
                MAX_POD_BYTES,
            )
            for action in (HARD, SOFT)
        }
        self._comparing = handle.gates.enabled(COMPARISON_GATE)

    def dependencies(self, pod: Pod) -> Dependencies:
        meta, spec = pod.metadata, pod.spec
        node_affinity = spec.affinity.node_affinity if spec.affinity is not None else None
        own = spec.topology_spread_constraints
        return Dependencies(
            signature=hashable(
                (meta.namespace, meta.labels, meta.owner_references),
                (own, spec.node_selector, node_affinity, spec.tolerations),
            ),
            parts=_COUNTS if own else _COUNTS_BY_DEFAULTS,
            kinds=self.reads,
            # Whether there are default constraints for the pod depends on its services and its controller.
            skip_parts=Part.NONE if own else Part.OBJECTS,
            rejects=any(each.when_unsatisfiable != SOFT for each in own or self._defaults),
        )

    def new_node_rules(self, pod: Pod, nodes: NodeView, kinds: Sequence[PodKind]) -> Sequence[Rule] | None:
        objects = nodes.snapshot.objects
        try:
            hard, soft = (self._constraints(pod, action, objects) for action in (HARD, SOFT))
        except SelectorError:
            return None
        if soft or not hard:
            return None if soft else ()
        view = SpreadView(nodes, pod, hard, comparing=self._comparing)
        counts = hard_counts(hard, view, pod, nodes.table.index)
        return [among_alike(constraint, pod, nodes, kinds) for constraint in counts.constraints]

    def events_to_register(self) -> Sequence[HintedEvent]:
        own = ByIdentity(
            partial(own_constraints, action=HARD, reads_keys=self._reads_keys), 20_000, 16 * MAX_POD_BYTES
        )

        def constraints_of(pod: Pod) -> tuple[SpreadConstraint, ...]:
            """Return the pod's hard constraints, again each time since the defaults may change."""
            if pod.spec.topology_spread_constraints:
                return own(pod)
            return self._constraints(pod, HARD, self.handle.snapshot().objects)

        return events(constraints_of, self.handle.kube_version)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        if state.get(HardCounts, HardCounts) is not None:
            return SUCCESS
        try:
            constraints = self._constraints(pod, HARD, nodes.snapshot.objects)
        except SelectorError as error:
            return Status.error(str(error))
        if not constraints:
            return Status.skip()
        view = SpreadView(nodes, pod, constraints, comparing=self._comparing)
        state.write(HardCounts, hard_counts(constraints, view, pod, nodes.table.index))
        return SUCCESS

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        return state.read(HardCounts, HardCounts).verdicts(nodes)

    def explain(
        self, state: CycleState, pod: Pod, node: NodeInfo | None, status: Status
    ) -> Sequence[Finding]:
        if node is None:
            return ()
        return list(skews(state, pod, node, comparing=self._comparing))

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        counts = state.get(SoftCounts, SoftCounts)
        if counts is None:
            try:
                constraints = self._constraints(pod, SOFT, nodes.snapshot.objects)
            except SelectorError as error:
                return Status.error(str(error))
            if not constraints:
                return Status.skip()
            needs_all_keys = bool(pod.spec.topology_spread_constraints) or not self._system
            needed = constraints if needs_all_keys else ()
            view = SpreadView(nodes, pod, needed, comparing=self._comparing)
            counts = soft_counts(constraints, view, pod)
            state.write(SoftCounts, counts)
        state.write(ScoreNotes, counts.score(nodes))
        return SUCCESS

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        return state.read(ScoreNotes, ScoreNotes).scores()

    def normalize_score(self, state: CycleState, pod: Pod, scores: Int64s) -> Int64s:
        return state.read(ScoreNotes, ScoreNotes).normalized(scores)

    def _constraints(self, pod: Pod, action: str, objects: ObjectTable) -> tuple[SpreadConstraint, ...]:
        if pod.spec.topology_spread_constraints:
            return self._own[action](pod)
        return default_constraints(self._defaults, action, pod, objects)
