"""Explanations on the wire: to the response of Explain, and back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Literal, Protocol

import numpy as np

from mooring.framework import SUCCESS, Int32s, Status
from mooring.runtime.answers import (
    Explanation,
    NominatedPod,
    PluginScores,
    PreFilterOutcome,
    RequestedResource,
    Scores,
)
from mooring.service.wire.answers import score_message, selected_verdicts
from mooring.service.wire.columns import put
from mooring.service.wire.findings import add_findings, findings_in
from mooring.service.wire.node_names import NO_ROW, listed_names
from mooring.service.wire.objects import candidate_message, candidate_of, status_message, status_of, verdicts
from mooring.service.wire.selection import NO_NODES
from mooring_client.v1 import nodes_pb2, objects_pb2
from mooring_client.v1 import scheduling_service_pb2 as pb


class ListedNodes(Protocol):
    """The nodes that an answer is about, in the caller's order."""

    @property
    def rows(self) -> Int32s:
        """int32[M]: a number for each, ``NO_ROW`` where unknown."""
        ...

    @property
    def nodes(self) -> nodes_pb2.NodeList | None:
        """As the caller wants them named."""
        ...

    def node_list(self, names: Sequence[str], rows: Int32s) -> nodes_pb2.NodeList:
        """Return some of them, as the caller wants them named."""
        ...


def to_response(
    explanation: Explanation, selection: ListedNodes, provenance: objects_pb2.Provenance
) -> pb.ExplainResponse:
    """Everything of ``explanation``, in the order of ``selection``, whose unknown nodes are listed too."""
    # A pod that may not be scheduled yet is evaluated for no node.
    waits = len(explanation.nodes) < np.count_nonzero(selection.rows != NO_ROW)
    listed = NO_NODES if waits else selection.rows
    places = np.flatnonzero(listed != NO_ROW).astype(np.int32)
    codes, statuses = selected_verdicts(explanation.codes, explanation.statuses, listed)
    response = pb.ExplainResponse(
        provenance=provenance,
        pod=objects_pb2.PodReference(
            namespace=explanation.namespace, name=explanation.name, uid=explanation.uid
        ),
        other_pending_count=explanation.others,
        prefilter=_prefilter(explanation),
        nodes=selection.node_list((), listed) if waits else selection.nodes,
        verdicts=verdicts(statuses, codes),
        weight_sum=explanation.weight_sum,
        evaluated_count=explanation.evaluated,
        feasible_count=explanation.feasible,
        seed=explanation.seed,
        warnings=explanation.warnings,
        assigned_node=explanation.assigned_node,
        candidates=map(candidate_message, explanation.candidates),
        preemption_node=explanation.room_on,
    )
    # Manifests may have anything there.
    with suppress(ValueError):
        response.start_time.FromJsonString(explanation.start_time or "")
    put(response, "scored_positions", places[explanation.scored])
    put(response, "tie_positions", places[explanation.ties])
    if explanation.scores is not None:
        response.plugins.extend(score_message(column) for column in explanation.scores.plugins)
        put(response, "totals", explanation.scores.totals)
    _add_verdict(response, explanation, places)
    _add_amounts(response, explanation, len(listed), places)
    if explanation.findings:
        add_findings(response.findings, explanation.findings, places)
    if explanation.preemption_findings:
        add_findings(response.preemption_findings, explanation.preemption_findings, places)
    if explanation.rejections is not None:
        _add_rejections(response, explanation, places)
    return response


def from_response(response: pb.ExplainResponse) -> Explanation:
    """Decode the explanation that a server sent, with the nodes that it does not know among the others.

    Raises:
        InvalidArgumentError: The nodes are indices.
        KeyError: A status has a code of a newer server.
    """
    statuses = [status_of(status) for status in response.verdicts.distinct]
    nodes = listed_names(response.nodes)
    codes = np.array(response.verdicts.node_verdicts, np.int32)
    held = response.HasField("otherwise")
    verdict = response.otherwise if held else response.verdict
    position: Literal["otherwise_position", "selected_position"] = (
        "otherwise_position" if held else "selected_position"
    )
    return Explanation(
        namespace=response.pod.namespace,
        name=response.pod.name,
        uid=response.pod.uid,
        profile=response.provenance.profile,
        seed=response.seed,
        held=status_of(response.verdict) if held else SUCCESS,
        status=status_of(verdict),
        message=verdict.message,
        nodes=nodes,
        statuses=statuses,
        codes=codes if len(codes) else np.zeros(len(nodes), np.int32),
        rejections=_rejections(response, statuses, len(nodes)),
        prefilter={verdict.plugin: _pre_filter_outcome(verdict) for verdict in response.prefilter},
        scored=np.array(response.scored_positions, np.int32),
        scores=_scores(response),
        weight_sum=response.weight_sum,
        selected=getattr(response, position) if response.HasField(position) else None,
        ties=np.array(response.tie_positions, np.int32),
        evaluated=response.evaluated_count,
        feasible=response.feasible_count,
        resources=_resources(response),
        nominated=_nominated(response),
        candidates=[candidate_of(candidate) for candidate in response.candidates],
        room_on=response.preemption_node,
        warnings=tuple(response.warnings),
        assigned_node=response.assigned_node,
        others=response.other_pending_count,
        findings=findings_in(response.findings, len(nodes)),
        preemption_findings=findings_in(response.preemption_findings, len(nodes)),
        start_time=response.start_time.ToJsonString() if response.HasField("start_time") else None,
    )


def _pre_filter_outcome(verdict: pb.PreFilterVerdict) -> PreFilterOutcome:
    nodes = frozenset(verdict.nodes.names) if verdict.HasField("nodes") else None
    return PreFilterOutcome(status_of(verdict.verdict), nodes)


def _add_verdict(response: pb.ExplainResponse, explanation: Explanation, places: Int32s) -> None:
    verdict = status_message(explanation.status, explanation.message)
    held, selected = explanation.held, explanation.selected
    response.verdict.CopyFrom(verdict if held.ok else status_message(held, held.message))
    if not held.ok:
        response.otherwise.CopyFrom(verdict)
    if selected is not None and held.ok:
        response.selected_position = int(places[selected])
    elif selected is not None:
        response.otherwise_position = int(places[selected])


def _prefilter(explanation: Explanation) -> list[pb.PreFilterVerdict]:
    return [
        pb.PreFilterVerdict(
            plugin=plugin,
            verdict=status_message(outcome.status),
            nodes=None if outcome.nodes is None else nodes_pb2.NodeNames(names=sorted(outcome.nodes)),
        )
        for plugin, outcome in explanation.prefilter.items()
    ]


def _add_amounts(response: pb.ExplainResponse, explanation: Explanation, count: int, places: Int32s) -> None:
    """Add the free amounts of the ``count`` listed nodes, and the nominated pods that keep room there."""
    for resource in explanation.resources:
        message = response.resources.add(name=resource.name, requested=resource.requested)
        if not len(resource.free):
            continue
        free = np.zeros(count, np.int64)
        free[places] = resource.free
        put(message, "free", free)
        if resource.kept.any():
            kept = np.zeros(count, np.int64)
            kept[places] = resource.kept
            put(message, "kept", kept)
    for each in explanation.nominated:
        pod = objects_pb2.PodReference(namespace=each.namespace, name=each.name, uid=each.uid)
        response.nominated_pods.add(pod=pod, priority=each.priority, position=int(places[each.position]))


def _resources(response: pb.ExplainResponse) -> list[RequestedResource]:
    return [
        RequestedResource(
            one.name,
            one.requested,
            np.array(one.free, np.int64),
            np.array(one.kept or [0] * len(one.free), np.int64),
        )
        for one in response.resources
    ]


def _nominated(response: pb.ExplainResponse) -> list[NominatedPod]:
    return [
        NominatedPod(each.pod.namespace, each.pod.name, each.pod.uid, each.priority, each.position)
        for each in response.nominated_pods
    ]


def _add_rejections(response: pb.ExplainResponse, explanation: Explanation, places: Int32s) -> None:
    statuses = response.verdicts.distinct
    numbers = {status: number for number, status in enumerate(explanation.statuses)}
    for position, rejections in enumerate(explanation.rejections or ()):
        for rejection in rejections:
            if rejection not in numbers:
                numbers[rejection] = len(statuses)
                statuses.append(status_message(rejection))
            response.rejections.node_positions.append(int(places[position]))
            response.rejections.verdicts.append(numbers[rejection])
    response.rejections.SetInParent()


def _rejections(
    response: pb.ExplainResponse, statuses: list[Status], count: int
) -> list[list[Status]] | None:
    if not response.HasField("rejections"):
        return None
    answer: list[list[Status]] = [[] for _ in range(count)]
    columns = response.rejections
    for position, number in zip(columns.node_positions, columns.verdicts, strict=True):
        answer[position].append(statuses[number])
    return answer


def _scores(response: pb.ExplainResponse) -> Scores | None:
    """None also if no node was scored: an explanation that was made here may have empty scores then."""
    if not response.scored_positions:
        return None
    columns = (
        PluginScores(
            column.plugin,
            column.weight,
            np.array(column.raw, np.int64),
            np.array(column.normalized, np.int64),
        )
        for column in response.plugins
    )
    return Scores(tuple(columns), np.array(response.totals, np.int64))
