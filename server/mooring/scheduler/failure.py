"""What happens to a pod that got no node. Mirrors ``handleSchedulingFailure`` in ``schedule_one.go``."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from mooring.framework import ClusterState, Code, Status
from mooring.framework.errors import MooringError
from mooring.runtime.evaluation import Evaluation
from mooring.runtime.extender import EXTENDER
from mooring.scheduler.pod_status import SCHEDULER_ERROR, UNSCHEDULABLE, PodStatusWriter
from mooring.scheduler.queue import QueuedPod, Rejection, SchedulingQueue
from mooring.scheduler.recorder import EventRecorder, Note

log = logging.getLogger(__name__)

BY_NOBODY = Rejection()

LOST = frozenset({"POD_BOUND_ELSEWHERE", "POD_DELETING", "POD_NOT_FOUND", "POD_RECREATED"})
"""Reasons of errors about pods that somebody else bound or deletes: the cluster will tell of it."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a pod got no node.

    Attributes:
        message: The whole sentence.
        rejection: Who refused it.
        refused: It was refused; False = something failed.
        nominated: The node that is being cleared for it; "" = none, None = as it was.
        told: It is written down; False = the pod is somebody else's by now, and should not be touched.
    """

    message: str
    rejection: Rejection = BY_NOBODY
    refused: bool = True
    nominated: str | None = ""
    told: bool = True

    @property
    def result(self) -> str:
        """As metrics spell it."""
        return "unschedulable" if self.refused else "error"


def failed(error: Exception) -> Failure:
    """The attempt ended in an error."""
    if isinstance(error, MooringError):
        return Failure(error.message, refused=False, told=error.reason not in LOST)
    return Failure(f"{type(error).__name__}: {error}", refused=False)


def refused_by_nodes(evaluation: Evaluation, nominated: str | None = "") -> Failure:
    """No node takes the pod, or it may not be tried."""
    plugins: set[str] = set()
    pending: set[str] = set()
    extenders = {extender.name for extender in evaluation.profile.extenders}
    statuses = evaluation.statuses if evaluation.rejection.ok else [evaluation.rejection]
    for status in statuses:
        if status.plugin and status.plugin not in extenders:
            (pending if status.code is Code.PENDING else plugins).add(status.plugin)
    plugins.update(name for name, outcome in evaluation.prefilter.items() if outcome.nodes is not None)
    if evaluation.extenders_refuse:
        plugins.add(EXTENDER)
    return Failure(evaluation.message, Rejection(frozenset(plugins), frozenset(pending)), nominated=nominated)


def refused_by_plugin(status: Status) -> Failure:
    """A Reserve, Permit, PreBind or Bind plugin won't have the pod on the node that was chosen for it."""
    if not status.rejected:
        return Failure(status.message, refused=False)
    reasons = ", ".join(sorted(f"1 {reason}" for reason in status.reasons))
    names = frozenset({status.plugin}) if status.plugin else frozenset()
    rejection = Rejection(pending=names) if status.code is Code.PENDING else Rejection(names)
    return Failure(f"0/1 nodes are available: {reasons}.", rejection)


@dataclass(frozen=True, slots=True)
class FailureHandler:
    """Gives pods back to the queue and says why. Safe from any thread.

    Attributes:
        queue: Where they wait.
        state: What is known of them.
        statuses: Where their condition is written.
        recorder: Where people read of it.
    """

    queue: SchedulingQueue
    state: ClusterState
    statuses: PodStatusWriter
    recorder: EventRecorder

    def handle(self, item: QueuedPod, failure: Failure) -> None:
        """The pod of ``item`` got no node."""
        record = self.state.snapshot.pods.get(item.uid)
        if record is None or (record.pod.spec.node_name and not record.assumed):
            self.queue.done(item.uid)
            return
        pod = record.pod
        level = logging.INFO - 2 if failure.refused else logging.ERROR
        log.log(level, "no node for pod %s: %s", pod.key, failure.message)
        if record.assumed or not failure.told:
            # Whether it is bound will be known soon: it comes back, and nothing is said that may be wrong.
            self.queue.give_back(item, BY_NOBODY)
            return
        item.pod = pod
        if failure.nominated is not None:
            self.state.nominate(item.uid, failure.nominated)
        self.queue.give_back(item, failure.rejection)
        self.recorder.record(Note(pod, "Warning", "FailedScheduling", "Scheduling", failure.message))
        reason = UNSCHEDULABLE if failure.refused else SCHEDULER_ERROR
        self.statuses.not_scheduled(pod, reason, failure.message, failure.nominated)
