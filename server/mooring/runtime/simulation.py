"""Places pending pods in a cluster with no other activity, as kube-scheduler would, without real waiting.

Time stands still while there are pods to try. Once all were tried, nothing but the end of a wait at Permit
can change anything, so the clock jumps there.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from mooring.framework import ActionType, Code, EventResource, Plugin, Pod, PodGroupInfo, QueueingHint, Status
from mooring.framework.disruption_budgets import DisruptionBudgets
from mooring.framework.errors import FailedPreconditionError, MooringError, NotFoundError, PluginFailureError
from mooring.framework.objects import ObjectMeta, PodDisruptionBudget, PodGroup, ResourceClaim
from mooring.runtime.commit.asked_group import enqueued, group_as_a_whole
from mooring.runtime.commit.binding_cycle import BindingCycle
from mooring.runtime.commit.clock import ManualClock
from mooring.runtime.commit.committer import Committer
from mooring.runtime.commit.controllers import controller_of, made_anew
from mooring.runtime.commit.group_commit import GroupCommitter
from mooring.runtime.commit.placement import PlacedPod
from mooring.runtime.commit.reservations import Reservation
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.choice import Choice
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.cycle.group_result import GroupDecision, GroupMember
from mooring.runtime.cycle.plugin_calls import NoDeadline, Progress
from mooring.runtime.cycle.post_filter import seek_room
from mooring.runtime.cycle.tie_break import mix64
from mooring.runtime.engine import Engine
from mooring.runtime.forecast.alike_pods import alike
from mooring.runtime.profiles.profile import Profile

Result = PlacedPod | GroupMember | MooringError
"""The outcome for a pod, alone or with its group; an error concerns these alone."""

MOST_PREEMPTIONS = 3
"""How often one pod or group may preempt others. Once is enough, unless plugins contradict each other."""

_LEAVING = "1970-01-01T00:00:00Z"
"""The deletion time of preempted pods. Plugins only check whether there is one."""

_PODS = (EventResource.ANY, EventResource.POD, EventResource.ASSIGNED_POD)

_OF_THE_POD = (PluginFailureError, FailedPreconditionError, NotFoundError)


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A pod that has its node, and waits at Permit to be bound there."""

    choice: Choice
    reservation: Reservation


@dataclass(frozen=True, slots=True)
class PreemptedPod:
    """A pod that was preempted.

    Attributes:
        pod: The pod, on its node.
        preemptor: The pod or group that preempted it.
    """

    pod: Pod
    preemptor: str


class Simulation:
    """Schedules pods in order; each sees the earlier ones placed. For one thread.

    - A pod that waits at Permit keeps its place while the others are tried.
    - The pods of a group are tried as a whole, when the first of them comes.
    - The pods that a plugin wants to be activated come next.
    - A pod or group preempts others as in a cluster. The victims terminate, and keep their places, until all
      pods were tried. Then they are removed with the devices that they alone used, and those with a
      controller are recreated. Pods that have no node yet are tried again, in the order of the queue.
    - When all were tried, pods are tried again which, by the queueing hints of the plugins that rejected
      them, a pod that got its node since may help.
    - When none is left of these and no victims terminate, pods that still wait are rejected as if their
      Permit timeout had expired, and give their places back. Then the pods that found no node are tried
      again.

    Args:
        engine: Decides, and has the state in which the pods count from then on.
        profile_of: The profile of a pod; raises NotFoundError if it has none.
        preempt: Whether pods are preempted; otherwise ``rooms`` only says where they would be.
        progress: Says when to stop.

    Attributes:
        preempted: The pods that were preempted, in this order.
        rooms: Without ``preempt``: by UID of a pod, the node on which it would preempt others.
    """

    def __init__(
        self,
        engine: Engine,
        profile_of: Callable[[Pod], Profile],
        *,
        seed: int = 0,
        preempt: bool = True,
        progress: Progress | None = None,
    ) -> None:
        self.preempted: list[PreemptedPod] = []
        self.rooms: dict[str, str] = {}
        self._engine = engine
        self._room = engine.profiles.waiting
        self._clock = ManualClock()
        self._committer = Committer(BindingCycle(engine, clock=self._clock))
        self._groups = GroupCommitter(engine, self._committer)
        self._preempt = preempt
        self._progress = progress or NoDeadline()
        self._arrived: list[Pod] = []
        self._rejected: dict[str, tuple[Evaluation, int]] = {}
        self._preemptions = Counter[str]()
        self._leaving: dict[str, Pod | None] = {}
        self._pods: dict[str, Pod] = {}
        self._profile_of = profile_of
        self._seed = seed
        self._position: dict[str, int] = {}
        self._waiting: dict[str, _Waiting] = {}
        self._unplaced: dict[str, Pod] = {}
        self._results: dict[str, Result] = {}

    def place(self, pods: Sequence[Pod]) -> Iterator[Pod]:
        """Try ``pods``, and yield each when it was tried; after the last one every result is there."""
        self._pods = {pod.metadata.uid: pod for pod in pods}
        self._position = {pod.metadata.uid: at for at, pod in enumerate(pods)}
        for pod in pods:
            self._try_with_activated(pod)
            yield pod
        while True:
            again = self._unplaced
            if self._leaving:
                self._let_go()
                again = self._unplaced
            elif helped := self._helped():
                again = helped
            elif self._waiting:
                self._clock.advance_to(min(self._room.end(uid) for uid in self._waiting))
                self._finish_released()
            else:
                return
            self._unplaced = {uid: pod for uid, pod in self._unplaced.items() if uid not in again}
            for uid in again:
                self._results.pop(uid, None)
                self._rejected.pop(uid, None)
            for pod in self._engine.profiles.in_queue_order(again.values()):
                self._try_with_activated(pod)

    def _helped(self) -> dict[str, Pod]:
        """Return the pods without a node that a pod with a node may help since; of a group all of them."""
        templates, indices = alike(self._arrived)
        newest = {index: number for number, index in enumerate(indices)}
        helped = [
            self._unplaced[uid]
            for uid, (evaluation, since) in self._rejected.items()
            if any(newest[at] >= since and _helps(pod, evaluation) for at, pod in enumerate(templates))
        ]
        groups = {pod.group for pod in helped if pod.group is not None}
        helped += [pod for pod in self._unplaced.values() if pod.group in groups]
        return {pod.metadata.uid: pod for pod in helped}

    def result(self, pod: Pod) -> Result | None:
        """Return a pod's result once all were tried; None = it was preempted, and nothing recreates it."""
        return self._results.get(pod.metadata.uid)

    def _try_with_activated(self, pod: Pod) -> None:
        """Try the pod, then every untried pod that it activates, directly or through others."""
        todo = deque([pod])
        while todo:
            self._progress.check()
            pod = todo.popleft()
            if self._is_untried(pod):
                group = self._group_of(pod)
                if group is not None:
                    self._try_group(*group)
                else:
                    todo.extend(self._activated_by(self._try(pod)))

    def _is_untried(self, pod: Pod) -> bool:
        return pod.metadata.uid not in self._results and pod.metadata.uid not in self._waiting

    def _group_of(self, pod: Pod) -> tuple[PodGroup, Profile] | None:
        """Return the group that the pod is scheduled with as a whole, and its profile; None without one."""
        if pod.group is None:
            return None
        try:
            profile = self._profile_of(pod)
        except NotFoundError:
            return None
        group = group_as_a_whole(self._engine.state, pod, profile)
        return (group, profile) if group is not None else None

    def _try_group(self, group: PodGroup, profile: Profile) -> None:
        """Try the group with all its pods that are untried; each has a result then."""
        key = group.metadata.namespace, group.metadata.name
        pods = [pod for pod in self._pods.values() if pod.group == key and self._is_untried(pod)]
        try:
            gates = [(pod, enqueued(self._engine, pod, profile, self._progress)) for pod in pods]
            members = [GroupMember(pod, None, gate, gate.message) for pod, gate in gates if not gate.ok]
            free = tuple(pod for pod, gate in gates if gate.ok)
            if free:
                info = PodGroupInfo(group, free)
                placed = self._groups.place_group(
                    info, profile, seed=self._seed, bind=True, progress=self._progress
                )
                members += placed.decision.members
        except _OF_THE_POD as error:
            self._results |= dict.fromkeys((pod.metadata.uid for pod in pods), error)
            return
        for member in members:
            uid = member.pod.metadata.uid
            self._results[uid] = member
            if member.status.ok and member.node_name:
                self._arrived.append(member.pod.on_node(member.node_name))
            else:
                self._unplaced[uid] = member.pod
                if member.choice is not None and member.choice.node_name is None:
                    self._rejected[uid] = member.choice.evaluation, len(self._arrived)
        if free:
            self._make_room_for_group(group, placed.decision)

    def _make_room_for_group(self, group: PodGroup, decision: GroupDecision) -> None:
        found = decision.preemption
        if found is not None and found.status.ok and found.victims:
            meta = group.metadata
            name = f"pod group {meta.namespace}/{meta.name}"
            self._make_room(name, meta.uid, found.victims, found.nominations)

    def _try(self, pod: Pod) -> Reservation | None:
        """Return the pod's reservation; None when no node was found."""
        uid = pod.metadata.uid
        try:
            placement = self._committer.begin_placing(
                pod, self._profile_of(pod), ALL_NODES, seed=self._seed, progress=self._progress
            )
        except _OF_THE_POD as error:
            self._results[uid] = error
            return None
        reservation = placement.reservation
        if reservation is None:
            self._results[uid] = placement
            self._unplaced[uid] = pod
            if placement.committed is None:
                evaluation = placement.choice.evaluation
                self._rejected[uid] = evaluation, len(self._arrived)
                self._seek_room(pod, evaluation)
        else:
            self._waiting[uid] = _Waiting(placement.choice, reservation)
            self._finish_released()
        return reservation

    def _seek_room(self, pod: Pod, evaluation: Evaluation) -> None:
        uid = pod.metadata.uid
        calls = self._engine.calls(evaluation.profile, self._progress)
        start = mix64(self._seed, uid)
        room = seek_room(evaluation, calls, start).room
        if room is not None:
            candidate = room.candidate
            self._make_room(f"pod {pod.key}", uid, candidate.victims, [(pod, candidate.node_name)])

    def _make_room(
        self, preemptor: str, uid: str, victims: Sequence[Pod], nominations: Iterable[tuple[Pod, str]]
    ) -> None:
        """Preempt the victims and nominate pods for the nodes, but only ``MOST_PREEMPTIONS`` times."""
        if not self._preempt:
            self.rooms |= {pod.metadata.uid: node_name for pod, node_name in nominations}
        if not self._preempt or self._preemptions[uid] >= MOST_PREEMPTIONS:
            return
        self._preemptions[uid] += 1
        for victim in victims:
            self._begin_leaving(victim, preemptor)
        for pod, node_name in nominations:
            nominated = replace(pod, status=replace(pod.status, nominated_node_name=node_name))
            self._pods[pod.metadata.uid] = self._unplaced[pod.metadata.uid] = nominated
            self._engine.state.nominate(pod.metadata.uid, node_name)

    def _begin_leaving(self, victim: Pod, preemptor: str) -> None:
        uid, state = victim.metadata.uid, self._engine.state
        if uid in self._leaving:
            return
        self.preempted.append(PreemptedPod(victim, preemptor))
        waiting = self._room.get(uid)
        # A victim that only waits at Permit is not deleted; it goes back to having no node.
        stays = waiting is not None and waiting.reject("", "preempted")
        self._leaving[uid] = made_anew(victim) if stays or controller_of(victim) else None
        if stays:
            self._finish_released()
        else:
            state.discard(uid)
            metadata = replace(victim.metadata, deletion_timestamp=_LEAVING)
            state.assume(replace(victim, metadata=metadata), victim.spec.node_name)
            self._use_up_budgets(victim)

    def _let_go(self) -> None:
        """Remove the terminating pods, and add the pods that replace them."""
        leaving, self._leaving = self._leaving, {}
        for uid, successor in leaving.items():
            self._engine.state.discard(uid)
            self._results.pop(uid, None)
            if successor is not None:
                self._pods[uid] = self._unplaced[uid] = successor
        self._free_devices(leaving)

    def _free_devices(self, gone: Container[str]) -> None:
        """Let claims go of pods that are gone. Mirrors ``pkg/controller/resourceclaim/controller.go``."""
        state = self._engine.state
        for claim in list(state.snapshot.objects.all(ResourceClaim)):
            users = tuple(user for user in claim.status.reserved_for if user.uid not in gone)
            if len(users) < len(claim.status.reserved_for):
                allocation = claim.status.allocation if users else None
                status = replace(claim.status, reserved_for=users, allocation=allocation)
                state.assume_object(replace(claim, metadata=_unwritten(claim.metadata), status=status))

    def _use_up_budgets(self, victim: Pod) -> None:
        """Let the disruption budgets of a victim allow one disruption less."""
        state = self._engine.state
        for budget in DisruptionBudgets(state.snapshot.objects.all(PodDisruptionBudget)).guarding(victim):
            allowed = max(0, budget.status.disruptions_allowed - 1)
            status = replace(budget.status, disruptions_allowed=allowed)
            state.assume_object(replace(budget, metadata=_unwritten(budget.metadata), status=status))

    def _activated_by(self, reservation: Reservation | None) -> list[Pod]:
        """Return the pods that become active, in the order of the queue."""
        pods = () if reservation is None else reservation.commit.pods_to_activate
        position = self._position
        return sorted(
            (pod for pod in pods if pod.metadata.uid in position), key=lambda pod: position[pod.metadata.uid]
        )

    def _finish_released(self) -> None:
        now = self._clock.monotonic()
        for uid in [uid for uid in self._waiting if self._room.end(uid) <= now]:
            waiting = self._waiting.pop(uid)
            try:
                committed = self._committer.finish_binding(waiting.reservation)
            except _OF_THE_POD as error:
                self._results[uid] = error
            else:
                self._results[uid] = PlacedPod(waiting.choice, committed=committed)
                if committed.status.ok:
                    commit = waiting.reservation.commit
                    self._arrived.append(commit.pod.on_node(commit.node_name))


def ending(result: Result) -> tuple[Status, str]:
    """Return how a pod ended, and the same as a sentence; Success if it has a node."""
    if isinstance(result, MooringError):
        failed = isinstance(result, PluginFailureError)
        code = Code.ERROR if failed else Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        return Status(code, (str(result),)), str(result)
    told = result.message if isinstance(result, GroupMember) else result.choice.message
    return result.status, told or result.status.message


def _helps(arrived: Pod, rejected: Evaluation) -> bool:
    """Return whether a pod that got its node may help one that was rejected."""
    profile, statuses = rejected.profile, rejected.statuses if rejected.rejection.ok else [rejected.rejection]
    names = {status.plugin for status in statuses}
    names |= {name for name, outcome in rejected.written.prefilter.items() if outcome.nodes is not None}
    asked: dict[str, Plugin[Any]] = {each.name: each.plugin for each in profile.pre_enqueue}
    asked |= {each.name: each.plugin for each in profile.pre_filter}
    asked |= {each.name: each.plugin for each in profile.filter}
    return any(
        hinted.hint is None or hinted.hint(rejected.pod, None, arrived) is QueueingHint.QUEUE
        for name in names & asked.keys()
        for hinted in asked[name].events_to_register()
        if hinted.event.resource in _PODS and hinted.event.action & ActionType.ADD
    )


def _unwritten(metadata: ObjectMeta) -> ObjectMeta:
    """Return the metadata of an object that is assumed to be so until the end."""
    return replace(metadata, resource_version="")
