"""The cycle of a pod group: where it could be, whether its pods fit there, and which place is the best.

All pods of the group are tried in each placement, each together with those before it, on a copy of the
state, which is as it was when the cycle ends. Mirrors ``schedule_one_podgroup.go``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from mooring.framework import (
    SUCCESS,
    Code,
    CycleState,
    GroupPlacement,
    NodeView,
    PlacementProgress,
    Pod,
    PodGroupAssignments,
    PodGroupInfo,
    Snapshot,
    Status,
)
from mooring.framework.groups import PlacementColumns
from mooring.framework.objects import ObjectMeta, PodSpec, PodStatus
from mooring.framework.state import ClusterState
from mooring.runtime.cycle.choice import Choice, FirstChoices
from mooring.runtime.cycle.cycle import CycleOptions, evaluate
from mooring.runtime.cycle.fork_reserve import ForkReserve
from mooring.runtime.cycle.full_cycle import select
from mooring.runtime.cycle.group_checks import check_group
from mooring.runtime.cycle.group_result import (
    GroupDecision,
    GroupMember,
    NodeNames,
    PlacedMembers,
    TriedEverywhere,
    TriedPlacement,
    after_preemption,
    cause_of,
    member_of,
    placed_all,
    rejected_group,
    settled,
    without_node,
)
from mooring.runtime.cycle.group_what_if import TriedAgain, make_room
from mooring.runtime.cycle.placements import feasible_so_far, find_placements, score_placements
from mooring.runtime.cycle.plugin_calls import PluginCalls
from mooring.runtime.cycle.tie_break import Picks, SeededPicks, mix64
from mooring.runtime.profiles.profile import Profile

UNSEEN = "ImageLocality"
"""The plugin that scores nothing while room is looked for.

kube-scheduler copies its snapshot for that, and such a copy doesn't say how many nodes have an image.
"""

PLACEMENTS_GATE = "TopologyAwareWorkloadScheduling"
"""The feature gate with which a group has more than one placement."""


Quick = Callable[[PlacementColumns], FirstChoices]
"""Decides the first of the group's pods in each placement, together with those before it, until one fails."""


class NeedsCopyError(Exception):
    """The group can't be decided without a private copy of the state."""


def topology_keys(group: PodGroupInfo) -> list[str]:
    """Return the labels by which a group's placements may be told apart."""
    constraints = group.group.spec.scheduling_constraints
    return [] if constraints is None else [constraint.key for constraint in constraints.topology]


def waiting_pods(group: PodGroupInfo, snapshot: Snapshot) -> list[Pod]:
    """Return the pods of a group as its cycle shows them without a node, but those that are known so.

    A pod that is nominated for a node takes nothing but its place there from the others of its group, and has
    no priority: kube-scheduler finds such a pod's object in its queue, where a group that is tried is not.
    """
    nominated = {pod.metadata.uid for pod in group.pods if pod.status.nominated_node_name}
    return [
        _bare(pod) if pod.metadata.uid in nominated else pod
        for pod in group.pods
        if pod.metadata.uid in nominated or not _is_known(pod, snapshot)
    ]


def _is_known(pod: Pod, snapshot: Snapshot) -> bool:
    record, version = snapshot.pods.get(pod.metadata.uid), pod.metadata.resource_version
    return (
        record is not None and not record.node_name and bool(version) and record.resource_version == version
    )


def without_leaving(group: PodGroupInfo) -> PodGroupInfo:
    """Return the group without the pods that are being deleted, which are not tried."""
    staying = tuple(pod for pod in group.pods if pod.metadata.deletion_timestamp is None)
    return group if len(staying) == len(group.pods) else replace(group, pods=staying)


def _bare(pod: Pod) -> Pod:
    meta = pod.metadata
    return Pod(
        metadata=ObjectMeta(name=meta.name, namespace=meta.namespace, uid=meta.uid),
        spec=PodSpec(scheduling_group=pod.spec.scheduling_group),
        status=PodStatus(nominated_node_name=pod.status.nominated_node_name),
    )


class GroupCycle:
    """One cycle of one group. For one thread.

    Args:
        world: A private copy of the state, in which its pods are known; or the state itself, as long as
            nothing has to be written.
        group: The group and its pods.
        picks: Decides instead.
        quick: Decides pods without an evaluation of each, where ``picks`` leaves that to the seed.
        private: Whether ``world`` is a copy.
    """

    def __init__(
        self,
        profile: Profile,
        world: ClusterState,
        group: PodGroupInfo,
        calls: PluginCalls,
        *,
        seed: int = 0,
        picks: Picks | None = None,
        quick: Quick | None = None,
        private: bool = True,
    ) -> None:
        self._private = private
        self._quick = quick if picks is None else None
        self._profile = profile
        self._world = world
        self._group = group
        self._calls = calls
        self._seed = seed
        self._picks = picks or SeededPicks(seed, group.group.metadata.uid)
        self._state = CycleState()
        self._scheduled = 0
        self._judges = profile.placement_feasible

    def run(self) -> GroupDecision:
        """Decide, and find out what could be done for a group that fits nowhere.

        ``world`` is unchanged then, unless other pods would have to make room. Raises PluginFailureError if a
        plugin failed, and NeedsCopyError if ``world`` has to be a copy.
        """
        problem = check_group(self._profile, self._group, self._world.snapshot)
        if problem is not None:
            return self._decision(problem)
        self._group = without_leaving(self._group)
        if not self._group.pods:
            return self._decision(SUCCESS)
        return self._with_room(self._run())

    def _with_room(self, decision: GroupDecision) -> GroupDecision:
        """Return the decision with the ways to make room for the group."""
        plugins = self._profile.pod_group_post_filter
        if decision.status.code is not Code.UNSCHEDULABLE or not plugins:
            return decision
        self._require_copy()
        tried_again = TriedAgain(self._world, decision, self._again, self._calls)
        found = make_room(plugins, self._state, self._group, tried_again, self._calls)
        return after_preemption(decision, found)

    def _again(self) -> GroupDecision:
        """Return the decision as things are by now, each pod evaluated in full."""
        self._quick = None
        self._picks.again()
        known, seen = self._profile, (each for each in self._profile.score if each.name != UNSEEN)
        self._profile = replace(known, score=tuple(seen))
        try:
            return self._run()
        finally:
            self._profile = known

    def _run(self) -> GroupDecision:
        self._state = CycleState()
        self._scheduled = len(self._group.scheduled(self._world.snapshot))
        if not self._profile.gates.enabled(PLACEMENTS_GATE):
            tried = self._try_each(PlacementColumns([GroupPlacement("", self._world.snapshot.nodes.rows())]))
            return self._decision(_at_least_one(tried[0]), tried, 0)
        placements = find_placements(self._profile, self._state, self._group, self._all_nodes(), self._calls)
        if isinstance(placements, Status):
            return self._decision(placements)
        began, calls = time.perf_counter(), self._calls
        tried = self._try_each(placements)
        calls.placements_generated(len(tried))
        fitting = _fitting(tried)
        calls.placements_evaluated(len(fitting), len(tried), time.perf_counter() - began)
        if fitting:
            return self._best(tried, fitting)
        why = cause_of(tried[0].status)
        said = f"0/{len(tried)} placements are available, first placement status: {why}"
        return self._decision(rejected_group(said), tried, 0)

    def _all_nodes(self) -> NodeView:
        snapshot = self._world.snapshot
        return NodeView(snapshot, snapshot.nodes.rows())

    def _best(self, tried: Sequence[TriedPlacement], fitting: Sequence[int]) -> GroupDecision:
        """Take the placement with the highest score; of one alone none is found."""
        if len(fitting) == 1:
            return self._decision(_at_least_one(tried[fitting[0]]), tried, fitting[0])
        found = self._assignments(tried, fitting)
        scores, totals = score_placements(self._profile, self._state, self._group, found, self._calls)
        best = [fitting[at] for at in np.flatnonzero(totals == totals.max()).tolist()]
        names = tried.placements if isinstance(tried, TriedEverywhere) else [one.placement for one in tried]
        taken = best[self._picks.placement([names[at].name for at in best])]
        decision = self._decision(_at_least_one(tried[taken]), tried, taken)
        return replace(decision, compared=tuple(fitting), scores=scores, ties=tuple(best))

    def _assignments(
        self, tried: Sequence[TriedPlacement], fitting: Sequence[int]
    ) -> Sequence[PodGroupAssignments]:
        snapshot = self._world.snapshot
        if isinstance(tried, TriedEverywhere):
            return tried.assignments(snapshot)
        return [_assignments(tried[at], snapshot) for at in fitting]

    def _try_each(self, placements: PlacementColumns) -> Sequence[TriedPlacement]:
        """Try the pods in each placement, one after the other; they are nowhere again afterwards."""
        state, calls = CycleState(), self._calls
        calls.check()
        before, pods = self._scheduled, self._group.pods
        # Until a pod has a node, the question is the same for every placement.
        status = self._feasible(state, PlacementProgress(before, len(pods)), calls)
        if status.code is Code.UNSCHEDULABLE:
            rejected = rejected_group(*status.reasons)
            return tuple(TriedPlacement(one, rejected, ()) for one in placements)
        known = self._at_once(placements)
        status = self._feasible(state, PlacementProgress(before + len(pods), 0), calls)
        # A placement that is full now stays full.
        all_get_nodes = (known.counts == len(pods)) & (status.code is not Code.UNSCHEDULABLE)
        verdict = _verdict(status)
        if all_get_nodes.all():
            return TriedEverywhere(placements, verdict, pods, known)
        return tuple(
            TriedPlacement(placement, verdict, PlacedMembers(pods, partial(known.columns, at)))
            if all_get_nodes[at]
            else self._try(placement, known, at)
            for at, placement in enumerate(placements)
        )

    def _at_once(self, placements: PlacementColumns) -> FirstChoices:
        """Return for each placement what is decided without an evaluation of each pod."""
        if self._quick is None:
            return FirstChoices.none(len(placements))
        return self._quick(placements)

    def _try(self, placement: GroupPlacement, known: FirstChoices, at: int) -> TriedPlacement:
        """Try the pods in one placement, the one ``at`` which ``known`` has the first of them."""
        self._require_copy()
        state, calls = CycleState(), self._calls
        calls.check()
        self._feasible(state, PlacementProgress(self._scheduled, len(self._group.pods)), calls)
        return self._one_by_one(placement, known.listed(at), self._scheduled, state)

    @cached_property
    def _reserve(self) -> ForkReserve:
        return ForkReserve(self._profile, self._world)

    def _require_copy(self) -> None:
        if not self._private:
            raise NeedsCopyError

    def _one_by_one(
        self, placement: GroupPlacement, known: Sequence[Choice], before: int, state: CycleState
    ) -> TriedPlacement:
        """Try the pods; the first are decided already."""
        group, world = self._group, self._world
        members: list[GroupMember] = []
        placed: list[str] = []
        remaining = len(group.pods)
        status = SUCCESS
        try:
            for at, pod in enumerate(group.pods):
                choice = known[at] if at < len(known) else self._decide(pod, placement)
                member = member_of(pod, choice)
                if choice.node_name is not None:
                    world.assume(pod, choice.node_name)
                    why_not = self._reserve.keep(pod, choice.node_name, choice.written, self._calls)
                    if why_not.ok:
                        placed.append(pod.metadata.uid)
                    else:
                        world.forget(pod.metadata.uid)
                        member = without_node(member, why_not)
                members.append(member)
                remaining -= 1
                progress = PlacementProgress(before + len(placed), remaining)
                status = self._feasible(state, progress, self._calls)
                if status.code is Code.UNSCHEDULABLE:
                    break
        finally:
            self._reserve.give_back(self._calls)
            for uid in reversed(placed):
                world.forget(uid)
        return TriedPlacement(placement, _verdict(status), tuple(members))

    def _feasible(self, state: CycleState, progress: PlacementProgress, calls: PluginCalls) -> Status:
        return feasible_so_far(self._judges, state, self._group, progress, calls)

    def _decide(self, pod: Pod, placement: GroupPlacement) -> Choice:
        calls, start = self._calls, mix64(self._seed, pod.metadata.uid)
        options = CycleOptions(start=start, group=self._group, post_filter=False)
        calls.check()
        evaluation = evaluate(self._profile, self._world, pod, placement.rows, calls, options)
        return self._picks.node(placement, select(evaluation, self._world.version, self._seed))

    def _decision(
        self, status: Status, tried: Sequence[TriedPlacement] = (), taken: int = -1
    ) -> GroupDecision:
        members = tried[taken].members if taken >= 0 else ()
        found = settled(status, members, self._group.pods)
        return GroupDecision(self._group.group, status, found, tried, taken)


def _fitting(tried: Sequence[TriedPlacement]) -> Sequence[int]:
    """Return which placements take the group."""
    if isinstance(tried, TriedEverywhere):
        return range(len(tried) if tried.status.ok else 0)
    return [at for at, one in enumerate(tried) if one.status.ok]


def _verdict(status: Status) -> Status:
    """Return the verdict of a placement; a group that still waits for more pods was rejected there."""
    return rejected_group(*status.reasons) if status.code is Code.WAIT else status


def _at_least_one(tried: TriedPlacement) -> Status:
    """Return the verdict of a placement; a group of whose pods none gets a node has not been scheduled."""
    return rejected_group() if tried.status.ok and not tried.placed else tried.status


def _assignments(tried: TriedPlacement, snapshot: Snapshot) -> PodGroupAssignments:
    members = tried.members
    if placed_all(members):
        return PodGroupAssignments(tried.placement, snapshot, members.pods, NodeNames(members))
    placed = [member for member in members if member.node_name]
    pods, places = (member.pod for member in placed), (member.node_name for member in placed)
    return PodGroupAssignments(tried.placement, snapshot, tuple(pods), tuple(places))
