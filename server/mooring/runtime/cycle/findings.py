"""The findings of the plugins that rejected a pod or nodes, for explanations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mooring.framework import (
    SUCCESS,
    CycleState,
    Finding,
    Holder,
    HolderKind,
    NodeInfo,
    NodeView,
    Plugin,
    Snapshot,
    Status,
)
from mooring.framework.errors import PluginFailureError
from mooring.framework.findings import NominatedPods
from mooring.framework.reason_codes import code_of
from mooring.framework.view import NodesChangedError
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.cycle.plugin_calls import PluginCalls
from mooring.runtime.cycle.tried_pods import PodsOnFork
from mooring.runtime.cycle.what_if import NodesWhatIf, guest_records, guests_of


@dataclass(frozen=True, slots=True)
class Findings:
    """Findings about a pod and its candidates.

    Attributes:
        of_pod: About the pod as a whole.
        by_node: Per candidate, what is behind its rejections; nothing for a feasible one.
    """

    of_pod: tuple[Finding, ...] = ()
    by_node: Sequence[tuple[Finding, ...]] = ()

    def __bool__(self) -> bool:
        return bool(self.of_pod) or any(self.by_node)


NO_FINDINGS = Findings()


def findings_of(evaluation: Evaluation, calls: PluginCalls, held: Status = SUCCESS) -> Findings:
    """Ask the plugins that reject the pod or a candidate, or held the pod back, for their findings.

    Findings that hold whatever the node are about the pod, and there once.
    """
    found = _Asking(evaluation, calls)
    early = (*found.of_pod(held), *found.of_pod(evaluation.rejection))
    if not evaluation.rejection.ok:
        return Findings(early)
    by_node = [found.of_node(position) for position in range(len(evaluation.rows))]
    of_pod = dict.fromkeys((*early, *(each for some in by_node for each in some if each.of_pod)))
    return Findings(tuple(of_pod), [tuple(each for each in some if not each.of_pod) for some in by_node])


class _Asking:
    """Asks the plugins of one evaluation. For one thread."""

    def __init__(self, evaluation: Evaluation, calls: PluginCalls) -> None:
        profile = evaluation.profile
        self._evaluation = evaluation
        self._calls = calls
        self._state = evaluation.state.clone()
        self._state.write(Snapshot, evaluation.snapshot)
        self._plugins: dict[str, Plugin[Any]] = {
            enabled.name: enabled.plugin
            for point in (profile.pre_enqueue, profile.pre_filter, profile.filter)
            for enabled in point
        }
        self._nominated = frozenset(evaluation.snapshot.pods.nominated)
        self._limiting = [
            name for name, outcome in evaluation.written.prefilter.items() if outcome.nodes is not None
        ]

    def of_pod(self, rejection: Status) -> tuple[Finding, ...]:
        """Return what is behind the rejection of the pod as a whole."""
        return () if rejection.ok else tuple(self._asked(rejection, None, self._state))

    def of_node(self, position: int) -> tuple[Finding, ...]:
        """Return what is behind the rejections of a candidate."""
        evaluation = self._evaluation
        if evaluation.rejections is not None and evaluation.rejections[position]:
            statuses = evaluation.rejections[position]
        else:
            statuses = [evaluation.statuses[evaluation.codes[position]]]
        if all(status.ok for status in statuses):
            return ()
        row = int(evaluation.rows[position])
        try:
            if evaluation.names[row] in self._nominated:
                return tuple(self._crowded(evaluation.names[row], statuses))
            node = NodeView(evaluation.snapshot, evaluation.rows[position : position + 1]).info(row)
            return tuple(each for status in statuses for each in self._asked(status, node, self._state))
        except NodesChangedError:
            return ()

    def _crowded(self, node_name: str, statuses: Sequence[Status]) -> Iterator[Finding]:
        """Yield the findings about a node with the pods that are nominated for it."""
        evaluation = self._evaluation
        guests = guest_records(evaluation.snapshot, node_name, evaluation.pod)
        pods = PodsOnFork(evaluation.cluster.fork())
        trial = NodesWhatIf(evaluation, pods, self._calls)
        for guest in guests_of(evaluation.snapshot, node_name, evaluation.pod):
            trial.add(node_name, guest)
        row = pods.snapshot.nodes.index[node_name]
        node = NodeView(pods.snapshot, np.array([row], np.int32)).info(row)
        nominated = {
            f"{each.namespace}/{each.name}": f"nominated, priority {each.kind.base.template.priority}"
            for each in guests
        }
        trial.state.write(NominatedPods, NominatedPods(each.uid for each in guests))
        for status in statuses:
            for finding in self._asked(status, node, trial.state):
                yield replace(finding, holders=tuple(_named(each, nominated) for each in finding.holders))

    def _asked(self, status: Status, node: NodeInfo | None, state: CycleState) -> Iterator[Finding]:
        """Yield what the plugin of ``status`` says, or the plugins that leave the node out by its name."""
        for name in () if status.ok else [status.plugin] if status.plugin else self._limiting:
            plugin = self._plugins.get(name)
            if plugin is None:
                continue
            try:
                found = self._calls.call(
                    name, "Explain", plugin.explain, state, self._evaluation.pod, node, status
                )
            except PluginFailureError:
                # It is in the log; the decision stands.
                continue
            yield from (each.by(name) for each in found or _by_reason(name, status))


def _by_reason(plugin: str, status: Status) -> Iterator[Finding]:
    """Yield the findings that the reasons of a status give away, for plugins that explain no more."""
    for reason in status.reasons:
        if known := code_of(plugin, reason):
            code, subject = known
            yield Finding(code, subject, reason)


def _named(holder: Holder, nominated: dict[str, str]) -> Holder:
    note = nominated.get(holder.name)
    return holder if note is None else replace(holder, kind=HolderKind.NOMINATED_POD, note=note)
