"""Decisions from cached evaluations, equal to those from full evaluations."""

from __future__ import annotations

import msgspec

from mooring.framework import Pod
from mooring.framework.state import ClusterState
from mooring.runtime.cache.answers.consistency import OptimisticRead
from mooring.runtime.cache.layers.cached_evaluation import CachedEvaluation, Template
from mooring.runtime.cache.layers.claim_scores import ClaimScores
from mooring.runtime.cache.layers.ranking import Selected
from mooring.runtime.cache.outcome import Bypass, CacheCounts, NotCachedError
from mooring.runtime.cycle.choice import Choice
from mooring.runtime.cycle.plugin_calls import PluginCalls


class Cached(msgspec.Struct, frozen=True):
    """A cached answer with a private copy of the state that it is true for.

    Attributes:
        state: The copy.
        cached: The evaluation that the answer comes from.
    """

    choice: Choice
    state: ClusterState
    cached: CachedEvaluation


class CachedDecisions:
    """Decides pods with cached evaluations that the caller has found. Safe from any thread."""

    def __init__(self, cluster: ClusterState, counts: CacheCounts) -> None:
        self._cluster = cluster
        self._counts = counts

    def decide(
        self, pod: Pod, template: Template, seed: int, calls: PluginCalls, *, start: int, assume: bool
    ) -> Choice:
        """Select a node for ``pod`` among all nodes; with ``assume`` it counts there from now on.

        When not all nodes are evaluated, the search begins at ``start``. Raises NotCachedError if the pod has
        to be evaluated in full, like every pod that no node takes, and DeadlineExceededError if the caller no
        longer waits.
        """
        return self._answer(pod, template, seed, calls, start, assume=assume, copied=False)[0]

    def with_copy(self, pod: Pod, template: Template, seed: int, calls: PluginCalls, *, start: int) -> Cached:
        """``decide`` that assumes nothing, with a private copy of the state that the answer is true for."""
        choice, state = self._answer(pod, template, seed, calls, start, assume=False, copied=True)
        return Cached(choice, state, template.cached)

    def _answer(
        self,
        pod: Pod,
        template: Template,
        seed: int,
        calls: PluginCalls,
        start: int,
        *,
        assume: bool,
        copied: bool,
    ) -> tuple[Choice, ClusterState]:
        """Return the choice and the state that it is true for: with ``copied`` a private copy of it."""
        cluster = self._cluster
        with template.cached:
            read = OptimisticRead(cluster, self._counts, template.cached, template.selected_keys)
            while True:
                claims = _read(read, template, pod, calls, start)
                with cluster.lock:
                    if read.holds():
                        choice = self._choose(pod, template, claims, seed, assume=assume)
                        read.count()
                        return choice, cluster.fork() if copied else cluster

    def _choose(
        self, pod: Pod, template: Template, claims: ClaimScores | None, seed: int, *, assume: bool
    ) -> Choice:
        """Decide for ``pod`` in the state as it is. The caller holds both locks."""
        cached = template.cached
        version, state = cached.version, claims.cycle_state if claims else cached.static.cycle_state
        select = self._assume if assume else self._select
        selected = select(pod, template, claims, seed)
        if selected is None:
            raise NotCachedError(Bypass.NO_NODE)
        name = self._cluster.snapshot.nodes.names[selected.row]
        found = selected.row, selected.total, selected.ties, selected.evaluated, selected.feasible
        return Choice(name, *found, version, state)

    def _select(self, pod: Pod, template: Template, claims: ClaimScores | None, seed: int) -> Selected | None:
        """Select a node for a pod. The caller holds both locks."""
        if claims is not None or not template.node:
            return template.cached.select(seed, pod.metadata.uid, claims)
        row = self._cluster.snapshot.nodes.index.get(template.node)
        return None if row is None else template.cached.select_named(row)

    def _assume(self, pod: Pod, template: Template, claims: ClaimScores | None, seed: int) -> Selected | None:
        """Select a node for a pod, which counts there from now on. The caller holds both locks."""
        cached, cluster, uid, kind = template.cached, self._cluster, pod.metadata.uid, template.kind
        record = cluster.snapshot.pods.records.get(uid)
        if record is not None and record.node_name:
            # It stays there, or can't be assumed.
            selected, followed = self._select(pod, template, claims, seed), False
        elif template.node or claims is not None:
            selected = self._select(pod, template, claims, seed)
            followed = selected is not None and cached.follow(selected.row, kind)
        else:
            selected, followed = cached.select_next(seed, uid, kind)
        if selected is not None:
            try:
                cluster.assume(pod, cluster.snapshot.nodes.names[selected.row], kind)
            except BaseException:
                cached.placed(-1, kind)
                raise
            if followed:
                cached.placed(cluster.version, kind)
            elif cluster.version == cached.version + 1:
                cached.placed_by_log(selected.row, cluster.version, kind)
        return selected


def _read(
    read: OptimisticRead, template: Template, pod: Pod, calls: PluginCalls, start: int
) -> ClaimScores | None:
    """Bring the evaluation up to date, and return what the pod's claims add to it; None = nothing."""
    read.begin()
    cached, split = template.cached, template.split
    cached.update(calls, dynamic=split is None, start=start)
    return None if split is None else cached.claim_scores(split, pod, calls)
