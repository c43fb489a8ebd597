"""The fields that have to be the same for all pods of a group, and the group features that are missing here.

Mirrors ``validatePodGroup`` in ``schedule_one_podgroup.go``.
"""

from __future__ import annotations

from collections.abc import Iterator

from mooring.framework import Pod, PodGroupInfo, Snapshot, Status
from mooring.framework.objects import PodGroup
from mooring.runtime.profiles.profile import Profile

POLICY_GATE = "PodGroupPreemptionPolicy"
"""The feature gate with which a group has a preemption policy of its own."""

_PREEMPTS = "PreemptLowerPriority"
_ALL = "all pods in a single pod group should have the same"


def check_group(profile: Profile, group: PodGroupInfo, snapshot: Snapshot) -> Status | None:
    """Return why a group can't be tried, as an Error; None when it can.

    A group feature that is missing here is UnschedulableAndUnresolvable, by its name.
    """
    if group.group.spec.parent_composite_pod_group_name is not None:
        name = "/".join(group.key)
        return Status.unresolvable(f"pod group {name}: groups in a CompositePodGroup are not supported yet")
    pods = [*group.pods, *group.scheduled(snapshot)]
    fault = next(_faults(profile, group.group, pods), None)
    return None if fault is None else Status.error(fault)


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
