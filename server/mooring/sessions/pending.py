"""The pods without a node: kube-scheduler's queue has them before the pods of a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mooring.framework import Pod, Status
from mooring.framework.errors import FailedPreconditionError, NotFoundError
from mooring.framework.objects import PodGroup
from mooring.runtime.answers import ALL_NODES, CycleOptions, Progress, evaluate_filters, helped_by_pods
from mooring.runtime.commit.asked_group import asked_group, group_as_a_whole
from mooring.runtime.commit.controllers import made_anew
from mooring.runtime.engine import Engine
from mooring.runtime.forecast.alike_pods import alike
from mooring.runtime.profiles.profile import Profile
from mooring.runtime.profiles.profiles import oldest_first
from mooring.runtime.simulation import Simulation, ending
from mooring.sessions.placing import place_alike, place_group, place_pod
from mooring.sessions.work_trees import Work

ProfileOf = Callable[[Pod], Profile]
"""The profile of a pod; raises NotFoundError for one of another scheduler."""


@dataclass(frozen=True, slots=True)
class LeftOver:
    """A pod that gets no node.

    Attributes:
        status: The reason; Success if it was not worked out.
        message: The same as a sentence.
    """

    pod: Pod
    status: Status = field(default_factory=Status)
    message: str = ""


@dataclass(frozen=True, slots=True)
class Queue:
    """The outcome of placing the pending pods.

    Attributes:
        placed: The UIDs of those that got a node.
        left: The others.
        preempted: The pods that they preempted; those with a controller count as pending pods, too.
        warnings: Warnings for the caller.
    """

    placed: frozenset[str] = frozenset()
    left: Sequence[LeftOver] = ()
    preempted: Sequence[Pod] = ()
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class PendingPods:
    """Places pods in a work tree. For one thread. The caller keeps the changes of the tree or takes them
    back.
    """

    work: Work
    profile_of: ProfileOf
    seed: int = 0

    def place_all(self, pods: Sequence[Pod], progress: Progress) -> list[LeftOver]:
        """Place ``pods`` in their order; return those that get no node.

        A pod that finds none is tried again as long as others find one: it may have to be near them.

        Raises:
            DeadlineExceededError: The caller no longer waits.
            PluginFailureError: A plugin failed.
        """
        left = self.place(pods, progress)
        while len(left) < len(pods):
            pods = [each.pod for each in left]
            left = self.place(pods, progress)
        return left

    def place(self, pods: Sequence[Pod], progress: Progress) -> list[LeftOver]:
        """As ``place_all``, but each pod is tried once. The pods of a group are tried with its first one."""
        some = {pod.group: pod for pod in pods}
        state, done = self.work.tree, set[tuple[str, str] | None]()
        groups = {key: group_as_a_whole(state, pod, self.profile_of(pod)) for key, pod in some.items()}
        left: list[LeftOver] = []
        alone: list[Pod] = []
        for pod in pods:
            group = groups[pod.group]
            if group is None:
                alone.append(pod)
            elif pod.group not in done:
                done.add(pod.group)
                left += self._place_alone(alone, progress)
                alone = []
                left += self._place_group(group, [each for each in pods if each.group == pod.group], progress)
        return left + self._place_alone(alone, progress)

    def _place_group(self, group: PodGroup, pods: Sequence[Pod], progress: Progress) -> list[LeftOver]:
        profile = self.profile_of(pods[0])
        asked = asked_group(self.work.engine, group, pods, profile, progress)
        decision = place_group(self.work, asked.group, profile, seed=self.seed, progress=progress)
        left = [LeftOver(pod, status, status.message) for pod, status in asked.gated]
        placed = decision.placed if decision.status.ok else ()
        lost = (each for each in decision.members if each not in placed)
        return left + [LeftOver(each.pod, each.status, each.message) for each in lost]

    def preempt(self, left: Sequence[LeftOver], progress: Progress) -> bool:
        """Return whether any of the pods would preempt others."""
        engine, pods = self.work.engine, [each.pod for each in left]
        for pod in alike(pods)[0]:
            profile = self.profile_of(pod)
            group = group_as_a_whole(self.work.tree, pod, profile)
            if group is None:
                options = CycleOptions(preempt=True)
                choice = engine.decide(pod, profile, ALL_NODES, options=options, progress=progress)
                if choice.evaluation.room_on:
                    return True
                continue
            members = [each for each in pods if each.group == pod.group]
            asked = asked_group(engine, group, members, profile, progress).group
            decision = engine.decide_group(asked, profile, seed=self.seed, progress=progress)
            found = decision.preemption
            if found is not None and found.status.ok and found.victims:
                return True
        return False

    def _place_alone(self, pods: Sequence[Pod], progress: Progress) -> list[LeftOver]:
        """Place pods without a group."""
        left: list[LeftOver] = []
        templates, indices = alike(pods)
        decided = [(pod, self.profile_of(pod)) for pod in templates]
        names, uids = [pod.metadata.name for pod in pods], [pod.metadata.uid for pod in pods]
        rejected: dict[int, LeftOver] = {}
        at, step = 0, len(pods)
        while at < len(pods):
            progress.check()
            known = rejected.get(indices[at])
            if known is not None:
                left.append(LeftOver(pods[at], known.status, known.message))
                at += 1
                continue
            # If one finds no node, the next one may well find none either.
            some = indices[at : at + step], names[at : at + step], uids[at : at + step]
            placed = (
                len(place_alike(self.work, decided, *some, seed=self.seed, progress=progress)) if step else 0
            )
            at, failed = at + placed, placed < max(step, 1)
            step *= 2
            if failed and at < len(pods):
                found, lasting = self._try(pods[at], progress)
                step = int(found is None)
                if found is not None:
                    left.append(found)
                    if lasting:
                        rejected[indices[at]] = found
                at += 1
        return left

    def _try(self, pod: Pod, progress: Progress) -> tuple[LeftOver | None, bool]:
        """Place a pod. If that fails return it, and whether all pods like it fail from then on.

        They do if only room matters to them: each placed pod leaves less of it.
        """
        profile = self.profile_of(pod)
        found, _ = self.work.engine.evaluate(pod, profile, ALL_NODES, evaluate_filters, progress=progress)
        if not len(found.feasible):
            return LeftOver(pod, found.status, found.message), not helped_by_pods(found)
        try:
            placed = place_pod(self.work, pod, profile, seed=self.seed, progress=progress)
        except FailedPreconditionError as error:
            return LeftOver(pod, Status.unresolvable(error.reason), error.message), False
        if placed.status.ok and placed.choice.node_name is not None:
            return None, False
        return LeftOver(pod, placed.status, placed.choice.message or placed.status.message), False


def place_pending(
    work: Work, profile_of: ProfileOf, seed: int, progress: Progress, pods: Sequence[Pod] = ()
) -> Queue:
    """Place ``pods`` in their order, by default all that have no node; from then on they count as bound.

    They preempt others as in a cluster.

    Raises:
        DeadlineExceededError: The caller no longer waits.
        PluginFailureError: A plugin failed.
    """
    warnings: tuple[str, ...] = ()
    if not pods:
        pods, warnings = pending(work.engine, profile_of)
    placing = PendingPods(work, profile_of, seed)
    left, preempted = placing.place_all(pods, progress), list[Pod]()
    if placing.preempt(left, progress):
        # The fast way preempts no pod.
        work.go_back()
        simulation = Simulation(work.engine, profile_of, seed=seed, progress=progress)
        for _ in simulation.place(pods):
            pass
        preempted = [each.pod for each in simulation.preempted]
        every = {pod.metadata.uid: pod for pod in (*pods, *map(made_anew, preempted))}
        results = ((pod, simulation.result(pod)) for pod in every.values())
        ends = [(pod, *ending(result)) for pod, result in results if result is not None]
        left = [LeftOver(pod, status, message) for pod, status, message in ends if not status.ok]
        placed = frozenset(pod.metadata.uid for pod, status, _ in ends if status.ok)
    else:
        placed = frozenset(pod.metadata.uid for pod in pods) - {each.pod.metadata.uid for each in left}
    work.keep()
    return Queue(placed, tuple(left), preempted, warnings)


def pending(engine: Engine, profile_of: ProfileOf) -> tuple[list[Pod], tuple[str, ...]]:
    """Return the pods that have no node and may get one, in the order of kube-scheduler's queue.

    Returns:
        The pods, and a warning if pods of other schedulers are left out.
    """
    own: list[Pod] = []
    others: Counter[str] = Counter()
    for pod in engine.state.snapshot.pods.pending():
        if pod.spec.scheduling_gates:
            continue
        try:
            profile_of(pod)
        except NotFoundError:
            others[pod.spec.scheduler_name] += 1
        else:
            own.append(pod)
    named = ", ".join(f"{name} ({count})" for name, count in sorted(others.items()))
    warnings = (f"pending pods of other schedulers are left out: {named}",) if others else ()
    return engine.profiles.in_queue_order(oldest_first(own)), warnings
