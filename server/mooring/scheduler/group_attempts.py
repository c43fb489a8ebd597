"""The attempt to schedule a pod group: decide about it as a whole, and go on with the pods that got a node.

Mirrors ``scheduleOnePodGroup`` and ``submitPodGroupAlgorithmResult`` in ``schedule_one_podgroup.go``.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from mooring.framework import SUCCESS, Code, PodGroupInfo, Status
from mooring.framework.errors import NotFoundError
from mooring.framework.objects import PodGroup
from mooring.runtime.answers import Choice, GroupDecision, GroupMember, rejected_group
from mooring.runtime.commit.reservations import Reservation
from mooring.runtime.profiles.profile import Profile
from mooring.scheduler.attempt import Attempt, DecidedGroup
from mooring.scheduler.binding import Binders
from mooring.scheduler.budget import AttemptBudget
from mooring.scheduler.components import Components
from mooring.scheduler.preemption import CLUSTER, Preemptor, carry_out_remedy
from mooring.scheduler.queue import QueuedGroup, QueuedPod
from mooring.scheduler.scheduling_failure import (
    SchedulingFailure,
    failed,
    rejected_by_nodes,
    rejected_by_plugin,
)

log = logging.getLogger(__name__)

WAITING_ON_PREEMPTION = "waiting_on_preemption"
"""The result of an attempt after which a group waits for its victims to go, as metrics spell it."""


@dataclass(slots=True)
class _GroupAttempt:
    """One attempt of one group.

    Attributes:
        began: Since when, on the monotonic clock.
        open: Those of its pods, by UID, that are neither bound nor given back yet.
        decided: The decided group; None = nothing yet, or the attempt ended in an error.
    """

    item: QueuedGroup
    profile: Profile
    began: float
    budget: AttemptBudget
    open: dict[str, QueuedPod] = field(init=False)
    decided: DecidedGroup | None = None

    def __post_init__(self) -> None:
        self.open = {member.uid: member for member in self.item.pods}

    @property
    def name(self) -> str:
        """The group, for people."""
        return "/".join(self.item.key)

    def close(self, uid: str, now: float) -> Attempt:
        """Return the part about one pod of the group, which is no longer open."""
        share = (now - self.began) / len(self.item.pods)
        return Attempt(self.open.pop(uid), self.profile, now - share, self.budget, group=self.decided)


class GroupAttempts:
    """Tries groups, one at a time; for the deciding thread."""

    def __init__(self, components: Components, binders: Binders) -> None:
        self._components = components
        self._binders = binders

    def try_group(self, item: QueuedGroup, budget: AttemptBudget) -> None:
        """Try a popped group; whatever happens, none of its pods stays in flight unless it is being bound."""
        components = self._components
        profile = components.profiles[item.pods[0].pod.spec.scheduler_name]
        attempt = _GroupAttempt(item, profile, components.clock.monotonic(), budget)
        status = SUCCESS
        try:
            status = self._try(attempt)
        except Exception as error:  # noqa: BLE001 - a defect is logged
            status = self._failed(attempt, error)
        finally:
            components.queue.end_group_attempt(item, status, budget.pause())

    def _try(self, attempt: _GroupAttempt) -> Status:
        """Decide, and act on it; returns how the attempt ended as far as the queue is concerned."""
        components, item = self._components, attempt.item
        if self._group(attempt) is None:
            gone = f'podgroup.scheduling.k8s.io "{item.key[1]}" not found'
            return self._failed(attempt, NotFoundError(gone, reason="POD_GROUP_NOT_FOUND"))
        tried, unknown = self._tried_now(attempt)
        if not tried:
            return Status.error("bindings of its pods are not known yet") if unknown else SUCCESS
        components.committer.require_may_commit()
        info = PodGroupInfo(item.group, tuple(member.pod for member in tried))
        decision = components.engine.decide_group(info, attempt.profile, progress=attempt.budget)
        attempt.decided = DecidedGroup(info, decision.state_version, decision.room)
        components.observer.group_decided(components.clock.monotonic() - attempt.began)
        if decision.preemption is not None:
            components.observer.group_preemption(decision.preemption.status.code.label)
        status = decision.status
        self._make_rooms(attempt, decision)
        if status.ok:
            status = self._commit(attempt, decision)
        else:
            self._reject(attempt, info, decision)
        self._report(attempt, status, waiting=_waits(decision))
        # For the queue, a group was rejected if preemption was tried for it, even if that failed.
        return status if decision.preemption is None else Status.unschedulable()

    def _make_rooms(self, attempt: _GroupAttempt, decision: GroupDecision) -> None:
        """Carry out what PodGroupPostFilter found."""
        components, pod = self._components, attempt.item.pods[0].pod
        for remedy in decision.preemption.remedies if decision.preemption is not None else ():
            carry_out_remedy(remedy, pod, components.cluster, components.audit)

    def _group(self, attempt: _GroupAttempt) -> PodGroup | None:
        """Return the group as it is now, which is what is tried; None when it is gone."""
        namespace, name = attempt.item.key
        group = self._components.engine.state.snapshot.objects.get(PodGroup, name, namespace)
        if group is not None:
            attempt.item.group = group
        return group

    def _tried_now(self, attempt: _GroupAttempt) -> tuple[list[QueuedPod], bool]:
        """Return the pods that need a node, and whether that isn't known yet for others."""
        failures, tried, unknown = self._components.failures, [], False
        for member in attempt.item.pods:
            assumed = failures.is_assumed(member.uid)
            unknown = unknown or assumed
            if failures.left_alone(member):
                del attempt.open[member.uid]
            else:
                tried.append(member)
        return tried, unknown

    def _commit(self, attempt: _GroupAttempt, decision: GroupDecision) -> Status:
        """Reserve all places, and only then bind: what waits at Permit for the last one goes on with it.

        Returns:
            Success if one of the pods keeps its place. kube-scheduler says so in any case, and tries at once,
            again and again, a group whose pods all lose theirs.
        """
        components, state = self._components, self._components.engine.state
        for member in decision.placed:
            # The nodes expected for the others must not be in its way.
            state.nominate(member.pod.metadata.uid, "")
        begun: list[tuple[Attempt, Reservation, Choice]] = []
        lost: list[str] = []
        for member in decision.members:
            pod, choice = member.pod, member.choice
            if choice is None or not (member.node_name and member.status.ok):
                self._fail(attempt, member, _failure_of(member, None))
                continue
            found = self._begin_placing(attempt, member)
            if isinstance(found, Reservation):
                one = attempt.close(pod.metadata.uid, components.clock.monotonic())
                begun.append((one, found, choice))
            else:
                lost.append(f"pod {pod.key}: {found.message}")
                state.nominate(pod.metadata.uid, pod.status.nominated_node_name)
                self._fail(attempt, member, found)
        for each in begun:
            self._begin_binding(attempt, *each)
        return SUCCESS if begun else rejected_group(*lost[:1])

    def _begin_placing(self, attempt: _GroupAttempt, member: GroupMember) -> Reservation | SchedulingFailure:
        begin, budget = (
            self._components.committer.begin_placing_member,
            AttemptBudget(self._components.attempt_seconds),
        )
        try:
            found = begin(member.pod, member.node_name, attempt.profile, budget)
        except Exception as error:  # noqa: BLE001 - a defect is logged
            return failed(error, log, f"placing pod {member.pod.key} on node {member.node_name}")
        return rejected_by_plugin(found, member.node_name) if isinstance(found, Status) else found

    def _begin_binding(
        self, attempt: _GroupAttempt, one: Attempt, reservation: Reservation, choice: Choice
    ) -> None:
        if others := reservation.commit.pods_to_activate:
            # Those of this group that have no place yet are on their way back to it.
            self._components.queue.activate_pods(pod for pod in others if pod.group != attempt.item.key)
        self._binders.begin_binding(one, reservation, choice)

    def _reject(self, attempt: _GroupAttempt, info: PodGroupInfo, decision: GroupDecision) -> None:
        """Give all pods back, and make the room that was found for them."""
        nominations: dict[str, str] = {}
        if _waits(decision) and (found := decision.preemption) is not None:
            nominations = {pod.metadata.uid: node for pod, node in found.nominations}
            pods, activate = info.pods, self._components.queue.activate_pods
            self._components.preemptions.start_preemption(
                Preemptor(info.group, pods),
                CLUSTER,
                found.victims,
                found.status.plugin,
                lambda: activate(pods),
            )
        for member in decision.members:
            nominated = nominations.get(member.pod.metadata.uid, member.nominated)
            self._fail(attempt, member, _failure_of(member, nominated))

    def _fail(self, attempt: _GroupAttempt, member: GroupMember, failure: SchedulingFailure) -> None:
        one = attempt.close(member.pod.metadata.uid, self._components.clock.monotonic())
        self._components.failures.handle_failure(one, failure)

    def _failed(self, attempt: _GroupAttempt, error: Exception) -> Status:
        """Give back all open pods after an error; returns the error."""
        failure = failed(error, log, f"trying pod group {attempt.name}")
        attempt.decided = None
        status = Status.error(failure.message)
        for uid in tuple(attempt.open):
            one = attempt.close(uid, self._components.clock.monotonic())
            self._components.failures.handle_failure(one, failure)
        self._report(attempt, status)
        return status

    def _report(self, attempt: _GroupAttempt, status: Status, *, waiting: bool = False) -> None:
        """Say on the group, in the log and in metrics how the attempt ended."""
        components = self._components
        result = "scheduled" if status.ok else "unschedulable" if status.rejected else "error"
        seconds = components.clock.monotonic() - attempt.began
        components.observer.group_attempted(
            WAITING_ON_PREEMPTION if waiting else result, attempt.profile.name, seconds
        )
        if status.ok:
            log.info('"Successfully scheduled a pod group" podGroup="%s"', attempt.name)
        elif waiting:
            log.info(
                '"Pod group is waiting for preemption" podGroup="%s" err="%s"', attempt.name, status.message
            )
        elif status.rejected:
            log.info('"Unable to schedule a pod group" podGroup="%s" err="%s"', attempt.name, status.message)
        else:
            log.error('"Error scheduling pod group" podGroup="%s" err="%s"', attempt.name, status.message)
        if self._group(attempt) is not None:
            components.group_statuses.attempted(attempt.item.group, status)


def _waits(decision: GroupDecision) -> bool:
    """Return whether the group waits for pods to go."""
    return decision.preemption is not None and decision.preemption.status.ok


def _failure_of(member: GroupMember, nominated: str | None) -> SchedulingFailure:
    """Return why a pod of a group gets no node now: what the nodes said, or what became of its group."""
    if member.status.code is Code.ERROR:
        return SchedulingFailure(member.message, rejected=False)
    if member.choice is not None and not member.node_name:
        return rejected_by_nodes(member.choice, nominated)
    return SchedulingFailure(member.message, nominated=nominated)
