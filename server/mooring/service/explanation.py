"""Explain: the whole evaluation as a response."""

from __future__ import annotations

import numpy as np

from mooring.framework import Int32s
from mooring.runtime.choice import Choice
from mooring.runtime.evaluation import Evaluation
from mooring.service.answers import score_message, selected_verdicts
from mooring.service.columns import put
from mooring.service.node_names import NO_ROW
from mooring.service.objects import status_message, verdicts
from mooring.service.selection import Selection
from mooring.v1 import nodes_pb2, objects_pb2
from mooring.v1 import scheduling_service_pb2 as pb


def explain_response(
    choice: Choice, selection: Selection, seed: int, provenance: objects_pb2.Provenance
) -> pb.ExplainResponse:
    """Everything of ``choice``, in the order of ``selection``."""
    evaluation = choice.evaluation
    # A pod that may not be scheduled yet is asked about no node at all.
    waits = len(evaluation.rows) < np.count_nonzero(selection.rows != NO_ROW)
    listed = evaluation.rows if waits else selection.rows
    places = _places(listed)
    codes, statuses = selected_verdicts(evaluation, listed)
    scored = evaluation.feasible if evaluation.scores is not None else np.zeros(0, np.int32)
    response = pb.ExplainResponse(
        provenance=provenance,
        pod=_reference(evaluation),
        status=status_message(evaluation.status, evaluation.message),
        prefilter=_prefilter(evaluation),
        nodes=selection.node_list((), listed) if waits else selection.nodes,
        verdicts=verdicts(statuses, codes),
        weight_sum=evaluation.profile.weight_sum,
        evaluated_count=evaluation.evaluated,
        feasible_count=len(evaluation.feasible),
        seed=seed,
        warnings=evaluation.warnings,
    )
    put(response, "scored_positions", places[scored])
    put(response, "tie_positions", places[_positions(evaluation, choice.ties)])
    if evaluation.scores is not None:
        response.plugins.extend(score_message(column) for column in evaluation.scores.plugins)
        put(response, "totals", evaluation.scores.totals)
    if choice.node_name is not None:
        response.selected_position = int(places[_positions(evaluation, np.array([choice.row]))][0])
    if evaluation.rejections is not None:
        _add_rejections(response, evaluation, places)
    return response


def _places(listed: Int32s) -> Int32s:
    """int32[N]: where each candidate stands in the caller's list."""
    return np.flatnonzero(listed != NO_ROW).astype(np.int32)


def _positions(evaluation: Evaluation, rows: Int32s) -> Int32s:
    """int32[]: the positions of ``rows`` among the candidates."""
    return np.flatnonzero(np.isin(evaluation.rows, rows)).astype(np.int32)


def _reference(evaluation: Evaluation) -> objects_pb2.PodReference:
    metadata = evaluation.pod.metadata
    return objects_pb2.PodReference(namespace=metadata.namespace, name=metadata.name, uid=metadata.uid)


def _prefilter(evaluation: Evaluation) -> list[pb.PreFilterVerdict]:
    return [
        pb.PreFilterVerdict(
            plugin=plugin,
            status=status_message(outcome.status),
            nodes=None if outcome.nodes is None else nodes_pb2.NodeNames(names=sorted(outcome.nodes)),
        )
        for plugin, outcome in evaluation.prefilter.items()
    ]


def _add_rejections(response: pb.ExplainResponse, evaluation: Evaluation, places: Int32s) -> None:
    statuses = response.verdicts.statuses
    numbers = {status: number for number, status in enumerate(evaluation.statuses)}
    for position, rejections in enumerate(evaluation.rejections or ()):
        for rejection in rejections:
            if rejection not in numbers:
                numbers[rejection] = len(statuses)
                statuses.append(status_message(rejection))
            response.rejections.node_positions.append(int(places[position]))
            response.rejections.statuses.append(numbers[rejection])
    response.rejections.SetInParent()
