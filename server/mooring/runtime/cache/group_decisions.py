"""The pods of a group, decided among some nodes after others, while the state does not change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from mooring.framework import Int32s, Pod
from mooring.framework.state import ClusterState
from mooring.runtime.cache.evaluation_cache import EvaluationCache
from mooring.runtime.cache.outcome import Bypass
from mooring.runtime.cache.overlay import Overlays
from mooring.runtime.cache.static_scores import StaticScores
from mooring.runtime.cycle.choice import ChoiceColumns
from mooring.runtime.cycle.group_cycle import alike
from mooring.runtime.cycle.plugin_calls import PluginCalls, Progress
from mooring.runtime.cycle.tie_break import mixed_in_turn
from mooring.runtime.profiles.profile import Profile


class GroupDecisions:
    """Decides about the same pods in each placement of a group, which for equal placements is done once.

    Two placements are equal for the pods when their nodes, one after the other, are in the same resource
    states and have the same scores apart from these. For one thread.

    What is known of the live state is used for as long as that is what the copy was made of.

    Args:
        live: The evaluations of the live state, and its version when the copy was made; None = not these.
        world: A private copy of the state.
        profile: That of the pods, as in ``profile.grouped``.
        pods: The pods, in their order.
        seed: Decides between nodes of equal totals.
        progress: Where a long run looks whether the caller still waits.
        calls: Gives the way to call plugins.
    """

    def __init__(
        self,
        live: tuple[EvaluationCache, int] | None,
        world: ClusterState,
        profile: Profile,
        pods: Sequence[Pod],
        seed: int,
        progress: Progress,
        calls: Callable[[Profile], PluginCalls],
    ) -> None:
        templates, self._indices = alike(pods)
        self._templates = [(pod, profile) for pod in templates]
        self._numbers = list(mixed_in_turn(seed, (pod.metadata.uid for pod in pods)))
        self._progress = progress
        self._calls = calls
        self._world = world
        self._runs: dict[tuple[int, bytes], tuple[Int32s, ChoiceColumns]] = {}
        self._static: list[StaticScores] = []
        self._cache, self._version = live or (EvaluationCache(world), -1)

    def decide(self, rows: Int32s) -> ChoiceColumns | None:
        """Select nodes of ``rows`` (int32[N], ascending) for the first pods, up to one that none takes.

        Returns:
            None where the pods have to be evaluated in full.
        """
        key = self._key(rows) if self._static else None
        if key is not None and key in self._runs:
            return self._moved(*self._runs[key], rows)
        ran = Overlays(self._cache.cluster, self._cache).run(
            self._templates, self._indices, self._numbers, self._progress, self._calls, within=rows
        )
        if isinstance(ran, Bypass):
            return None
        found, self._static = ran
        if self._version not in (-1, found.version):
            self._runs, self._static = {}, []
            self._cache, self._version = EvaluationCache(self._world), -1
            return self.decide(rows)
        key = self._key(rows)
        if key is not None:
            self._runs[key] = np.searchsorted(rows, np.array(found.rows, np.int32)).astype(np.int32), found
        return found

    def _key(self, rows: Int32s) -> tuple[int, bytes] | None:
        """Return all of ``rows`` that the decisions depend on; None where the state has moved on."""
        tracker = self._cache.tracker
        with self._cache.cluster.lock:
            if self._version not in (-1, tracker.version):
                return None
            parts = [tracker.resource_ids.take(rows).tobytes()]
        for static in self._static:
            parts.append(static.base.take(rows).tobytes())
            parts += [scaled.raw.take(rows).tobytes() for scaled in static.scaled]
        return tracker.generation, b"".join(parts)

    def _moved(self, positions: Int32s, found: ChoiceColumns, rows: Int32s) -> ChoiceColumns:
        """Return what was ``found`` in another placement, for the same nodes by position."""
        selected, names = rows.take(positions).tolist(), self._world.snapshot.nodes.names
        return replace(found, rows=selected, names=[names[row] for row in selected])
