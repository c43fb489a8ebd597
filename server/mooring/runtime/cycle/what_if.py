"""Nodes with other pods on them, and the verdicts of the Filter plugins on them.

Mirrors ``RunFilterPluginsWithNominatedPods`` and the PreFilter extensions AddPod and RemovePod in
``framework/runtime/framework.go``: what PreFilter noted is not found out again; the plugins that have
``add_pod`` and ``remove_pod`` keep it right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from mooring.framework import SUCCESS, CycleState, Int32s, Int64s, NodeView, Part, Pod, Snapshot, Status
from mooring.framework.cacheable import dependencies_of
from mooring.framework.errors import PluginFailureError
from mooring.framework.pod_requests import PodUsage
from mooring.framework.pod_table import PodRecord
from mooring.runtime.cycle.evaluation import Evaluation, Written, begin_trial
from mooring.runtime.cycle.filter import run_filters
from mooring.runtime.cycle.filters_read import extensions, filters_read
from mooring.runtime.cycle.plugin_calls import PluginCalls, plugin_failure
from mooring.runtime.cycle.tried_pods import PodsAsSums, PodsOnFork, TriedPods

NO_PODS = Part.NODES | Part.RESOURCES | Part.OBJECTS
"""The parts read by a filter that reads nothing of pods but their requests."""


class NodesWhatIf:
    """Implements ``mooring.framework.preemption.WhatIf``.

    Args:
        evaluation: Whose pod, cycle state and profile are used; it doesn't change.
        pods: Where the pods are. The nodes have the same rows there.
    """

    def __init__(self, evaluation: Evaluation, pods: TriedPods, calls: PluginCalls) -> None:
        self._evaluation = evaluation
        self._pods = pods
        self._calls = calls
        self._cycle_state = evaluation.state.clone()
        self._told = {method: list(extensions(evaluation, method)) for method in ("add_pod", "remove_pod")}
        self._steady = _steady(evaluation) if isinstance(pods, PodsAsSums) else frozenset()
        self._passed: set[str] = set()
        self._known_guests: dict[str, list[Pod]] = {}

    @property
    def state(self) -> CycleState:
        """The cycle state, with the pods as they are now."""
        return self._cycle_state

    def add(self, node_name: str, pod: Pod) -> None:
        self._pods.add(node_name, pod)
        self.hear("add_pod", node_name, pod)

    def remove(self, node_name: str, pod: Pod) -> None:
        self._pods.remove(node_name, pod)
        self.hear("remove_pod", node_name, pod)

    def statuses(self, node_names: Sequence[str]) -> list[Status]:
        said = {name: self._alone(name) for name in node_names if self._guests(name)}
        others = [name for name in node_names if name not in said]
        said |= zip(others, self._each(others), strict=True)
        return [said[name] for name in node_names]

    def crowded(self, node_name: str) -> Status:
        """Return the node's status once the pods nominated for it have come; Success without any."""
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
                self._pods.take_back(node_name, guest)

    def _guests(self, node_name: str) -> list[Pod]:
        if node_name not in self._known_guests:
            pod = self._evaluation.pod
            self._known_guests[node_name] = guests_of(self._pods.snapshot, node_name, pod)
        return self._known_guests[node_name]

    def _alone(self, node_name: str) -> Status:
        """With its guests, and if that passes without."""
        try:
            crowded = self.crowded(node_name)
            return crowded if not crowded.ok else self._filtered([node_name])[0]
        except PluginFailureError as failure:
            # As in kube-scheduler, only this node can't be helped; the other ones can.
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
        skipped = base.written.skipped
        if self._passed.issuperset(node_names):
            skipped = skipped | self._steady
        written = Written(self._cycle_state, skipped=skipped)
        trial = begin_trial(base, self._pods.snapshot, self._rows(node_names), written)
        run_filters(trial, np.arange(len(node_names), dtype=np.int32), self._calls)
        statuses = [trial.statuses[code] for code in trial.codes.tolist()]
        self._passed.update(name for name, status in zip(node_names, statuses, strict=True) if status.ok)
        return statuses

    def _rows(self, node_names: Sequence[str]) -> Int32s:
        index = self._pods.snapshot.nodes.index
        return np.array([index[name] for name in node_names], np.int32)

    def hear(self, method: str, node_name: str, other: Pod) -> None:
        """Notify the plugins that ``other`` came to the node (``add_pod``) or left it (``remove_pod``)."""
        base = self._evaluation
        for name, function in self._told[method]:
            point = f"PreFilter.{method}"
            (info,) = NodeView(self._pods.snapshot, self._rows([node_name])).infos()
            status = self._calls.call(name, point, function, self._cycle_state, base.pod, other, info)
            if not isinstance(status, Status) or not status.ok:
                said = status.message if isinstance(status, Status) else type(status).__name__
                raise plugin_failure(name, point, f"pod {other.key}: returned {said}, not Success")


class SummedNodes:
    """Implements ``mooring.framework.preemption.NodeSums``; arguments as of ``NodesWhatIf``."""

    def __init__(self, evaluation: Evaluation, pods: PodsAsSums, calls: PluginCalls) -> None:
        self._evaluation = evaluation
        self._pods = pods
        self._calls = calls
        self._steady = _steady(evaluation)

    def taken(self, rows: Int32s) -> Int64s:
        return self._pods.taken(rows)

    def amounts(self, usage: PodUsage) -> Int64s:
        return self._pods.amounts(usage)

    def statuses(self, rows: Int32s, taken: Int64s, *, again: bool) -> tuple[Int32s, Sequence[Status]]:
        base, before = self._evaluation, self._pods.taken(rows)
        skipped = base.written.skipped | self._steady if again else base.written.skipped
        written = Written(base.state.clone(), skipped=skipped)
        trial = begin_trial(base, self._pods.snapshot, rows, written)
        self._pods.set_taken(rows, taken)
        try:
            run_filters(trial, np.arange(len(rows), dtype=np.int32), self._calls)
        finally:
            self._pods.set_taken(rows, before)
        return trial.codes, trial.statuses


def pods_to_try(evaluation: Evaluation) -> TriedPods:
    """Return the evaluation's pods to try changes on: as sums, if the filters read nothing else."""
    if filters_read(evaluation) in NO_PODS:
        return PodsAsSums(evaluation.cluster)
    return PodsOnFork(evaluation.cluster.fork())


def _steady(evaluation: Evaluation) -> frozenset[str]:
    """Return the filters that a node passes for good once it passed them, whatever pods request there."""
    pod = evaluation.pod
    asked = (each for each in evaluation.profile.filter if each.name not in evaluation.written.skipped)
    return frozenset(
        each.name for each in asked if Part.RESOURCES not in dependencies_of(each.plugin, pod).possible_parts
    )


@contextmanager
def what_if(evaluation: Evaluation, pods: TriedPods, calls: PluginCalls) -> Iterator[NodesWhatIf]:
    """``NodesWhatIf`` for the block; afterwards the pods are where they were."""
    try:
        yield NodesWhatIf(evaluation, pods, calls)
    finally:
        pods.restore()


def guests_of(snapshot: Snapshot, node_name: str, pod: Pod) -> list[Pod]:
    """Return the pods nominated for the node that count for ``pod``: those as important, or more."""
    return [record.pod.on_node(node_name) for record in guest_records(snapshot, node_name, pod)]


def guest_records(snapshot: Snapshot, node_name: str, pod: Pod) -> list[PodRecord]:
    """Return the records of the pods of ``guests_of``."""
    uids: Iterable[str] = tuple(snapshot.pods.nominated.get(node_name, ()))
    others = (snapshot.pods.get(uid) for uid in uids if uid != pod.metadata.uid)
    return [each for each in others if each is not None and each.kind.base.template.priority >= pod.priority]


def reject_for_nominated(evaluation: Evaluation, positions: Int32s, calls: PluginCalls) -> None:
    """Reject the candidates at ``positions`` that don't do once the pods nominated for them have come.

    Only pods of the same or a higher priority count. For each node they are tried there, and the
    filters read that node. This comes first: a node that is rejected so is not
    tried without the other pods.
    """
    crowded = _with_guests(evaluation, positions)
    if not crowded:
        return
    numbers = {status: number for number, status in enumerate(evaluation.statuses)}
    nodes = NodesWhatIf(evaluation, pods_to_try(evaluation), calls)
    names = evaluation.names
    for position in crowded:
        status = nodes.crowded(names[evaluation.rows[position]])
        if status.ok:
            continue
        evaluation.codes[position] = numbers.setdefault(status, len(numbers))
        if evaluation.rejections is not None:
            evaluation.rejections[position].append(status)
    evaluation.statuses = list(numbers)


def _with_guests(evaluation: Evaluation, positions: Int32s) -> list[int]:
    """Return the positions of the candidates that pods which count are nominated for."""
    snapshot = evaluation.snapshot
    if not snapshot.pods.nominated:
        return []
    by_row = dict(zip(evaluation.rows[positions].tolist(), positions.tolist(), strict=True))
    names = [name for name in tuple(snapshot.pods.nominated) if snapshot.nodes.index.get(name) in by_row]
    return [by_row[snapshot.nodes.index[name]] for name in names if guests_of(snapshot, name, evaluation.pod)]
