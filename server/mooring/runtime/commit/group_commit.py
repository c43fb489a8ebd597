"""Groups that count: all pods of a group that got a node are reserved, or none; then they are bound.

Nothing is sent to the API server before every pod of the group has its place. A binding can't be undone: when
one fails after others were made, the rest goes on only if the group's rule can still be met.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from mooring.framework import Code, PodGroupInfo, Status
from mooring.framework.errors import MooringError
from mooring.runtime.commit.committer import Committer
from mooring.runtime.commit.extension_points import Committed
from mooring.runtime.commit.preconditions import current_pod, reject_leaving
from mooring.runtime.cycle.group_result import GroupDecision, GroupMember, rejected_group
from mooring.runtime.cycle.plugin_calls import Progress
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Profile, placing

MAX_ATTEMPTS = 3
"""How often a group is decided again because something else took one of its places meanwhile."""


@dataclass(frozen=True, slots=True)
class PlacedGroup:
    """The outcome for a group.

    Attributes:
        decision: The decision, with the outcome for each of its pods.
        committed: How the binding of each pod ended, by UID.
        reserved: Whether the pods that have a node are reserved there, and none was to be bound.
    """

    decision: GroupDecision
    committed: dict[str, Committed] = field(default_factory=dict)
    reserved: bool = False


class GroupCommitter:
    """Reserves and binds one group at a time. Safe from any thread.

    Args:
        committer: Reserves and binds each pod.
    """

    def __init__(self, engine: Engine, committer: Committer) -> None:
        self._engine = engine
        self._committer = committer

    def place_group(
        self,
        group: PodGroupInfo,
        profile: Profile,
        *,
        seed: int = 0,
        owner: str = "",
        bind: bool = False,
        progress: Progress | None = None,
    ) -> PlacedGroup:
        """Decide, reserve and, with ``bind``, bind the group's pods. Raises MooringError if the decision
        failed, or another process leads; nothing is left of it.
        """
        self._committer.require_may_commit()
        committed_as = placing(profile)
        for attempt in range(1, MAX_ATTEMPTS + 1):
            decision = self._engine.decide_group(group, profile, seed=seed, progress=progress)
            if not decision.status.ok:
                return PlacedGroup(decision)
            lost = self._reserve(decision, committed_as, owner, progress)
            if lost is None:
                break
            if lost.status.code is Code.ERROR or attempt == MAX_ATTEMPTS:
                return PlacedGroup(given_up(decision, lost))
        if not bind:
            return PlacedGroup(decision, reserved=True)
        return self._bind(decision, group, committed_as, owner, progress)

    def _reserve(
        self, decision: GroupDecision, profile: Profile, owner: str, progress: Progress | None
    ) -> GroupMember | None:
        """Reserve all pods; the one that can't be, with the reason, after which none is."""
        reserved: list[GroupMember] = []
        try:
            for member in decision.placed:
                try:
                    reservation = self._committer.reserve_pod(
                        member.pod, member.node_name, profile, owner=owner, progress=progress
                    )
                except MooringError as error:
                    self._release(reserved, owner)
                    return _lost(member, error)
                if not reservation.status.ok:
                    self._release(reserved, owner)
                    return replace(member, status=reservation.status, message=reservation.status.message)
                if reservation.held is None:
                    reserved.append(member)
        except BaseException:
            self._release(reserved, owner)
            raise
        return None

    def _bind(
        self,
        decision: GroupDecision,
        group: PodGroupInfo,
        profile: Profile,
        owner: str,
        progress: Progress | None,
    ) -> PlacedGroup:
        """Bind all pods, which are reserved."""
        for member in decision.placed:
            try:
                reject_leaving(current_pod(self._engine.state, member.pod))
            except MooringError as error:
                self._release(decision.placed, owner)
                return PlacedGroup(given_up(decision, _lost(member, error)))
        committed: dict[str, Committed] = {}
        failed: dict[str, GroupMember] = {}
        waiting = list(decision.placed)
        needed = group.min_count - (len(group.scheduled(self._engine.state.snapshot)) - len(waiting))
        while waiting:
            member = waiting.pop(0)
            uid = member.pod.metadata.uid
            try:
                committed[uid] = self._committer.bind_pod(
                    member.pod, member.node_name, profile, progress=progress
                )
                status, message = committed[uid].status, committed[uid].status.message
            except MooringError as error:
                lost = _lost(member, error)
                status, message = lost.status, lost.message
            if not status.ok:
                failed[uid] = replace(member, status=status, message=message)
                if len(committed) - len(failed.keys() & committed.keys()) + len(waiting) < needed:
                    self._release(waiting, owner)
                    return PlacedGroup(given_up(decision, failed[uid], keep=committed), committed)
        if failed:
            members = tuple(failed.get(each.pod.metadata.uid, each) for each in decision.members)
            decision = replace(decision, members=members, state_version=0)
        return PlacedGroup(decision, committed)

    def _release(self, reserved: Sequence[GroupMember], owner: str) -> None:
        for member in reversed(reserved):
            meta = member.pod.metadata
            with suppress(MooringError):
                self._committer.unreserve_pod(meta.namespace, meta.name, meta.uid, owner=owner)


def _lost(member: GroupMember, error: MooringError) -> GroupMember:
    return replace(member, status=Status(Code.ERROR, (error.reason,)), message=error.message)


def given_up(
    decision: GroupDecision, lost: GroupMember, keep: dict[str, Committed] | None = None
) -> GroupDecision:
    """Return the decision about a group that got nothing, since one of its pods lost its place."""
    why = rejected_group(f"pod {lost.pod.key}: {lost.message}")
    members = []
    for member in decision.members:
        uid = member.pod.metadata.uid
        if uid == lost.pod.metadata.uid:
            members.append(lost)
        elif member.node_name and uid not in (keep or {}):
            members.append(replace(member, status=why, message=why.message))
        else:
            members.append(member)
    return replace(decision, status=why, members=tuple(members), state_version=0)
