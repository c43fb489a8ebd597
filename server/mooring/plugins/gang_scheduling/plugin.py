"""A gang's pods are bound together or not at all. Mirrors ``plugins/gangscheduling/gangscheduling.go``."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mooring.framework import (
    SUCCESS,
    Code,
    CycleState,
    Finding,
    HintedEvent,
    KubeVersion,
    NodeInfo,
    Part,
    PermitPlugin,
    PlacementFeasiblePlugin,
    PlacementProgress,
    Pod,
    PodGroupInfo,
    PodsToActivate,
    PreEnqueuePlugin,
    ReasonCode,
    Status,
)
from mooring.framework.cacheable import Aspect, CacheablePlugin, Dependencies
from mooring.framework.objects import GangSchedulingPolicy, PodGroup
from mooring.framework.upstream import Upstream
from mooring.plugins.gang_scheduling.hints import EVENTS

LONGEST_WAIT_SECONDS = 300.0
"""How long a pod waits at Permit for the rest of its gang, in seconds."""

REASON_COMING = "waiting for minCount pods from a gang to appear in scheduling queue"
REASON_WAITING = "waiting for minCount pods from a gang to be scheduled"

_FOLLOWED_SINCE = KubeVersion(1, 37)
"""The plugins of 1.35 and 1.36 are for other cycles of groups, and older APIs."""


class GangScheduling(
    PreEnqueuePlugin[None], PermitPlugin[None], PlacementFeasiblePlugin[None], CacheablePlugin
):
    """Holds the pods of a gang back until there are enough of them, and then until enough have a node.

    In a group's cycle it checks whether a placement still has room for enough of them. If pods are decided
    one by one, those that have their node keep it while they wait for the others.
    """

    name = "GangScheduling"
    upstream = Upstream(gate="GenericWorkload", since=_FOLLOWED_SINCE)
    reads = (PodGroup,)
    aspects = Aspect.GROUP

    def dependencies(self, pod: Pod) -> Dependencies:
        return Dependencies(signature=() if pod.group is None else None, parts=Part.NONE)

    def events_to_register(self) -> Sequence[HintedEvent]:
        return EVENTS

    def pre_enqueue(self, pod: Pod) -> Status:
        if pod.group is None:
            return SUCCESS
        found = self._pod_group(pod.group)
        if found is None:
            name = pod.group[1]
            return Status.unresolvable(
                f'waiting for pods\'s pod group "{name}" to appear in scheduling queue'
            )
        gang = _gang(found)
        if gang is None or self._count(pod) >= gang.min_count:
            return SUCCESS
        return Status.unresolvable(REASON_COMING)

    def explain(
        self, state: CycleState, pod: Pod, node: NodeInfo | None, status: Status
    ) -> Sequence[Finding]:
        if pod.group is None or self._pod_group(pod.group) is not None:
            return ()
        name = "/".join(pod.group)
        said = f"the pod belongs to PodGroup {name}, which does not exist"
        return [Finding(ReasonCode.GROUP_NOT_FOUND, name, said, pod_change=f"create PodGroup {name}")]

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        if pod.group is None:
            return SUCCESS, 0.0
        found = self._pod_group(pod.group)
        if found is None:
            key = "/".join(pod.group)
            missing = f"pod group object not found for pod group podgroup/{key}"
            return Status.error(f"failed to get podGroup {key}: {missing}"), 0.0
        gang = _gang(found)
        if gang is None:
            return SUCCESS, 0.0
        records = self.handle.snapshot().pods.records
        members = [record for uid in tuple(self._uids(pod)) if (record := records.get(uid)) is not None]
        scheduled = {record.uid for record in members if record.node_name} | {pod.metadata.uid}
        if len(scheduled) < gang.min_count:
            others = tuple(record.pod for record in members if record.uid not in scheduled)
            state.write(PodsToActivate, PodsToActivate(others))
            return Status(Code.WAIT, (REASON_WAITING,)), LONGEST_WAIT_SECONDS
        for uid in scheduled:
            waiting = self.handle.waiting.get(uid)
            if waiting is not None:
                waiting.allow(self.name)
        return SUCCESS, 0.0

    def placement_feasible(
        self, state: CycleState, group: PodGroupInfo, progress: PlacementProgress
    ) -> Status:
        wanted, scheduled, remaining = group.min_count, progress.scheduled, progress.remaining
        so_far = f"{scheduled} scheduled, {remaining} remaining"
        if scheduled + remaining < wanted:
            return Status.unschedulable(f"minCount ({wanted}) cannot be satisfied: {so_far}")
        if scheduled < wanted:
            return Status(Code.WAIT, (f"minCount ({wanted}) is not yet satisfied: {so_far}",))
        return SUCCESS

    def _pod_group(self, group: tuple[str, str]) -> PodGroup | None:
        namespace, name = group
        return self.handle.snapshot().objects.get(PodGroup, name, namespace)

    def _count(self, pod: Pod) -> int:
        """Return how many pods the group has, ``pod`` among them."""
        uids = self._uids(pod)
        return len(uids) + (pod.metadata.uid not in uids)

    def _uids(self, pod: Pod) -> Collection[str]:
        """Return the UIDs of the pods of the group that the state knows."""
        return () if pod.group is None else self.handle.snapshot().pods.groups.get(pod.group, ())


def _gang(group: PodGroup) -> GangSchedulingPolicy | None:
    return group.spec.scheduling_policy.gang
