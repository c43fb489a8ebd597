"""The one door to decisions over the live state: it alone picks the cache or a full cycle.

If the cache has no answer, a full cycle gives the same one (``cycle.full_cycle``).
``cache.answers.consistency`` decides when a cached answer is true, and has the order of locks.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import numpy as np
from msgspec import structs

from mooring.framework import Int32s, Pod, PodGroupInfo
from mooring.framework.errors import PluginFailureError
from mooring.framework.state import ClusterState
from mooring.framework.view import NodesChangedError
from mooring.runtime.cache.answers.batch import CachedBatch
from mooring.runtime.cache.answers.consistency import check_may_decide, check_rules_decide
from mooring.runtime.cache.answers.decide import Cached, CachedDecisions
from mooring.runtime.cache.answers.totals import CachedTotals, Totals
from mooring.runtime.cache.layers.cached_evaluation import Template
from mooring.runtime.cache.lookup.evaluation_cache import EvaluationCache
from mooring.runtime.cache.outcome import NEEDS_PLUGINS, Bypass, CacheCounts, NeedsPlugins, NotCachedError
from mooring.runtime.cycle.candidates import Candidates
from mooring.runtime.cycle.choice import Choice, ChoiceColumns, PlacedColumns
from mooring.runtime.cycle.cycle import CycleOptions, evaluate, evaluate_filters, evaluate_scores
from mooring.runtime.cycle.full_cycle import Found, FullCycle, select
from mooring.runtime.cycle.group_result import GroupDecision
from mooring.runtime.cycle.plugin_calls import Observer, Progress, Seconds
from mooring.runtime.cycle.tie_break import Picks, mix64, mix64_of_each
from mooring.runtime.forecast.group_cycles import GroupCycles
from mooring.runtime.forecast.node_removal import NodeRemovalForecast
from mooring.runtime.forecast.overlay import decide_on_overlay
from mooring.runtime.forecast.parallel_groups import ParallelGroups
from mooring.runtime.profiles.profile import Profile
from mooring.runtime.profiles.profiles import Profiles
from mooring.runtime.self_check import SelfCheck
from mooring.runtime.tuning import DEFAULT_TUNING, SELF_CHECK_EVERY, CacheTuning


class Engine:
    """Decides for pods with a set of profiles over one state. Safe from any thread.

    Attributes:
        profiles: The profiles, which can be replaced at any time. A decision ends with the profiles that it
            began with, and nothing cached under old profiles is used for new ones.
        exclusive: Changes of the state wait for decisions that commit, rather than invalidate them: for a
            process in which one thread decides pod after pod. They don't wait for extenders.
        self_check: Compares some of the cached answers with full evaluations.
        calls, evaluate, assume_if_fits: As in ``FullCycle``.

    Args:
        tuning: How the cache is tuned; answers don't depend on it.
    """

    def __init__(
        self,
        state: ClusterState,
        profiles: Profiles,
        observer: Observer | None = None,
        *,
        exclusive: bool = False,
        self_check_every: int = SELF_CHECK_EVERY,
        tuning: CacheTuning = DEFAULT_TUNING,
    ) -> None:
        self.state = state
        self.profiles = profiles
        self.exclusive = exclusive
        self._observer = observer or Observer()
        self._full = FullCycle(state, self._observer)
        self.calls, self.evaluate = self._full.calls, self._full.evaluate
        self.assume_if_fits = self._full.assume_if_fits
        self._cache = EvaluationCache(state, tuning)
        self._decisions = CachedDecisions(state, self._cache.counts)
        self._totals = CachedTotals(state, self._cache.counts)
        self._groups = GroupCycles(state, self._cache, self._full)
        checked = self._observer.self_checked
        self.self_check = SelfCheck(self._cache, self._full, checked, every=self_check_every)

    @property
    def cache_counts(self) -> CacheCounts:
        """How questions to the evaluation cache ended."""
        return self._cache.counts

    @property
    def start(self) -> int:
        """Where the next search begins that ends before all nodes were evaluated."""
        return self._full.start

    def over(self, state: ClusterState) -> Engine:
        """Return an engine like this one over another state, such as a fork in which pods are decided."""
        return Engine(state, self.profiles, self._observer, tuning=self._cache.tuning)

    def profile(self, name: str = "", pod: Pod | None = None) -> Profile:
        """As ``Profiles.find``."""
        return self.profiles.find(name, pod)

    def filter(
        self,
        pod: Pod,
        profile: Profile,
        candidates: Candidates,
        *,
        state: ClusterState | None = None,
        progress: Progress | None = None,
    ) -> Found | NeedsPlugins:
        """Filter the candidates; the evaluation also has the feasible nodes' totals where they are cached.

        ``state`` is a fork to read instead of the live state. Returns ``NEEDS_PLUGINS`` when plugins have to
        be called, and ``progress`` allows none.
        """
        totals = self.cached_totals(pod, profile, candidates, state, progress)
        unknown = np.zeros(0, np.int32) if totals is None else totals.unknown
        if totals is not None and len(totals.rows) and not len(unknown):
            return totals.evaluation(profile, self.state, pod).closed(), totals.version
        if _allows_none(progress):
            return NEEDS_PLUGINS
        if totals is not None and len(unknown):
            why, version = self._why_rejected(pod, profile, totals, progress)
            if version == totals.version and why.rejection.ok:
                self._totals.learn(totals, unknown, why.codes, why.statuses)
                evaluation = totals.evaluation(profile, self.state, pod)
                numbers = np.array([evaluation.number_of(status) for status in why.statuses], np.int32)
                evaluation.codes[totals.rejected[unknown]] = numbers[why.codes]
                return evaluation.closed(), version
        return self._full.evaluate(
            pod, profile, candidates, evaluate_filters, state=state, progress=progress, shared=True
        )

    def score(
        self,
        pod: Pod,
        profile: Profile,
        candidates: Candidates,
        *,
        state: ClusterState | None = None,
        progress: Progress | None = None,
    ) -> Found | NeedsPlugins:
        """Score the candidates as if all were feasible: totals alone, where they are cached. Returns as
        ``filter``.
        """
        if profile.has_scoring:
            totals = self.cached_totals(pod, profile, candidates, state, progress)
            if totals is not None and len(totals.rows) and not len(totals.rejected):
                return totals.evaluation(profile, self.state, pod).closed(), totals.version
        if _allows_none(progress):
            return NEEDS_PLUGINS
        return self._full.evaluate(
            pod, profile, candidates, evaluate_scores, state=state, progress=progress, shared=True
        )

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
        progress: Progress | None = None,
    ) -> ChoiceColumns | NeedsPlugins | None:
        """Select nodes among all for pods that each see the ones before placed; nothing is changed. Returns
        None when they have to be decided one by one on a fork, as when no node takes one; ``NEEDS_PLUGINS``
        when plugins have to be called, and ``progress`` allows none. Raises DeadlineExceededError if the
        caller no longer waits.
        """
        if len(indices) == 1:
            return self._decide_alone(*templates[indices[0]], uids[0], seed, progress)
        began = time.perf_counter()
        access, numbers = self._full.attempt(progress), mix64_of_each(seed, uids)
        found = decide_on_overlay(self._cache, templates, indices, numbers, access)
        if isinstance(found, Bypass):
            self._note(progress, found)
            return _one_by_one(found)
        self._note(progress, None)
        self._took(templates[indices[-1]][1], access.seconds, time.perf_counter() - began, len(uids))
        self.self_check.answered(self, *templates[indices[-1]], seed, len(uids))
        return found[0]

    def place(
        self,
        pod: Pod,
        profile: Profile,
        candidates: Candidates,
        *,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Choice:
        """Select the node for ``pod``, on which it is assumed from now on. Raises UnavailableError if the
        state changes faster than the decision can follow.
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
        progress: Progress | None = None,
    ) -> PlacedColumns:
        """``place`` the first of some pods among all nodes, in order, at a lower cost for each.

        A pod is its template with a name and a UID of its own. It ends before the first pod that has to go
        through ``place``: no node takes that pod, or it needs plugins and ``progress`` allows none. Raises
        DeadlineExceededError if the caller no longer waits; nothing was assumed then.
        """
        began = time.perf_counter()
        with self.state.lock if self.exclusive else nullcontext():
            counts, most = self._cache.counts, self._cache.tuning.pods_per_lock
            batch = CachedBatch(self.state, counts, seed, self._full.start, most)
            found = self._find(templates, indices)
            access = self._full.attempt(progress)
            batch.run(templates, found, indices, names, uids, access)
            self._full.start = batch.start
        if batch.choices:
            count = len(batch.choices)
            self._took(templates[indices[0]][1], access.seconds, time.perf_counter() - began, count)
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

        ``state`` is a fork to read instead of the live state. Raises PluginFailureError if a plugin failed.
        """
        return self._groups.decide(group, profile, seed, state, progress, picks)

    def parallel_groups(
        self, templates: Sequence[tuple[Pod, Profile]], rows: Int32s, progress: Progress
    ) -> ParallelGroups | None:
        """Return what places pods on new nodes of many groups; None if that can't be known.

        ``templates`` and ``rows`` are those of ``ParallelGroups``. Raises DeadlineExceededError if the caller
        no longer waits.
        """
        try:
            return ParallelGroups(self.state, self._cache, templates, rows, self._full.attempt(progress))
        except (NotCachedError, NodesChangedError, PluginFailureError):
            return None

    def node_removal(self) -> NodeRemovalForecast:
        """Return what decides as if nodes were gone."""
        return NodeRemovalForecast(self._cache, self._full.attempt())

    def cached_totals(
        self,
        pod: Pod,
        profile: Profile,
        candidates: Candidates,
        state: ClusterState | None = None,
        progress: Progress | None = None,
    ) -> Totals | None:
        """Return the cached totals of the candidates; None when the pod has to be evaluated in full."""
        if state is not None:
            return None
        began = time.perf_counter()
        try:
            check_rules_decide(self.state, pod)
            template = self._cache.find(pod, profile)
            calls = self._full.attempt_for(profile, progress)
            found = self._totals.totals(template, candidates, calls)
        except NotCachedError as error:
            self._note(progress, error.reason)
            return None
        self._note(progress, None)
        self._full.shares.add(profile, calls.seconds, time.perf_counter() - began)
        self.self_check.answered(self, pod, profile, 0)
        return found

    def cached_with_copy(self, pod: Pod, profile: Profile, seed: int) -> Cached | None:
        """Return a cached answer with a copy of the state that it is true for; None when there is none."""
        start = mix64(seed, pod.metadata.uid) if profile.samples else 0
        try:
            template = self._find_decision(pod, profile)
            calls = self._full.attempt_for(profile)
            return self._decisions.with_copy(pod, template, seed, calls, start=start)
        except NotCachedError:
            return None

    def _why_rejected(self, pod: Pod, profile: Profile, totals: Totals, progress: Progress | None) -> Found:
        """Run the filters for the rejected candidates whose reasons are not known, and for no others."""
        rows = totals.rows[totals.rejected[totals.unknown]]
        return self._full.evaluate(
            pod, profile, Candidates(lambda _: rows), evaluate_filters, progress=progress
        )

    def _from_cache(
        self, pod: Pod, profile: Profile, seed: int, progress: Progress | None, *, assume: bool
    ) -> Choice | Bypass:
        """Decide among all nodes from a cached evaluation; otherwise return why it has to be a full one."""
        began = time.perf_counter()
        start = mix64(seed, pod.metadata.uid) if profile.samples and not assume else self._full.start
        try:
            template = self._find_decision(pod, profile)
            calls = self._full.attempt_for(profile, progress)
            choice = self._decisions.decide(pod, template, seed, calls, start=start, assume=assume)
        except NotCachedError as error:
            self._note(progress, error.reason)
            return error.reason
        self._note(progress, None)
        if assume:
            nodes = self.state.snapshot.nodes.index
            self._full.start = (self._full.start + choice.evaluated) % len(nodes)
        self._took(profile, calls.seconds, time.perf_counter() - began)
        self.self_check.answered(self, pod, profile, seed)
        return choice

    def _took(self, profile: Profile, by_plugin: Seconds | None, seconds: float, count: int = 1) -> None:
        """Record the time of decisions about ``count`` pods."""
        self._observer.algorithm_duration(seconds / count, count)
        self._full.shares.add(profile, by_plugin, seconds, count)

    def _find_decision(self, pod: Pod, profile: Profile) -> Template:
        """Return the template of a pod that is decided about among all nodes."""
        check_may_decide(self.state, pod, profile)
        return self._cache.find_decision(pod, profile)

    def _find(self, templates: Sequence[tuple[Pod, Profile]], indices: Sequence[int]) -> dict[int, Template]:
        """Return the templates of pods, by index, up to the first that has to be evaluated in full."""
        found: dict[int, Template] = {}
        for index in dict.fromkeys(indices):
            pod, profile = templates[index]
            try:
                check_may_decide(self.state, pod, profile)
                found[index] = self._cache.find(pod, profile)
            except (NotCachedError, PluginFailureError):
                break
        return found

    def _decide_alone(
        self, template: Pod, profile: Profile, uid: str, seed: int, progress: Progress | None
    ) -> ChoiceColumns | NeedsPlugins | None:
        """``decide_batch`` for one pod, which may also be one that the profile samples nodes for."""
        pod = template
        if template.metadata.uid != uid:
            pod = structs.replace(template, metadata=structs.replace(template.metadata, uid=uid))
        table = self.state.snapshot.nodes
        epoch = table.epoch
        choice = self._from_cache(pod, profile, seed, progress, assume=False)
        if isinstance(choice, Bypass):
            return _one_by_one(choice)
        return None if table.epoch != epoch else ChoiceColumns.of(choice, epoch)

    def _note(self, progress: Progress | None, bypass: Bypass | None) -> None:
        """Report and count how the cache answered; a decision without plugins is repeated with them."""
        if bypass is not None and not _allows_none(progress):
            self._cache.counts.add_bypass(bypass)
        if progress is not None:
            progress.answered_by = "cache" if bypass is None else f"full ({bypass})"


def _allows_none(progress: Progress | None) -> bool:
    """Return whether no plugin may be called."""
    return progress is not None and not progress.may_call_plugins


def _one_by_one(bypass: Bypass) -> NeedsPlugins | None:
    """Return what ``decide_batch`` returns for pods that the cache does not answer for."""
    return NEEDS_PLUGINS if bypass is Bypass.NEEDS_PLUGINS else None
