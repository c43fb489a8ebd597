"""Evaluations in the caller's order of nodes, as columns on the wire; and scores that a request gives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mooring.framework import MAX_NODE_SCORE, MIN_NODE_SCORE, SUCCESS, Int32s, Int64s, Status
from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError, NotFoundError
from mooring.runtime.answers import Evaluation, PluginScores, normalizes
from mooring.runtime.profiles.profile import Profile
from mooring.service.wire.columns import put
from mooring.service.wire.node_names import NO_ROW
from mooring.service.wire.selection import Selection
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1 import verdicts_pb2

UNKNOWN_NODE = Status.unresolvable("node(s) not known to mooring")
"""The verdict on a node that was named and isn't in the state."""


def selected_verdicts(codes: Int32s, statuses: Sequence[Status], rows: Int32s) -> tuple[Int32s, list[Status]]:
    """int32[M] codes in the caller's order, and their table; unknown nodes have a verdict of their own.

    ``codes`` has an index into ``statuses`` for each known node.
    """
    if len(codes) == len(rows):
        return codes, list(statuses)
    known = rows != NO_ROW
    wide = np.full(len(known), len(statuses), np.int32)
    wide[known] = codes
    return wide, [*statuses, UNKNOWN_NODE]


def ordered_verdicts(evaluation: Evaluation, rows: Int32s) -> tuple[Int32s, list[Status]]:
    """Return the verdicts of ``evaluation``, as ``selected_verdicts``.

    The table has Success and the verdicts of the nodes, in the nodes' order. Equal verdicts are spelt alike,
    however they were found.
    """
    codes, statuses = selected_verdicts(evaluation.codes, evaluation.statuses, rows)
    if len(statuses) == 1 or not codes.any():
        return codes, statuses[:1]
    said, first = np.unique(codes, return_index=True)
    order = [0, *(code for code in said[np.argsort(first)].tolist() if code)]
    lookup = np.zeros(len(statuses), np.int32)
    lookup[order] = np.arange(len(order))
    return lookup[codes], [statuses[code] for code in order]


def score_verdicts(rows: Int32s) -> tuple[Int32s, list[Status]]:
    """As ``selected_verdicts`` for nodes that are taken as feasible: only unknown ones are rejected."""
    return (rows == NO_ROW).astype(np.int32), [SUCCESS, UNKNOWN_NODE] if (rows == NO_ROW).any() else [SUCCESS]


def selected_scores(evaluation: Evaluation, rows: Int32s) -> tuple[list[PluginScores], Int64s]:
    """Return the columns and totals, int64[M], in the caller's order; 0 for unknown nodes."""
    scores = evaluation.scores
    if scores is None:
        return [], np.zeros(len(rows), np.int64)
    known = rows != NO_ROW
    if known.all():
        return list(scores.plugins), scores.totals

    def spread(column: Int64s) -> Int64s:
        wide = np.zeros(len(known), np.int64)
        wide[known] = column
        return wide

    columns = [
        PluginScores(column.plugin, column.weight, spread(column.raw), spread(column.normalized))
        for column in scores.plugins
    ]
    return columns, spread(scores.totals)


def score_message(
    column: PluginScores, *, raw: bool = True, normalized: bool = True
) -> verdicts_pb2.PluginScores:
    """One plugin's scores on the wire."""
    message = verdicts_pb2.PluginScores(plugin=column.plugin, weight=column.weight)
    if raw:
        put(message, "raw", column.raw)
    if normalized:
        put(message, "normalized", column.normalized)
        put(message, "weighted", column.normalized * column.weight)
    return message


def raw_columns(request: pb.NormalizeScoreRequest, profile: Profile) -> dict[str, Int64s]:
    """int64[M] by plugin, in the request's order."""
    known = {enabled.name for enabled in profile.score}
    columns: dict[str, Int64s] = {}
    for at, column in enumerate(request.plugins):
        if column.plugin not in known:
            raise NotFoundError(
                f"plugin {column.plugin!r} scores nothing in profile {profile.name!r}; "
                "send only Score's plugins",
                reason="PLUGIN_NOT_FOUND",
                plugin=column.plugin,
                profile=profile.name,
            )
        if column.plugin in columns:
            raise InvalidArgumentError.at(f"plugins[{at}].plugin", f"{column.plugin!r} is given twice")
        columns[column.plugin] = np.array(column.raw, np.int64)
    return columns


def known_only(raw: dict[str, Int64s], selection: Selection, profile: Profile) -> dict[str, Int64s]:
    """Return the columns without the entries of unknown nodes. Raises InvalidArgumentError if a column has
    not one score per selected node, or one that no plugin brings between 0 and 100.
    """
    known = selection.rows != NO_ROW
    InvalidArgumentError.raise_if_any(
        FieldError(f"plugins[{at}].raw", f"plugin {name}: {len(column)} scores for {len(known)} nodes")
        for at, (name, column) in enumerate(raw.items())
        if len(column) != len(known)
    )
    columns = {name: column[known] for name, column in raw.items()}
    final = {enabled.name for enabled in profile.score if not normalizes(enabled.plugin)}
    InvalidArgumentError.raise_if_any(
        FieldError(
            f"plugins[{at}].raw",
            f"plugin {name} has no NormalizeScore: its scores must be {MIN_NODE_SCORE} to {MAX_NODE_SCORE}",
        )
        for at, (name, column) in enumerate(columns.items())
        if name in final and ((column < MIN_NODE_SCORE) | (column > MAX_NODE_SCORE)).any()
    )
    return columns
