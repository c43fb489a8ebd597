"""The counts of the plugins that count pods, for one evaluation, kept up to date while pods come and go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mooring.framework import CycleState, Int32s, Int64s
from mooring.framework.batch import FilterCounts, Move, PodCounts, ScoreCounts, as_batch
from mooring.framework.columns import grown
from mooring.framework.pod_counter import RunningCounts
from mooring.framework.pod_table import PodKind
from mooring.framework.remembering import ByIdentity
from mooring.framework.state import ClusterState
from mooring.runtime.cache.tracking.change_tracker import ChangeTracker, ObjectsRead
from mooring.runtime.cache.tracking.row_log import MovedPods
from mooring.runtime.profiles.profile import Enabled, Profile
from mooring.runtime.tuning import DEFAULT_TUNING, CacheTuning

_KNOWN_KINDS = 256
"""The kinds of pods for which the changes that one makes are remembered."""

_UNKNOWN, _NOTHING, _SOMETHING = range(3)
"""Whether a kind adds anything."""


class IncrementalPodCounts:
    """The counts by which nodes are filtered and scored. For one thread at a time.

    Args:
        filtering: The counts that reject nodes.
        scoring: The counts that score them, with the plugins' weights.
        counters: The counts of counters, which other plugins read.
        objects: The objects that were read for them; None when they may be any.
        tuning: With how many changes counting again is faster than an update.

    Attributes:
        version: The version of the state that they are true for; -1 = none. While it is used, no node object
            changes.
    """

    def __init__(
        self,
        filtering: Sequence[FilterCounts],
        scoring: Sequence[tuple[ScoreCounts, int]],
        counters: Sequence[RunningCounts],
        objects: ObjectsRead | None,
        version: int,
        tuning: CacheTuning,
    ) -> None:
        self._tuning = tuning
        self._filtering = filtering
        self._scoring = scoring
        scores = [counts for counts, _ in scoring]
        self._every: tuple[PodCounts | RunningCounts, ...] = (*filtering, *scores, *counters)
        self._objects = objects
        self.version = version
        self._adds_of = ByIdentity(self._adds, _KNOWN_KINDS)
        self._kinds: Sequence[PodKind] = ()
        self._adding = np.zeros(0, np.int8)

    @classmethod
    def of(
        cls,
        profile: Profile,
        cluster: ClusterState,
        state: CycleState,
        version: int,
        counters: Sequence[RunningCounts],
        objects: ObjectsRead | None,
        tuning: CacheTuning = DEFAULT_TUNING,
    ) -> IncrementalPodCounts | None:
        """Return what the plugins of ``profile`` wrote to ``state``, and ``counters``.

        ``objects`` are those that were read.

        None when one does more than count pods, or isn't enabled where its counts are read; or when the
        cluster no longer has the ``version`` that they are true for.
        """
        filters = _counting((*profile.pre_filter, *profile.filter), profile.filter, state)
        scorers = _counting((*profile.pre_score, *profile.score), profile.score, state)
        if filters is None or scorers is None:
            return None
        rejecting = [counts for (counts, _), _ in filters if counts is not None]
        adding = [(counts, weight) for (_, counts), weight in scorers if counts is not None]
        with cluster.lock:
            if cluster.version != version:
                return None
            return cls(rejecting, adding, counters, objects and objects.now(), version, tuning)

    def follow(self, version: int, tracker: ChangeTracker) -> bool:
        """Take in the pods that came and left up to ``version``; return whether that could be done."""
        before = self.version
        if before == version:
            return True
        self.version = -1
        if before < 0 or self._objects_changed(before, tracker):
            return False
        if self._every and not self._follow_pods(before, version, tracker):
            return False
        self.version = version
        return True

    def _follow_pods(self, before: int, version: int, tracker: ChangeTracker) -> bool:
        """As ``follow``, from the version ``before`` on."""
        if version - before > self._tuning.counted_pods:
            return False
        moved = tracker.pods_since(before, version)
        found = None if moved is None else self._that_add(moved)
        if moved is None or found is None:
            return False
        for at in found.tolist():
            number = moved.pods.item(at)
            self.move(moved.rows.item(at), 1 if number > 0 else -1, moved.kinds[abs(number) - 1])
        return True

    def _that_add(self, moved: MovedPods) -> Int64s | None:
        """Return where in ``moved`` pods are that add something; None when too many kinds are new."""
        numbers = np.abs(moved.pods)
        if moved.kinds is not self._kinds:
            self._kinds, self._adding = moved.kinds, np.zeros(0, np.int8)
        if len(moved.kinds) >= len(self._adding):
            self._adding = grown(self._adding, 2 * len(moved.kinds) + 1)
            self._adding[0] = _NOTHING
        adding = self._adding.take(numbers)
        unknown = set(numbers[adding == _UNKNOWN].tolist())
        if len(unknown) > self._tuning.changed_kinds:
            return None
        for number in unknown:
            self._adding[number] = _SOMETHING if self._adds_of(moved.kinds[number - 1]) else _NOTHING
        return np.flatnonzero((self._adding.take(numbers) if unknown else adding) == _SOMETHING)

    def move(self, row: int, amount: int, kind: PodKind) -> None:
        """Take in that ``amount`` pods of ``kind`` came to ``row``; ``version`` has to be set then."""
        self.version = -1
        for move, each in self._adds_of(kind):
            move(row, each * amount)

    def reject_in(self, totals: Int32s) -> None:
        """As each of ``FilterCounts``."""
        for counts in self._filtering:
            counts.reject_in(totals)

    def add_to(self, totals: Int32s) -> None:
        """As each of ``ScoreCounts``."""
        for counts, weight in self._scoring:
            counts.add_to(totals, weight)

    def _objects_changed(self, version: int, tracker: ChangeTracker) -> bool:
        return tracker.objects_moved_since(version) and not (self._objects and self._objects.unchanged())

    def _adds(self, kind: PodKind) -> Sequence[tuple[Move, int]]:
        """Return what one pod of ``kind`` adds, to any of them."""
        return [each for counts in self._every for each in counts.adds(kind)]


def _counting(
    enabled: Sequence[Enabled[Any]], there: Sequence[Enabled[Any]], state: CycleState
) -> list[tuple[tuple[FilterCounts | None, ScoreCounts | None], int]] | None:
    """Return the counts in ``state`` of the plugins that are enabled ``there``, with the plugins' weights.

    None if a plugin that is ``enabled`` there or before does more than count pods, or isn't enabled there.
    """
    if {each.name for each in enabled} != {each.name for each in there}:
        return None
    found = []
    for each in there:
        counts = as_batch(each.plugin).counts_in(state)
        if counts is None:
            return None
        found.append((counts, each.weight))
    return found
