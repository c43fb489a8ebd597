"""One node with other pods on it: what the Filter plugins would say of it then.

Mirrors ``RunFilterPluginsWithNominatedPods`` and the PreFilter extensions AddPod and RemovePod in
``framework/runtime/framework.go``: what PreFilter noted is not found out again; the plugins that have
``add_pod`` and ``remove_pod`` keep it right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np
from msgspec.structs import replace

from mooring.framework import SUCCESS, ClusterState, NodeView, Pod, Snapshot, Status
from mooring.framework.errors import PluginFailureError
from mooring.runtime.evaluation import Evaluation, begin
from mooring.runtime.filtering import run_filters
from mooring.runtime.progress import PluginCalls, plugin_failure

_THE_ONE = np.zeros(1, np.int32)


class NodeWhatIf:
    """Implements ``mooring.framework.preemption.WhatIf``.

    Args:
        evaluation: Whose pod, notes and profile are used; nothing of it changes.
        cluster: A private copy of the state. It has the same rows, and changes with the node.
        row: The node's row.
        calls: How plugins are called.
    """

    def __init__(self, evaluation: Evaluation, cluster: ClusterState, row: int, calls: PluginCalls) -> None:
        self._evaluation = evaluation
        self._cluster = cluster
        self._calls = calls
        self._name = cluster.snapshot.nodes.names[row]
        self._view = NodeView(cluster.snapshot, np.array([row], np.int32))
        self._notes = evaluation.state.clone()
        self._guests = guests_of(cluster.snapshot, self._name, evaluation.pod)
        self._gone: dict[str, Pod] = {}

    def add(self, pod: Pod) -> None:
        self._cluster.assume(pod, self._name)
        self._gone.pop(pod.metadata.uid, None)
        self._tell("add_pod", pod)

    def remove(self, pod: Pod) -> None:
        self._cluster.discard(pod.metadata.uid)
        self._gone[pod.metadata.uid] = pod
        self._tell("remove_pod", pod)

    def status(self) -> Status:
        try:
            crowded = self.crowded()
            return self._filtered() if crowded.ok else crowded
        except PluginFailureError as failure:
            # As there, it is this node that can't be helped; the other ones can.
            return Status.error(failure.message)

    def crowded(self) -> Status:
        """What is said of the node once the pods nominated for it have come; Success without any."""
        if not self._guests:
            return SUCCESS
        notes = self._notes
        self._notes = notes.clone()
        try:
            for guest in self._guests:
                self.add(guest)
            return self._filtered()
        finally:
            self._notes = notes
            for guest in self._guests:
                self._cluster.forget(guest.metadata.uid)

    def put_back(self) -> None:
        """Place the removed pods in ``cluster`` again. Only the next ``NodeWhatIf`` may be asked then."""
        for pod in self._gone.values():
            self._cluster.assume(pod, self._name)

    def _filtered(self) -> Status:
        base = self._evaluation
        trial = begin(base.profile, self._cluster, base.pod, self._view.rows)
        trial.state, trial.skipped = self._notes, base.skipped
        run_filters(trial, _THE_ONE, self._calls)
        return trial.statuses[int(trial.codes[0])]

    def _tell(self, method: str, other: Pod) -> None:
        """Tell the plugins that asked for it that ``other`` came or went."""
        base = self._evaluation
        for enabled in base.profile.pre_filter:
            function = getattr(enabled.plugin, method, None)
            if function is None or enabled.name in base.skipped:
                continue
            point = f"PreFilter.{method}"
            (info,) = self._view.infos()
            status = self._calls.call(enabled.name, point, function, self._notes, base.pod, other, info)
            if not isinstance(status, Status) or not status.ok:
                said = status.message if isinstance(status, Status) else type(status).__name__
                raise plugin_failure(enabled.name, point, f"pod {other.key}: returned {said}, not Success")


@contextmanager
def what_if(
    evaluation: Evaluation, cluster: ClusterState, row: int, calls: PluginCalls
) -> Iterator[NodeWhatIf]:
    """``NodeWhatIf`` for the block; afterwards the pods are where they were."""
    node = NodeWhatIf(evaluation, cluster, row, calls)
    try:
        yield node
    finally:
        node.put_back()


def guests_of(snapshot: Snapshot, node_name: str, pod: Pod) -> list[Pod]:
    """The pods nominated for the node that count for ``pod``: those as important, or more."""
    uids: Iterable[str] = tuple(snapshot.pods.nominated.get(node_name, ()))
    return [
        replace(record.pod, spec=replace(record.pod.spec, node_name=node_name))
        for record in map(snapshot.pods.get, uids)
        if record is not None and _counts(record.pod, pod)
    ]


def _counts(guest: Pod, pod: Pod) -> bool:
    same = guest.metadata.uid == pod.metadata.uid
    return not same and (guest.spec.priority or 0) >= (pod.spec.priority or 0)
