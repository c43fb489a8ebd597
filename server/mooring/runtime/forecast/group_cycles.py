"""Runs the cycles of pod groups: over the state as it is, or over a copy where something is to be written."""

from __future__ import annotations

from dataclasses import replace

from mooring.framework import PodGroupInfo
from mooring.framework.errors import PluginFailureError
from mooring.framework.state import ClusterState
from mooring.framework.view import NodesChangedError
from mooring.runtime.cache.lookup.evaluation_cache import EvaluationCache
from mooring.runtime.cycle.full_cycle import FullCycle
from mooring.runtime.cycle.group_cycle import (
    GroupCycle,
    NeedsCopyError,
    Quick,
    topology_keys,
    waiting_pods,
    without_leaving,
)
from mooring.runtime.cycle.group_result import GroupDecision
from mooring.runtime.cycle.plugin_calls import Progress
from mooring.runtime.cycle.tie_break import Picks
from mooring.runtime.forecast.group_decisions import GroupDecisions, LiveEvaluations, MovedOnError
from mooring.runtime.forecast.placement_batch import PlacementBatch
from mooring.runtime.profiles.profile import Profile


class GroupCycles:
    """Decides about groups. Safe from any thread."""

    def __init__(self, cluster: ClusterState, cache: EvaluationCache, full: FullCycle) -> None:
        self._cluster = cluster
        self._cache = cache
        self._placement_batch = PlacementBatch(cluster, cache)
        self._full = full

    def decide(
        self,
        group: PodGroupInfo,
        profile: Profile,
        seed: int,
        state: ClusterState | None,
        progress: Progress | None,
        picks: Picks | None,
    ) -> GroupDecision:
        """As ``Engine.decide_group``."""
        if state is None and picks is None:
            decision = self._decide_as_it_is(group, profile, seed, progress)
            if decision is not None:
                return decision
        source = state or self._cluster
        for key in topology_keys(group):
            # A copy of the state has the columns that the state has.
            source.snapshot.nodes.label(key)
        with source.lock:
            version = source.version
            live = self._live(version) if state is None else None
            world = source.fork(pods=waiting_pods(group, source.snapshot))
        quick = self._quick(live, world, group, profile, seed, progress)
        calls = self._full.calls(profile, progress)
        decision = GroupCycle(profile, world, group, calls, seed=seed, picks=picks, quick=quick).run()
        return replace(decision, state_version=version)

    def _decide_as_it_is(
        self, group: PodGroupInfo, profile: Profile, seed: int, progress: Progress | None
    ) -> GroupDecision | None:
        """Decide by the live state's evaluations, without a copy; None if a copy is needed."""
        cluster = self._cluster
        version, calls = cluster.version, self._full.attempt_for(profile, progress)
        quick = self._quick(self._live(version), None, group, profile, seed, progress)
        cycle = GroupCycle(profile, cluster, group, calls, seed=seed, quick=quick, private=False)
        try:
            decision = cycle.run()
        except (MovedOnError, NeedsCopyError, NodesChangedError, PluginFailureError):
            return None
        with cluster.lock:
            unchanged = cluster.version == version
        return replace(decision, state_version=version) if unchanged else None

    def _live(self, version: int) -> LiveEvaluations:
        return LiveEvaluations(self._cache, self._placement_batch, version)

    def _quick(
        self,
        live: LiveEvaluations | None,
        world: ClusterState | None,
        group: PodGroupInfo,
        profile: Profile,
        seed: int,
        progress: Progress | None,
    ) -> Quick:
        """Return what decides pods without an evaluation of each."""
        pods, access = without_leaving(group).pods, self._full.attempt(progress)
        return GroupDecisions(live, world, profile.grouped, pods, seed, access).decide
