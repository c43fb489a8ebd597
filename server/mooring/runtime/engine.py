"""The one door to decisions over the live state: it alone picks the cache or a full cycle.

What the cache has no answer for is evaluated in full (``cycle.full_cycle``), with the same result. When a
cached answer is true is decided in ``cache.consistency``, where the order of locks is written down.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import numpy as np
from msgspec import structs

from mooring.framework import Pod, PodGroupInfo
from mooring.framework.state import ClusterState
from mooring.runtime.cache import SELF_CHECK_EVERY
from mooring.runtime.cache.batch import CachedBatch
from mooring.runtime.cache.decisions import CachedDecisions
from mooring.runtime.cache.evaluation_cache import EvaluationCache
from mooring.runtime.cache.futures import Futures
from mooring.runtime.cache.group_cycles import GroupCycles
from mooring.runtime.cache.outcome import Bypass, CacheCounts, NotCachedError
from mooring.runtime.cache.overlay import Overlays
from mooring.runtime.cache.placements_at_once import PlacementsAtOnce
from mooring.runtime.cache.self_check import Cached, SelfCheck
from mooring.runtime.cache.totals import CachedTotals, Totals
from mooring.runtime.cycle.candidates import ALL_NODES, Candidates
from mooring.runtime.cycle.choice import Choice, ChoiceColumns, PlacedColumns
from mooring.runtime.cycle.cycle import CycleOptions, Run, evaluate, evaluate_filters, evaluate_scores
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.cycle.full_cycle import Found, FullCycle, select
from mooring.runtime.cycle.group_picks import Picks
from mooring.runtime.cycle.group_result import GroupDecision
from mooring.runtime.cycle.plugin_calls import (
    NoPlugins,
    NullObserver,
    Observer,
    PluginBudget,
    PluginCalls,
    Progress,
    Unhurried,
)
from mooring.runtime.cycle.tie_break import mix64, mix64_of_each
from mooring.runtime.profiles.profile import Profile
from mooring.runtime.profiles.profiles import Profiles


class Engine:
    """Decides for pods with a set of profiles over one state. Safe from any thread.

    Attributes:
        state: The state.
        profiles: The profiles. Others can be put in their place at any time: decisions that have begun end
            with the ones that they began with, and nothing cached under these is used for others.
        exclusive: Changes of the state wait for decisions that commit, rather than invalidate them: for a
            process in which one thread decides pod after pod. They don't wait for extenders.
        self_check: Compares some of the cached answers with full evaluations.
    """

    def __init__(
        self,
        state: ClusterState,
        profiles: Profiles,
        observer: Observer | None = None,
        *,
        exclusive: bool = False,
        self_check_every: int = SELF_CHECK_EVERY,
    ) -> None:
        self.state = state
        self.profiles = profiles
        self.exclusive = exclusive
        self._observer = observer or NullObserver()
        self._full = FullCycle(state, self._observer)
        self._cache = EvaluationCache(state)
        self._decisions = CachedDecisions(state, self._cache)
        self._totals = CachedTotals(state, self._cache)
        self._overlays = Overlays(state, self._cache)
        self._at_once = PlacementsAtOnce(state, self._cache)
        checked = self._observer.self_checked
        self.self_check = SelfCheck(self._cache, self._full, checked, every=self_check_every)

    @property
    def cache_counts(self) -> CacheCounts:
        """How questions to the evaluation cache ended."""
        return self._cache.counts

    @property
    def futures(self) -> Futures:
        """Decisions in clusters that differ from the state."""
        return Futures(self.state, self._cache, self._overlays, self._trying)

    @property
    def start(self) -> int:
        """Where the next search begins that ends before all nodes were evaluated."""
        return self._full.start

    def over(self, state: ClusterState) -> Engine:
        """Return an engine like this one over another state, such as a fork in which pods are decided."""
        return Engine(state, self.profiles, self._observer)

    def profile(self, name: str = "", pod: Pod | None = None) -> Profile:
        """As ``Profiles.find``."""
        return self.profiles.find(name, pod)

    def calls(
        self, profile: Profile, progress: Progress | None = None, *, final: Callable[[], bool] = lambda: True
    ) -> PluginCalls:
        """As ``FullCycle.calls``."""
        return self._full.calls(profile, progress, final=final)

    def filter(
        self,
        pod: Pod,
        profile: Profile,
        candidates: Candidates,
        *,
        state: ClusterState | None = None,
        budget: PluginBudget | None = None,
    ) -> Found | None:
        """Filter the candidates; the evaluation also has the feasible nodes' totals where they are cached.

        ``state`` is a fork to read in place of the live state.

        Returns:
            None when plugins have to be called, and ``budget`` is ``NoPlugins``.
        """
        totals = self.cached_totals(pod, profile, candidates, state, budget)
        unknown = np.zeros(0, np.int32) if totals is None else totals.unknown
        if totals is not None and len(totals.rows) and not len(unknown):
            return totals.evaluation(profile, self.state, pod).closed(), totals.version
        if isinstance(budget, NoPlugins):
            return None
        if totals is not None and len(unknown):
            why, version = self._why_rejected(pod, profile, totals, budget)
            if version == totals.version and why.rejection.ok:
                self._totals.learn(totals, unknown, why.codes, why.statuses)
                evaluation = totals.evaluation(profile, self.state, pod)
                numbers = np.array([evaluation.number_of(status) for status in why.statuses], np.int32)
                evaluation.codes[totals.rejected[unknown]] = numbers[why.codes]
                return evaluation.closed(), version
        return self._full.evaluate(pod, profile, candidates, evaluate_filters, state=state, progress=budget)

    def score(
        self,
        pod: Pod,
        profile: Profile,
        candidates: Candidates,
        *,
        state: ClusterState | None = None,
        budget: PluginBudget | None = None,
    ) -> Found | None:
        """Score the candidates as if all were feasible: totals alone, where they are cached.

        Returns:
            As ``filter``.
        """
        if profile.has_scoring:
            totals = self.cached_totals(pod, profile, candidates, state, budget)
            if totals is not None and len(totals.rows) and not len(totals.rejected):
                return totals.evaluation(profile, self.state, pod).closed(), totals.version
        if isinstance(budget, NoPlugins):
            return None
        return self._full.evaluate(pod, profile, candidates, evaluate_scores, state=state, progress=budget)

    def decide(
        self,
        pod: Pod,
        profile: Profile,
        candidates: Candidates,
        *,
        seed: int = 0,
        state: ClusterState | None = None,
        options: CycleOptions | None = None,
        progress: Progress | None = None,
    ) -> Choice:
        """Select the node for ``pod``; nothing is changed. With ``options``, from a full evaluation."""
        if options is None and state is None and candidates.everything:
            cached = self._from_cache(pod, profile, seed, progress, assume=False)
            if not isinstance(cached, Bypass):
                return cached
        options = options or CycleOptions()
        run = partial(evaluate, options=replace(options, start=mix64(seed, pod.metadata.uid)))
        found = self._full.measured(pod, profile, candidates, run, state=state, progress=progress)
        return select(*found, seed)

    def decide_batch(
        self,
        templates: Sequence[tuple[Pod, Profile]],
        indices: Sequence[int],
        uids: Sequence[str],
        *,
        seed: int = 0,
        budget: PluginBudget | None = None,
    ) -> ChoiceColumns | None:
        """Select nodes among all for pods that each see the ones before placed; nothing is changed.

        Returns:
            None when they have to be decided one by one on a fork, as when no node takes one; or when plugins
            have to be called, and ``budget`` is ``NoPlugins``.

        Raises:
            DeadlineExceededError: The caller no longer waits.
        """
        if len(indices) == 1:
            return self._decide_alone(*templates[indices[0]], uids[0], seed, budget)
        began = time.perf_counter()
        progress = Unhurried() if budget is None or isinstance(budget, NoPlugins) else budget
        found = self._overlays.decide(
            templates,
            indices,
            mix64_of_each(seed, uids),
            progress,
            lambda profile: self._trying(profile, budget),
        )
        self._note(budget, found)
        if isinstance(found, Bypass):
            return None
        self._observer.algorithm_duration((time.perf_counter() - began) / len(uids), len(uids))
        self.self_check.answered(self, *templates[indices[-1]], seed, len(uids))
        return found

    def place(
        self,
        pod: Pod,
        profile: Profile,
        candidates: Candidates,
        *,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Choice:
        """Select the node for ``pod``, on which it is assumed from now on.

        Raises:
            UnavailableError: The state changes faster than the decision can follow.
        """
        if self.exclusive and not profile.extenders_for(pod):
            with self.state.lock:
                return self._place(pod, profile, candidates, seed, progress)
        return self._place(pod, profile, candidates, seed, progress)

    def _place(
        self, pod: Pod, profile: Profile, candidates: Candidates, seed: int, progress: Progress | None
    ) -> Choice:
        if candidates.everything:
            cached = self._from_cache(pod, profile, seed, progress, assume=True)
            if not isinstance(cached, Bypass):
                return cached
        choice = self._full.place(pod, profile, candidates, seed, progress)
        if choice.evaluation.recalled:
            self.self_check.answered(self, pod, profile, seed)
        return choice

    def place_batch(
        self,
        templates: Sequence[tuple[Pod, Profile]],
        indices: Sequence[int],
        names: Sequence[str],
        uids: Sequence[str],
        *,
        seed: int = 0,
        budget: PluginBudget | None = None,
    ) -> PlacedColumns:
        """``place`` among all nodes for the first of some pods, in their order and for less each.

        A pod is its template with a name and a UID of its own. The first pod without a choice, as one that
        no node takes, or for which ``budget`` allows no plugin to be called, is left to ``place``.

        Raises:
            DeadlineExceededError: The caller no longer waits; nothing was assumed.
        """
        began = time.perf_counter()
        with self.state.lock if self.exclusive else nullcontext():
            batch = CachedBatch(self.state, self._cache, seed, self._full.start)
            batch.run(templates, indices, names, uids, lambda profile: self._trying(profile, budget))
            self._full.start = batch.start
        if batch.choices:
            count = len(batch.choices)
            self._observer.algorithm_duration((time.perf_counter() - began) / count, count)
            self.self_check.answered(self, *templates[indices[count - 1]], seed, count)
        return batch.choices

    def decide_group(
        self,
        group: PodGroupInfo,
        profile: Profile,
        *,
        seed: int = 0,
        state: ClusterState | None = None,
        progress: Progress | None = None,
        picks: Picks | None = None,
    ) -> GroupDecision:
        """Select nodes for the pods of a group that have none yet; nothing is changed.

        ``state`` is a fork to read in place of the live state.

        Raises:
            PluginFailureError: A plugin failed.
        """
        # Made for each group: an engine that held its own methods would wait for the collector of cycles.
        cycles = GroupCycles(self.state, self._cache, self._at_once, self.calls, self._trying)
        return cycles.decide(group, profile, seed, state, progress, picks)

    def assume_if_fits(
        self, pod: Pod, node_name: str, profile: Profile, progress: Progress | None = None
    ) -> Evaluation:
        """As ``FullCycle.assume_if_fits``."""
        return self._full.assume_if_fits(pod, node_name, profile, progress)

    def evaluate(
        self,
        pod: Pod,
        profile: Profile,
        candidates: Candidates,
        run: Run,
        *,
        state: ClusterState | None = None,
        progress: Progress | None = None,
    ) -> Found:
        """As ``FullCycle.evaluate``."""
        return self._full.evaluate(pod, profile, candidates, run, state=state, progress=progress)

    def cached_totals(
        self,
        pod: Pod,
        profile: Profile,
        candidates: Candidates,
        state: ClusterState | None = None,
        budget: PluginBudget | None = None,
    ) -> Totals | None:
        """Return the cached totals of the candidates; None when the pod has to be evaluated in full."""
        if state is not None:
            return None
        found = self._totals.totals(pod, profile, candidates, lambda: self._trying(profile, budget))
        self._note(budget, found)
        if isinstance(found, Bypass):
            return None
        self.self_check.answered(self, pod, profile, 0)
        return found

    def cached_with_copy(self, pod: Pod, profile: Profile, seed: int) -> Cached | None:
        """Return a cached answer with a private copy of the state that it is true for; None when there is
        none.
        """
        start = mix64(seed, pod.metadata.uid) if profile.samples else 0
        found = self._decisions.with_copy(pod, profile, seed, lambda: self._trying(profile), start=start)
        return None if isinstance(found, Bypass) else found

    def in_full(self, pod: Pod, profile: Profile, seed: int, state: ClusterState) -> Choice:
        """``decide`` over ``state``, from a full evaluation."""
        return self.decide(pod, profile, ALL_NODES, seed=seed, state=state, options=CycleOptions())

    def _trying(self, profile: Profile, budget: PluginBudget | None = None) -> PluginCalls:
        """Return the ``calls`` for an attempt after whose failure the pod is evaluated in full."""
        if isinstance(budget, NoPlugins):
            raise NotCachedError(Bypass.NEEDS_PLUGINS)
        return self.calls(profile, budget, final=lambda: False)

    def _why_rejected(self, pod: Pod, profile: Profile, totals: Totals, progress: Progress | None) -> Found:
        """Run the filters for the rejected candidates whose reasons are not known, and for no others."""
        rows = totals.rows[totals.rejected[totals.unknown]]
        return self._full.evaluate(
            pod, profile, Candidates(lambda _: rows), evaluate_filters, progress=progress
        )

    def _from_cache(
        self, pod: Pod, profile: Profile, seed: int, budget: PluginBudget | None, *, assume: bool
    ) -> Choice | Bypass:
        """Decide among all nodes from a cached evaluation; otherwise return why it has to be a full one."""
        began = time.perf_counter()
        start = mix64(seed, pod.metadata.uid) if profile.samples and not assume else self._full.start
        calls = partial(self._trying, profile, budget)
        choice = self._decisions.decide(pod, profile, seed, calls, start=start, assume=assume)
        if budget is not None or isinstance(choice, Bypass):
            self._note(budget, choice)
        if not isinstance(choice, Bypass):
            if assume:
                nodes = self.state.snapshot.nodes.index
                self._full.start = (self._full.start + choice.evaluated) % len(nodes)
            self._observer.algorithm_duration(time.perf_counter() - began)
            self.self_check.answered(self, pod, profile, seed)
        return choice

    def _decide_alone(
        self, template: Pod, profile: Profile, uid: str, seed: int, budget: PluginBudget | None
    ) -> ChoiceColumns | None:
        """``decide_batch`` for one pod, which may also be one that the profile samples nodes for."""
        pod = template
        if template.metadata.uid != uid:
            pod = structs.replace(template, metadata=structs.replace(template.metadata, uid=uid))
        table = self.state.snapshot.nodes
        epoch = table.epoch
        choice = self._from_cache(pod, profile, seed, budget, assume=False)
        if isinstance(choice, Bypass) or table.epoch != epoch:
            return None
        return ChoiceColumns.of(choice, epoch)

    def _note(self, budget: PluginBudget | None, found: object) -> None:
        """Report and count how the cache answered; a decision without plugins is repeated with a budget."""
        if isinstance(found, Bypass) and not isinstance(budget, NoPlugins):
            self._cache.counts.add_bypass(found)
        if budget is not None:
            budget.answered_by = f"full ({found})" if isinstance(found, Bypass) else "cache"
