"""The explanation of a decision: every node, every plugin.

There is one structure for every way to it: it is made of a choice, and goes over the wire by
``mooring.service.wire.explanation``. The document that ``mooring explain -o json`` prints and
``mooring.testing.explain`` returns is always made of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from mooring.framework import SUCCESS, Code, Int32s, Int64s, NodeView, Status
from mooring.framework.errors import PluginFailureError
from mooring.framework.pod_table import PodRecord
from mooring.framework.preemption import Candidate
from mooring.framework.resources import PODS
from mooring.runtime.cycle.choice import Choice
from mooring.runtime.cycle.evaluation import Document, Evaluation, PreFilterOutcome, Scores
from mooring.runtime.cycle.findings import NO_FINDINGS, Findings, finding_document
from mooring.runtime.cycle.post_filter import candidates_of, preemption_document
from mooring.runtime.cycle.what_if import guest_records
from mooring.runtime.profiles.profiles import left_alone

_NONE: Int32s = np.zeros(0, np.int32)
_NO_AMOUNTS: Int64s = np.zeros(0, np.int64)


class RequestedResource(msgspec.Struct, frozen=True, eq=False):
    """A resource that the pod requests: CPU in thousandths, pods as a number, the rest in units.

    Attributes:
        name: Its name; ``pods`` is the place of the pod itself.
        requested: How much the pod requests.
        free: int64[N], what each node has left for the pod; below 0 where too much is taken. Empty if no node
            offers the resource.
        kept: int64[N], how much of it pods that are nominated for the node keep; that is not free. Empty if
            ``free`` is.
    """

    name: str
    requested: int
    free: Int64s
    kept: Int64s


class NominatedPod(msgspec.Struct, frozen=True):
    """A pod that keeps room from the explained one: nominated for a node, with an equal or higher priority.

    Attributes:
        position: The position of the node.
    """

    namespace: str
    name: str
    uid: str
    priority: int
    position: int


class Explanation(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """Why a pod would go where. A position is one in ``nodes``.

    Attributes:
        namespace: The pod's.
        name: The pod's.
        uid: The pod's; "" offline, when the pod has none.
        profile: The name of the profile that decided.
        held: Why scheduling gates or its group hold the pod back; the rest is the decision without that.
            Success = nothing holds it back.
        status: The verdict on the pod.
        message: The message of an unschedulable pod, or the failure of the decision; else "".
        nodes: The names of the N candidates; none when the pod may not be scheduled yet.
        statuses: The distinct verdicts; number 0 is Success.
        codes: int32[N], per node an index into ``statuses``.
        rejections: With all rejections requested: per node, the status of every rejecting plugin.
        prefilter: By plugin, in the profile's order; those that skipped are absent.
        scored: int32[S], the positions of the nodes that ``scores`` are about.
        scores: None when scoring was not needed or not possible.
        weight_sum: The sum of the weights of the profile's Score plugins.
        selected: The position of the selected node; None without one.
        ties: int32[T], the positions of the nodes with the highest total, the selected one included.
        evaluated: How many nodes the Filter plugins evaluated.
        feasible: How many of them can take the pod.
        resources: The pod's requests, ``pods`` first, then by name. Read after the decision: on a live state
            they can be newer than the verdicts.
        nominated: The pods that keep room. Read like ``resources``.
        candidates: If no node takes the pod: where preemption could make room, in row order.
        room_on: The node that the scheduler would nominate the pod for; "" = none.
        assigned_node: The node that the pod is on already, "" = none: the rest says where it would go today.
        start_time: Since when the kubelet there has had it, as in the pod's status; None = not known.
        others: How many other pods are pending; none of them is placed here.
        findings: The facts behind the rejections; empty in explanations without them.
        preemption_findings: Why preemption does not help, or, on other candidates, why ``room_on`` is better.
        warnings: The profile's warnings to the caller.
    """

    namespace: str
    name: str
    uid: str = ""
    profile: str
    seed: int
    held: Status = SUCCESS
    status: Status
    message: str = ""
    nodes: Sequence[str] = ()
    statuses: Sequence[Status] = (SUCCESS,)
    codes: Int32s = _NONE
    rejections: Sequence[Sequence[Status]] | None = None
    prefilter: Mapping[str, PreFilterOutcome] = msgspec.field(default_factory=dict)
    scored: Int32s = _NONE
    scores: Scores | None = None
    weight_sum: int = 0
    selected: int | None = None
    ties: Int32s = _NONE
    evaluated: int = 0
    feasible: int = 0
    resources: Sequence[RequestedResource] = ()
    nominated: Sequence[NominatedPod] = ()
    candidates: Sequence[Candidate] = ()
    room_on: str = ""
    assigned_node: str = ""
    start_time: str | None = None
    others: int = 0
    findings: Findings = NO_FINDINGS
    preemption_findings: Findings = NO_FINDINGS
    warnings: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        choice: Choice,
        seed: int,
        warnings: Sequence[str] = (),
        assigned_node: str = "",
        *,
        held: Status = SUCCESS,
        others: int = 0,
        findings: Findings = NO_FINDINGS,
        preemption_findings: Findings = NO_FINDINGS,
    ) -> Explanation:
        """Return the explanation of ``choice``, with ``warnings`` after those of its profile, for a pod that
        is on ``assigned_node`` already, or ``held`` back. Raises LookupError if it was selected from a cached
        evaluation, which has no reasons.
        """
        evaluation = choice.evaluation
        pod, profile, names = evaluation.pod.metadata, evaluation.profile, evaluation.names
        guests = keeping_room(evaluation)
        selected = None if choice.node_name is None else int(np.flatnonzero(evaluation.rows == choice.row)[0])
        return cls(
            namespace=pod.namespace,
            name=pod.name,
            uid=pod.uid,
            profile=profile.name,
            seed=seed,
            held=held,
            others=others,
            findings=findings,
            preemption_findings=preemption_findings,
            status=evaluation.status,
            message=evaluation.message,
            nodes=[names[row] for row in evaluation.rows.tolist()],
            statuses=evaluation.statuses,
            codes=evaluation.codes,
            rejections=evaluation.rejections,
            prefilter=evaluation.written.prefilter,
            scored=evaluation.feasible if evaluation.scores is not None else _NONE,
            scores=evaluation.scores,
            weight_sum=profile.weight_sum,
            selected=selected,
            ties=evaluation.best,
            evaluated=evaluation.evaluated,
            feasible=evaluation.feasible_count,
            resources=_resources(evaluation, guests),
            nominated=[_nominated_pod(position, record) for position, record in guests],
            candidates=candidates_of(evaluation),
            room_on=evaluation.room_on,
            assigned_node=assigned_node,
            start_time=evaluation.pod.status.start_time if assigned_node else None,
            warnings=(*_warnings(choice), *warnings),
        )

    @classmethod
    def of_failure(
        cls, namespace: str, name: str, profile: str, seed: int, failure: PluginFailureError
    ) -> Explanation:
        """Return the explanation of a decision by the profile of that name that a plugin made fail."""
        said = str(failure)
        status = Status(Code.ERROR, (said,), failure.metadata.get("plugin", ""))
        return cls(namespace=namespace, name=name, profile=profile, seed=seed, status=status, message=said)

    def document(self) -> Document:
        """Return this as the public JSON document.

        Keys: ``pod`` "namespace/name"; ``status``, the verdict on the pod; ``prefilter`` by plugin;
        ``profile``; ``seed``; ``selected``; ``ties``; ``evaluated``; ``feasible``; ``warnings``.
        ``nodes``, by name, have a ``status``, ``scores`` by plugin, a ``total`` (null when not scored), and
        ``rejections`` on request. ``resources``, by name, have the ``requested`` amount, and by node the
        ``free`` amounts and those above 0 that nominated pods have ``kept``. ``nominated`` are these pods.
        ``preemption`` is as in ``preemption_document``. ``otherwise`` has ``status`` and ``selected`` without
        gates and group, if these hold the pod back. ``otherPending`` counts the other pending pods.
        ``findings`` are those about the pod as a whole, and in each rejected node those about it, as in
        ``finding_document``; ``preemptionFindings`` and the nodes' ``preemption`` say why preemption does not
        help. ``assignedNode`` and ``startTime`` are null unless the pod is on a node already.
        """
        verdict = {
            "status": {**_status(self.status), "message": self.message},
            "selected": None if self.selected is None else self.nodes[self.selected],
        }
        held = {"status": {**_status(self.held), "message": self.held.message}, "selected": None}
        return {
            "pod": f"{self.namespace}/{self.name}",
            "profile": self.profile,
            "seed": self.seed,
            **(verdict if self.held.ok else held),
            "otherwise": None if self.held.ok else verdict,
            "ties": [self.nodes[position] for position in self.ties.tolist()],
            "evaluated": self.evaluated,
            "feasible": self.feasible,
            "prefilter": {
                plugin: {
                    "code": outcome.status.code.label,
                    "reasons": list(outcome.status.reasons),
                    "nodes": None if outcome.nodes is None else sorted(outcome.nodes),
                }
                for plugin, outcome in self.prefilter.items()
            },
            "nodes": self._nodes(),
            "resources": {
                one.name: {
                    "requested": one.requested,
                    "free": dict(zip(self.nodes, one.free.tolist(), strict=False)),
                    "kept": {self.nodes[at]: int(one.kept[at]) for at in np.flatnonzero(one.kept).tolist()},
                }
                for one in self.resources
            },
            "nominated": self._nominated(),
            "preemption": preemption_document(self.room_on, self.candidates),
            "findings": [finding_document(each) for each in self.findings.of_pod],
            "preemptionFindings": [finding_document(each) for each in self.preemption_findings.of_pod],
            "otherPending": self.others,
            "warnings": list(self.warnings),
            "assignedNode": self.assigned_node or None,
            "startTime": self.start_time,
        }

    def _nodes(self) -> Document:
        scored = self._scores_by_position()
        statuses = [_status(status) for status in self.statuses]
        nodes: Document = {}
        for position, (name, code) in enumerate(zip(self.nodes, self.codes.tolist(), strict=True)):
            scores, total = scored.get(position, ({}, None))
            entry: Document = {"status": statuses[code], "scores": scores, "total": total}
            if code:
                for key, findings in ("findings", self.findings), ("preemption", self.preemption_findings):
                    entry[key] = [finding_document(each) for each in findings.about(position)]
            if self.rejections is not None:
                entry["rejections"] = [_status(status) for status in self.rejections[position]]
            nodes[name] = entry
        return nodes

    def _nominated(self) -> Document:
        by_node: Document = {}
        for each in self.nominated:
            pod = {"pod": f"{each.namespace}/{each.name}", "priority": each.priority}
            by_node.setdefault(self.nodes[each.position], []).append(pod)
        return by_node

    def _scores_by_position(self) -> dict[int, tuple[Document, int]]:
        if self.scores is None:
            return {}
        columns = [
            (column.plugin, column.weight, column.raw.tolist(), column.normalized.tolist())
            for column in self.scores.plugins
        ]
        answer = {}
        for at, (position, total) in enumerate(
            zip(self.scored.tolist(), self.scores.totals.tolist(), strict=True)
        ):
            entry = {
                plugin: {
                    "raw": raw[at],
                    "normalized": normalized[at],
                    "weight": weight,
                    "weighted": normalized[at] * weight,
                }
                for plugin, weight, raw, normalized in columns
            }
            answer[position] = (entry, total)
        return answer


def _warnings(choice: Choice) -> Iterator[str]:
    """Yield the profile's warnings, and a note if a node was selected before the others were evaluated."""
    evaluation = choice.evaluation
    yield from evaluation.warnings
    yield from left_alone(evaluation.pod, evaluation.profile)
    if evaluation.nominated is not None:
        yield f"node {choice.node_name} is nominated for the pod: while it fits, no other node is tried"


def keeping_room(evaluation: Evaluation) -> list[tuple[int, PodRecord]]:
    """Return the pods that keep room from the evaluated one, each with the position of the candidate."""
    snapshot, found = evaluation.snapshot, []
    for node_name in tuple(snapshot.pods.nominated):
        row = snapshot.nodes.index.get(node_name, -1)
        for position in np.flatnonzero(evaluation.rows == row).tolist():
            found += [(position, record) for record in guest_records(snapshot, node_name, evaluation.pod)]
    return found


def _nominated_pod(position: int, record: PodRecord) -> NominatedPod:
    template = record.kind.base.template
    return NominatedPod(template.metadata.namespace, record.name, record.uid, template.priority, position)


def _resources(evaluation: Evaluation, guests: Sequence[tuple[int, PodRecord]]) -> list[RequestedResource]:
    nodes = NodeView(evaluation.snapshot, evaluation.rows)
    usage = evaluation.cluster.kind_of(evaluation.pod, remember=False).usage
    taken = [(position, {PODS: 1, **dict(record.kind.usage.requests)}) for position, record in guests]
    resources = []
    for name, amount in ((PODS, 1), *sorted(usage.requests)):
        free, kept = _NO_AMOUNTS, _NO_AMOUNTS
        if nodes.has_column(name):
            kept = np.zeros(len(nodes), np.int64)
            for position, amounts in taken:
                kept[position] += amounts.get(name, 0)
            free = nodes.allocatable(name) - nodes.requested(name) - kept
        if amount:
            resources.append(RequestedResource(name, amount, free, kept))
    return resources


def _status(status: Status) -> Document:
    return {"code": status.code.label, "plugin": status.plugin, "reasons": list(status.reasons)}
