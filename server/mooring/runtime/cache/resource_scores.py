"""The part of an evaluation that depends on a node's allocatable and requested resources alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from mooring.framework import (
    FilterPlugin,
    Int32s,
    Int64s,
    NodeView,
    Plugin,
    Pod,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
)
from mooring.framework.internal import NodeRater
from mooring.framework.state import ClusterState
from mooring.runtime.cache.change_tracker import ChangeTracker
from mooring.runtime.cache.ranking import OUT
from mooring.runtime.cache.static_scores import acts_later, normalizes_itself
from mooring.runtime.cycle.evaluation import begin
from mooring.runtime.cycle.filter import run_filters
from mooring.runtime.cycle.plugin_calls import PluginCalls
from mooring.runtime.cycle.pre_filter import run_pre_filter
from mooring.runtime.cycle.score import raw_scores, weigh
from mooring.runtime.profiles.profile import Enabled, Profile

UNKNOWN = -2
"""The score of a resource state that was not computed yet."""

_SPARE = 1 << 10
"""Room for this many more ids at least, each time that more are needed."""

_WORTH_SORTING_OUT = 4
"""At first all rows are rated, unless there are this many times fewer resource states."""

_ASKED_ANYWAY = 1 << 10
"""Resource states that are asked about beside one that has to be."""

_PIECE = 1 << 16
"""Rows that are rated at once: the columns of a piece stay in the processor's cache."""


def may_read_resources_alone(plugin: Plugin[Any]) -> bool:
    """Return whether nodes with equal resources may get equal answers from ``plugin``, whatever the others
    have.

    They do for a pod for which ``depends_on`` says ``Part.RESOURCES``.
    """
    if acts_later(plugin):
        return False
    return not isinstance(plugin, ScorePlugin) or (
        plugin.normalizer is None and not normalizes_itself(plugin)
    )


class Rater(msgspec.Struct, frozen=True):
    """A plugin that rates nodes in one step, with its name and weight."""

    name: str
    plugin: NodeRater
    weight: int


class ResourcePlugins(msgspec.Struct, frozen=True):
    """The plugins that read resources alone.

    Attributes:
        profile: A profile with these.
        raters: The same, when each can rate in one step; else none, and their points have to be called.
    """

    profile: Profile
    raters: tuple[Rater, ...]

    @classmethod
    def of(cls, profile: Profile) -> ResourcePlugins:
        """Those of ``profile``, which has no others that evaluate pods."""
        points: dict[type[Plugin[Any]], tuple[Enabled[Any], ...]] = {
            PreFilterPlugin: profile.pre_filter,
            FilterPlugin: profile.filter,
            PreScorePlugin: profile.pre_score,
            ScorePlugin: profile.score,
        }
        weights: dict[Plugin[Any], int] = {enabled.plugin: enabled.weight for enabled in profile.score}
        raters: dict[Plugin[Any], Rater] = {}
        for enabled in (enabled for point in points.values() for enabled in point):
            plugin: Plugin[Any] = enabled.plugin
            everywhere = all(
                any(other.plugin is plugin for other in at)
                for kind, at in points.items()
                if isinstance(plugin, kind)
            )
            if not (everywhere and isinstance(plugin, NodeRater)):
                return cls(profile, ())
            raters[enabled.plugin] = Rater(enabled.name, plugin, weights.get(enabled.plugin, 1))
        return cls(profile, tuple(raters.values()))


class ResourceScores:
    """The scores of each distinct resource state by the plugins that read resources alone, computed once."""

    def __init__(
        self, plugins: ResourcePlugins, cluster: ClusterState, pod: Pod, tracker: ChangeTracker
    ) -> None:
        self._plugins = plugins
        self._cluster = cluster
        self._pod = pod
        self._tracker = tracker
        self._generation = -1
        self._values: Int32s = np.zeros(0, np.int32)
        self._unfiled: tuple[Int32s, Int32s, int] | None = None

    @property
    def values(self) -> Int32s:
        """int32[C]: by resource-state id of one generation the weighted sum of the scores.

        It is ``OUT`` when nodes in this state are rejected, ``UNKNOWN`` when it was not computed yet.
        """
        if self._unfiled is not None:
            unfiled, self._unfiled = self._unfiled, None
            self._file(*unfiled)
        return self._values

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays."""
        return self._values.nbytes + (sum(part.nbytes for part in self._unfiled[:2]) if self._unfiled else 0)

    def begin_generation(self, generation: int) -> None:
        """Start over with the ids of another generation."""
        self._generation = generation
        self._values = np.zeros(0, np.int32)
        self._unfiled = None

    def make_room(self) -> None:
        """Take in ids that are new."""
        values, count = self.values, self._tracker.count
        if count > len(values):
            larger = np.full(count + max(count // 4, _SPARE), UNKNOWN, np.int32)
            larger[: len(values)] = values
            self._values = larger

    def of(self, nodes: NodeView, calls: PluginCalls) -> Int32s:
        """int32[K]: the values of ``nodes``; what changes meanwhile is to be looked at again.

        Whether they are asked about again isn't known at first: until then they aren't filed by id.
        """
        tracker, rows = self._tracker, nodes.rows
        if len(self.values) or tracker.count * _WORTH_SORTING_OUT < len(rows):
            self._learn_all(rows, calls)
            values = self.values.take(tracker.resource_ids.take(rows), mode="clip")
            # The one row that was asked about for all in its state changed meanwhile; they may not have.
            unknown = values == UNKNOWN
            if unknown.any():
                values[unknown] = self._ask(nodes.subset(rows[unknown]), calls)
            return values
        version = tracker.version
        found = self._ask(nodes, calls)
        self._unfiled = rows, found, version
        return found

    def learn(self, rows: Int32s, calls: PluginCalls) -> None:
        """Ask about ``rows`` (int32[K]), each of them: those alone that change meanwhile stay unknown."""
        self._learn(np.unique(rows), calls, self._tracker.version)

    def _learn_all(self, rows: Int32s, calls: PluginCalls) -> None:
        """Learn the scores of those of ``rows`` (int32[K]) that are unknown."""
        version, resource_ids = self._tracker.version, self._tracker.resource_ids.take(rows)
        self.make_room()
        if resource_ids.max(initial=0) >= len(self.values):
            return
        row_of = np.full(len(self.values), -1, np.int32)
        row_of[resource_ids] = rows
        row_of[self.values != UNKNOWN] = -1
        self._learn(row_of[row_of >= 0], calls, version)

    def _learn(self, rows: Int32s, calls: PluginCalls, version: int) -> None:
        if len(rows):
            self._file(rows, self._ask(NodeView(self._cluster.snapshot, rows), calls), version)

    def unknown_ids(self, needed: Sequence[int]) -> list[int]:
        """Return the ids that are ``needed``, each once, and of the others that are unknown the newest.

        These cost little where plugins are asked anyway, and often are needed next.
        """
        self.make_room()
        unknown = np.flatnonzero(self.values[: self._tracker.count] == UNKNOWN)
        return list(dict.fromkeys([*needed, *unknown[-_ASKED_ANYWAY:].tolist()]))

    def learn_resource_ids(
        self, resource_ids: Sequence[int], scratch: ClusterState, rows: Int32s, calls: PluginCalls
    ) -> None:
        """Ask about resource states by id; the first K have ``rows`` (int32[K]) in a scratch copy."""
        self.make_room()
        self.values[resource_ids[: len(rows)]] = self._ask(NodeView(scratch.snapshot, rows), calls, scratch)

    def _file(self, rows: Int32s, found: Int32s, version: int) -> None:
        """Enter what was ``found`` (int32[K]) of ``rows``, but for those that changed after ``version``."""
        with self._cluster.lock:
            self.make_room()
            changed = self._tracker.rows_since(version)
            if changed is None or self._tracker.generation != self._generation:
                return
            if len(changed):
                steady = ~np.isin(rows, changed)
                rows, found = rows[steady], found[steady]
            self._values[self._tracker.resource_ids.take(rows)] = found

    def _ask(self, nodes: NodeView, calls: PluginCalls, cluster: ClusterState | None = None) -> Int32s:
        """int32[K]: the scores of ``nodes`` of the state, or of ``cluster``."""
        values = np.empty(len(nodes), np.int32)
        for at in range(0, len(nodes), _PIECE):
            piece = nodes if len(nodes) <= _PIECE else nodes.subset(nodes.rows[at : at + _PIECE])
            rated = self._plugins.raters
            found = self._rated(piece, calls) if rated else self._evaluated(piece.rows, calls, cluster)
            values[at : at + len(piece)] = found
        return values

    def _rated(self, nodes: NodeView, calls: PluginCalls) -> Int64s:
        parts = []
        with calls.point("Score"):
            for rater in self._plugins.raters:
                scores = calls.call(rater.name, "Score", rater.plugin.rate_nodes, self._pod, nodes)
                parts.append(scores if rater.weight == 1 else scores * rater.weight)
        totals, *others = parts
        for scores in others:
            totals += scores
        return np.maximum(totals, OUT, out=totals)

    def _evaluated(self, rows: Int32s, calls: PluginCalls, cluster: ClusterState | None) -> Int32s | Int64s:
        evaluation = begin(self._plugins.profile, cluster or self._cluster, self._pod, rows)
        if run_pre_filter(evaluation, calls) is None:
            return np.full(len(rows), OUT, np.int32)
        run_filters(evaluation, np.arange(len(rows), dtype=np.int32), calls)
        fits = evaluation.codes == 0
        fitting = rows[fits]
        values = np.full(len(rows), OUT, np.int32)
        values[fits] = weigh(evaluation, raw_scores(evaluation, fitting, calls), len(fitting), calls).totals
        return values
