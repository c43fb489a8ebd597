"""The cycle of a pod group in Kubernetes 1.36: Permit says whether the group may go.

All pods of the group are tried in each placement, whatever becomes of those before them. PostFilter is asked
about each that no node takes; one for which room can be made counts as there for the pods after it. Mirrors
``schedule_one_podgroup.go`` of that release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from mooring.framework import (
    SUCCESS,
    Code,
    CycleState,
    GroupPlacement,
    GroupPreemption,
    KubeVersion,
    PlacementProgress,
    Pod,
    PodGroupPostFilterPlugin,
    Status,
)
from mooring.framework.interface import PreemptingPlugin
from mooring.framework.internal import PlacementColumns
from mooring.runtime.cycle.choice import Choice, FirstChoices
from mooring.runtime.cycle.cycle import CycleOptions
from mooring.runtime.cycle.group_checks import check_scheduler
from mooring.runtime.cycle.group_cycle import GroupCycle, nowhere
from mooring.runtime.cycle.group_result import (
    GroupDecision,
    GroupMember,
    PlacedMembers,
    TriedPlacement,
    member_of,
    rejected_group,
    without_node,
)
from mooring.runtime.cycle.group_what_if import TriedAnew
from mooring.runtime.cycle.plugin_calls import plugin_failure
from mooring.runtime.cycle.post_filter import Room, seek_room
from mooring.runtime.cycle.tie_break import mix64
from mooring.runtime.profiles.profile import Enabled, Profile

LATER_CYCLE_SINCE = KubeVersion(1, 37)
"""Since this release PlacementFeasible says whether the group may go, and room is made for all of it."""

PREEMPTION_GATE = "WorkloadAwarePreemption"
"""The feature gate with which room is made for the group, and not for each of its pods."""

WAITING = "pod group is waiting for preemption to complete"
ASKED_TO_WAIT = "one or more plugins asked to wait and no plugin rejected pod"
NO_PREEMPTION = "default preemption plugin is not registered, workload aware preemption is disabled"
NOT_IN_DOMAINS = "workload aware preemption is not supported for pod groups with scheduling constraints"

_POINT = "PodGroupPostFilter"


class EarlierGroupCycle(GroupCycle):
    """As ``GroupCycle``."""

    _asks_post_filter = True

    def run(self) -> GroupDecision:
        self._rooms: list[tuple[Pod, Room]] = []
        return replace(super().run(), rooms=tuple(self._rooms))

    def _problem(self) -> Status | None:
        return check_scheduler(self._group)

    def _nowhere(self, tried: Sequence[TriedPlacement]) -> GroupDecision:
        return self._decision(Status.unschedulable(nowhere(tried)), tried, 0)

    def _try_each(self, placements: PlacementColumns) -> Sequence[TriedPlacement]:
        known = self._at_once(placements)
        return tuple(self._try(placement, known, at) for at, placement in enumerate(placements))

    def _try(self, placement: GroupPlacement, known: FirstChoices, at: int) -> TriedPlacement:
        calls, before, count = self._calls, self._scheduled, len(self._group.pods)
        calls.check()
        state = CycleState()
        if known.counts[at] == count:
            said = self._feasible(state, PlacementProgress(before + count, 0), calls)
            if said.ok:
                members = PlacedMembers(self._group.pods, partial(known.columns, at))
                return TriedPlacement(placement, SUCCESS, members)
        return self._one_by_one(placement, known.listed(at), before, state)

    def _one_by_one(
        self, placement: GroupPlacement, known: Sequence[Choice], before: int, state: CycleState
    ) -> TriedPlacement:
        members: list[GroupMember] = []
        placed: list[str] = []
        verdict, waits = rejected_group(), False
        try:
            for at, pod in enumerate(self._group.pods):
                choice = known[at] if at < len(known) else self._decide(pod, placement)
                member = self._assumed(pod, choice, placement)
                if member.place:
                    placed.append(pod.metadata.uid)
                    progress = PlacementProgress(before + len(placed), len(self._group.pods) - at - 1)
                    said = self._feasible(state, progress, self._calls)
                    member = replace(member, permit=said)
                    waits = waits or member.room is not None
                    if said.ok:
                        verdict = rejected_group(WAITING) if waits else SUCCESS
                members.append(member)
        finally:
            self._reserve.give_back(self._calls)
            for uid in reversed(placed):
                self._world.forget(uid)
        return TriedPlacement(placement, verdict, tuple(members), verdict.reasons[1:] == (WAITING,))

    def _assumed(self, pod: Pod, choice: Choice, placement: GroupPlacement) -> GroupMember:
        """Return what a placement has for a pod, which is then on its node, if it has one."""
        found = member_of(pod, choice)
        member = found if choice.node_name is not None else self._with_room_of_its_own(found, placement)
        if not member.place:
            return member
        self._world.assume(pod, member.place)
        why_not = self._reserve.keep(pod, member.place, choice.written, self._calls)
        if why_not.ok:
            return member
        self._world.forget(pod.metadata.uid)
        return replace(without_node(member, why_not), room=None, nominated="")

    def _with_room_of_its_own(self, member: GroupMember, placement: GroupPlacement) -> GroupMember:
        """Return a pod that no node takes with what PostFilter finds for it."""
        pod, choice = member.pod, member.choice
        if not self._asks_post_filter or choice is None:
            return member
        pick = partial(self._picks.room, placement, pod)
        start = mix64(self._seed, pod.metadata.uid)
        sought = seek_room(choice.evaluation, self._calls, start, pick)
        if sought.room is not None:
            self._rooms.append((pod, sought.room))
        return replace(member, message=choice.message, room=sought.room, nominated=sought.nominated)

    def _options(self, start: int) -> CycleOptions:
        return replace(super()._options(start), post_filter=self._asks_post_filter)

    def _with_room(self, decision: GroupDecision) -> GroupDecision:
        if decision.status.code is not Code.UNSCHEDULABLE:
            return decision
        if decision.taken >= 0 and decision.tried[decision.taken].waits:
            return replace(decision, preemption=_nominated(decision, GroupPreemption(SUCCESS)))
        if not self._profile.gates.enabled(PREEMPTION_GATE):
            return decision
        found = self._room_for_all(decision)
        if found.status.ok:
            found = _nominated(decision, found)
            members = tuple(_waiting(member, decision.status) for member in decision.members)
            return replace(decision, members=members, preemption=found)
        if found.status.code is Code.ERROR:
            raise plugin_failure(found.status.plugin, _POINT, found.status.message)
        status = replace(decision.status, reasons=(*decision.status.reasons, found.status.message))
        members = tuple(
            replace(member, status=status, message=status.message) if member.choice is None else member
            for member in decision.members
        )
        return replace(decision, status=status, members=members, preemption=found)

    def _room_for_all(self, decision: GroupDecision) -> GroupPreemption:
        making = _preempting(self._profile)
        if making is None:
            return GroupPreemption(Status.unschedulable(NO_PREEMPTION))
        constraints = self._group.group.spec.scheduling_constraints
        if constraints is not None and constraints.topology:
            return GroupPreemption(Status.unschedulable(NOT_IN_DOMAINS))
        self._asks_post_filter = False
        name, make = making.name, making.plugin.post_filter_group
        what_if = TriedAnew(self._world, decision, self._again, self._calls)
        found = self._calls.call(name, _POINT, make, self._state, self._group, what_if)
        if not isinstance(found, GroupPreemption):
            raise plugin_failure(name, _POINT, f"returned {type(found).__name__}, not GroupPreemption")
        return replace(found, status=found.status.by(name))

    def _settled(self, status: Status, members: Sequence[GroupMember]) -> tuple[GroupMember, ...]:
        waits = status.reasons[1:] == (WAITING,)
        tried = (
            member if status.ok else _waiting(member, status) if waits else _given_up(member)
            for member in members
        )
        rest = self._group.pods[len(members) :]
        nominated = "" if status.code is Code.ERROR else None
        untried = (GroupMember(pod, None, status, status.message, nominated=nominated) for pod in rest)
        return (*tried, *untried)


def _preempting(profile: Profile) -> Enabled[PodGroupPostFilterPlugin[Any]] | None:
    """Return the plugin that makes room for groups: of all that could, the one that preempts for pods."""
    for name, plugin in profile.plugins.items():
        if isinstance(plugin, PreemptingPlugin) and isinstance(plugin, PodGroupPostFilterPlugin):
            return Enabled(name, plugin)
    return None


def _waiting(member: GroupMember, status: Status) -> GroupMember:
    """Return what becomes of a pod whose group waits for room: one with a node waits with the others."""
    if not member.node_name:
        return member
    return replace(member, status=status, message=status.message, nominated=member.node_name)


def _given_up(member: GroupMember) -> GroupMember:
    """Return what becomes of a pod whose group was rejected."""
    if not member.place:
        return member
    said = rejected_group(", ".join((*member.permit.reasons, ASKED_TO_WAIT)))
    return replace(member, status=said, message=said.message, room=None, nominated="")


def _nominated(decision: GroupDecision, found: GroupPreemption) -> GroupPreemption:
    """Return the room that was found, with the pods that are to get what they got when they were tried."""
    members = decision.tried[decision.taken].members if decision.taken >= 0 else ()
    nominations = tuple((member.pod, member.place) for member in members if member.place)
    return replace(found, nominations=nominations)
