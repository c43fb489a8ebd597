"""Decisions that each see the earlier ones while the state does not change: for dry runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy

import numpy as np

from mooring.framework import Int32s, NodeView, Pod
from mooring.framework.errors import PluginFailureError
from mooring.framework.pod_table import PodKind
from mooring.framework.state import ClusterState
from mooring.framework.view import NodesChangedError
from mooring.kernels.arrays import REJECTED, UNKNOWN
from mooring.runtime.cache.answers.consistency import (
    MAX_ATTEMPTS,
    check_may_be_tried,
    check_still_decides,
    check_takes_room_alone,
)
from mooring.runtime.cache.layers.cached_evaluation import Template
from mooring.runtime.cache.layers.ranking import Ranking
from mooring.runtime.cache.layers.static_scores import StaticScores
from mooring.runtime.cache.lookup.evaluation_cache import EvaluationCache
from mooring.runtime.cache.outcome import Bypass, NotCachedError
from mooring.runtime.cache.tracking.change_tracker import ChangeTracker
from mooring.runtime.cycle.choice import ChoiceColumns
from mooring.runtime.cycle.plugin_calls import PluginAccess, PluginCalls
from mooring.runtime.forecast.resource_states import show_states, state_after
from mooring.runtime.profiles.profile import Profile

GUESSES = 4
"""Attempts to begin an overlay with unknown resource scores assumed too low, and computed all at once."""

_CHECKED = 256
"""Pods between two checks whether the caller still waits."""


class BeginAgainError(Exception):
    """The state is another one than the overlay was put on, or more is known of it by now."""


class Branch:
    """The totals for pods of one template, independent of the state.

    Args:
        template: Their template; the caller has brought its evaluation up to date and holds it.
    """

    def __init__(self, template: Template, calls: PluginCalls) -> None:
        cached = template.cached
        self.kind = template.kind
        self._template = template
        self._cached = cached
        self._basis = cached.basis
        self.static = cached.static
        totals, self._resources = cached.node_totals, cached.resources
        self.ranking, self.feasible = totals.ranked().copy(), totals.feasible
        self.unknown: list[int] = []
        self._behind = 0
        self._calls = calls
        self._use(totals.base)
        # Scores of another generation's ids go into another array.
        self.values = self._resources.states.values.data

    def twin(self) -> Branch:
        """Return an independent copy of a branch that nothing was taken in by."""
        twin = copy(self)
        twin.ranking, twin.unknown = self.ranking.copy(), []
        twin.values = self._resources.states.values.data
        return twin

    def holds(self, cluster: ClusterState) -> bool:
        """Return whether what it begins with is true for the state as it is. The caller holds the state's
        lock. Raises NotCachedError if more than the profile's rules decides by now.
        """
        check_still_decides(cluster, self._template.selected_keys)
        return self._cached.current(self._basis)

    def narrow(self, rows: Int32s) -> None:
        """Leave all but ``rows`` out, as if there were no other nodes."""
        totals = np.full(len(self.ranking.totals), REJECTED, np.int32)
        totals[rows] = self.ranking.totals[rows]
        self.ranking = Ranking(totals)
        self.feasible = int((totals != REJECTED).sum())
        if self.static.scaled and self.feasible:
            self._rank()

    def leave_out(self, row: int) -> None:
        """Leave ``row`` out, as if its node were gone."""
        if self.ranking.totals.item(row) == REJECTED:
            return
        self.ranking.put(row, REJECTED)
        self.feasible -= 1
        if self.static.scaled:
            self._rank()

    def update(self, moved: Sequence[int], overlay: Overlay) -> None:
        """Take in the rows that pods were placed on since the last time. Raises NotCachedError if a new
        resource state can't be told apart from the state's, and BeginAgainError if the state has moved too
        far.
        """
        rows = moved[self._behind :]
        self._behind = len(moved)
        crossed = self._put(rows, overlay.resource_ids)
        while self.unknown and not overlay.guesses:
            self.learn(overlay)
            crossed |= self._put(rows, overlay.resource_ids)
        if crossed and self.static.scaled:
            self._rank()

    def learn(self, overlay: Overlay) -> None:
        """Ask about the resource states that are unknown; raises as ``update``."""
        with self._cached:
            self._calls.require_plugins()
            resource_ids = self._resources.unknown_ids(self.unknown)
            scratch, rows = overlay.shown(resource_ids)
            self._resources.score_states(resource_ids, NodeView(scratch.snapshot, rows), self._calls, scratch)
            self.values = self._resources.states.values.data
        self.unknown = []

    def _put(self, rows: Sequence[int], resource_ids: Int32s) -> bool:
        """Put ``rows`` where they belong now; whether one became feasible, or no longer is."""
        crossed = False
        values, known, ranking = self.values, len(self.values), self.ranking
        # Each access to an array's data makes a new view.
        ids, totals = resource_ids.data, ranking.totals.data
        for row in rows:
            resource_id = ids[row]
            value = values[resource_id] if resource_id < known else UNKNOWN
            if value == UNKNOWN:
                self.unknown.append(resource_id)
                value = REJECTED
            base, before = self._base_of[row], totals[row]
            total = REJECTED if REJECTED in (value, base) else base + value
            if total != before:
                self.feasible += (total != REJECTED) - (before != REJECTED)
                crossed |= REJECTED in (total, before)
                ranking.put(row, total)
        return crossed

    def _rank(self) -> None:
        """Compute all totals again, since scores are scaled by the nodes that are feasible."""
        before = self.ranking.totals
        rows = np.flatnonzero(before != REJECTED).astype(np.int32)
        base = self.static.base.copy()
        base[rows] += self.static.scaled_scores(rows)
        totals = np.full(len(base), REJECTED, np.int32)
        totals[rows] = before[rows] + base[rows] - self._base[rows]
        self._use(base)
        self.ranking = Ranking(totals)

    def _use(self, base: Int32s) -> None:
        self._base, self._base_of = base, base.data


class Overlay:
    """A run of decisions on top of a state that stays unchanged. For one thread.

    Args:
        branches: By index of the template, all of one version of the state.
        guesses: Unknown resource scores are assumed to be too low, and computed together at the end.
        within: int32[N], the rows of the only nodes that there are; None = all.
        gone: The row of a node that isn't there, nor are its pods; None = all are there.
        scratch: A private copy of this version of the state that may be written to; None = none was made yet.

    Raises:
        BeginAgainError: The state has moved on.

    Attributes:
        scratch: As the argument, once there is one.
        resource_ids: int32[capacity], as in ``ChangeTracker``, with the pods that were placed.
    """

    def __init__(
        self,
        cluster: ClusterState,
        tracker: ChangeTracker,
        branches: Mapping[int, Branch],
        *,
        guesses: bool,
        within: Int32s | None = None,
        gone: int | None = None,
        scratch: ClusterState | None = None,
    ) -> None:
        self.guesses = guesses
        self._some = within is not None or gone is not None
        self._cluster = cluster
        self._tracker = tracker
        self._branches = branches
        self._moved: list[int] = []
        self.scratch = scratch
        with cluster.lock:
            if not all(branch.holds(cluster) for branch in branches.values()):
                raise BeginAgainError
            self._version, self._generation = cluster.version, tracker.generation
            self.resource_ids = tracker.resource_ids.copy()
            self._epoch = cluster.snapshot.nodes.epoch
            self._next = {at: tracker.next_ids(branch.kind.usage) for at, branch in branches.items()}
        if within is not None:
            for branch in branches.values():
                branch.narrow(within)
        if gone is not None:
            for branch in branches.values():
                branch.leave_out(gone)

    def run(self, indices: Sequence[int], numbers: Sequence[int], check: Callable[[], None]) -> ChoiceColumns:
        """Decide about pods in order, each given by the index of its template and its number (``mix64``).

        Among some of the nodes it ends before the first pod that none of them takes.

        Raises:
            NotCachedError: One has to be evaluated in full, as one that no node takes.
            BeginAgainError: The state has moved too far, or a guess may have been wrong.
            DeadlineExceededError: The caller no longer waits.
        """
        columns = ChoiceColumns(self._version, self._epoch)
        try:
            for at, (index, number) in enumerate(zip(indices, numbers, strict=True)):
                if not at % _CHECKED:
                    check()
                self._decide(index, number, columns)
        except NotCachedError as error:
            if self._learn():
                raise BeginAgainError from None
            if error.reason is not Bypass.NO_NODE or not self._some:
                raise
        if self._learn():
            raise BeginAgainError
        columns.names = self._names(columns.rows)
        return columns

    def _learn(self) -> bool:
        """Ask about all that was guessed; whether anything was."""
        guessed = [branch for branch in self._branches.values() if branch.unknown]
        for branch in guessed:
            branch.learn(self)
        return bool(guessed)

    def shown(self, resource_ids: Sequence[int]) -> tuple[ClusterState, Int32s]:
        """Return a scratch copy of the state, and int32[K] rows of it that have the resource states with
        these ids.

        All else of these rows is that of other nodes: this is for plugins that read resources alone.
        """
        if self.scratch is None:
            self.scratch = self._cluster.fork()
        table = self.scratch.snapshot.nodes
        rows = table.rows()[: len(resource_ids)]
        with self._cluster.lock:
            self._check_generation()
            show_states(self._tracker, resource_ids[: len(rows)], table, rows)
        return self.scratch, rows

    def _decide(self, template: int, number: int, columns: ChoiceColumns) -> None:
        branch, resource_ids = self._branches[template], self.resource_ids.data
        branch.update(self._moved, self)
        if not branch.feasible:
            raise NotCachedError(Bypass.NO_NODE)
        ranking = branch.ranking
        ties = ranking.ties
        row = ranking.leader(number % ties)
        columns.rows.append(row)
        columns.totals.append(ranking.top if branch.feasible > 1 else 0)
        columns.tie_counts.append(ties)
        columns.feasible.append(branch.feasible)
        columns.evaluated.append(branch.static.evaluated)
        before = resource_ids[row]
        after = self._next[template].get(before)
        resource_ids[row] = self._after(before, branch.kind) if after is None else after
        self._moved.append(row)

    def _after(self, resource_id: int, kind: PodKind) -> int:
        with self._cluster.lock:
            self._check_generation()
            return state_after(self._tracker, resource_id, kind.usage, self._cluster.snapshot.nodes)

    def _check_generation(self) -> None:
        if self._tracker.generation != self._generation:
            raise BeginAgainError

    def _names(self, rows: Sequence[int]) -> list[str]:
        table = self._cluster.snapshot.nodes
        with self._cluster.lock:
            if table.epoch != self._epoch:
                raise BeginAgainError
            return [table.names[row] for row in rows]


def decide_on_overlay(
    cache: EvaluationCache,
    templates: Sequence[tuple[Pod, Profile]],
    indices: Sequence[int],
    numbers: Sequence[int],
    access: PluginAccess,
    within: Int32s | None = None,
) -> tuple[ChoiceColumns, list[StaticScores]] | Bypass:
    """Select nodes for pods in order, each given by the index of its template and its number (``mix64``).

    ``within`` are the rows of the only nodes that there are, among which the first pods get their nodes, up
    to one that none takes; None = all nodes. Returns the nodes, with the static scores of each template that
    occurs. Otherwise why the pods have to be evaluated in full, for instance because no node takes one.
    Raises DeadlineExceededError if the caller no longer waits.
    """
    try:
        for attempt in range(MAX_ATTEMPTS):
            try:
                branches = {at: branch_of(cache, *templates[at], access) for at in dict.fromkeys(indices)}
                guesses = attempt < GUESSES
                overlay = Overlay(cache.cluster, cache.tracker, branches, guesses=guesses, within=within)
                columns = overlay.run(indices, numbers, access.progress.check)
            except BeginAgainError:
                continue
            cache.counts.hits += len(numbers)
            return columns, [branch.static for branch in branches.values()]
    except NotCachedError as error:
        return error.reason
    except NodesChangedError:
        return Bypass.NODES_CHANGED
    except PluginFailureError:
        return Bypass.PLUGIN_FAILED
    return Bypass.STATE_CHANGING


def branch_of(cache: EvaluationCache, pod: Pod, profile: Profile, access: PluginAccess) -> Branch:
    """Return the branch for pods like ``pod``; raises NotCachedError and PluginFailureError."""
    check_may_be_tried(cache.cluster, pod, profile)
    template = cache.find(pod, profile)
    check_takes_room_alone(template.kind)
    calls = access.of(profile)
    with template.cached:
        template.cached.update(calls)
        return Branch(template, calls)
