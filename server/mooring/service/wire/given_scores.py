"""The raw scores that a NormalizeScore request gives."""

from __future__ import annotations

import numpy as np

from mooring.framework import MAX_NODE_SCORE, MIN_NODE_SCORE, Int64s
from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError, NotFoundError
from mooring.runtime.answers import normalizes
from mooring.runtime.profiles.profile import Profile
from mooring.service.wire.node_names import NO_ROW
from mooring.service.wire.selection import Selection
from mooring.v1 import scheduling_service_pb2 as pb


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
    """Return the columns without the entries of unknown nodes.

    Raises:
        InvalidArgumentError: A column has not one score per selected node, or one that no plugin brings
            between 0 and 100.
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
