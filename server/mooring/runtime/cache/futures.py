"""Decisions in clusters that differ from the state, from what is known of the state."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mooring.framework import Int32s, Pod
from mooring.framework.errors import PluginFailureError
from mooring.framework.state import ClusterState
from mooring.framework.view import NodesChangedError
from mooring.runtime.cache.departures import Departures
from mooring.runtime.cache.evaluation_cache import EvaluationCache
from mooring.runtime.cache.outcome import NotCachedError
from mooring.runtime.cache.overlay import Overlays
from mooring.runtime.cache.side_by_side import SideBySide
from mooring.runtime.cycle.plugin_calls import PluginBudget, PluginCalls, Progress
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

    def side_by_side(
        self, templates: Sequence[tuple[Pod, Profile]], rows: Int32s, progress: Progress
    ) -> SideBySide | None:
        """Return what places pods on new nodes of many groups; None where that can't be told.

        The arguments are those of ``SideBySide``.

        Raises:
            DeadlineExceededError: The caller no longer waits.
        """
        try:
            return SideBySide(
                self._cluster, self._cache, templates, rows, lambda profile: self._trying(profile, progress)
            )
        except (NotCachedError, NodesChangedError, PluginFailureError):
            return None

    def departures(self, budget: PluginBudget | None = None) -> Departures:
        """Return what decides as if nodes were gone."""
        return Departures(
            self._cluster, self._cache, self._overlays, lambda profile: self._trying(profile, budget)
        )
