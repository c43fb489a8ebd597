"""Decisions in clusters that differ from the state, from what is known of the state."""

from __future__ import annotations

from collections.abc import Callable

from mooring.framework.state import ClusterState
from mooring.runtime.cache.departures import Departures
from mooring.runtime.cache.evaluation_cache import EvaluationCache
from mooring.runtime.cache.overlay import Overlays
from mooring.runtime.cycle.plugin_calls import PluginBudget, PluginCalls
from mooring.runtime.profiles.profile import Profile

Trying = Callable[[Profile, PluginBudget | None], PluginCalls]
"""Gives the way to call plugins in an attempt after whose failure pods are evaluated in full."""


class Futures:
    """Answers as decisions in a changed state would, where that can be told. Safe from any thread.

    Args:
        cluster: The state.
        cache: Its cached evaluations.
        overlays: Over both.
        trying: Gives the way to call plugins.
    """

    def __init__(
        self, cluster: ClusterState, cache: EvaluationCache, overlays: Overlays, trying: Trying
    ) -> None:
        self._cluster = cluster
        self._cache = cache
        self._overlays = overlays
        self._trying = trying

    def departures(self, budget: PluginBudget | None = None) -> Departures:
        """Return what decides as if nodes were gone."""
        return Departures(
            self._cluster, self._cache, self._overlays, lambda profile: self._trying(profile, budget)
        )
