"""A group to decide: its object, the pods to try, and those that have to wait."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from mooring.framework import SUCCESS, Finding, PlacementFeasiblePlugin, Pod, PodGroupInfo, Status
from mooring.framework.errors import FailedPreconditionError, NotFoundError
from mooring.framework.objects import PodGroup
from mooring.framework.preemption import Candidate
from mooring.framework.state import ClusterState
from mooring.runtime.cycle.group_findings import group_findings
from mooring.runtime.cycle.group_result import GroupDecision
from mooring.runtime.cycle.plugin_calls import NoDeadline, Progress
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Profile

GROUPS_GATE = "GenericWorkload"
"""The feature gate without which a PodGroup means nothing."""


@dataclass(frozen=True, slots=True)
class AskedGroup:
    """A group and its pods.

    Attributes:
        group: The group, with the pods that are tried.
        gated: The pods that may not be scheduled yet, with the reason of each.
        placed: The pods that have a node, reserved ones included.
    """

    group: PodGroupInfo
    profile: Profile
    gated: tuple[tuple[Pod, Status], ...]
    placed: tuple[Pod, ...]


def known_group(state: ClusterState, namespace: str, name: str) -> PodGroup:
    """Return a group of the state; raises NotFoundError if there is none (POD_GROUP_NOT_FOUND)."""
    group = state.snapshot.objects.get(PodGroup, name, namespace)
    if group is None:
        named = f"{namespace}/{name}"
        raise NotFoundError(
            f"PodGroup {named} is not known; push it, or wait for it",
            reason="POD_GROUP_NOT_FOUND",
            group=named,
        )
    return group


def group_as_a_whole(state: ClusterState, pod: Pod, profile: Profile) -> PodGroup | None:
    """Return the group that the pod is scheduled with as a whole; None without one."""
    if pod.group is None or not profile.gates.enabled(GROUPS_GATE):
        return None
    namespace, name = pod.group
    return state.snapshot.objects.get(PodGroup, name, namespace)


def pods_of_group(state: ClusterState, key: tuple[str, str]) -> list[Pod]:
    """Return the group's pods in the order of kube-scheduler's queue: by priority, age and name."""
    pods = state.snapshot.pods.in_group(key)
    return sorted(
        pods,
        key=lambda pod: (-(pod.spec.priority or 0), pod.metadata.creation_timestamp or "", pod.metadata.name),
    )


def waiting(pods: Iterable[Pod]) -> list[Pod]:
    """Return the pods that have no node and are not being deleted."""
    return [pod for pod in pods if not pod.spec.node_name and not pod.metadata.deletion_timestamp]


def asked_group(
    engine: Engine, group: PodGroup, pods: Sequence[Pod], profile: Profile, progress: Progress | None = None
) -> AskedGroup:
    """Return the group, of whose waiting pods those are tried that PreEnqueue lets in. Raises
    FailedPreconditionError if the feature gate of groups is off (GROUPS_OFF), and PluginFailureError if a
    plugin failed.
    """
    if not profile.gates.enabled(GROUPS_GATE):
        raise FailedPreconditionError(
            f"groups are decided as a whole with the feature gate {GROUPS_GATE} alone, which is off",
            reason="GROUPS_OFF",
        )
    said = [(pod, enqueued(engine, pod, profile, progress)) for pod in waiting(pods)]
    free = tuple(pod for pod, status in said if status.ok)
    held = tuple((pod, status) for pod, status in said if not status.ok)
    placed = tuple(pod for pod in pods if pod.spec.node_name)
    return AskedGroup(PodGroupInfo(group, free), profile, held, placed)


def enqueued(engine: Engine, pod: Pod, profile: Profile, progress: Progress | None = None) -> Status:
    """Return PreEnqueue's status of a pod; whether its group has enough pods shows in the group's cycle.
    Raises PluginFailureError if a plugin failed.
    """
    calls = engine.calls(profile, progress or NoDeadline())
    as_a_whole = group_as_a_whole(engine.state, pod, profile) is not None
    for each in profile.pre_enqueue:
        if as_a_whole and isinstance(each.plugin, PlacementFeasiblePlugin):
            continue
        status = calls.call(each.name, "PreEnqueue", each.plugin.pre_enqueue, pod)
        if not status.ok:
            return status.by(each.name)
    return Status()


@dataclass(frozen=True, slots=True)
class HeldByGroup:
    """The part of a pod's group in the decision about the pod.

    Attributes:
        status: Why the pod gets no node with its group; Success also if it has none.
        room: Where preemption makes room for all of the group; None = nowhere.
        findings: The facts behind the status.
    """

    status: Status = SUCCESS
    room: Candidate | None = None
    findings: tuple[Finding, ...] = ()


NOT_HELD = HeldByGroup()


DecidedGroups = dict[Hashable, tuple[AskedGroup, GroupDecision]]
"""Groups that were decided on one state, by their names and the keys of their profiles."""


def held_by_group(
    engine: Engine,
    pod: Pod,
    profile: Profile,
    *,
    seed: int = 0,
    progress: Progress | None = None,
    decided: DecidedGroups | None = None,
) -> HeldByGroup:
    """Decide about the pod's group, if it is scheduled with one as a whole.

    ``decided`` has the groups of other pods of the state, and gets this one. Raises PluginFailureError if a
    plugin failed.
    """
    group, uid = group_as_a_whole(engine.state, pod, profile), pod.metadata.uid
    if group is None or pod.group is None:
        return NOT_HELD
    known = None if decided is None else decided.get((pod.group, profile.key))
    if known is None:
        members = pods_of_group(engine.state, pod.group)
        if uid not in (member.metadata.uid for member in members):
            members.append(pod)
        known = _decided(engine, asked_group(engine, group, members, profile, progress), seed, progress)
    if decided is not None:
        decided[pod.group, profile.key] = known
    (found, decision), asked = known, known[0].group
    if decision.status.ok:
        own = (each.status for each in decision.members if each.pod.metadata.uid == uid)
        return HeldByGroup(next(own, SUCCESS))
    said = f"pod group {'/'.join(pod.group)}: {decision.status.message}"
    findings = group_findings(asked, decision, found.placed, found.gated)
    return HeldByGroup(replace(decision.status, reasons=(said,)), decision.room, findings)


def _decided(
    engine: Engine, found: AskedGroup, seed: int, progress: Progress | None
) -> tuple[AskedGroup, GroupDecision]:
    if not found.group.pods:
        return found, nothing_to_do(found.group, engine.state)
    return found, engine.decide_group(found.group, found.profile, seed=seed, progress=progress)


def nothing_to_do(group: PodGroupInfo, state: ClusterState) -> GroupDecision:
    """Return the decision about a group without a pod that could be tried."""
    missing = group.min_count - len(group.scheduled(state.snapshot))
    enough = missing <= 0
    status = Status() if enough else Status.unschedulable(f"no pods to schedule; minCount lacks {missing}")
    return GroupDecision(group.group, status, ())
