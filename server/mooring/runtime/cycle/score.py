"""PreScore, Score and NormalizeScore for the feasible nodes.

Mirrors ``RunPreScorePlugins`` and ``RunScorePlugins`` in ``framework/runtime/framework.go``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mooring.framework import (
    MAX_NODE_SCORE,
    MIN_NODE_SCORE,
    Code,
    Int32s,
    Int64s,
    NodeView,
    ScorePlugin,
    Status,
)
from mooring.framework.normalize import Normalizer
from mooring.runtime.cycle.evaluation import Evaluation, PluginScores, Scores
from mooring.runtime.cycle.extenders import add_extender_scores
from mooring.runtime.cycle.plugin_calls import PluginCalls, plugin_failure

_LABEL = "ScoreExtensionNormalize"

EVERY_SCORE = logging.INFO - 10
"""The log level of one line per pod, plugin and node; klog's 10."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Scaled:
    """The raw scores of a plugin, and the normalizer that brings those of the feasible nodes to 0..100.

    Attributes:
        raw: int64[capacity].
    """

    weight: int
    normalizer: Normalizer
    raw: Int64s

    def scores(self, feasible: Int32s | slice) -> Int64s:
        """int64[F]: the weighted scores of the ``feasible`` rows, as if there were no others."""
        return self.weight * self.normalizer.apply(self.raw[feasible])


def score(evaluation: Evaluation, rows: Int32s, calls: PluginCalls) -> Scores:
    """Score ``rows`` (int32[F]), all taken as feasible, by the profile's plugins and then by extenders.
    Raises PluginFailureError if a plugin raised, or a score is not an int64, or outside 0..100 after
    normalising.
    """
    raw = raw_scores(evaluation, rows, calls)
    scores = add_extender_scores(evaluation, rows, weigh(evaluation, raw, len(rows), calls))
    if log.isEnabledFor(EVERY_SCORE):
        _log_scores(evaluation, rows, scores)
    return scores


def raw_scores(evaluation: Evaluation, rows: Int32s, calls: PluginCalls) -> dict[str, Int64s]:
    """int64[F] by plugin, in the profile's order; plugins that skip are absent."""
    view = evaluation.view(rows)
    return run_score(evaluation, view, run_pre_score(evaluation, view, calls), calls)


def run_score(
    evaluation: Evaluation, view: NodeView, skipped: set[str], calls: PluginCalls
) -> dict[str, Int64s]:
    """int64[F] by plugin: the scores of the nodes of ``view``, without the ``skipped`` plugins."""
    raw = {}
    with calls.point("Score"):
        for enabled in evaluation.profile.score:
            if enabled.name not in skipped:
                scores = calls.call(
                    enabled.name, "Score", enabled.plugin.score_nodes, evaluation.state, evaluation.pod, view
                )
                raw[enabled.name] = _checked(enabled.name, "Score", scores, len(view))
    return raw


def run_pre_score(evaluation: Evaluation, view: NodeView, calls: PluginCalls) -> set[str]:
    """Run the PreScore plugins if any score; return the names of those that skip."""
    skipped: set[str] = set()
    if not (evaluation.profile.has_scoring or evaluation.profile.extenders):
        return skipped
    with calls.point("PreScore"):
        for enabled in evaluation.profile.pre_score:
            status = calls.call(
                enabled.name, "PreScore", enabled.plugin.pre_score, evaluation.state, evaluation.pod, view
            )
            if not isinstance(status, Status):
                raise plugin_failure(enabled.name, "PreScore", f"returned {type(status).__name__}")
            if status.code is Code.SKIP:
                skipped.add(enabled.name)
            elif not status.ok:
                raise plugin_failure(enabled.name, "PreScore", status.message or status.code.label)
    return skipped


def weigh(evaluation: Evaluation, raw: Mapping[str, Int64s], count: int, calls: PluginCalls) -> Scores:
    """Normalise the raw scores (int64[F] by plugin), check their range, weigh and add them."""
    plugins = []
    totals: Int64s = np.zeros(count, np.int64)
    if not (evaluation.profile.has_scoring or evaluation.profile.extenders):
        totals = np.ones(count, np.int64)
    with calls.point(_LABEL):
        for enabled in evaluation.profile.score:
            scores = raw.get(enabled.name)
            if scores is None:
                continue
            scores.flags.writeable = False
            normalized = scores
            if normalizes(enabled.plugin):
                normalized = calls.call(
                    enabled.name,
                    _LABEL,
                    enabled.plugin.normalize_score,
                    evaluation.state,
                    evaluation.pod,
                    scores,
                )
                normalized = _checked(enabled.name, _LABEL, normalized, count)
            _check_range(enabled.name, normalized)
            plugins.append(PluginScores(enabled.name, enabled.weight, scores, normalized))
            totals += normalized if enabled.weight == 1 else normalized * enabled.weight
    return Scores(tuple(plugins), totals)


def normalizes(plugin: ScorePlugin[Any]) -> bool:
    """Return whether the plugin has anything to do at NormalizeScore."""
    own = type(plugin).normalize_score is not ScorePlugin.normalize_score
    return own or plugin.normalizer is not None


def _checked(plugin: str, point: str, scores: object, count: int) -> Int64s:
    if isinstance(scores, np.ndarray) and scores.dtype == np.int64 and scores.shape == (count,):
        return scores
    found = f"{scores.dtype}{list(scores.shape)}" if isinstance(scores, np.ndarray) else type(scores).__name__
    raise plugin_failure(plugin, point, f"returned {found} scores, not int64[{count}]")


def _check_range(plugin: str, normalized: Int64s) -> None:
    # Numbers below 0 are the highest ones when they are taken for unsigned.
    if len(normalized) and int(normalized.view(np.uint64).max()) > MAX_NODE_SCORE:
        outside = (normalized < MIN_NODE_SCORE) | (normalized > MAX_NODE_SCORE)
        worst = int(normalized[outside][0])
        raise plugin_failure(
            plugin,
            _LABEL,
            f'plugin "{plugin}" returns an invalid score {worst}, it should in the range of '
            f"[{MIN_NODE_SCORE}, {MAX_NODE_SCORE}] after normalizing",
        )


def _log_scores(evaluation: Evaluation, rows: Int32s, scores: Scores) -> None:
    names = NodeView(evaluation.snapshot, rows).names
    for column in scores.plugins:
        for name, raw, normalized in zip(names, column.raw, column.normalized, strict=True):
            log.log(
                EVERY_SCORE,
                'Plugin scored node for pod pod="%s" plugin="%s" node="%s" raw=%d score=%d weight=%d '
                "weighted=%d",
                evaluation.pod.key,
                column.plugin,
                name,
                raw,
                normalized,
                column.weight,
                normalized * column.weight,
            )
    for name, total in zip(names, scores.totals, strict=True):
        log.log(
            EVERY_SCORE,
            'Calculated node\'s final score for pod pod="%s" node="%s" score=%d',
            evaluation.pod.key,
            name,
            total,
        )
