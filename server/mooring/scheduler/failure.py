"""The handling of a pod that got no node. Mirrors ``handleSchedulingFailure`` in ``schedule_one.go``."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from mooring.framework import Clock
from mooring.framework.state import ClusterState
from mooring.scheduler.attempt import Attempt, AttemptLog
from mooring.scheduler.pod_status import SCHEDULER_ERROR, UNSCHEDULABLE, PodStatusWriter
from mooring.scheduler.queue import QueuedPod, SchedulingQueue
from mooring.scheduler.recorder import FAILED, EventNote, EventRecorder
from mooring.scheduler.scheduling_failure import BY_NOBODY, SchedulingFailure
from mooring.telemetry.scheduler_observer import SchedulerObserver

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FailureHandler:
    """Returns pods to the queue, except those that need no node, and reports why. Safe from any thread."""

    queue: SchedulingQueue
    state: ClusterState
    statuses: PodStatusWriter
    recorder: EventRecorder
    attempts: AttemptLog
    observer: SchedulerObserver
    clock: Clock

    def is_assumed(self, uid: str) -> bool:
        """Return whether the pod keeps a place although it isn't known to be bound."""
        record = self.state.snapshot.pods.get(uid)
        return record is not None and record.assumed

    def left_alone(self, item: QueuedPod) -> bool:
        """Return whether a popped pod needs no node from here: it leaves, has one, or is being bound."""
        pod, record = item.pod, self.state.snapshot.pods.get(item.uid)
        if record is not None and record.assumed:
            # The outcome of its binding isn't known yet.
            self.queue.give_back(item, BY_NOBODY)
            return True
        if pod.metadata.deletion_timestamp:
            note = f"skip schedule deleting pod: {pod.key}"
            self.attempts.skipped(item, note)
            self.recorder.record_event(EventNote(pod, "Warning", FAILED, "Scheduling", note))
        elif record is not None and not record.pod.spec.node_name:
            return False
        self.queue.end_attempt(item.uid)
        return True

    def handle_failure(self, attempt: Attempt, failure: SchedulingFailure) -> None:
        """Requeue the pod of ``attempt``, which got no node, and report why."""
        item = attempt.item
        self.attempts.failed(attempt, failure)
        self.observer.attempted(failure.result, attempt.profile.name, self.clock.monotonic() - attempt.began)
        record = self.state.snapshot.pods.get(item.uid)
        if record is None or (record.pod.spec.node_name and not record.assumed):
            self.queue.end_attempt(item.uid)
            return
        pod = record.pod
        level = logging.INFO - 2 if failure.rejected else logging.ERROR
        log.log(level, "no node for pod %s: %s", pod.key, failure.message)
        if record.assumed or not failure.told:
            # Whether it is bound will be known soon: it is queued again, and no message is written that may
            # be wrong.
            self.queue.give_back(item, BY_NOBODY)
            return
        item.pod = pod
        if failure.nominated is not None:
            self.state.nominate(item.uid, failure.nominated)
        self.recorder.record_event(EventNote(pod, "Warning", FAILED, "Scheduling", failure.message))
        reason = UNSCHEDULABLE if failure.rejected else SCHEDULER_ERROR
        self.statuses.not_scheduled(pod, reason, failure.message, failure.nominated)
        # Only now can it be tried again, so that a binding finds the status on its way.
        self.queue.give_back(item, failure.rejection)
