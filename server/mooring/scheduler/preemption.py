"""Makes room for a pod: deletes the victims that preemption selected, or carries out another remedy.

Mirrors ``preemption/executor.go`` and ``RunPostFilterPlugins`` in ``framework/runtime/framework.go``, whose
plugins act themselves.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from mooring.framework import Clock, ClusterApi, Pod, Remedy, Status, WaitingPods
from mooring.framework.errors import MooringError, NotFoundError
from mooring.framework.objects import Condition
from mooring.framework.preemption import Candidate
from mooring.framework.state import ClusterState
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.scheduler.pod_status import PodStatusWriter, changed_condition
from mooring.scheduler.recorder import EventNote, EventRecorder
from mooring.telemetry.scheduler_observer import SchedulerObserver

log = logging.getLogger(__name__)

DELETERS = 8
"""Threads that delete victims; one for each preemptor at a time."""

STILL_DELETING = Status.unresolvable("waiting for the preemption for this pod to be finished")
"""What is said of a pod whose victims are being deleted."""


class Preemptions:
    """Deletes victims in threads of its own; the preemptor is gated meanwhile.

    Safe from any thread.

    Args:
        state: Who is where.
        cluster: Where pods are deleted.
        waiting: The pods that wait at Permit: these need no deletion.
        statuses: Where nominations are cleared.
        recorder: Writes Events about it.
        observer: Counts the victims.
        clock: The time.
    """

    def __init__(
        self,
        state: ClusterState,
        cluster: ClusterApi,
        waiting: WaitingPods,
        statuses: PodStatusWriter,
        recorder: EventRecorder,
        observer: SchedulerObserver,
        clock: Clock,
    ) -> None:
        self._state = state
        self._cluster = cluster
        self._waiting = waiting
        self._statuses = statuses
        self._recorder = recorder
        self._observer = observer
        self._clock = clock
        self._lock = threading.Lock()
        self._running: dict[str, str] = {}
        self._deleters = ThreadPoolExecutor(DELETERS, thread_name_prefix="preemption")

    def stop(self) -> None:
        """Finish what is under way; begin nothing more."""
        self._deleters.shutdown(wait=True, cancel_futures=True)

    def gate(self, pod: Pod) -> Status:
        """PreEnqueue of the plugin that preempts: no while victims of ``pod`` are being deleted.

        It ends as soon as the last victim is known to leave: its deletion must find the pod in the queue.
        """
        with self._lock:
            last = self._running.get(pod.metadata.uid)
        if last is None:
            return Status()
        record = self._state.snapshot.pods.get(last) if last else None
        leaves = bool(last) and (record is None or record.pod.metadata.deletion_timestamp is not None)
        return Status() if leaves else STILL_DELETING

    def start_preemption(
        self, preemptor: Pod, candidate: Candidate, plugin: str, failed: Callable[[], None]
    ) -> None:
        """Begin to delete the victims of ``candidate``, which ``plugin`` selected, for ``preemptor``.

        ``failed`` is called, in another thread, when some could not be deleted.
        """
        victims = [pod for pod in candidate.victims if pod.metadata.deletion_timestamp is None]
        if not victims:
            return
        self._observer.preempted(len(candidate.victims))
        with self._lock:
            self._running[preemptor.metadata.uid] = ""
        self._deleters.submit(self._run, preemptor, candidate.node_name, victims, plugin, failed)

    def _run(
        self, preemptor: Pod, node_name: str, victims: list[Pod], plugin: str, failed: Callable[[], None]
    ) -> None:
        uid = preemptor.metadata.uid
        done = False
        try:
            self._clear_nominations(preemptor, node_name)
            for victim in victims[:-1]:
                self._delete(preemptor, node_name, victim, plugin)
            with self._lock:
                self._running[uid] = victims[-1].metadata.uid
            self._delete(preemptor, node_name, victims[-1], plugin)
            done = True
        except MooringError as error:
            log.warning("making room for pod %s on node %s: %s", preemptor.key, node_name, error)
        finally:
            with self._lock:
                self._running.pop(uid, None)
            if not done:
                failed()

    def _delete(self, preemptor: Pod, node_name: str, victim: Pod, plugin: str) -> None:
        waiting = self._waiting.get(victim.metadata.uid)
        note = f"Preempted by pod {preemptor.metadata.uid} on node {node_name}"
        if waiting is not None and waiting.reject(plugin, "preempted"):
            note += " (in kube-scheduler memory)."
        else:
            scheduler = preemptor.spec.scheduler_name
            message = f"{scheduler}: preempting to accommodate a higher priority pod"
            wanted = Condition("DisruptionTarget", "True", "PreemptionByScheduler", message)
            condition = changed_condition(victim, wanted, self._clock.now())
            try:
                if condition is not None:
                    self._cluster.patch_pod_status(victim, {"conditions": [condition]})
                self._cluster.delete_pod(victim)
            except NotFoundError:
                return
        log.log(logging.INFO - 2, "pod %s preempted pod %s on node %s", preemptor.key, victim.key, node_name)
        self._recorder.record_event(
            EventNote(victim, "Normal", "Preempted", "Preempting", note, related=preemptor)
        )

    def _clear_nominations(self, preemptor: Pod, node_name: str) -> None:
        """Less important pods that wait for the same node must look for another one."""
        pods = self._state.snapshot.pods
        for uid in tuple(pods.nominated.get(node_name, ())):
            record = pods.get(uid)
            if record is not None and (record.pod.spec.priority or 0) < (preemptor.spec.priority or 0):
                self._statuses.clear_nomination(record.pod)


def carry_out(evaluation: Evaluation, cluster: ClusterApi) -> None:
    """Make the proposed change, if there is one; what PostFilter said then says how that ended."""
    remedy = evaluation.state.get(Remedy, Remedy)
    if remedy is None:
        return
    try:
        remedy.carry_out(cluster)
    except MooringError as error:
        evaluation.post_filter = Status.error(error.message)
        return
    said = evaluation.post_filter
    reasons = (remedy.done if reason == remedy.proposal else reason for reason in said.reasons)
    evaluation.post_filter = replace(said, reasons=tuple(reasons))
