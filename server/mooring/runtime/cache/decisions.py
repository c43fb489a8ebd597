"""Decisions from cached evaluations, equal to those from full evaluations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from mooring.framework import Pod
from mooring.framework.state import ClusterState
from mooring.runtime.cache.claim_scores import ClaimScores, ask_about_claims
from mooring.runtime.cache.consistency import answer, check_may_decide
from mooring.runtime.cache.evaluation_cache import EvaluationCache, Template
from mooring.runtime.cache.outcome import Bypass, NotCachedError
from mooring.runtime.cache.selected import Selected
from mooring.runtime.cache.self_check import Cached
from mooring.runtime.cycle.choice import Choice
from mooring.runtime.cycle.plugin_calls import PluginCalls
from mooring.runtime.profiles.profile import Profile

Found = TypeVar("Found")

Select = Callable[[Pod, Template, ClaimScores | None, int], Selected | None]
"""Selects a node for a pod with a seed; the caller holds both locks."""


class CachedDecisions:
    """Decides pods with a cached evaluation. Safe from any thread."""

    def __init__(self, cluster: ClusterState, cache: EvaluationCache) -> None:
        self._cluster = cluster
        self._cache = cache

    def decide(
        self,
        pod: Pod,
        profile: Profile,
        seed: int,
        calls: Callable[[], PluginCalls],
        *,
        start: int,
        assume: bool,
    ) -> Choice | Bypass:
        """Select a node for ``pod`` among all nodes; with ``assume`` it counts there from now on.

        When not all nodes are evaluated, the search begins at ``start``.

        Returns:
            Why ``pod`` has to be evaluated in full, as every pod that no node takes, otherwise.

        Raises:
            DeadlineExceededError: The caller no longer waits.
            PluginFailureError: A plugin failed to sign the pod.
        """
        take = partial(self._chosen, pod, seed, self._assumed if assume else self._selected)
        return self._answer(pod, profile, calls, start, take)

    def with_copy(
        self, pod: Pod, profile: Profile, seed: int, calls: Callable[[], PluginCalls], *, start: int
    ) -> Cached | Bypass:
        """``decide`` that assumes nothing, with a private copy of the state that the answer is true for."""

        def take(template: Template, claims: ClaimScores | None) -> Cached:
            choice = self._chosen(pod, seed, self._selected, template, claims)
            return Cached(choice, self._cluster.fork(), template.cached)

        return self._answer(pod, profile, calls, start, take)

    def _answer(
        self,
        pod: Pod,
        profile: Profile,
        calls: Callable[[], PluginCalls],
        start: int,
        take: Callable[[Template, ClaimScores | None], Found],
    ) -> Found | Bypass:
        """Return what ``take`` gives, under the state's lock; otherwise why ``pod`` has to be evaluated in
        full.
        """
        cache = self._cache
        try:
            check_may_decide(self._cluster, pod, profile)
            template = cache.find_decision(pod, profile)
            cached, apart = template.cached, template.apart

            def look() -> ClaimScores | None:
                cached.update(calls, dynamic=apart is None, start=start)
                return None if apart is None else ask_about_claims(cached, apart, pod, calls)

            with cached:
                return answer(self._cluster, cache.counts, template, look, take)
        except NotCachedError as error:
            return error.reason

    def _chosen(
        self, pod: Pod, seed: int, select: Select, template: Template, claims: ClaimScores | None
    ) -> Choice:
        """Decide for ``pod`` in the state as it is. The caller holds both locks.

        Raises:
            NotCachedError: No node is feasible.
        """
        cached = template.cached
        version, state = cached.version, claims.cycle_state if claims else cached.static.cycle_state
        selected = select(pod, template, claims, seed)
        if selected is None:
            raise NotCachedError(Bypass.NO_NODE)
        name = self._cluster.snapshot.nodes.names[selected.row]
        found = selected.row, selected.total, selected.ties, selected.evaluated, selected.feasible
        return Choice(name, *found, version, state)

    def _selected(
        self, pod: Pod, template: Template, claims: ClaimScores | None, seed: int
    ) -> Selected | None:
        """Select a node for a pod. The caller holds both locks."""
        if claims is not None:
            return claims.select(template.cached, seed, pod.metadata.uid)
        if not template.node:
            return template.cached.select(seed, pod.metadata.uid)
        row = self._cluster.snapshot.nodes.index.get(template.node)
        return None if row is None else template.cached.select_named(row)

    def _assumed(
        self, pod: Pod, template: Template, claims: ClaimScores | None, seed: int
    ) -> Selected | None:
        """Select a node for a pod, which counts there from now on. The caller holds both locks."""
        cached, cluster, uid, kind = template.cached, self._cluster, pod.metadata.uid, template.kind
        record = cluster.snapshot.pods.records.get(uid)
        if record is not None and record.node_name:
            # It stays there, or can't be assumed.
            selected, taken_in = self._selected(pod, template, claims, seed), False
        elif template.node or claims is not None:
            selected = self._selected(pod, template, claims, seed)
            taken_in = selected is not None and cached.follow(selected.row, kind)
        else:
            selected, taken_in = cached.select_next(seed, uid, kind)
        if selected is not None:
            try:
                cluster.assume(pod, cluster.snapshot.nodes.names[selected.row], kind)
            except BaseException:
                cached.placed(-1, kind)
                raise
            if taken_in:
                cached.placed(cluster.version, kind)
            elif cluster.version == cached.version + 1:
                self._cache.tracker.came(selected.row, kind, cluster.version)
        return selected
