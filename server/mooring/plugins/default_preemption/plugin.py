"""DefaultPreemption.

Mirrors ``framework/plugins/defaultpreemption/default_preemption.go`` and
``framework/preemption/preemption.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mooring.framework import (
    SUCCESS,
    Code,
    CycleState,
    Finding,
    GroupPreemption,
    GroupWhatIf,
    Handle,
    HintedEvent,
    KubeVersion,
    Part,
    Pod,
    PodGroupInfo,
    PodGroupPostFilterPlugin,
    Status,
)
from mooring.framework.cacheable import Aspect, CacheablePlugin, Dependencies
from mooring.framework.errors import PluginFailureError
from mooring.framework.interface import PreemptingPlugin, PreEnqueuePlugin
from mooring.framework.objects import PodDisruptionBudget
from mooring.framework.pod_requests import ResourceRules
from mooring.framework.preemption import Candidate, Preemption, RejectedNodes
from mooring.framework.upstream import Upstream
from mooring.kernels.arrays import Float64s
from mooring.plugins.default_preemption.args import DefaultPreemptionArgs
from mooring.plugins.default_preemption.budgets import Budgets
from mooring.plugins.default_preemption.findings import PreemptionFindings, obstacles
from mooring.plugins.default_preemption.groups import preempt_for_group
from mooring.plugins.default_preemption.hints import events
from mooring.plugins.default_preemption.importance import cheapest, costs_of
from mooring.plugins.default_preemption.looking import Looking
from mooring.plugins.default_preemption.outcomes import Outcomes
from mooring.plugins.default_preemption.row_pods import PodsByRow
from mooring.plugins.default_preemption.units import VictimUnits
from mooring.plugins.default_preemption.victims import AGES_ONCE_SINCE, NO_VICTIMS, VictimSearch

NOT_HELPFUL = "Preemption is not helpful for scheduling"
"""The status of nodes on which removing pods would not help."""

NO_CANDIDATE = "no candidate node for preemption"
"""The status when extenders leave no candidate."""

GROUP_POLICY_GATE = "PodGroupPreemptionPolicy"
"""The feature gate with which a group says itself whether it preempts."""

GROUPS_GATE = "GenericWorkload"
"""The feature gate with which groups are possible victims."""

MANY = 2**31
"""More candidates than there are nodes."""


_ANNOUNCED_SINCE = KubeVersion(1, 37)
"""Since this release the message says that there is room."""


class DefaultPreemption(
    PreemptingPlugin[DefaultPreemptionArgs],
    PreEnqueuePlugin[DefaultPreemptionArgs],
    PodGroupPostFilterPlugin[DefaultPreemptionArgs],
    CacheablePlugin,
):
    """Finds the nodes on which the pod would fit without less important pods.

    It deletes nothing, so no pod ever waits for it at PreEnqueue.
    """

    name = "DefaultPreemption"
    upstream = Upstream()
    Args = DefaultPreemptionArgs
    reads = (PodDisruptionBudget,)
    aspects = Aspect.NONE

    def __init__(self, args: DefaultPreemptionArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._outcomes = Outcomes()
        self._pods = PodsByRow(in_order=handle.kube_version >= AGES_ONCE_SINCE)

    def events_to_register(self) -> Sequence[HintedEvent]:
        return events(self.handle.gates)

    def dependencies(self, pod: Pod) -> Dependencies:
        """PreEnqueue passes every pod; what PostFilter finds is never used again."""
        return Dependencies(signature=(), parts=Part.NONE)

    def pre_enqueue(self, pod: Pod) -> Status:
        return SUCCESS

    def preempt(
        self, state: CycleState, pod: Pod, nodes: RejectedNodes, given: Sequence[Candidate] | None = None
    ) -> Preemption:
        found = self._answer(pod, nodes, given)
        return self._extended(nodes, found) if found.candidates else found

    def post_filter(self, state: CycleState, pod: Pod, nodes: RejectedNodes) -> Status:
        """Return the status alone: one candidate is enough for it, and extenders are not called yet."""
        return self._answer(pod, nodes, None, enough=1).status

    def explain_preemption(
        self, pod: Pod, nodes: RejectedNodes, found: Preemption, picked: str
    ) -> Iterator[tuple[str, Finding]]:
        if not found.eligible:
            yield from (("", each) for each in obstacles(pod))
            return
        grouping = self.handle.gates.enabled(GROUPS_GATE)
        units = VictimUnits(nodes.snapshot, self.handle.clock.now(), grouping)
        rules = ResourceRules.of(self.handle.gates)
        yield from PreemptionFindings(pod, nodes, units, rules).of(found, picked)

    def announce(self, candidate: Candidate) -> str:
        if self.handle.kube_version < _ANNOUNCED_SINCE:
            return ""
        node, count = candidate.node_name, len(candidate.victims)
        return f"preemption: found a potential placement for pod on node {node}, preempting {count} victims"

    def post_filter_group(
        self, state: CycleState, group: PodGroupInfo, what_if: GroupWhatIf
    ) -> GroupPreemption:
        policies = {pod.spec.preemption_policy for pod in group.pods}
        policy = "Never" if "Never" in policies else ""
        if self.handle.gates.enabled(GROUP_POLICY_GATE):
            policy = group.group.spec.preemption_policy or ""
        return preempt_for_group(group, what_if, policy, self.handle.clock.now())

    def _extended(self, nodes: RejectedNodes, found: Preemption) -> Preemption:
        """Return what the extenders leave of the candidates."""
        try:
            left = tuple(nodes.after_extenders(found.candidates))
        except PluginFailureError as failure:
            return Preemption(Status.error(f"preemption: {failure.message}"), eligible=False)
        if not left:
            return replace(_none(NO_CANDIDATE), eligible=False)
        if left == found.candidates:
            return found
        return _of(left, costs_of(left), self.handle.clock.now())

    def _answer(
        self, pod: Pod, nodes: RejectedNodes, given: Sequence[Candidate] | None, enough: int = MANY
    ) -> Preemption:
        now = self.handle.clock.now()
        version = self.handle.kube_version
        grouping = self.handle.gates.enabled(GROUPS_GATE)
        units = VictimUnits(nodes.snapshot, now, grouping)
        obstacle = _obstacle(pod, nodes, units)
        if obstacle:
            return replace(_none(obstacle), eligible=False)
        budgets = Budgets(nodes.snapshot.objects.all(PodDisruptionBudget), version)
        search = VictimSearch(pod, nodes, budgets, units, version)
        if given is not None:
            checked = list(search.checked(given))
            found = Found(checked, costs_of(checked), Counter(), dict)
        else:
            found = self._sought(search, enough)
        if found.candidates:
            return replace(_of(found.candidates, found.costs, now), without_room=found.without_room)
        rejections = found.rejections
        errors = sorted({status.message for status in rejections if status.code is Code.ERROR})
        if errors:
            text = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
            return Preemption(Status.error(f"preemption: {text}"))
        return replace(_none(_sentence(len(nodes.rows), rejections)), without_room=found.without_room)

    def _sought(self, search: VictimSearch, enough: int) -> Found:
        nodes = search.nodes
        rows = nodes.resolvable()
        if not len(rows) or not search.units.any_below(search.pod.priority):
            rejections = Counter({NO_VICTIMS: len(rows)} if len(rows) else ())
            return Found([], costs_of(()), rejections, lambda: dict.fromkeys(rows.tolist(), NO_VICTIMS))
        wanted = self._wanted(len(rows))
        begin = nodes.start % len(rows)
        order = np.concatenate((rows[begin:], rows[:begin]))
        with self._outcomes.of(nodes) as known:
            looked_at, best = Looking(search, known, self._pods).until(order, wanted, enough)
            rejections = Counter[Status]() if len(best) else known.rejections(looked_at)
            return Found(known.candidates(best), known.costs(best), rejections, known.without_room(looked_at))

    def _wanted(self, count: int) -> int:
        """How many candidates of ``count`` nodes are enough."""
        share = count * self.args.min_candidate_nodes_percentage // 100
        return min(max(share, self.args.min_candidate_nodes_absolute), count)


class Found(NamedTuple):
    """The result of a search: the candidates in row order with their costs; without any, the numbers of
    searched nodes by status. ``without_room`` is as in ``Preemption``.
    """

    candidates: Sequence[Candidate]
    costs: Float64s
    rejections: Counter[Status]
    without_room: Callable[[], dict[int, Status]]


def _of(candidates: Sequence[Candidate], costs: Float64s, now: float) -> Preemption:
    best = tuple([candidates[at].node_name for at in cheapest(costs, now).tolist()])
    return Preemption(SUCCESS, tuple(candidates), best)


def _obstacle(pod: Pod, nodes: RejectedNodes, units: VictimUnits) -> str:
    """Why ``pod`` may not preempt others; "" when it may."""
    if pod.spec.preemption_policy == "Never":
        return "not eligible due to preemptionPolicy=Never."
    nominated = pod.status.nominated_node_name
    if not nominated or nodes.status(nominated).code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
        return ""
    if units.is_any_leaving([nominated], pod.priority):
        return "not eligible due to a terminating pod on the nominated node."
    return ""


def _none(message: str) -> Preemption:
    return Preemption(Status.unschedulable(f"preemption: {message}"))


def _sentence(count: int, rejections: Counter[Status]) -> str:
    """Return why none of ``count`` nodes is a candidate; those without a rejection could not be helped."""
    reasons = Counter[str]()
    for status, amount in rejections.items():
        for reason in status.reasons:
            reasons[reason] += amount
    if rejections.total() < count:
        reasons[NOT_HELPFUL] += count - rejections.total()
    histogram = sorted(f"{amount} {reason}" for reason, amount in reasons.items())
    return f"0/{count} nodes are available: {', '.join(histogram)}."
