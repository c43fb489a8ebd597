"""Changes of the cluster, passed on to the queue. Mirrors ``eventhandlers.go``."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Container

from mooring.framework import ObjectChange, Pod, WaitingPods
from mooring.framework.cluster_events import PodRecordChange, StateChange
from mooring.framework.objects import PodGroup
from mooring.framework.releases import Gates
from mooring.framework.state import ClusterState
from mooring.scheduler.queue import SchedulingQueue
from mooring.scheduler.queue.cluster_events import POD_LEFT, as_scheduler_sees, events_of, nomination_ended

log = logging.getLogger(__name__)

NODES = logging.INFO - 2
"""The level at which nodes that come and go are logged."""


class ChangeFeed:
    """Records the state's changes and passes them on to the queue, in order, on request.

    Args:
        schedulers: The names of the profiles: pods of others are ignored.
        wake: Called when there are changes to pass on.
    """

    def __init__(
        self,
        queue: SchedulingQueue,
        state: ClusterState,
        schedulers: Container[str],
        gates: Gates,
        waiting: WaitingPods,
        wake: Callable[[], None],
    ) -> None:
        self._queue = queue
        self._state = state
        self._schedulers = schedulers
        self._gates = gates
        self._waiting = waiting
        self._wake = wake
        self._noted: deque[StateChange] = deque()

    def follow_state(self) -> None:
        """Note the present objects, and every change from now on."""
        with self._state.lock:
            self._state.subscribe(self.note_change)
            for group in self._state.snapshot.objects.all(PodGroup):
                self.note_change(ObjectChange("PodGroup", None, group))
            for record in self._state.snapshot.pods.records.values():
                if not record.node_name:
                    self.note_change(PodRecordChange(None, record))

    def note_change(self, change: StateChange) -> None:
        """Note a change of the state, as its listener; any thread.

        Without a pod that it may help it can wait until something else wakes the thread that decides: the
        watch reports each bound pod, too.
        """
        self._noted.append(change)
        if _is_of_the_queue(change) or self._queue.is_relevant(change):
            self._wake()

    def tell_queue(self) -> None:
        """Report the noted changes to the queue; one thread."""
        while self._noted:
            noted = self._noted.popleft()
            if self._queue.ignores(noted):
                continue
            change = as_scheduler_sees(noted.whole() if isinstance(noted, PodRecordChange) else noted)
            if change is None:
                continue
            if change.kind == "Node":
                _log_node(change)
            if change.kind == "Pod":
                self._own_pod(change.old, change.new)
            if change.kind == "PodGroup":
                self._group(change.old, change.new)
            if (change.kind != "Pod" or self._concerns_others(change)) and self._queue.follows(noted):
                for event in events_of(change, self._gates):
                    self._queue.move_pods(event, change.old, change.new)

    def _concerns_others(self, change: ObjectChange) -> bool:
        """Return whether other pods may care: a pod with a node, or a new one."""
        pod = change.new or change.old
        return change.old is None or bool(pod.spec.node_name)

    def _group(self, old: PodGroup | None, new: PodGroup | None) -> None:
        """Let the queue know which groups there are."""
        if new is not None:
            self._queue.add_group(new)
        elif old is not None:
            self._queue.delete_group(old)

    def _own_pod(self, old: Pod | None, new: Pod | None) -> None:
        """Queue, update or take out a pod that waits for its node."""
        pod = new or old
        if pod is None or pod.spec.scheduler_name not in self._schedulers:
            return
        if new is None:
            if not pod.spec.node_name:
                self._gone(pod)
        elif new.spec.node_name:
            if old is None:
                self._queue.delete_pod(new)
        elif old is None:
            self._queue.add_pod(new)
        else:
            self._updated(old, new)

    def _gone(self, pod: Pod) -> None:
        self._queue.delete_pod(pod)
        if nomination_ended(pod, None):
            self._nomination_ended(pod)

    def _updated(self, old: Pod, new: Pod) -> None:
        record = self._state.snapshot.pods.get(new.metadata.uid)
        if record is not None and record.assumed:
            if new.metadata.deletion_timestamp and not old.metadata.deletion_timestamp:
                self._assumed_pod_leaves(new)
            return
        if record is None or record.pod.spec.node_name:
            # It got its node, or was deleted, after this change: that event comes next.
            return
        self._queue.update_pod(old, new)
        if nomination_ended(old, new):
            self._nomination_ended(old)

    def _assumed_pod_leaves(self, pod: Pod) -> None:
        """Stop the binding of an assumed pod that waits; for another, the API server will reject it."""
        waiting = self._waiting.get(pod.metadata.uid)
        if waiting is not None:
            waiting.reject("", "removed")
            self._queue.move_pods(POD_LEFT, pod, None)

    def _nomination_ended(self, pod: Pod) -> None:
        priority = pod.spec.priority or 0
        self._queue.move_pods(POD_LEFT, pod, None, lambda other: (other.spec.priority or 0) <= priority)


def _is_of_the_queue(change: StateChange) -> bool:
    """Return whether a change is of a waiting pod, not of something that it may wait for."""
    if isinstance(change, PodRecordChange):
        return not change.record.node_name
    return change.kind != "Node"


def _log_node(change: ObjectChange) -> None:
    """Say that a node came or went."""
    if change.old is None:
        log.log(NODES, '"Added node to NodeTree" node="%s"', change.new.metadata.name)
    elif change.new is None:
        log.log(NODES, '"Removed node from NodeTree" node="%s"', change.old.metadata.name)
