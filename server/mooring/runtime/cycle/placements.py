"""The extension points of groups: PlacementGenerate, PlacementFeasible and PlacementScore.

Mirrors their ``Run...Plugins`` in ``framework/runtime/framework.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mooring.framework import (
    MAX_NODE_SCORE,
    MIN_NODE_SCORE,
    SUCCESS,
    Code,
    CycleState,
    GroupPlacement,
    Int64s,
    NodeView,
    PlacementFeasiblePlugin,
    PlacementProgress,
    PodGroupAssignments,
    PodGroupInfo,
    Status,
)
from mooring.framework.groups import PlacementColumns
from mooring.runtime.cycle.group_result import PlacementScores
from mooring.runtime.cycle.plugin_calls import PluginCalls, plugin_failure
from mooring.runtime.profiles.profile import Profile

_GENERATE = "PlacementGenerate"
_FEASIBLE = "PlacementFeasible"
_SCORE = "PlacementScore"
_NORMALIZE = "PlacementScoreExtensionNormalize"

NOWHERE = Status.unschedulable("no feasible placements found")
"""The verdict on a group for which there is no placement."""


def find_placements(
    profile: Profile, state: CycleState, group: PodGroupInfo, nodes: NodeView, calls: PluginCalls
) -> PlacementColumns | Status:
    """Return where the group could be; without a plugin that says so, ``nodes``; else why nowhere. Raises
    PluginFailureError if the plugin raised, or returned something else.
    """
    if not profile.placement_generate:
        return PlacementColumns([GroupPlacement("", nodes.rows)])
    enabled = profile.placement_generate[0]
    with calls.point(_GENERATE) as point:
        found = calls.call(enabled.name, _GENERATE, enabled.plugin.generate_placements, state, group, nodes)
        if isinstance(found, Status):
            if found.ok:
                raise plugin_failure(enabled.name, _GENERATE, "returned Success instead of placements")
            point.status = found.code
            return found.by(enabled.name)
        if not found:
            point.status = NOWHERE.code
            return NOWHERE.by(enabled.name)
    return found if isinstance(found, PlacementColumns) else PlacementColumns(found)


def feasible_so_far(
    plugins: Mapping[str, PlacementFeasiblePlugin[Any]],
    state: CycleState,
    group: PodGroupInfo,
    progress: PlacementProgress,
    calls: PluginCalls,
) -> Status:
    """Return Success, Wait or Unschedulable: the worst of the plugins' statuses. Raises PluginFailureError if
    a plugin raised, or returned something else.
    """
    worst = SUCCESS
    with calls.point(_FEASIBLE) as point:
        for name, plugin in plugins.items():
            status = calls.call(name, _FEASIBLE, plugin.placement_feasible, state, group, progress)
            if not isinstance(status, Status):
                raise plugin_failure(name, _FEASIBLE, f"returned {type(status).__name__}, not Status")
            if status.ok:
                continue
            if status.code not in (Code.WAIT, Code.UNSCHEDULABLE):
                raise plugin_failure(name, _FEASIBLE, status.message or status.code.label)
            worst = status.by(name)
            if status.code is Code.UNSCHEDULABLE:
                break
        point.status = worst.code
    return worst


def score_placements(
    profile: Profile,
    state: CycleState,
    group: PodGroupInfo,
    found: Sequence[PodGroupAssignments],
    calls: PluginCalls,
) -> tuple[tuple[PlacementScores, ...], Int64s]:
    """Return each plugin's scores of the placements, and int64[P], their totals. Raises PluginFailureError if
    a plugin raised, or a score is outside of 0..100 after normalising.
    """
    totals: Int64s = np.zeros(len(found), np.int64)
    scores = []
    with calls.point(_SCORE):
        for enabled in profile.placement_score:
            name, plugin = enabled.name, enabled.plugin
            raw = calls.call(name, _SCORE, plugin.score_placements, state, group, found)
            _check_form(name, _SCORE, raw, len(found))
            raw.flags.writeable = False
            normalized = calls.call(name, _NORMALIZE, plugin.normalize_placement_scores, state, group, raw)
            _check(name, normalized, len(found))
            scores.append(PlacementScores(name, enabled.weight, raw, normalized))
            totals += normalized * enabled.weight
    return tuple(scores), totals


def _check(plugin: str, normalized: object, count: int) -> None:
    scores = _check_form(plugin, _NORMALIZE, normalized, count)
    outside = scores[(scores < MIN_NODE_SCORE) | (scores > MAX_NODE_SCORE)]
    if len(outside):
        allowed = f"[{MIN_NODE_SCORE}, {MAX_NODE_SCORE}]"
        raise plugin_failure(plugin, _NORMALIZE, f"a score is {outside[0]}, which is not in {allowed}")


def _check_form(plugin: str, point: str, scores: object, count: int) -> Int64s:
    if not (isinstance(scores, np.ndarray) and scores.dtype == np.int64 and len(scores) == count):
        raise plugin_failure(plugin, point, f"did not return int64[{count}]")
    return scores
