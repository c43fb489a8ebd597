"""DefaultPreemption.

Mirrors ``framework/plugins/defaultpreemption/default_preemption.go`` and
``framework/preemption/preemption.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from mooring.framework import (
    SUCCESS,
    Code,
    CycleState,
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
from mooring.framework.errors import PluginFailureError
from mooring.framework.interface import PreemptingPlugin, PreEnqueuePlugin
from mooring.framework.internal import SignedByShape
from mooring.framework.objects import PodDisruptionBudget
from mooring.framework.preemption import Candidate, Preemption, RejectedNodes
from mooring.framework.remembering import ByIdentity
from mooring.framework.upstream import Upstream
from mooring.plugins.default_preemption.args import DefaultPreemptionArgs
from mooring.plugins.default_preemption.budgets import Budgets
from mooring.plugins.default_preemption.groups import preempt_for_group
from mooring.plugins.default_preemption.hints import events
from mooring.plugins.default_preemption.importance import cheapest, cost_of
from mooring.plugins.default_preemption.outcomes import KnownOutcomes, Outcome, Outcomes
from mooring.plugins.default_preemption.victims import (
    NO_VICTIMS,
    VictimSearch,
    has_lower_pods,
    is_leaving_for,
    lower_pods,
)

NOT_HELPFUL = "Preemption is not helpful for scheduling"
"""What is said of nodes on which no pod's going would help."""

NO_CANDIDATE = "no candidate node for preemption"
"""What is said when extenders leave none."""

GROUP_POLICY_GATE = "PodGroupPreemptionPolicy"
"""The feature gate with which a group says itself whether it preempts."""

MAX_AT_ONCE = 256
"""The most nodes that are tried at once; work beyond the last one needed is wasted."""

MAX_COSTS = 1 << 14
"""Candidates whose cost is remembered."""

MANY = 2**31
"""More candidates than there are nodes."""


_ANNOUNCED_SINCE = KubeVersion(1, 37)


class DefaultPreemption(
    PreemptingPlugin[DefaultPreemptionArgs],
    PreEnqueuePlugin[DefaultPreemptionArgs],
    PodGroupPostFilterPlugin[DefaultPreemptionArgs],
    SignedByShape,
):
    """Finds the nodes on which the pod would fit without less important pods.

    It deletes nothing, so no pod ever waits for it at PreEnqueue.
    """

    name = "DefaultPreemption"
    upstream = Upstream()
    Args = DefaultPreemptionArgs
    reads = (PodDisruptionBudget,)

    def __init__(self, args: DefaultPreemptionArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._outcomes = Outcomes()
        self._cost = ByIdentity(cost_of, most=MAX_COSTS)

    def events_to_register(self) -> Sequence[HintedEvent]:
        return events(self.handle.gates)

    def signature(self, pod: Pod) -> Hashable:
        """PreEnqueue says yes to every pod; what PostFilter finds is never used again."""
        return ()

    def depends_on(self, pod: Pod) -> Part:
        return Part.NONE

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
        return Preemption(SUCCESS, left, cheapest(left, self.handle.clock.now(), self._cost))

    def _answer(
        self, pod: Pod, nodes: RejectedNodes, given: Sequence[Candidate] | None, enough: int = MANY
    ) -> Preemption:
        obstacle = _obstacle(pod, nodes)
        if obstacle:
            return replace(_none(obstacle), eligible=False)
        now = self.handle.clock.now()
        version = self.handle.kube_version
        budgets = Budgets(nodes.snapshot.objects.all(PodDisruptionBudget), version)
        search = VictimSearch(pod, nodes, budgets, now, version)
        rejections: dict[str, Status] = {}
        found = list(search.checked(given) if given is not None else self._sought(search, rejections, enough))
        if found:
            return Preemption(SUCCESS, tuple(found), cheapest(found, now, self._cost))
        errors = sorted({status.message for status in rejections.values() if status.code is Code.ERROR})
        if errors:
            text = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
            return Preemption(Status.error(f"preemption: {text}"))
        return _none(_sentence(len(nodes.rows), rejections))

    def _sought(
        self, search: VictimSearch, rejections: dict[str, Status], enough: int
    ) -> Iterator[Candidate]:
        """Yield the candidates, in row order; why a node is none goes to ``rejections``."""
        nodes = search.nodes
        potential = nodes.resolvable()
        if not has_lower_pods(search.pod, nodes):
            rejections.update(dict.fromkeys(potential, NO_VICTIMS))
            return
        wanted = self._wanted(len(potential))
        kept: dict[bool, list[tuple[int, Candidate]]] = {False: [], True: []}
        known = self._outcomes.of(search.pod, nodes)
        for at, found in _tried(search, potential, known):
            if isinstance(found, Status):
                rejections[potential[at]] = found
                continue
            same = kept[found.violations > 0]
            if len(same) < wanted:
                same.append((at, found))
            count = len(kept[False]) + len(kept[True])
            if count >= enough or (kept[False] and count >= wanted):
                break
        for _, candidate in sorted([*kept[False], *kept[True]], key=lambda pair: pair[0]):
            yield candidate

    def _wanted(self, count: int) -> int:
        """How many candidates of ``count`` nodes are enough."""
        share = count * self.args.min_candidate_nodes_percentage // 100
        return min(max(share, self.args.min_candidate_nodes_absolute), count)


def _tried(search: VictimSearch, names: Sequence[str], known: KnownOutcomes) -> Iterator[tuple[int, Outcome]]:
    """Yield each of ``names``' outcome with its position there; in growing batches where nodes are
    independent.
    """
    places = ((search.nodes.start + step) % len(names) for step in range(len(names)))
    size = 1
    while group := list(islice(places, size)):
        found = [known.find(names[at]) for at in group]
        missing = [names[at] for at, outcome in zip(group, found, strict=True) if outcome is None]
        searched = iter(search.on_nodes(missing) if missing else ())
        for at, outcome in zip(group, found, strict=True):
            if outcome is None:
                known.keep(names[at], outcome := next(searched))
            yield at, outcome
        if search.nodes.independent:
            size = min(2 * size, MAX_AT_ONCE)


def _obstacle(pod: Pod, nodes: RejectedNodes) -> str:
    """Why ``pod`` may not preempt others; "" when it may."""
    if pod.spec.preemption_policy == "Never":
        return "not eligible due to preemptionPolicy=Never."
    nominated = pod.status.nominated_node_name
    if not nominated or nodes.status(nominated).code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
        return ""
    if any(is_leaving_for(other) for other in lower_pods(pod, nodes, nominated)):
        return "not eligible due to a terminating pod on the nominated node."
    return ""


def _none(message: str) -> Preemption:
    return Preemption(Status.unschedulable(f"preemption: {message}"))


def _sentence(count: int, rejections: dict[str, Status]) -> str:
    """Return why none of ``count`` nodes is a candidate; those without a rejection could not be helped."""
    reasons = Counter(reason for status in rejections.values() for reason in status.reasons)
    if len(rejections) < count:
        reasons[NOT_HELPFUL] += count - len(rejections)
    histogram = sorted(f"{amount} {reason}" for reason, amount in reasons.items())
    return f"0/{count} nodes are available: {', '.join(histogram)}."
