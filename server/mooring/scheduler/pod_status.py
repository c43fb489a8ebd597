"""Scheduling in a pod's status: the PodScheduled condition, and the nominated node.

Mirrors ``updatePod`` in ``schedule_one.go``.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

from mooring.framework import Clock, ClusterApi, Pod
from mooring.framework.errors import MooringError, NotFoundError
from mooring.framework.objects import Condition
from mooring.scheduler.messages import CONDITION_LIMIT, seconds_time, shortened

log = logging.getLogger(__name__)

WRITERS = 4
"""Threads that write statuses; each pod has its own, so that its changes keep their order."""

UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"


class PodStatusWriter:
    """Writes pod statuses in the background. Safe from any thread."""

    def __init__(self, cluster: ClusterApi, clock: Clock) -> None:
        self._cluster = cluster
        self._clock = clock
        self._lock = threading.Lock()
        self._last: dict[str, Future[None]] = {}
        self._writers = [
            ThreadPoolExecutor(1, thread_name_prefix=f"pod-status-{number}") for number in range(WRITERS)
        ]

    def stop(self) -> None:
        """Write what is under way; drop the rest."""
        for writer in self._writers:
            writer.shutdown(wait=True, cancel_futures=True)

    def not_scheduled(self, pod: Pod, reason: str, message: str, nominated: str | None) -> None:
        """Say that the pod has no node, and why.

        Args:
            pod: The pod as it is.
            reason: ``UNSCHEDULABLE`` or ``SCHEDULER_ERROR``.
            message: The message; a condition has the beginning of a very long one.
            nominated: The node that is being cleared for it; "" removes the nomination, None keeps it.
        """
        patch: dict[str, Any] = {}
        wanted = Condition("PodScheduled", "False", reason, shortened(message, CONDITION_LIMIT))
        if (condition := changed_condition(pod, wanted, self._clock.now())) is not None:
            patch["conditions"] = [condition]
        if nominated is not None and nominated != pod.status.nominated_node_name:
            patch["nominatedNodeName"] = nominated or None
        self.patch_status(pod, patch)

    def is_writing(self, pod: Pod) -> bool:
        """Return whether a change of the pod's status is not written yet."""
        return pod.metadata.uid in self._last

    def wait_until_written(self, pod: Pod) -> None:
        """Return once all changes of the pod's status are written, or have failed.

        A binding has to come later: its PodScheduled=True would be overwritten.
        """
        if (last := self._last.get(pod.metadata.uid)) is not None:
            wait((last,))

    def expect_binding(self, pod: Pod, node_name: str) -> None:
        """Say that the pod is about to be bound to the node.

        Returns once that is written: the binding, which ends it, has to come later.
        """
        if pod.status.nominated_node_name != node_name:
            self._submit(pod, {"nominatedNodeName": node_name}).result()

    def clear_nomination(self, pod: Pod) -> None:
        """Remove the pod's nomination."""
        self.patch_status(pod, {"nominatedNodeName": None})

    def patch_status(self, pod: Pod, patch: dict[str, Any]) -> None:
        """Merge ``patch`` into the status, after earlier patches of this pod."""
        if patch:
            self._submit(pod, patch)

    def _submit(self, pod: Pod, patch: dict[str, Any]) -> Future[None]:
        uid = pod.metadata.uid
        with self._lock:
            written = self._writers[hash(uid) % WRITERS].submit(self._write, pod, patch)
            self._last[uid] = written
        written.add_done_callback(lambda _: self._forget(uid, written))
        return written

    def _forget(self, uid: str, written: Future[None]) -> None:
        with self._lock:
            if self._last.get(uid) is written:
                del self._last[uid]

    def _write(self, pod: Pod, patch: dict[str, Any]) -> None:
        with failures_told(log, f"pod {pod.key}"):
            self._cluster.patch_pod_status(pod, patch)


@contextmanager
def failures_told(log: logging.Logger, what: str) -> Iterator[None]:
    """Log why the status of ``what`` is not written in the block, whose result nothing reads."""
    try:
        yield
    except NotFoundError:
        log.log(logging.INFO - 3, "%s is gone; its status is not written", what)
    except MooringError as error:
        log.warning("the status of %s was not written: %s", what, error)
    except Exception:
        log.exception("the status of %s was not written", what)


def changed_condition(pod: Pod, wanted: Condition, now: float) -> dict[str, Any] | None:
    """``wanted`` as the API spells it; None when the pod has it already."""
    known = next((entry for entry in pod.status.conditions if entry.type == wanted.type), None)
    if known == wanted:
        return None
    condition = {
        "type": wanted.type,
        "status": wanted.status,
        "reason": wanted.reason,
        "message": wanted.message,
    }
    if known is None or known.status != wanted.status:
        condition["lastTransitionTime"] = seconds_time(now)
    return condition
