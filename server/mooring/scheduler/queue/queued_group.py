"""A pod group in the queue, and the pods that wait for theirs.

Mirrors ``QueuedPodGroupInfo`` in ``framework/types.go``, ``backend/queue/workload_forest.go`` and
``backend/queue/pod_group_member_pods.go``.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mooring.framework import Pod
from mooring.framework.objects import ObjectMeta, PodGroup, PodSpec
from mooring.scheduler.queue.queued_pod import QueuedEntity, QueuedPod

GroupKey = tuple[str, str]
"""A group's namespace and name."""


def uid_of(key: GroupKey) -> str:
    """Return what the queue knows a group by: the same for one that was deleted and made again."""
    return f"podgroup/{key[0]}/{key[1]}"


def key_of(group: PodGroup) -> GroupKey:
    """Return the group's namespace and name."""
    return group.metadata.namespace, group.metadata.name


@dataclass(slots=True, eq=False)
class QueuedGroup(QueuedEntity):
    """A group with those of its pods that have no node, which are tried together.

    Attributes:
        group: The group's object as last delivered.
        pods: Its pods, the first to be tried first.
    """

    kind = "podgroup"
    group: PodGroup
    pods: list[QueuedPod] = field(default_factory=list)
    pause: float = 0.0

    @property
    def key(self) -> GroupKey:
        """The group's namespace and name."""
        return key_of(self.group)

    @property
    def uid(self) -> str:
        """``uid_of`` its key."""
        return uid_of(self.key)

    @property
    def members(self) -> Sequence[QueuedPod]:
        return self.pods

    @property
    def sorted_as(self) -> Pod:
        """A pod of the group's name and priority."""
        meta = self.group.metadata
        return Pod(
            metadata=ObjectMeta(name=meta.name, namespace=meta.namespace, uid=meta.uid),
            spec=PodSpec(priority=self.group.spec.priority),
        )

    @property
    def early(self) -> bool:
        """No: a group waits for the end of its backoff, since trying it costs the time of all its pods."""
        return False

    def add_pod(self, item: QueuedPod) -> None:
        """Add one of the group's pods."""
        insort(self.pods, item, key=_place)

    def remove_pod(self, uid: str) -> QueuedPod | None:
        """Take the pod out; None when it isn't there."""
        for at, item in enumerate(self.pods):
            if item.uid == uid:
                return self.pods.pop(at)
        return None


def _place(item: QueuedPod) -> tuple[int, int, float, str]:
    """Return where the pod is among those of its group: by priority, attempts, time and name."""
    return -(item.pod.spec.priority or 0), -item.attempts, item.queued_at, item.pod.metadata.name


class PodsByGroup:
    """Pods that wait for their group. For one thread at a time."""

    def __init__(self) -> None:
        self._groups: dict[GroupKey, dict[str, QueuedPod]] = {}

    def __len__(self) -> int:
        return sum(len(pods) for pods in self._groups.values())

    def __iter__(self) -> Iterator[QueuedPod]:
        for pods in self._groups.values():
            yield from pods.values()

    def add_pod(self, key: GroupKey, item: QueuedPod) -> None:
        """Let the pod wait for the group of this key."""
        self._groups.setdefault(key, {})[item.uid] = item

    def get(self, key: GroupKey, uid: str) -> QueuedPod | None:
        """Return the pod of that UID; None when it doesn't wait for the group."""
        return self._groups.get(key, {}).get(uid)

    def remove_pod(self, key: GroupKey, uid: str) -> None:
        """Let the pod wait no longer."""
        pods = self._groups.get(key, {})
        if pods.pop(uid, None) is not None and not pods:
            del self._groups[key]

    def take_all(self, key: GroupKey) -> list[QueuedPod]:
        """Return the pods that waited for the group, in the order in which they came."""
        return list(self._groups.pop(key, {}).values())
