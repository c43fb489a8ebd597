"""The pods of a group, decided in all of its placements in one pass, while the state does not change.

A group is tried in every placement. Most of the cost is the start of each trial, so here there is only one:
the placements are stretches of the same columns. The loop is compiled. Until it is, an overlay decides
placement by placement, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mooring.framework import Int32s, NodeView, Pod
from mooring.framework.errors import PluginFailureError
from mooring.framework.groups import PlacementColumns
from mooring.framework.state import ClusterState
from mooring.framework.view import NodesChangedError
from mooring.kernels.arrays import REJECTED, UNKNOWN, UInt64s
from mooring.kernels.select import select_in_each
from mooring.runtime.cache.answers.consistency import (
    MAX_ATTEMPTS,
    check_may_be_tried,
    check_still_decides,
    check_takes_room_alone,
)
from mooring.runtime.cache.layers.cached_evaluation import Template
from mooring.runtime.cache.layers.resource_scores import ResourceScores
from mooring.runtime.cache.lookup.evaluation_cache import EvaluationCache
from mooring.runtime.cache.outcome import Bypass, NotCachedError
from mooring.runtime.cycle.choice import ChoiceColumns, FirstChoices
from mooring.runtime.cycle.plugin_calls import PluginAccess, PluginCalls
from mooring.runtime.forecast.resource_states import show_states, state_after
from mooring.runtime.profiles.profile import Profile

_MAX_UNKNOWN = 1 << 10
"""Unknown values that one pass notes."""

MAX_STEPS = 1 << 24
"""Pods times nodes in one pass: it takes some 20 ms, and checks no deadline."""

FIRST_AHEAD, MOST_AHEAD = 4, 64
"""Pods on a node that are looked ahead after the first pass, and at most; twice as many after each pass. Most
pods of a group come to nodes on which another one is, and each pass shows one more."""


@dataclass(frozen=True, slots=True)
class _Column:
    """The placements' nodes as the pods of one template see them.

    Attributes:
        basis: The basis on which all of it is true, as in ``CachedEvaluation``.
        evaluated: How many nodes are evaluated for each of the pods.
        resources: The source of the rest of each total.
        totals: int32[N], their totals.
        base: int32[N], the totals without resources.
    """

    template: Template
    basis: tuple[int, int]
    calls: PluginCalls
    evaluated: int
    resources: ResourceScores
    totals: Int32s
    base: Int32s


@dataclass(frozen=True, slots=True)
class PlacementBatchResult:
    """The nodes of a group's pods in each of its placements.

    Attributes:
        version: The version of the state that was evaluated.
        epoch: The node epoch that ``rows`` belong to.
        found: int32[4, P, K], as ``select_in_each`` writes it.
        rows: int32[N], the rows of the nodes of all placements.
        names: The nodes' names, by row.
        evaluated: How many nodes were evaluated for each pod.
    """

    version: int
    epoch: int
    found: Int32s
    rows: Int32s
    names: Sequence[str]
    evaluated: Sequence[int]

    def choices(self) -> FirstChoices:
        """Return them as the cycle of a group reads them."""
        return FirstChoices((self.found[0] != REJECTED).sum(axis=1, dtype=np.int32), self._columns)

    def _columns(self, at: int) -> ChoiceColumns:
        count = int(np.count_nonzero(self.found[0, at] != REJECTED))
        nodes, *rest = self.found[:, at, :count]
        rows, names = self.rows.take(nodes).tolist(), self.names
        totals, ties, feasible = (each.tolist() for each in rest)
        selected, evaluated = [names[row] for row in rows], list(self.evaluated[:count])
        return ChoiceColumns(self.version, self.epoch, selected, rows, totals, ties, feasible, evaluated)


class PlacementBatch:
    """Decides the pods of groups in all placements in one pass. Safe from any thread."""

    def __init__(self, cluster: ClusterState, cache: EvaluationCache) -> None:
        self._cluster = cluster
        self._cache = cache

    def run(
        self,
        templates: Sequence[tuple[Pod, Profile]],
        indices: Sequence[int],
        numbers: Sequence[int],
        placements: PlacementColumns,
        access: PluginAccess,
    ) -> PlacementBatchResult | None:
        """Select nodes in each placement for the first pods, up to one that none takes.

        Args:
            templates: One pod of each template, with its profile.
            indices: The pods, by the number of their template, in order.
            numbers: One per pod, to break ties (``mix64``).
            placements: The placements; the rows of each one's nodes are in ascending order.
            access: Gives the way to call plugins.

        Returns:
            None if placements have to be decided one by one.
        """
        rows, ends = placements.rows, placements.ends
        compiled = select_in_each.for_rows(len(rows), len(self._cluster.snapshot.nodes.alive))
        if compiled is None or not placements.fewest or len(rows) * len(indices) > MAX_STEPS:
            return None
        pods = np.array(indices, np.int32), np.array(numbers, np.uint64)
        try:
            for number in range(MAX_ATTEMPTS):
                columns = [self._column(pod, profile, rows, access) for pod, profile in templates]
                found = self._pass(
                    compiled, rows, ends, columns, pods, min(FIRST_AHEAD << number, MOST_AHEAD)
                )
                if found is not None:
                    self._cache.counts.hits += len(placements) * len(indices)
                    return found
        except (NotCachedError, NodesChangedError, PluginFailureError):
            pass
        return None

    def _column(self, pod: Pod, profile: Profile, rows: Int32s, access: PluginAccess) -> _Column:
        check_may_be_tried(self._cluster, pod, profile)
        template = self._cache.find_member(pod, profile)
        check_takes_room_alone(template.kind)
        cached, calls = template.cached, access.of(profile)
        with cached:
            cached.update(calls)
            evaluated = cached.static.evaluated
            if cached.static.scaled:
                # Totals depend on which nodes are feasible.
                raise NotCachedError(Bypass.DYNAMIC)
            columns = (
                column.take(rows, mode="clip")
                for column in (cached.node_totals.values, cached.node_totals.base)
            )
            return _Column(template, cached.basis, calls, evaluated, cached.resources, *columns)

    def _pass(
        self,
        compiled: Callable[..., int],
        rows: Int32s,
        ends: Int32s,
        columns: Sequence[_Column],
        pods: tuple[Int32s, UInt64s],
        ahead: int,
    ) -> PlacementBatchResult | None:
        """Go over all placements once; None when the state has changed, or the pass met unknown values.

        The unknown values are then found out, up to ``ahead`` pods on a node.
        """
        cluster, tracker = self._cluster, self._cache.tracker
        with cluster.lock:
            for column in columns:
                check_still_decides(cluster, column.template.selected_keys)
                if not column.template.cached.current(column.basis):
                    return None
            resource_ids = tracker.resource_ids.take(rows)
            version, table = cluster.version, cluster.snapshot.nodes
            epoch, names = table.epoch, table.names
            following = [tracker.column_after(column.template.kind.usage) for column in columns]
            # Afterwards they may be those of ids that mean others.
            values = [column.resources.states.values for column in columns]
        found, unknown = _run(compiled, (ends, resource_ids), columns, (values, following), pods)
        if unknown:
            self._learn(columns, unknown, ahead)
            return None
        evaluated = [columns[index].evaluated for index in pods[0].tolist()]
        return PlacementBatchResult(version, epoch, found, rows, names, evaluated)

    def _learn(self, columns: Sequence[_Column], unknown: Iterable[tuple[int, int]], ahead: int) -> None:
        """Learn the states in which ``ahead`` pods, one after the other, leave nodes, and their scores."""
        tracker, cluster = self._cache.tracker, self._cluster
        reached: set[int] = set()
        with cluster.lock:
            if tracker.generation != columns[0].basis[1]:
                return
            for at, before in unknown:
                usage, state = columns[at].template.kind.usage, before
                for _ in range(ahead):
                    after = tracker.next_ids(usage).get(state)
                    if after is None:
                        after = state_after(tracker, state, usage, cluster.snapshot.nodes)
                    reached.add(after)
                    state = after
        for column in columns:
            self._rate(column, sorted(reached))

    def _rate(self, column: _Column, resource_ids: Sequence[int]) -> None:
        """Rate those of some resource states that are unknown."""
        resources = column.resources
        with column.template.cached:
            resources.make_room()
            needed = [each for each in resource_ids if resources.states.values[each] == UNKNOWN]
            if not needed:
                return
            if not resources.rates_columns:
                raise NotCachedError(Bypass.RESOURCES)
            asked = resources.unknown_ids(needed)
            nodes = self._nodes_with(asked, column.basis[1])
            if nodes is not None:
                resources.score_states(asked, nodes, column.calls)

    def _nodes_with(self, resource_ids: Sequence[int], generation: int) -> NodeView | None:
        """Return made-up nodes with these resource states; None once the ids mean others."""
        cluster, tracker, count = self._cluster, self._cache.tracker, len(resource_ids)
        with cluster.lock:
            if tracker.generation != generation:
                return None
            known = cluster.snapshot.nodes
            width = len(known.allocatable)
            table = replace(
                known,
                alive=np.ones(count, np.bool_),
                allocatable=np.zeros((width, count), np.int64),
                requested=np.zeros((width, count), np.int64),
                non_zero_requested=np.zeros((len(known.non_zero_requested), count), np.int64),
            )
            rows = np.arange(count, dtype=np.int32)
            show_states(tracker, resource_ids, table, rows)
            return NodeView(replace(cluster.snapshot, nodes=table), rows)


def _run(
    compiled: Callable[..., int],
    nodes: tuple[Int32s, Int32s],
    columns: Sequence[_Column],
    states: tuple[Sequence[Int32s], Sequence[Int32s]],
    pods: tuple[Int32s, UInt64s],
) -> tuple[Int32s, set[tuple[int, int]]]:
    """Go over the nodes of all placements once. Returns int32[4, P, K] as ``select_in_each`` writes it, and
    the pairs of template and resource state that are unknown.
    """
    found: Int32s = np.full((4, len(nodes[0]), len(pods[0])), REJECTED, np.int32)
    unknown: Int32s = np.empty((_MAX_UNKNOWN, 2), np.int32)
    values, following = states
    size = max(map(len, following))
    scores = _table([column.totals for column in columns]), _table([column.base for column in columns])
    missing = compiled(nodes, scores, (_table(values, size), _table(following, size)), pods, found, unknown)
    return found, {(at, before) for at, before in unknown[:missing].tolist()}


def _table(columns: Sequence[Int32s], size: int = 0) -> Int32s:
    """int32[T, C]: the columns, filled up with ``UNKNOWN`` to the length of the longest, or to ``size``."""
    size = max(size, *map(len, columns))
    if len(columns) == 1 and len(columns[0]) == size:
        return columns[0].reshape(1, -1)
    filled: Int32s = np.full((len(columns), size), UNKNOWN, np.int32)
    for at, column in enumerate(columns):
        filled[at, : len(column)] = column
    return filled
