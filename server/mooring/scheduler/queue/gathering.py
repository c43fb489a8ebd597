"""How the pods of a group come together in the queue, so that they wait and are tried as one.

Mirrors what ``backend/queue/scheduling_queue.go`` does about pod groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

from mooring.framework import Clock, Pod, Status
from mooring.framework.objects import PodGroup
from mooring.framework.releases import Gates
from mooring.scheduler.queue.hints import Strategy
from mooring.scheduler.queue.queued_group import GroupKey, PodsByGroup, QueuedGroup, key_of, uid_of
from mooring.scheduler.queue.queued_pod import QueuedPod
from mooring.scheduler.queue.sub_queues import SubQueues

GROUPS_GATE = "GenericWorkload"
"""The feature gate with which the pods of a group wait, and are tried, together."""


class Gathering:
    """The known groups, and the pods that wait for one. For one thread at a time.

    A pod is with its group in a sub-queue. It is *incomplete* while its group isn't known, and *pending* when
    it comes, or comes back, while its group is being tried. ``tried`` is the UID of the item popped last,
    until its attempt has ended.
    """

    def __init__(self, sub_queues: SubQueues, clock: Clock, gates: Gates) -> None:
        self.tried = ""
        self._sub_queues = sub_queues
        self._clock = clock
        self._on = gates.enabled(GROUPS_GATE)
        self._groups: dict[GroupKey, PodGroup] = {}
        self._incomplete = PodsByGroup()
        self._pending = PodsByGroup()

    def __iter__(self) -> Iterator[QueuedPod]:
        """Return the pods that are in none of the sub-queues."""
        yield from self._incomplete
        yield from self._pending

    def count_pods(self) -> dict[str, int]:
        """Return how many pods are incomplete and pending."""
        return {"incomplete": len(self._incomplete), "pending": len(self._pending)}

    def group_of(self, pod: Pod) -> GroupKey | None:
        """Return the group with which the pod waits; None when it waits alone."""
        return pod.group if self._on else None

    def entity_uid(self, pod: Pod) -> str:
        """Return the UID of the pod's item: its group's, or its own."""
        key = self.group_of(pod)
        return pod.metadata.uid if key is None else uid_of(key)

    def is_complete(self, pod: Pod) -> bool:
        """Return whether the pod's group is known, or it waits alone."""
        key = self.group_of(pod)
        return key is None or key in self._groups

    def find(self, pod: Pod) -> QueuedPod | None:
        """Return the pod if it is incomplete or pending."""
        key, uid = self.group_of(pod), pod.metadata.uid
        return None if key is None else self._incomplete.get(key, uid) or self._pending.get(key, uid)

    def has(self, pod: Pod) -> bool:
        """Return whether the pod is queued."""
        entity = self._sub_queues.get(self.entity_uid(pod))
        uids = () if entity is None else [item.uid for item in entity.members]
        return pod.metadata.uid in uids or self.find(pod) is not None

    def add_pod(self, item: QueuedPod, label: str) -> None:
        """Let a pod that isn't queued be tried, with its group if it has one."""
        key = self.group_of(item.pod)
        if key is None:
            self._sub_queues.activate(item, label)
        elif key not in self._groups:
            self._incomplete.add_pod(key, item)
        elif (taken := self._take(key)) is not None:
            group, strategy = taken
            group.add_pod(item)
            self._sub_queues.place(group, strategy, label, was_there=True)
        elif self.tried == uid_of(key):
            self._pending.add_pod(key, item)
        else:
            group = QueuedGroup(self._groups[key], [item], queued_at=item.queued_at)
            group.first_attempt_at = item.first_attempt_at
            self._sub_queues.activate(group, label)

    def remove_pod(self, pod: Pod, label: str) -> None:
        """Take the pod out, wherever it is; a group without pods goes, too."""
        key, uid = self.group_of(pod), pod.metadata.uid
        if key is None:
            self._sub_queues.take(uid)
        elif (taken := self._take(key)) is not None:
            group, strategy = taken
            group.remove_pod(uid)
            if group.pods:
                self._sub_queues.place(group, strategy, label, was_there=True)
        else:
            self._incomplete.remove_pod(key, uid)
            self._pending.remove_pod(key, uid)

    def add_group(self, group: PodGroup, label: str) -> None:
        """Take in a group that is new, or is now like this."""
        key = key_of(group)
        self._groups[key] = group
        queued = cast("QueuedGroup | None", self._sub_queues.get(uid_of(key)))
        if queued is not None:
            queued.group = group
            self._sub_queues.reorder(queued)
        for item in self._incomplete.take_all(key):
            self.add_pod(item, label)

    def remove_group(self, group: PodGroup) -> None:
        """Forget a group that is gone: its pods wait until there is one of that name again."""
        key = key_of(group)
        self._groups.pop(key, None)
        taken = self._take(key)
        for item in self._pending.take_all(key) if taken is None else taken[0].pods:
            self._incomplete.add_pod(key, item)

    def put_first(self, begun: Callable[[GroupKey], bool], label: str) -> None:
        """Let groups for which ``begun`` is true be tried at once, before others of their priority."""
        for key in filter(begun, tuple(self._groups)):
            taken = self._take(key)
            if taken is not None:
                group, _ = taken
                group.wait_from(0.0)
                self._sub_queues.place(group, Strategy.AT_ONCE, label)

    def end_attempt(self, group: QueuedGroup, status: Status, pause: float, label: str) -> None:
        """End the attempt of a popped group, as ``SchedulingQueue.end_group_attempt``."""
        self.tried = ""
        items = self._pending.take_all(group.key)
        if not items:
            return
        tried = {item.uid for item in group.pods}
        again = any(item.uid in tried for item in items)
        if status.ok:
            group.unschedulable_count = group.error_count = 0
        else:
            group.count_end(rejected=status.rejected)
        group.wait_from(group.queued_at if status.ok and again else self._clock.now())
        group.group, group.pause, group.pods = self._groups[group.key], pause, []
        for item in items:
            group.add_pod(item)
        self._sub_queues.place(group, Strategy.AT_ONCE if status.ok else Strategy.AFTER_BACKOFF, label)

    def _take(self, key: GroupKey) -> tuple[QueuedGroup, Strategy] | None:
        """Take the group out of its place, with the strategy that leads back to it."""
        taken = self._sub_queues.take(uid_of(key))
        return None if taken is None else (cast("QueuedGroup", taken[0]), taken[1])
