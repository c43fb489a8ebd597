"""Pods that wait for an event, by the rejecting plugin. Mirrors ``backend/queue/unschedulable_pods.go``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mooring.scheduler.queue.queued_pod import QueuedPod


class UnschedulablePods:
    """Rejected and gated pods by UID. For one thread at a time.

    Thousands may wait, and hundreds of events happen in a second, most of which can help none of them: pods
    with the same rejectors are skipped together.
    """

    def __init__(self) -> None:
        self._rejectors: dict[str, frozenset[str]] = {}
        self._groups: dict[frozenset[str], dict[str, QueuedPod]] = {}

    def __len__(self) -> int:
        return len(self._rejectors)

    def __contains__(self, uid: str) -> bool:
        return uid in self._rejectors

    def __iter__(self) -> Iterator[QueuedPod]:
        for group in self._groups.values():
            yield from group.values()

    def put(self, item: QueuedPod) -> None:
        """Add the pod, or note that others reject it now."""
        self.remove(item.uid)
        rejectors = self._rejectors[item.uid] = item.rejectors
        self._groups.setdefault(rejectors, {})[item.uid] = item

    def get(self, uid: str) -> QueuedPod | None:
        """Return the pod with this UID."""
        rejectors = self._rejectors.get(uid)
        return None if rejectors is None else self._groups[rejectors][uid]

    def remove(self, uid: str) -> None:
        """Take the pod out, if it is there."""
        rejectors = self._rejectors.pop(uid, None)
        if rejectors is None:
            return
        group = self._groups[rejectors]
        del group[uid]
        if not group:
            del self._groups[rejectors]

    def rejected_by(self, plugins: Iterable[str]) -> list[QueuedPod]:
        """Return the pods that one of ``plugins`` rejected."""
        asked = frozenset(plugins)
        return [
            item for rejectors, group in self._groups.items() if rejectors & asked for item in group.values()
        ]
