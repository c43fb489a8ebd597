"""An evaluation as the public JSON document: every node, every plugin.

The same document is printed by ``mooring explain -o json`` and returned by ``mooring.testing.explain``.
"""

from __future__ import annotations

from typing import Any

from mooring.framework import Code, Status
from mooring.framework.errors import PluginFailureError
from mooring.runtime.choice import Choice
from mooring.runtime.evaluation import Evaluation

Document = dict[str, Any]
"""A JSON object."""


def document(choice: Choice, seed: int, warnings: tuple[str, ...] = ()) -> Document:
    """The explanation of ``choice``.

    Keys: ``pod`` "namespace/name"; ``status``, the verdict on the pod; ``prefilter`` by plugin; ``nodes``
    by name, each with its ``status``, ``scores`` by plugin and ``total`` (null when not scored), and
    ``rejections`` when they were asked for; ``selected``; ``profile``; ``seed``; ``ties``; ``evaluated``;
    ``feasible``; ``warnings``.
    """
    evaluation = choice.evaluation
    names = evaluation.names
    return {
        "pod": evaluation.pod.key,
        "profile": evaluation.profile.name,
        "seed": seed,
        "status": {**_status(evaluation.status), "message": evaluation.message},
        "selected": choice.node_name,
        "ties": [names[row] for row in choice.ties.tolist()],
        "evaluated": evaluation.evaluated,
        "feasible": len(evaluation.feasible),
        "prefilter": {
            plugin: {
                "code": outcome.status.code.label,
                "reasons": list(outcome.status.reasons),
                "nodes": None if outcome.nodes is None else sorted(outcome.nodes),
            }
            for plugin, outcome in evaluation.prefilter.items()
        },
        "nodes": _nodes(evaluation),
        "warnings": [*evaluation.warnings, *warnings],
    }


def failure_document(pod_key: str, profile: str, seed: int, failure: PluginFailureError) -> Document:
    """The explanation of a decision by the profile of that name that a plugin made fail."""
    status = Status(Code.ERROR, (str(failure),), failure.metadata.get("plugin", ""))
    return {
        "pod": pod_key,
        "profile": profile,
        "seed": seed,
        "status": {**_status(status), "message": str(failure)},
        "selected": None,
        "ties": [],
        "evaluated": 0,
        "feasible": 0,
        "prefilter": {},
        "nodes": {},
        "warnings": [],
    }


def _status(status: Status) -> Document:
    return {"code": status.code.label, "plugin": status.plugin, "reasons": list(status.reasons)}


def _nodes(evaluation: Evaluation) -> Document:
    scored = _scores_by_position(evaluation)
    names = evaluation.names
    statuses = [_status(status) for status in evaluation.statuses]
    nodes: Document = {}
    for position, (row, code) in enumerate(
        zip(evaluation.rows.tolist(), evaluation.codes.tolist(), strict=True)
    ):
        scores, total = scored.get(position, ({}, None))
        entry: Document = {"status": statuses[code], "scores": scores, "total": total}
        if evaluation.rejections is not None:
            entry["rejections"] = [_status(status) for status in evaluation.rejections[position]]
        nodes[names[row]] = entry
    return nodes


def _scores_by_position(evaluation: Evaluation) -> dict[int, tuple[Document, int]]:
    if evaluation.scores is None:
        return {}
    scores = evaluation.scores
    columns = [
        (column.plugin, column.weight, column.raw.tolist(), column.normalized.tolist())
        for column in scores.plugins
    ]
    answer = {}
    for at, (position, total) in enumerate(
        zip(evaluation.feasible.tolist(), scores.totals.tolist(), strict=True)
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
