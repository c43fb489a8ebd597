"""Answers about some nodes from cached evaluations, equal to those from full evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import msgspec
import numpy as np

from mooring.framework import SUCCESS, Int32s, Pod, Status
from mooring.framework.state import ClusterState
from mooring.kernels.arrays import REJECTED
from mooring.runtime.cache.answers.consistency import OptimisticRead
from mooring.runtime.cache.layers.cached_evaluation import (
    UNKNOWN_REASON,
    CachedEvaluation,
    Rejections,
    Template,
)
from mooring.runtime.cache.outcome import CacheCounts, NotCachedError
from mooring.runtime.cycle.candidates import Candidates
from mooring.runtime.cycle.evaluation import Evaluation, Scores, begin
from mooring.runtime.cycle.plugin_calls import PluginCalls
from mooring.runtime.profiles.profile import Profile


class Totals(msgspec.Struct, frozen=True):
    """The totals and verdicts of some nodes for a pod, as if there were no others.

    Attributes:
        rows: int32[K], the nodes.
        totals: int32[K], their totals; ``REJECTED`` where a node is rejected.
        version: The version of the state that this is true for.
        rejected: int32[R], the positions of the nodes that are rejected.
        resource_ids: int32[R], the resource-state ids of those.
        codes: int32[R], an index into ``statuses``, or ``UNKNOWN_REASON`` where the reason is not known.
        statuses: The known statuses; number 0 is Success.
        cached: The evaluation that this comes from.
        rejections: The reasons that it knew.
    """

    rows: Int32s
    totals: Int32s
    version: int
    rejected: Int32s
    resource_ids: Int32s
    codes: Int32s
    statuses: list[Status]
    cached: CachedEvaluation
    rejections: Rejections

    @property
    def unknown(self) -> Int32s:
        """int32[U]: the positions in ``rejected`` whose reason is not known."""
        found: Int32s = (self.codes == UNKNOWN_REASON).nonzero()[0].astype(np.int32)
        return found

    def evaluation(self, profile: Profile, state: ClusterState, pod: Pod) -> Evaluation:
        """Return an evaluation with the known rejections, and the totals of the other nodes."""
        evaluation = begin(profile, state, pod, self.rows)
        evaluation.of_totals = True
        totals = self.totals
        if len(self.rejected):
            evaluation.statuses = list(self.statuses)
            evaluation.codes[self.rejected] = self.codes
            totals = totals[totals != REJECTED]
        if profile.has_scoring:
            evaluation.scores = Scores((), totals.astype(np.int64))
        return evaluation


class CachedTotals:
    """Answers for pods like others before them. Safe from any thread."""

    def __init__(self, cluster: ClusterState, counts: CacheCounts) -> None:
        self._cluster = cluster
        self._counts = counts

    def totals(self, template: Template, candidates: Candidates, calls: PluginCalls) -> Totals:
        """Return the totals of the candidates for pods of ``template``. Raises NotCachedError if the pod has
        to be evaluated in full, and DeadlineExceededError if the caller no longer waits.
        """
        cluster, cached = self._cluster, template.cached
        with cached:
            read = OptimisticRead(cluster, self._counts, cached, template.selected_keys)
            while True:
                read.begin()
                cached.update(calls, dynamic=False)
                found = _found(cached, candidates.rows(cluster), calls)
                with cluster.lock:
                    if read.holds():
                        read.count()
                        return found

    def learn(self, found: Totals, positions: Int32s, codes: Int32s, statuses: Sequence[Status]) -> None:
        """Remember why the nodes at ``positions`` (int32[K]) of ``found.rejected`` were rejected."""
        cached = found.cached
        with suppress(NotCachedError), cached:
            if cached.knows_rejections and cached.rejections is found.rejections:
                rows = found.rows[found.rejected[positions]]
                cached.rejections.put(rows, found.resource_ids[positions], codes, statuses)


def _found(cached: CachedEvaluation, rows: Int32s, calls: PluginCalls) -> Totals:
    totals, rejections = cached.current_totals(rows, calls), cached.rejections
    rejected: Int32s = (totals == REJECTED).nonzero()[0].astype(np.int32)
    if not len(rejected):
        return Totals(
            rows, totals, cached.version, rejected, rejected, rejected, [SUCCESS], cached, rejections
        )
    resource_ids = cached.resource_ids(rows[rejected])
    codes, statuses = np.full(len(rejected), UNKNOWN_REASON, np.int32), [SUCCESS]
    if cached.knows_rejections:
        codes, statuses = rejections.of(rows[rejected], resource_ids)
    return Totals(rows, totals, cached.version, rejected, resource_ids, codes, statuses, cached, rejections)
