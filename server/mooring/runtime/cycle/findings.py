"""The findings of the plugins that rejected a pod or nodes, for explanations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
    ReasonCode,
    Snapshot,
    Status,
)
from mooring.framework.errors import PluginFailureError
from mooring.framework.findings import NominatedPods
from mooring.framework.reason_codes import code_of
from mooring.framework.view import NodesChangedError
from mooring.runtime.cycle.evaluation import Document, Evaluation
from mooring.runtime.cycle.plugin_calls import PluginCalls
from mooring.runtime.cycle.post_filter import EvaluatedNodes, preempt, preempting_plugin
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

    def about(self, position: int) -> tuple[Finding, ...]:
        """Return the findings about a candidate."""
        return self.by_node[position] if self.by_node else ()

    def with_group(self, found: Iterable[Finding]) -> Findings:
        """Return these, after those about the pod's group."""
        return replace(self, of_pod=(*found, *self.of_pod))

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
        return Findings(tuple(dict.fromkeys(early)))
    by_node = [found.of_node(position) for position in range(len(evaluation.rows))]
    of_pod = dict.fromkeys((*early, *(each for some in by_node for each in some if each.of_pod)))
    return Findings(tuple(of_pod), [tuple(each for each in some if not each.of_pod) for some in by_node])


def preemption_findings_of(evaluation: Evaluation, calls: PluginCalls) -> Findings:
    """Ask the plugin that seeks room for a pod why it found none, or why it is on another node."""
    preempting = preempting_plugin(evaluation.profile)
    if (
        preempting is None
        or evaluation.feasible_count
        or not (evaluation.rejection.ok and len(evaluation.rows))
    ):
        return NO_FINDINGS
    name, plugin, by_node = preempting.name, preempting.plugin, dict[str, list[Finding]]()
    nodes, pod, picked = EvaluatedNodes(evaluation, calls, 0), evaluation.pod, evaluation.room_on
    try:
        found = evaluation.preemption or preempt(evaluation, calls, None, 0)
        asked = partial(plugin.explain_preemption, pod, nodes, found, picked)
        for node_name, finding in calls.call(name, "Explain", lambda: list(asked())):
            by_node.setdefault(node_name, []).append(finding.by(name))
    except PluginFailureError:
        # It is in the log; the decision stands.
        return NO_FINDINGS
    of_pod = tuple(by_node.pop("", ()))
    names = evaluation.names
    return Findings(of_pod, [tuple(by_node.get(names[row], ())) for row in evaluation.rows.tolist()])


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
        self._extenders = frozenset(extender.name for extender in profile.extenders)
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
            if name in self._extenders:
                yield _of_extender(name, status)
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


def _of_extender(name: str, status: Status) -> Finding:
    said = f"extender {name}: {', '.join(status.reasons) or 'no reason given'}"
    return Finding(ReasonCode.EXTENDER_REJECTS, name, said, plugin=name)


def _by_reason(plugin: str, status: Status) -> Iterator[Finding]:
    """Yield the findings that the reasons of a status give away, for plugins that explain no more."""
    for reason in status.reasons:
        if known := code_of(plugin, reason):
            code, subject = known
            yield Finding(code, subject, reason)


def _named(holder: Holder, nominated: dict[str, str]) -> Holder:
    note = nominated.get(holder.name)
    return holder if note is None else replace(holder, kind=HolderKind.NOMINATED_POD, note=note)


def finding_document(finding: Finding) -> Document:
    """Return a finding as JSON.

    Keys: ``code``, ``plugin``, ``kind`` and ``subject``; ``message``, and ``text``, which goes on with the
    holders; ``asked`` and ``present``; ``amounts`` with ``asked``, ``taken`` and ``limit``, or null;
    ``holders``, each with ``kind``, ``name``, ``amount`` or null, ``note`` and ``node``, and the number of
    ``otherHolders``; ``podChange`` and ``nodeChange``.
    """
    amounts = finding.amounts
    return {
        "code": finding.code_label,
        "plugin": finding.plugin,
        "kind": finding.kind.label,
        "subject": finding.subject,
        "message": finding.message,
        "text": finding.text,
        "asked": finding.asked,
        "present": finding.present,
        "amounts": amounts and {"asked": amounts.asked, "taken": amounts.taken, "limit": amounts.limit},
        "holders": [_holder_document(each) for each in finding.holders],
        "otherHolders": finding.other_holders,
        "podChange": finding.pod_change,
        "nodeChange": finding.node_change,
    }


def _holder_document(holder: Holder) -> Document:
    return {
        "kind": holder.kind.label,
        "name": holder.name,
        "amount": holder.amount,
        "note": holder.note,
        "node": holder.node,
    }
