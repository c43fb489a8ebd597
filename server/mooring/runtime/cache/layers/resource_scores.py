"""The part of an evaluation that depends on a node's allocatable and requested resources alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
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
from mooring.framework.batch import BatchPlugin, BatchScorer, as_batch
from mooring.framework.objects import Object
from mooring.framework.pod_requests import PodUsage, plain_usage
from mooring.framework.resource_ratings import Put, TotalsRating, TotalsRatings
from mooring.framework.state import ClusterState
from mooring.kernels.arrays import REJECTED, UNKNOWN
from mooring.runtime.cache.tracking.change_tracker import ChangeTracker, ObjectsRead
from mooring.runtime.cycle.evaluation import begin
from mooring.runtime.cycle.filter import run_filters
from mooring.runtime.cycle.plugin_calls import PluginCalls
from mooring.runtime.cycle.pre_filter import run_pre_filter
from mooring.runtime.cycle.score import raw_scores, weigh
from mooring.runtime.profiles.profile import Enabled, Profile

_ASKED_ANYWAY = 1 << 10
"""Resource states that are rated along with one that has to be."""

_PIECE = 1 << 16
"""Rows that are rated at once: the columns of a piece stay in the processor's cache."""

_STATES_TO_RATE = 2
"""Rows per unknown state at least; with fewer, rating every row is cheaper than rating the states first."""

_MAX_USAGES = 1 << 8
"""Pod usages whose scores of resource states are remembered; evaluations keep those that they hold."""

_SPARE = 1 << 10
"""Room for this many more ids at least, each time that more are needed."""


class ResourceStateScores:
    """The scores of the resource states of one generation by the plugins that read resources alone.

    Evaluations share it, so it is written under the state's lock. Readers need none: what they don't find
    yet is unknown.

    Attributes:
        generation: That of the ids, as in ``ChangeTracker``.
        values: int32[C], by resource-state id the weighted sum of the scores; ``REJECTED`` when nodes in this
            state are rejected, ``UNKNOWN`` when it was not rated by itself. Another array when it grows.
    """

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.values: Int32s = np.zeros(0, np.int32)

    def make_room(self, count: int) -> None:
        """Have an entry for each of the first ``count`` ids. The caller holds the state's lock."""
        values = self.values
        if count > len(values):
            larger = np.full(count + max(count // 4, _SPARE), UNKNOWN, np.int32)
            larger[: len(values)] = values
            self.values = larger

    def unknown_among(self, resource_ids: Int32s, count: int) -> Int64s:
        """int64[U]: for each unknown state among the ``resource_ids`` (int32[K]) where in these it is once.

        There are ``count`` ids, and room for them.
        """
        at = np.full(count, -1, np.int64)
        at[resource_ids] = np.arange(len(resource_ids))
        found: Int64s = at[(at >= 0) & (self.values[:count] == UNKNOWN)]
        return found


_NOTHING_RATED = ResourceStateScores(-1)

_NO_USAGE = PodUsage((), non_zero_cpu=0, non_zero_memory=0, host_ports=())


class Rater(msgspec.Struct, frozen=True):
    """A plugin that rates nodes in one step, with its name and weight."""

    name: str
    plugin: BatchPlugin
    weight: int


class ResourcePlugins(msgspec.Struct, frozen=True):
    """The plugins that read resources alone.

    Attributes:
        profile: A profile with these.
        raters: The same, when each can rate in one step; else none, and their points have to be called.
        totals: Rates nodes in one step for all of them; None if they can't.
        rated: The scores of resource states, by the pods' usage, if they depend on that alone.
    """

    profile: Profile
    raters: tuple[Rater, ...]
    totals: TotalsRatings | None = None
    rated: dict[PodUsage, ResourceStateScores] = msgspec.field(default_factory=dict)

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
            batch = as_batch(plugin)
            if not everywhere or batch.usage_scorer(_NO_USAGE) is None:
                return cls(profile, ())
            raters[plugin] = Rater(enabled.name, batch, weights.get(plugin, 1))
        totals = TotalsRatings([(rater.plugin, rater.weight) for rater in raters.values()])
        return cls(profile, tuple(raters.values()), totals)

    def usage(self, pod: Pod) -> PodUsage | None:
        """Return what ``pod`` takes, if they say the same of all pods that take it; else None."""
        return None if self.totals is None else plain_usage(pod)

    def totals_rating(self, pod: Pod, usage: PodUsage | None) -> TotalsRating | None:
        """Return the rating in one step for all of them; None if they can't. ``usage`` as above."""
        if self.totals is not None and usage is not None:
            return self.totals.of(usage)
        return TotalsRating.of([(rater.plugin.scorer(pod), rater.weight) for rater in self.raters])

    def states(self, usage: PodUsage | None, generation: int) -> ResourceStateScores:
        """Return the scores of a generation's resource states for pods that take ``usage``."""
        if usage is None:
            return ResourceStateScores(generation)
        known = self.rated.get(usage)
        if known is None or known.generation != generation:
            if len(self.rated) >= _MAX_USAGES:
                self.rated.clear()
            known = self.rated[usage] = ResourceStateScores(generation)
        return known


class ResourceScores:
    """The scores of nodes by the plugins that read resources alone, or objects as well that say the same of
    all nodes.

    Many rows are rated in one step. The scores of single rows are kept by resource state, since the next node
    often comes into a state in which another one was.

    Attributes:
        states: The scores of resource states.
    """

    def __init__(
        self,
        plugins: ResourcePlugins,
        cluster: ClusterState,
        pod: Pod,
        tracker: ChangeTracker,
        kinds_read: Collection[type[Object]] = (),
    ) -> None:
        self._plugins = plugins
        self._cluster = cluster
        self._pod = pod
        self._tracker = tracker
        objects = cluster.snapshot.objects
        self._objects = ObjectsRead(objects, dict.fromkeys(kinds_read, 0)).now() if kinds_read else None
        self._ratings: Sequence[tuple[Rater, BatchScorer]] | None = None
        usage = plugins.usage(pod)
        self._totals_rating = plugins.totals_rating(pod, usage)
        self._usage = None if kinds_read else usage
        self.states = _NOTHING_RATED

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays, shared ones included."""
        return self.states.values.nbytes

    def is_true(self) -> bool:
        """Return whether no object that the plugins read changed since ``begin``."""
        return self._objects is None or self._objects.unchanged()

    def begin(self, generation: int) -> None:
        """Start over if ids are of another generation, or objects changed."""
        if generation != self.states.generation or not self.is_true():
            self.states = self._plugins.states(self._usage, generation)
            self._objects = None if self._objects is None else self._objects.now()

    def make_room(self) -> None:
        """Take in ids that are new."""
        with self._cluster.lock:
            self.states.make_room(self._tracker.count)

    def score_rows(self, rows: Sequence[int], calls: PluginCalls) -> None:
        """Rate ``rows``, each of them: the states of those alone that change meanwhile stay unknown."""
        # Few rows: numpy's unique takes three times as long.
        tracker, asked = self._tracker, np.array(list(dict.fromkeys(rows)), np.int32)
        version, by_row = tracker.version, np.zeros(self._cluster.snapshot.nodes.capacity, np.int32)
        if self.put_at_once(asked, by_row, by_row) is None:
            self.put_by_plugins(NodeView(self._cluster.snapshot, asked), by_row, by_row, calls)
        found = by_row.take(asked)
        with self._cluster.lock:
            changed = tracker.rows_since(version)
            if changed is None or tracker.generation != self.states.generation:
                return
            if len(changed):
                steady = ~np.isin(asked, changed)
                asked, found = asked[steady], found[steady]
            resource_ids = np.asarray(tracker.ids_of(rows)).take(asked)
            self.make_room()
            self.states.values[resource_ids] = found

    @property
    def rates_columns(self) -> bool:
        """Whether ``rate`` reads columns alone, so that nodes may be of any tables."""
        return bool(self._plugins.raters)

    def unknown_ids(self, needed: Sequence[int]) -> list[int]:
        """Return the ids that are ``needed``, each once, and of the others that are unknown the newest.

        These cost little while plugins are called anyway, and are often needed next.
        """
        self.make_room()
        unknown = np.flatnonzero(self.states.values[: self._tracker.count] == UNKNOWN)
        return list(dict.fromkeys([*needed, *unknown[-_ASKED_ANYWAY:].tolist()]))

    def score_states(
        self,
        resource_ids: Sequence[int],
        nodes: NodeView,
        calls: PluginCalls,
        cluster: ClusterState | None = None,
    ) -> None:
        """Rate resource states by id; the first K have ``nodes`` of ``cluster``, a scratch copy.

        Without one these are of any tables, which ``rates_columns`` permits.
        """
        found: Int32s = np.zeros(len(nodes), np.int32)
        self.rate(nodes, found, calls, cluster)
        with self._cluster.lock:
            self.make_room()
            self.states.values[resource_ids[: len(nodes)]] = found

    def rate(
        self, nodes: NodeView, totals: Int32s, calls: PluginCalls, cluster: ClusterState | None = None
    ) -> None:
        """Add the scores of ``nodes`` of the state, or of ``cluster``, to ``totals`` (int32[K]).

        They are ``REJECTED`` for nodes that are or were rejected. Later changes are read again.
        """
        at = 0
        for piece in _pieces(nodes):
            some = totals[at : (at := at + len(piece))]
            if self._plugins.raters:
                with calls.point("Score"):
                    for rater, rating in self._rate_by():
                        calls.call(rater.name, "Score", rating, piece, rater.weight, some)
            else:
                self._evaluate(piece.rows, some, calls, cluster or self._cluster)

    def put_by_states(self, nodes: NodeView, base: Int32s, totals: Int32s, calls: PluginCalls) -> bool:
        """``put_by_plugins``, which rate each resource state once if that saves much."""
        scores = self._scores_of(nodes, calls)
        if scores is None:
            return self.put_by_plugins(nodes, base, totals, calls)
        found = nodes.take(base)
        found = np.where((found == REJECTED) | (scores == REJECTED), np.int32(REJECTED), found + scores)
        return _put(nodes, found, totals)

    def _scores_of(self, nodes: NodeView, calls: PluginCalls) -> Int32s | None:
        """int32[K]: the scores of ``nodes``, rated once for each state; None if too many, or changing."""
        tracker = self._tracker
        with self._cluster.lock:
            resource_ids, count = tracker.resource_ids, tracker.count
            if tracker.generation != self.states.generation or len(resource_ids) <= nodes.rows.max(initial=0):
                return None
            its_ids = nodes.take(resource_ids)
            self.make_room()
        unknown = self.states.unknown_among(its_ids, count)
        if len(unknown) * _STATES_TO_RATE > len(nodes):
            return None
        if len(unknown):
            self.score_rows(nodes.rows[unknown].tolist(), calls)
        scores = self.states.values.take(its_ids)
        return None if (scores == UNKNOWN).any() else scores

    def put_by_plugins(self, nodes: NodeView, base: Int32s, totals: Int32s, calls: PluginCalls) -> bool:
        """Write the ``totals`` of ``nodes``: their ``base`` and these scores, as ``rate`` adds them.

        Both are int32[capacity]. Return whether any of them is feasible that was not, or the other way round.
        """
        calls.require_plugins()
        found = nodes.take(base)
        self.rate(nodes, found, calls)
        return _put(nodes, found, totals)

    def put_at_once(self, at: Int32s | slice, base: Int32s, totals: Int32s) -> Put | None:
        """``put_by_plugins`` in one pass over the rows ``at``, which calls none; None when that can't be.

        A negative row is skipped. The result includes the leaders.
        """
        rating = self._totals_rating
        return None if rating is None else rating.put(self._cluster.snapshot, at, base, totals)

    def _rate_by(self) -> Sequence[tuple[Rater, BatchScorer]]:
        """Find out once what plugins have to know of the pod."""
        if self._ratings is None:
            found = [(rater, rater.plugin.scorer(self._pod)) for rater in self._plugins.raters]
            self._ratings = [(rater, scorer) for rater, scorer in found if scorer is not None]
        return self._ratings

    def _evaluate(self, rows: Int32s, totals: Int32s, calls: PluginCalls, cluster: ClusterState) -> None:
        evaluation = begin(self._plugins.profile, cluster, self._pod, rows)
        if run_pre_filter(evaluation, calls) is None:
            totals[:] = REJECTED
            return
        run_filters(evaluation, np.arange(len(rows), dtype=np.int32), calls)
        fits = (evaluation.codes == 0) & (totals != REJECTED)
        fitting = rows[fits]
        totals[~fits] = REJECTED
        totals[fits] += weigh(evaluation, raw_scores(evaluation, fitting, calls), len(fitting), calls).totals


def _put(nodes: NodeView, found: Int32s, totals: Int32s) -> bool:
    """Write what was ``found`` of ``nodes`` to ``totals``; as ``put_by_plugins``."""
    before = nodes.take(totals)
    totals[nodes.at] = found
    return bool(((before == REJECTED) != (found == REJECTED)).any())


def _pieces(nodes: NodeView) -> Iterator[NodeView]:
    """Yield ``nodes`` in pieces that are rated at once."""
    if len(nodes) <= _PIECE:
        yield nodes
        return
    for at in range(0, len(nodes), _PIECE):
        yield nodes.subset(nodes.rows[at : at + _PIECE])
