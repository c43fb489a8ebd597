"""What has to be the same for all pods of a group, and what of groups is not done here.

Mirrors ``validatePodGroup`` in ``schedule_one_podgroup.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mooring.framework import Pod, PodGroupInfo, Snapshot, Status
from mooring.framework.objects import PodGroup
from mooring.runtime.profiles.profile import Profile

POLICY_GATE = "PodGroupPreemptionPolicy"
"""The feature gate with which a group has a preemption policy of its own."""

_PREEMPTS = "PreemptLowerPriority"
_ALL = "all pods in a single pod group should have the same"


def check_scheduler(group: PodGroupInfo) -> Status | None:
    """Return why a group can't be tried by the rules of Kubernetes 1.36, as an Error; None when it can.

    What is not followed of groups is UnschedulableAndUnresolvable, by its name.
    """
    return _not_followed(group) or _first(_schedulers(list(group.pods)))


def check_group(profile: Profile, group: PodGroupInfo, snapshot: Snapshot) -> Status | None:
    """As ``check_scheduler``, by the rules of Kubernetes 1.37."""
    pods = [*group.pods, *group.scheduled(snapshot)]
    return _not_followed(group) or _first(_faults(profile, group.group, pods))


def _not_followed(group: PodGroupInfo) -> Status | None:
    spec, name = group.group.spec, "/".join(group.key)
    if spec.parent_composite_pod_group_name is not None:
        return Status.unresolvable(f"pod group {name}: groups in a CompositePodGroup are not supported yet")
    return None


def _first(faults: Iterator[str]) -> Status | None:
    fault = next(faults, None)
    return None if fault is None else Status.error(fault)


def _schedulers(pods: Sequence[Pod]) -> Iterator[str]:
    """Yield the pods' schedulers that differ from the first one's, as sentences."""
    scheduler = pods[0].spec.scheduler_name
    for pod in pods:
        if pod.spec.scheduler_name != scheduler:
            yield f'{_ALL} .spec.schedulerName set, got: "{scheduler}" and "{pod.spec.scheduler_name}"'


def _faults(profile: Profile, group: PodGroup, pods: list[Pod]) -> Iterator[str]:
    """Yield what is wrong, pod by pod."""
    scheduler = pods[0].spec.scheduler_name
    priority = group.spec.priority or 0
    wanted = pods[0].spec.preemption_policy or _PREEMPTS
    whose = ""
    if profile.gates.enabled(POLICY_GATE):
        wanted, whose = group.spec.preemption_policy or _PREEMPTS, " as the pod group's preemption policy"
    for pod in pods:
        own = pod.spec
        if own.scheduler_name != scheduler:
            yield f'{_ALL} .spec.schedulerName set, got: "{own.scheduler_name}" and "{scheduler}"'
        if (own.priority or 0) != priority:
            yield f"{_ALL} priority as the pod group's priority, got {own.priority or 0} and {priority}"
        if (own.preemption_policy or _PREEMPTS) != wanted:
            yield f"{_ALL} preemption policy{whose}, got {own.preemption_policy or _PREEMPTS} and {wanted}"
