"""Makes room for a pod or group: deletes the victims that preemption selected, or carries out another remedy.

Mirrors ``preemption/executor.go`` and ``RunPostFilterPlugins`` in ``framework/runtime/framework.go``, whose
plugins act themselves.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

from mooring.audit.event import OK, OWN, AuditedPod, AuditEvent, AuditKind
from mooring.audit.trail import AuditTrail
from mooring.framework import Clock, ClusterApi, Pod, Remedy, Status
from mooring.framework.errors import MooringError, NotFoundError
from mooring.framework.objects import Condition, PodGroup
from mooring.runtime.answers import Evaluation
from mooring.runtime.engine import Engine
from mooring.scheduler.pod_status import PodStatusWriter, changed_condition
from mooring.scheduler.recorder import EventNote, EventRecorder
from mooring.telemetry.scheduler_observer import SchedulerObserver

log = logging.getLogger(__name__)

DELETERS = 8
"""Threads that delete victims; one for each preemptor at a time."""

STILL_DELETING = Status.unresolvable("waiting for the preemption for this pod to be finished")
STILL_DELETING_FOR_GROUP = Status.unresolvable("waiting for the preemption for this pod group to be finished")
"""The message of a pod whose victims, or those of its group, are being deleted."""

CLUSTER = "cluster"
"""The node name in records of room that is made for a group."""


@dataclass(frozen=True, slots=True)
class Preemptor:
    """The pod or group for which room is made."""

    target: Pod | PodGroup
    pods: tuple[Pod, ...]

    @property
    def uid(self) -> str:
        """The UID of the pod or group."""
        return self.target.metadata.uid

    @property
    def kind(self) -> str:
        """``pod`` or ``podgroup``, as Events and metrics spell it."""
        return "pod" if isinstance(self.target, Pod) else "podgroup"

    @property
    def name(self) -> str:
        """The pod or group, for people."""
        meta = self.target.metadata
        return f"{self.kind} {meta.namespace}/{meta.name}"

    @property
    def priority(self) -> int:
        """The priority of the pod or group."""
        return self.target.spec.priority or 0

    @property
    def scheduler(self) -> str:
        """Who schedules it."""
        return self.pods[0].spec.scheduler_name


class Preemptions:
    """Deletes victims in threads of its own; the preemptor, with its group, is gated meanwhile.

    Safe from any thread.

    Args:
        engine: Knows who is where, and which pods wait at Permit: these need no deletion.
        audit: Takes the events about victims that are deleted.
        grouping: The pods of a group are tried together, so that it is the group for which room is made.

    Attributes:
        revision: Grows with each preemption that begins or ends, and so may ``gate``'s answers change.
    """

    def __init__(
        self,
        engine: Engine,
        cluster: ClusterApi,
        statuses: PodStatusWriter,
        recorder: EventRecorder,
        observer: SchedulerObserver,
        clock: Clock,
        audit: AuditTrail,
        *,
        grouping: bool = False,
    ) -> None:
        self._grouping = grouping
        self._state = engine.state
        self._cluster = cluster
        self._waiting = engine.profiles.waiting
        self._statuses = statuses
        self._recorder = recorder
        self._observer = observer
        self._clock = clock
        self._audit = audit
        self._lock = threading.Lock()
        self._running: dict[str, str] = {}
        self.revision = 0
        self._deleters = ThreadPoolExecutor(DELETERS, thread_name_prefix="preemption")

    def stop(self) -> None:
        """Finish what is under way; begin nothing more."""
        self._deleters.shutdown(wait=True, cancel_futures=True)

    def gate(self, pod: Pod) -> Status:
        """PreEnqueue of the plugin that preempts: no while victims of ``pod`` are being deleted.

        It ends as soon as the last victim is known to leave: its deletion must find the pod in the queue.
        """
        group = self._group_of(pod)
        with self._lock:
            last = self._running.get(pod.metadata.uid if group is None else group.metadata.uid)
        if last is None:
            return Status()
        record = self._state.snapshot.pods.get(last) if last else None
        leaves = bool(last) and (record is None or record.pod.metadata.deletion_timestamp is not None)
        if leaves:
            return Status()
        return STILL_DELETING if group is None else STILL_DELETING_FOR_GROUP

    def _group_of(self, pod: Pod) -> PodGroup | None:
        if not self._grouping or pod.group is None:
            return None
        namespace, name = pod.group
        return self._state.snapshot.objects.get(PodGroup, name, namespace)

    def start_preemption(
        self,
        preemptor: Preemptor,
        node_name: str,
        victims: Sequence[Pod],
        plugin: str,
        failed: Callable[[], None],
    ) -> None:
        """Begin to delete ``victims``, which ``plugin`` selected. ``node_name`` is ``CLUSTER`` for a group.
        ``failed`` is called, in another thread, when some could not be deleted.
        """
        staying = [pod for pod in victims if pod.metadata.deletion_timestamp is None]
        if not staying:
            return
        self._observer.preempted(preemptor.kind, len(victims))
        with self._lock:
            self._running[preemptor.uid] = ""
            self.revision += 1
        self._deleters.submit(self._run, preemptor, node_name, staying, plugin, failed)

    def _run(
        self,
        preemptor: Preemptor,
        node_name: str,
        victims: list[Pod],
        plugin: str,
        failed: Callable[[], None],
    ) -> None:
        uid = preemptor.uid
        done = False
        try:
            self._clear_nominations(preemptor, node_name)
            for victim in victims[:-1]:
                self._delete(preemptor, node_name, victim, plugin)
            with self._lock:
                self._running[uid] = victims[-1].metadata.uid
                self.revision += 1
            self._delete(preemptor, node_name, victims[-1], plugin)
            done = True
        except MooringError as error:
            log.warning("making room for %s on node %s: %s", preemptor.name, node_name, error)
        finally:
            with self._lock:
                self._running.pop(uid, None)
                self.revision += 1
            if not done:
                failed()

    def _delete(self, preemptor: Preemptor, node_name: str, victim: Pod, plugin: str) -> None:
        self._audit.require_writable()
        with evicting(self._audit, "Preempt", AuditedPod.of(victim, node_name), f"for {preemptor.name}"):
            self._evict(preemptor, node_name, victim, plugin)

    def _evict(self, preemptor: Preemptor, node_name: str, victim: Pod, plugin: str) -> None:
        waiting = self._waiting.get(victim.metadata.uid)
        note = f"Preempted by {preemptor.kind} {preemptor.uid} on node {node_name}"
        if waiting is not None and waiting.reject(plugin, "preempted"):
            note += " (in kube-scheduler memory)."
        else:
            message = f"{preemptor.scheduler}: preempting to accommodate a higher priority {preemptor.kind}"
            wanted = Condition("DisruptionTarget", "True", "PreemptionByScheduler", message)
            condition = changed_condition(victim, wanted, self._clock.now())
            try:
                if condition is not None:
                    self._cluster.patch_pod_status(victim, {"conditions": [condition]})
                self._cluster.delete_pod(victim)
            except NotFoundError:
                return
        log.log(logging.INFO - 2, "%s preempted pod %s on node %s", preemptor.name, victim.key, node_name)
        self._recorder.record_event(
            EventNote(victim, "Normal", "Preempted", "Preempting", note, related=preemptor.target)
        )

    def _clear_nominations(self, preemptor: Preemptor, node_name: str) -> None:
        """Less important pods that wait for the same node must look for another one."""
        pods = self._state.snapshot.pods
        for uid in tuple(pods.nominated.get(node_name, ())):
            record = pods.get(uid)
            if record is not None and (record.pod.spec.priority or 0) < preemptor.priority:
                self._statuses.clear_nomination(record.pod)


@contextmanager
def evicting(trail: AuditTrail, call: str, pod: AuditedPod, message: str) -> Iterator[None]:
    """Record an eviction, or another change that makes room, when it ends."""
    outcome = OK
    try:
        yield
    except MooringError as error:
        outcome = error.reason
        raise
    finally:
        trail.record(
            AuditEvent(
                kind=AuditKind.EVICTION, call=call, who=OWN, pods=(pod,), outcome=outcome, message=message
            )
        )


def carry_out_remedy(remedy: Remedy, pod: Pod, cluster: ClusterApi, audit: AuditTrail) -> None:
    """Make a proposed change for ``pod``. Raises MooringError if it failed, or may not be audited."""
    audit.require_writable()
    with evicting(audit, "CarryOut", AuditedPod.of(pod), remedy.proposal):
        remedy.carry_out(cluster)


def carry_out(evaluation: Evaluation, pod: Pod, cluster: ClusterApi, audit: AuditTrail) -> None:
    """Make the proposed change, if there is one; the status of PostFilter then has the outcome."""
    remedy = evaluation.state.get(Remedy, Remedy)
    if remedy is None:
        return
    try:
        carry_out_remedy(remedy, pod, cluster, audit)
    except MooringError as error:
        evaluation.post_filter = Status.error(error.message)
        return
    said = evaluation.post_filter
    reasons = (remedy.done if reason == remedy.proposal else reason for reason in said.reasons)
    evaluation.post_filter = replace(said, reasons=tuple(reasons))
