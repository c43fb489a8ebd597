"""Nodes with other pods on them: what the Filter plugins would say of them then.

Mirrors ``RunFilterPluginsWithNominatedPods`` and the PreFilter extensions AddPod and RemovePod in
``framework/runtime/framework.go``: what PreFilter noted is not found out again; the plugins that have
``add_pod`` and ``remove_pod`` keep it right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from msgspec.structs import replace

from mooring.framework import SUCCESS, Int32s, NodeView, Part, Pod, Snapshot, Status
from mooring.framework.errors import PluginFailureError
from mooring.framework.internal import parts_of
from mooring.framework.pod_table import PodRecord
from mooring.framework.state import ClusterState
from mooring.runtime.cycle.evaluation import Evaluation, begin
from mooring.runtime.cycle.filter import run_filters
from mooring.runtime.cycle.plugin_calls import PluginCalls, plugin_failure


class NodesWhatIf:
    """Implements ``mooring.framework.preemption.WhatIf``.

    Args:
        evaluation: Whose pod, cycle state and profile are used; it doesn't change.
        cluster: A private copy of the state. It has the same rows, and changes with the nodes.
        calls: How plugins are called.
    """

    def __init__(self, evaluation: Evaluation, cluster: ClusterState, calls: PluginCalls) -> None:
        self._evaluation = evaluation
        self._cluster = cluster
        self._calls = calls
        self._cycle_state = evaluation.state.clone()
        self._told = {method: list(extensions(evaluation, method)) for method in ("add_pod", "remove_pod")}
        self._gone: dict[str, tuple[str, PodRecord]] = {}
        self._known_guests: dict[str, list[Pod]] = {}

    def add(self, node_name: str, pod: Pod) -> None:
        _, record = self._gone.pop(pod.metadata.uid, ("", None))
        self._cluster.assume(pod, node_name, record.kind if record is not None else None)
        self._tell("add_pod", node_name, pod)

    def remove(self, node_name: str, pod: Pod) -> None:
        uid = pod.metadata.uid
        self._gone[uid] = (node_name, self._cluster.snapshot.pods.records[uid])
        self._cluster.discard(uid)
        self._tell("remove_pod", node_name, pod)

    def statuses(self, node_names: Sequence[str]) -> list[Status]:
        said = {name: self._alone(name) for name in node_names if self._guests(name)}
        others = [name for name in node_names if name not in said]
        said |= zip(others, self._each(others), strict=True)
        return [said[name] for name in node_names]

    def hear(self, method: str, node_name: str, other: Pod) -> None:
        """Take in that ``other`` came to the node (``add_pod``) or left it (``remove_pod``)."""
        self._tell(method, node_name, other)

    def crowded(self, node_name: str) -> Status:
        """Return what is said of the node once the pods nominated for it have come; Success without any."""
        guests = self._guests(node_name)
        if not guests:
            return SUCCESS
        earlier = self._cycle_state
        self._cycle_state = earlier.clone()
        try:
            for guest in guests:
                self.add(node_name, guest)
            (status,) = self._filtered([node_name])
            return status
        finally:
            self._cycle_state = earlier
            for guest in guests:
                self._cluster.forget(guest.metadata.uid)

    def put_back(self) -> None:
        """Place the removed pods in ``cluster`` again. Only the next ``NodesWhatIf`` may be used then."""
        for node_name, record in self._gone.values():
            self._cluster.assume(record.pod, node_name, record.kind)

    def _guests(self, node_name: str) -> list[Pod]:
        if node_name not in self._known_guests:
            pod = self._evaluation.pod
            self._known_guests[node_name] = guests_of(self._cluster.snapshot, node_name, pod)
        return self._known_guests[node_name]

    def _alone(self, node_name: str) -> Status:
        """With its guests, and if that passes without."""
        try:
            crowded = self.crowded(node_name)
            return crowded if not crowded.ok else self._filtered([node_name])[0]
        except PluginFailureError as failure:
            # As there, it is this node that can't be helped; the other ones can.
            return Status.error(failure.message)

    def _each(self, node_names: Sequence[str]) -> list[Status]:
        """Return all of them at once, or one by one when a plugin fails on one."""
        if len(node_names) > 1:
            try:
                return self._filtered(node_names)
            except PluginFailureError:
                pass
        return [self._alone(name) for name in node_names]

    def _filtered(self, node_names: Sequence[str]) -> list[Status]:
        base = self._evaluation
        trial = begin(base.profile, self._cluster, base.pod, self._rows(node_names))
        trial.state, trial.skipped = self._cycle_state, base.skipped
        run_filters(trial, np.arange(len(node_names), dtype=np.int32), self._calls)
        return [trial.statuses[code] for code in trial.codes.tolist()]

    def _rows(self, node_names: Sequence[str]) -> Int32s:
        index = self._cluster.snapshot.nodes.index
        return np.array([index[name] for name in node_names], np.int32)

    def _tell(self, method: str, node_name: str, other: Pod) -> None:
        """Call the plugins that have ``method``: ``other`` came or went."""
        base = self._evaluation
        for name, function in self._told[method]:
            point = f"PreFilter.{method}"
            (info,) = NodeView(self._cluster.snapshot, self._rows([node_name])).infos()
            status = self._calls.call(name, point, function, self._cycle_state, base.pod, other, info)
            if not isinstance(status, Status) or not status.ok:
                said = status.message if isinstance(status, Status) else type(status).__name__
                raise plugin_failure(name, point, f"pod {other.key}: returned {said}, not Success")


def extensions(evaluation: Evaluation, method: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Name and function of each plugin that wants to hear of pods that come and go: add_pod or remove_pod."""
    for enabled in evaluation.profile.pre_filter:
        function = getattr(enabled.plugin, method, None)
        if function is not None and enabled.name not in evaluation.skipped:
            yield enabled.name, function


def independent(evaluation: Evaluation) -> bool:
    """Return whether the pods of a node change nothing for the others."""
    return all(parts.of_one_node for parts in _filter_parts(evaluation)) and not (
        any(extensions(evaluation, "add_pod")) or any(extensions(evaluation, "remove_pod"))
    )


def lasting(evaluation: Evaluation) -> bool:
    """Return whether the answers of Filter change only with what the state has."""
    return not any(Part.OUTSIDE in parts for parts in _filter_parts(evaluation))


def _filter_parts(evaluation: Evaluation) -> Iterator[Part]:
    for each in evaluation.profile.filter:
        if each.name not in evaluation.skipped:
            yield parts_of(each.plugin, evaluation.pod)


@contextmanager
def what_if(evaluation: Evaluation, cluster: ClusterState, calls: PluginCalls) -> Iterator[NodesWhatIf]:
    """``NodesWhatIf`` for the block; afterwards the pods are where they were."""
    nodes = NodesWhatIf(evaluation, cluster, calls)
    try:
        yield nodes
    finally:
        nodes.put_back()


def guests_of(snapshot: Snapshot, node_name: str, pod: Pod) -> list[Pod]:
    """Return the pods nominated for the node that count for ``pod``: those as important, or more."""
    uids: Iterable[str] = tuple(snapshot.pods.nominated.get(node_name, ()))
    return [
        replace(record.pod, spec=replace(record.pod.spec, node_name=node_name))
        for record in map(snapshot.pods.get, uids)
        if record is not None and _counts(record.pod, pod)
    ]


def _counts(guest: Pod, pod: Pod) -> bool:
    same = guest.metadata.uid == pod.metadata.uid
    return not same and (guest.spec.priority or 0) >= (pod.spec.priority or 0)
