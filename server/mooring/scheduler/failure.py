"""What happens to a pod that got no node. Mirrors ``handleSchedulingFailure`` in ``schedule_one.go``."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from mooring.framework import Clock, Code, Status
from mooring.framework.errors import DeadlineExceededError, MooringError
from mooring.framework.state import ClusterState
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.profiles.extender import EXTENDER
from mooring.scheduler.attempt import Attempt
from mooring.scheduler.pod_status import SCHEDULER_ERROR, UNSCHEDULABLE, PodStatusWriter
from mooring.scheduler.queue import QueuedPod, Rejection, SchedulingQueue
from mooring.scheduler.recorder import EventNote, EventRecorder
from mooring.telemetry.scheduler_observer import SchedulerObserver

log = logging.getLogger(__name__)

BY_NOBODY = Rejection()

LOST = frozenset({"POD_BOUND_ELSEWHERE", "POD_DELETING", "POD_NOT_FOUND", "POD_RECREATED"})
"""Reasons of errors about pods that another client bound or deletes: the sources will deliver that."""


@dataclass(frozen=True, slots=True)
class SchedulingFailure:
    """Why a pod got no node.

    Attributes:
        message: The whole message.
        rejection: Who rejected it.
        rejected: It was rejected; False = something failed.
        nominated: The node that is being cleared for it; "" = none, None = as it was.
        told: It is written to the pod's status; False = another client has taken over the pod by now.
    """

    message: str
    rejection: Rejection = BY_NOBODY
    rejected: bool = True
    nominated: str | None = ""
    told: bool = True

    @property
    def result(self) -> str:
        """As metrics spell it."""
        return "unschedulable" if self.rejected else "error"


def failed(error: Exception) -> SchedulingFailure:
    """Return the attempt ended in an error."""
    if isinstance(error, MooringError):
        return SchedulingFailure(error.message, rejected=False, told=error.reason not in LOST)
    return SchedulingFailure(f"{type(error).__name__}: {error}", rejected=False)


def overran(error: DeadlineExceededError) -> SchedulingFailure:
    """Return the attempt took too long. An error, but trying again would keep others waiting again for
    nothing: the pod waits for an event that may help it, as one that the plugin rejected.
    """
    plugin = error.metadata["plugin"]
    rejection = Rejection(frozenset({plugin})) if plugin else BY_NOBODY
    return SchedulingFailure(error.message, rejection, rejected=False)


def rejected_by_nodes(evaluation: Evaluation, nominated: str | None = "") -> SchedulingFailure:
    """Return the failure of a pod that no node takes, or that may not be tried."""
    plugins: set[str] = set()
    pending: set[str] = set()
    extenders = {extender.name for extender in evaluation.profile.extenders}
    statuses = evaluation.statuses if evaluation.rejection.ok else [evaluation.rejection]
    for status in statuses:
        if status.plugin and status.plugin not in extenders:
            (pending if status.code is Code.PENDING else plugins).add(status.plugin)
    plugins.update(name for name, outcome in evaluation.prefilter.items() if outcome.nodes is not None)
    if evaluation.extenders_reject:
        plugins.add(EXTENDER)
    return SchedulingFailure(
        evaluation.message, Rejection(frozenset(plugins), frozenset(pending)), nominated=nominated
    )


def rejected_by_plugin(status: Status) -> SchedulingFailure:
    """Return a Reserve, Permit, PreBind or Bind plugin won't have the pod on the node that was chosen for
    it.
    """
    if not status.rejected:
        return SchedulingFailure(status.message, rejected=False)
    reasons = ", ".join(sorted(f"1 {reason}" for reason in status.reasons))
    names = frozenset({status.plugin}) if status.plugin else frozenset()
    rejection = Rejection(pending=names) if status.code is Code.PENDING else Rejection(names)
    return SchedulingFailure(f"0/1 nodes are available: {reasons}.", rejection)


@dataclass(frozen=True, slots=True)
class FailureHandler:
    """Returns pods to the queue, those aside that need no node, and reports why. Safe from any thread.

    Attributes:
        queue: Where they wait.
        state: What is known of them.
        statuses: Writes their conditions.
        recorder: Writes Events about it.
        observer: Records measurements.
        clock: The time.
    """

    queue: SchedulingQueue
    state: ClusterState
    statuses: PodStatusWriter
    recorder: EventRecorder
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
            # What became of its binding isn't known yet.
            self.queue.give_back(item, BY_NOBODY)
            return True
        if pod.metadata.deletion_timestamp:
            note = f"skip schedule deleting pod: {pod.key}"
            self.recorder.record_event(EventNote(pod, "Warning", "FailedScheduling", "Scheduling", note))
        elif record is not None and not record.pod.spec.node_name:
            return False
        self.queue.end_attempt(item.uid)
        return True

    def handle_failure(self, attempt: Attempt, failure: SchedulingFailure) -> None:
        """Requeue the pod of ``attempt``, which got no node, and report why."""
        item = attempt.item
        self.observer.attempted(failure.result, attempt.profile.name, self.clock.monotonic() - attempt.began)
        record = self.state.snapshot.pods.get(item.uid)
        if record is None or (record.pod.spec.node_name and not record.assumed):
            self.queue.end_attempt(item.uid)
            return
        pod = record.pod
        level = logging.INFO - 2 if failure.rejected else logging.ERROR
        log.log(level, "no node for pod %s: %s", pod.key, failure.message)
        if record.assumed or not failure.told:
            # Whether it is bound will be known soon: it comes back, and nothing is said that may be wrong.
            self.queue.give_back(item, BY_NOBODY)
            return
        item.pod = pod
        if failure.nominated is not None:
            self.state.nominate(item.uid, failure.nominated)
        self.recorder.record_event(
            EventNote(pod, "Warning", "FailedScheduling", "Scheduling", failure.message)
        )
        reason = UNSCHEDULABLE if failure.rejected else SCHEDULER_ERROR
        self.statuses.not_scheduled(pod, reason, failure.message, failure.nominated)
        # Only now can it be tried again, so that a binding finds the status on its way.
        self.queue.give_back(item, failure.rejection)
