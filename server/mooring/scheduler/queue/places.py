"""The four places in which pods wait, and how a pod gets from one to another.

Mirrors the moves in ``backend/queue/scheduling_queue.go`` and ``unschedulable_pods.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from mooring.framework import Clock, KubeVersion, Pod
from mooring.scheduler.queue.backoff import BackoffQueue, BackoffTimes
from mooring.scheduler.queue.heap import Less, PodHeap
from mooring.scheduler.queue.hints import QueueingRules, Strategy
from mooring.scheduler.queue.pre_enqueue import ask_gates
from mooring.scheduler.queue.queued_pod import QueuedPod
from mooring.scheduler.queue.unschedulable import UnschedulablePods

FLUSHED_ONCE_SINCE = KubeVersion(1, 37)
"""Since this release gated pods that have waited for too long are asked, and wait as long again."""

Incoming = Callable[[str, str], None]
"""``(queue, event)``: a pod came to that place of the queue."""


class Places:
    """Each pod is in one of them. For one thread at a time.

    Attributes:
        active: To be tried as soon as possible.
        backoff: Rejected or failed a moment ago.
        unschedulable: Rejected and waiting for an event, or gated.
    """

    def __init__(
        self,
        rules: Mapping[str, QueueingRules],
        less: Less,
        clock: Clock,
        times: BackoffTimes,
        wake: Callable[[], None],
        incoming: Incoming,
        version: KubeVersion,
    ) -> None:
        self.active = PodHeap(less)
        self.backoff = BackoffQueue(clock, times, less)
        self.unschedulable = UnschedulablePods()
        self._rules = rules
        self._clock = clock
        self._wake = wake
        self._incoming = incoming
        self._gates_end_flushes = version >= FLUSHED_ONCE_SINCE

    def __contains__(self, uid: str) -> bool:
        return uid in self.unschedulable or uid in self.active or uid in self.backoff

    def __iter__(self) -> Iterator[QueuedPod]:
        yield from self.active
        yield from self.backoff
        yield from self.unschedulable

    def count_pods(self) -> dict[str, int]:
        """Return how many pods are active, in backoff, unschedulable and gated."""
        gated = sum(bool(item.gated_by) for item in self.unschedulable)
        return {
            "active": len(self.active),
            "backoff": len(self.backoff),
            "unschedulable": len(self.unschedulable) - gated,
            "gated": gated,
        }

    def remove_pod(self, uid: str) -> None:
        """Take the pod out, wherever it is."""
        self.active.remove(uid)
        self.backoff.remove(uid)
        self.unschedulable.remove(uid)

    def update_ready(self, pod: Pod) -> bool:
        """Replace a pod that is active or in backoff; False when it is neither."""
        for place in (self.active, self.backoff):
            item = place.get(pod.metadata.uid)
            if item is not None:
                item.pod = pod
                place.put(item)
                return True
        return False

    def place_pod(self, item: QueuedPod, strategy: Strategy, label: str) -> bool:
        """Put the pod where it belongs; True unless that is among the unschedulable and gated ones."""
        if strategy is Strategy.SKIP:
            return self._park(item, label)
        if strategy is Strategy.AFTER_BACKOFF and self.backoff.lasts(item):
            return self._back_off(item, label)
        return self.activate_pod(item, label)

    def activate_pod(self, item: QueuedPod, label: str, *, gates_asked: bool = False) -> bool:
        """Let the pod be tried, unless a gate holds it back; True when none does."""
        if not gates_asked and self._gated(item):
            return self._park(item, label)
        if item.first_attempt_at is None:
            item.first_attempt_at = self._clock.now()
        self.unschedulable.remove(item.uid)
        self.backoff.remove(item.uid)
        self.active.put(item)
        return self._arrived("active", label)

    def _back_off(self, item: QueuedPod, label: str) -> bool:
        if self._gated(item):
            return self._park(item, label)
        self.unschedulable.remove(item.uid)
        self.backoff.put(item)
        return self._arrived("backoff", label)

    def _park(self, item: QueuedPod, label: str) -> bool:
        if item.uid not in self.unschedulable:
            self._incoming("unschedulable", label)
        self.unschedulable.put(item)
        return False

    def _gated(self, item: QueuedPod) -> bool:
        ask_gates(item, self._rules[item.pod.spec.scheduler_name].gates)
        if item.gated_by and self._gates_end_flushes:
            item.flushed = False
        return bool(item.gated_by)

    def _arrived(self, queue: str, label: str) -> bool:
        self._incoming(queue, label)
        self._wake()
        return True
