"""The pods of a group, decided among some nodes after others, while the state does not change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import structs

from mooring.framework import Int32s, Pod
from mooring.framework.groups import PlacementColumns
from mooring.framework.state import ClusterState
from mooring.runtime.cache.layers.static_scores import StaticScores
from mooring.runtime.cache.lookup.evaluation_cache import EvaluationCache
from mooring.runtime.cache.outcome import Bypass
from mooring.runtime.cycle.choice import IN_FULL, NO_CHOICES, ChoiceColumns, FirstChoices
from mooring.runtime.cycle.plugin_calls import PluginAccess
from mooring.runtime.cycle.tie_break import mix64_of_each
from mooring.runtime.forecast.alike_pods import alike
from mooring.runtime.forecast.overlay import decide_on_overlay
from mooring.runtime.forecast.placement_batch import PlacementBatch
from mooring.runtime.profiles.profile import Profile


class MovedOnError(Exception):
    """The state is another one than when the decision began."""


@dataclass(frozen=True, slots=True)
class LiveEvaluations:
    """The evaluations of the live state.

    Attributes:
        placement_batch: Decides by them in all placements at once.
        version: The version of the state to decide for.
    """

    cache: EvaluationCache
    placement_batch: PlacementBatch
    version: int


class GroupDecisions:
    """Decides for the same pods in each placement of a group, for all of them in one pass if possible.

    Otherwise it is done once for equal placements. Two are equal for the pods when their nodes, one after the
    other, are in the same resource states and have the same scores apart from these. For one thread.

    The live state's evaluations are used as long as the copy was made of the same version.

    Args:
        live: The live state's evaluations when the copy was made; None = they are not used.
        world: A private copy of the state; None = there is none, and only the live state as it was will do.
        profile: That of the pods, as in ``profile.grouped``.
        pods: The pods, in their order.
    """

    def __init__(
        self,
        live: LiveEvaluations | None,
        world: ClusterState | None,
        profile: Profile,
        pods: Sequence[Pod],
        seed: int,
        access: PluginAccess,
    ) -> None:
        templates, self._indices = alike(pods)
        self._templates = [(pod, profile) for pod in templates]
        self._numbers = mix64_of_each(seed, (pod.metadata.uid for pod in pods))
        self._access = access
        self._world = world
        self._runs: dict[tuple[int, bytes], tuple[Int32s, ChoiceColumns]] = {}
        self._static: list[StaticScores] = []
        self._live = live
        self._cache = live.cache if live is not None else self._of_the_copy()

    def decide(self, placements: PlacementColumns) -> FirstChoices:
        """Select nodes in each placement for the first pods, up to one that none takes.

        The rows of a placement's nodes are in ascending order. Raises MovedOnError if the live state has
        moved on, and there is no copy, and DeadlineExceededError if the caller no longer waits.
        """
        live = self._live
        if live is not None:
            self._access.progress.check()
            found = live.placement_batch.run(
                self._templates, self._indices, self._numbers, placements, self._access
            )
            if found is not None and found.version == live.version:
                return found.choices()
        decided = [self._decide(placement.rows) for placement in placements]
        counts = [IN_FULL if one is None else len(one.rows) for one in decided]
        return FirstChoices(np.array(counts, np.int32), lambda at: decided[at] or NO_CHOICES)

    def _decide(self, rows: Int32s) -> ChoiceColumns | None:
        key = self._key(rows) if self._static else None
        if key is not None and key in self._runs:
            return self._moved(*self._runs[key], rows)
        ran = decide_on_overlay(
            self._cache, self._templates, self._indices, self._numbers, self._access, within=rows
        )
        if isinstance(ran, Bypass):
            return None
        found, self._static = ran
        if self._live is not None and found.version != self._live.version:
            self._runs, self._static = {}, []
            self._live, self._cache = None, self._of_the_copy()
            return self._decide(rows)
        key = self._key(rows)
        if key is not None:
            self._runs[key] = np.searchsorted(rows, np.array(found.rows, np.int32)).astype(np.int32), found
        return found

    def _of_the_copy(self) -> EvaluationCache:
        if self._world is None:
            raise MovedOnError
        return EvaluationCache(self._world)

    def _key(self, rows: Int32s) -> tuple[int, bytes] | None:
        """Return everything about ``rows`` that the decisions depend on; None if the state has moved on."""
        tracker = self._cache.tracker
        with self._cache.cluster.lock:
            if self._live is not None and self._live.version != tracker.version:
                return None
            parts = [tracker.resource_ids.take(rows).tobytes()]
        for static in self._static:
            parts.append(static.base.take(rows).tobytes())
            parts += [scaled.raw.take(rows).tobytes() for scaled in static.scaled]
        return tracker.generation, b"".join(parts)

    def _moved(self, positions: Int32s, found: ChoiceColumns, rows: Int32s) -> ChoiceColumns:
        """Return what was ``found`` in another placement, for the same nodes by position."""
        cluster = self._world or self._cache.cluster
        selected, names = rows.take(positions).tolist(), cluster.snapshot.nodes.names
        return structs.replace(found, rows=selected, names=[names[row] for row in selected])
