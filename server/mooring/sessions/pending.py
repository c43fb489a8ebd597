"""The pods without a node: kube-scheduler's queue has them before the pods of a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mooring.framework import Pod, Status
from mooring.framework.cacheable import Part
from mooring.framework.errors import FailedPreconditionError, NotFoundError
from mooring.framework.internal import parts_of
from mooring.framework.objects import PodGroup
from mooring.runtime.commit.asked_group import asked_group, group_as_a_whole
from mooring.runtime.cycle.alike_pods import alike
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.cycle import evaluate_filters
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.cycle.plugin_calls import Progress
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Profile
from mooring.runtime.profiles.profiles import oldest_first
from mooring.sessions.capacity import asked_plugins
from mooring.sessions.placing import place_alike, place_group, place_pod
from mooring.sessions.work_trees import Work

ProfileOf = Callable[[Pod], Profile]
"""The profile of a pod; raises NotFoundError for one of another scheduler."""

_SEES_OTHERS = Part.PODS | Part.OUTSIDE | Part.OTHER_NODES


@dataclass(frozen=True, slots=True)
class LeftOver:
    """A pod that gets no node.

    Attributes:
        pod: The pod.
        status: The reason; Success if it was not worked out.
        message: The same as a sentence.
    """

    pod: Pod
    status: Status = field(default_factory=Status)
    message: str = ""


@dataclass(frozen=True, slots=True)
class Queue:
    """What became of the pending pods.

    Attributes:
        placed: The UIDs of those that got a node.
        left: The others.
        warnings: What the caller should know.
    """

    placed: frozenset[str] = frozenset()
    left: Sequence[LeftOver] = ()
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class PendingPods:
    """Places pods in a work tree. For one thread.

    Args:
        work: The tree. The caller keeps the changes or takes them back.
        profile_of: The profile of a pod.
        seed: Decides between nodes of equal totals.
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
            return LeftOver(pod, found.status, found.message), not _sees_others(found)
        try:
            placed = place_pod(self.work, pod, profile, seed=self.seed, progress=progress)
        except FailedPreconditionError as error:
            return LeftOver(pod, Status.unresolvable(error.reason), error.message), False
        if placed.status.ok and placed.choice.node_name is not None:
            return None, False
        return LeftOver(pod, placed.status, placed.choice.message or placed.status.message), False


def place_pending(work: Work, profile_of: ProfileOf, seed: int, progress: Progress) -> Queue:
    """Place the pods that have no node; from then on they count as if they were bound.

    Raises:
        DeadlineExceededError: The caller no longer waits.
        PluginFailureError: A plugin failed.
    """
    pods, warnings = pending(work.engine, profile_of)
    left = PendingPods(work, profile_of, seed).place_all(pods, progress)
    work.keep()
    waiting = {each.pod.metadata.uid for each in left}
    placed = frozenset(pod.metadata.uid for pod in pods) - waiting
    return Queue(placed, tuple(left), warnings)


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


def _sees_others(found: Evaluation) -> bool:
    """Return whether the filters may depend on the places of other pods, or on other nodes."""
    return any(parts_of(plugin, found.pod) & _SEES_OTHERS for plugin in asked_plugins(found))
