"""The pods that a Permit plugin makes wait.

Mirrors ``waiting_pods_map.go`` and ``WaitOnPermit`` in ``framework/runtime/framework.go``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta

from mooring.config.durations import format_duration
from mooring.framework import SUCCESS, Clock, Pod, Status, WaitingPod

LONGEST_WAIT = 15 * 60.0
"""The longest time in seconds that a plugin may make a pod wait (maxTimeout)."""

_STEP = 0.1
"""Seconds between checks whether the caller still waits for the pod."""


class PodAtPermit:
    """One pod that waits, or whose Permit plugins are being called; implements ``WaitingPod``.

    A plugin may allow or reject it before it begins to wait: from another pod's Permit, in another thread.
    """

    def __init__(self, pod: Pod, node_name: str, clock: Clock) -> None:
        self.pod = pod
        self.node_name = node_name
        self._clock = clock
        self._seconds: dict[str, float] = {}
        self._ends: dict[str, float] = {}
        self._allowed: set[str] = set()
        self._verdict: Status | None = None
        self._changed = threading.Condition()

    def begin(self, seconds: Mapping[str, float]) -> None:
        """Let the pod wait from now on, for each plugin at most that many ``seconds``."""
        with self._changed:
            began = self._clock.monotonic()
            self._seconds = {plugin: min(wait, LONGEST_WAIT) for plugin, wait in seconds.items()}
            self._ends = {
                plugin: began + wait for plugin, wait in self._seconds.items() if plugin not in self._allowed
            }
            if not self._ends:
                self._decide(SUCCESS)

    def pending_plugins(self) -> Sequence[str]:
        with self._changed:
            return tuple(self._ends)

    def allow(self, plugin: str) -> None:
        with self._changed:
            self._allowed.add(plugin)
            if self._ends.pop(plugin, None) is not None and not self._ends:
                self._decide(SUCCESS)

    def reject(self, plugin: str, message: str) -> bool:
        with self._changed:
            return self._decide(Status.unschedulable(message).by(plugin))

    @property
    def end(self) -> float:
        """The end of its wait, by its clock; -inf once a verdict came."""
        with self._changed:
            return float("-inf") if self._verdict is not None else min(self._ends.values())

    def wait(self, check: Callable[[], None]) -> Status:
        """Success, or which plugin rejected the pod and why; a plugin whose time is over rejects it.
        ``check`` raises DeadlineExceededError once the caller no longer waits.
        """
        with self._changed:
            while self._verdict is None:
                plugin = min(self._ends, key=lambda name: self._ends[name])
                left = self._ends[plugin] - self._clock.monotonic()
                if left <= 0:
                    waited = format_duration(timedelta(seconds=self._seconds[plugin]))
                    said = f"rejected due to timeout after waiting {waited} at plugin {plugin}"
                    self._decide(Status.unschedulable(said).by(plugin))
                    break
                check()
                self._changed.wait(min(left, _STEP))
            return self._verdict or SUCCESS

    def _decide(self, verdict: Status) -> bool:
        if self._verdict is not None:
            return False
        self._verdict = verdict
        self._changed.notify_all()
        return True


class PodsAtPermit:
    """All pods that wait; implements ``WaitingPods``."""

    def __init__(self) -> None:
        self._asked: dict[str, PodAtPermit] = {}
        self._pods: dict[str, PodAtPermit] = {}
        self._lock = threading.Lock()

    def get(self, uid: str) -> WaitingPod | None:
        with self._lock:
            return self._pods.get(uid) or self._asked.get(uid)

    def __iter__(self) -> Iterator[WaitingPod]:
        with self._lock:
            return iter(tuple(self._pods.values()))

    def waits(self, uid: str) -> bool:
        """Return whether the pod waits."""
        with self._lock:
            return uid in self._pods

    def end(self, uid: str) -> float:
        """When ``wait`` returns for the pod at the latest, by the clock of its binding cycle.

        -inf = it returns at once: a verdict on the pod came, or it doesn't wait.
        """
        with self._lock:
            waiting = self._pods.get(uid)
        return float("-inf") if waiting is None else waiting.end

    def ask(self, waiting: PodAtPermit) -> None:
        """Begin: its Permit plugins are being called."""
        with self._lock:
            self._asked[waiting.pod.metadata.uid] = waiting

    def begin(self, waiting: PodAtPermit, seconds: Mapping[str, float]) -> None:
        """Let the pod wait from now on, for each plugin at most that many ``seconds``."""
        waiting.begin(seconds)
        uid = waiting.pod.metadata.uid
        with self._lock:
            self._pods[uid] = waiting
            self._asked.pop(uid, None)

    def wait(self, uid: str, check: Callable[[], None]) -> Status:
        """Blocks until the pod may go on, or must not; Success at once for a pod that doesn't wait. Raises
        DeadlineExceededError if the caller no longer waits; the pod waits no longer either.
        """
        with self._lock:
            waiting = self._pods.get(uid)
        if waiting is None:
            return SUCCESS
        try:
            return waiting.wait(check)
        finally:
            self.leave(uid)

    def leave(self, uid: str) -> None:
        """End the pod's wait, whatever the plugins said."""
        with self._lock:
            self._asked.pop(uid, None)
            self._pods.pop(uid, None)
