"""The totals of all nodes, and the leaders; a decision changes a few of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mooring.framework import Int32s, Int64s, NodeView
from mooring.framework.pod_requests import PodUsage
from mooring.framework.pod_table import UNPLACED
from mooring.kernels.arrays import REJECTED, UNKNOWN, UInt64s
from mooring.kernels.select import Leaders, leader_at, leaders_of, select_in_turn
from mooring.runtime.cache.layers.ranking import Ranking, Selected, SelectedColumns
from mooring.runtime.cache.layers.resource_scores import ResourceScores
from mooring.runtime.cache.layers.static_scores import StaticScores
from mooring.runtime.cache.tracking.change_tracker import ChangeTracker
from mooring.runtime.cycle.plugin_calls import PluginCalls
from mooring.runtime.cycle.tie_break import choose, mix64_column
from mooring.runtime.tuning import CacheTuning

_ROWS_TO_GATHER = 2
"""If more than one row in this many changed, rating all of them is faster: they are in sequence."""


class NodeTotals:
    """The totals by static and resource scores, kept while nodes change. For one thread at a time.

    Attributes:
        values: int32[capacity]; ``REJECTED`` where a node is rejected.
        base: int32[capacity], what they are made of besides resources.
        feasible: How many are not ``REJECTED``.
    """

    _static: StaticScores
    _leaders: Leaders | None
    _ranking: Ranking | None
    _selections: int

    def __init__(self, resources: ResourceScores, tracker: ChangeTracker, tuning: CacheTuning) -> None:
        self._tuning = tuning
        self._resources = resources
        self._tracker = tracker
        self.base: Int32s = np.zeros(0, np.int32)
        self.values: Int32s = self.base
        self.feasible = 0

    def begin(self, static: StaticScores, calls: PluginCalls, *, whole: bool) -> None:
        """Rate all nodes.

        ``whole`` says whether nothing comes on top of these totals, so that those scores are part of them
        that depend on which nodes are feasible.
        """
        self._static = static
        self._whole = whole
        self._scales = whole and bool(static.scaled)
        self.base, self.feasible = static.base, 0
        self.values = np.empty(len(static.base), np.int32)
        self.values.fill(REJECTED)
        self._selections = 0
        if not self._put_at_once(static.open.at):
            self._put_by_plugins(static.open, calls)

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays, without those of the static scores."""
        own = len(self.values) > 0 and self.base is not self._static.base
        return self.values.nbytes + (self.base.nbytes if own else 0)

    def apply_changes(self, rows: Int32s, calls: PluginCalls) -> None:
        """Rate ``rows`` (int32[C]) again, each of which may occur more than once; ``UNPLACED`` is skipped."""
        few = len(rows) <= self._tuning.changed_rows_beside_a_pass
        # Row by row, resource states get their scores, which ``follow`` needs. The pass finds the leaders,
        # which is of use only without a ranking and dynamic scores.
        at_once = not few or (self._whole and self._ranking is None and self._selections > 0)
        if at_once and self._put_at_once(
            rows if few or self._worth_gathering(rows) else self._static.open.at
        ):
            self._selections = self._selections if few else 0
            return
        placed = rows[rows != UNPLACED]
        if len(rows) > self._tuning.changed_rows:
            every = self._static.open
            gathers = self._worth_gathering(placed)
            self._put_by_plugins(NodeView(every.snapshot, placed) if gathers else every, calls)
            return
        unknown = self._put(placed.tolist())
        if unknown:
            self._resources.score_rows(unknown, calls)
            # A row that is still unknown changed meanwhile, and comes again.
            self._put(unknown)

    def select(self, seed: int, uid: str) -> Selected | None:
        """Select the node for the pod with ``uid``; None when none is feasible."""
        feasible = self.feasible
        if not feasible:
            return None
        leaders: Ranking | Leaders
        if self._ranking is None and self._selections < self._tuning.unranked_selections:
            self._selections += 1
            leaders = self._leaders = self._leaders or leaders_of(self.values)
            row = leader_at(self.values, leaders, choose(seed, uid, leaders.ties))
        else:
            leaders = self.ranked()
            row = leaders.leader(choose(seed, uid, leaders.ties))
        top = leaders.top if feasible > 1 else 0
        return Selected(row, top, leaders.ties, feasible, self._static.evaluated)

    def ranked(self) -> Ranking:
        """Return the ranking, which is built once that is worth it."""
        if self._ranking is None:
            self._ranking = Ranking(self.values)
        return self._ranking

    def is_worth_ranking(self, selections: int) -> bool:
        """Return whether a ranking or the compiled loop makes ``selections`` faster than one at a time."""
        return self._ranking is not None or self._selections + selections > self._tuning.unranked_selections

    @property
    def is_ranked(self) -> bool:
        """Whether the ranking is built."""
        return self._ranking is not None

    def follow(self, row: int, usage: PodUsage) -> bool:
        """Count a pod with ``usage`` on ``row``; False, and nothing is done, if its new score is unknown."""
        resource_ids, values = self._tracker.ids_with(row), self._resources.states.values.data
        resource_id = self._tracker.next_ids(usage).get(resource_ids[row])
        if resource_id is None or resource_id >= len(values):
            return False
        value = values[resource_id]
        if value == UNKNOWN or (value == REJECTED and self._scales):
            return False
        resource_ids[row] = resource_id
        if value == REJECTED:
            self.feasible -= 1
        put = self.values.data.__setitem__ if self._ranking is None else self._ranking.put
        put(row, REJECTED if value == REJECTED else self.base.data[row] + value)
        self._leaders = None
        return True

    def select_sequentially(
        self, seed: int, uids: Sequence[str], usage: PodUsage
    ) -> tuple[SelectedColumns, int]:
        """Select nodes for the first of some pods that take ``usage``, each of which counts for the next one:
        up to the pod after which a plugin has to be called. Returns the selected nodes, and what follows from
        how many is taken in.
        """
        numbers = mix64_column(seed, uids)
        if len(self.values) <= self._tuning.compiled_rows_per_pod * len(uids):
            compiled = select_in_turn.for_rows(len(self.values))
            if compiled is not None:
                return self._select_compiled(compiled, numbers, usage)
        tracker, ranking = self._tracker, self.ranked()
        after = tracker.next_ids(usage)
        values, base = self._resources.states.values.data, self.base.data
        known, scales = len(values), self._scales
        rows: list[int] = []
        selected = SelectedColumns(rows, [], [], [], self._static.evaluated)
        add_total, add_ties, add_feasible = (
            column.append for column in (selected.totals, selected.ties, selected.feasible)
        )
        for mixed in numbers.tolist():
            ties, feasible = ranking.ties, self.feasible
            if not ties:
                break
            row = ranking.leader(mixed % ties)
            rows.append(row)
            add_total(ranking.top if feasible > 1 else 0)
            add_ties(ties)
            add_feasible(feasible)
            resource_ids = tracker.ids_with(row)
            resource_id = after.get(resource_ids[row])
            value = values[resource_id] if resource_id is not None and resource_id < known else UNKNOWN
            if resource_id is None or value == UNKNOWN or (value == REJECTED and scales):
                return selected, len(rows) - 1
            resource_ids[row] = resource_id
            if value == REJECTED:
                self.feasible = feasible - 1
            ranking.put(row, REJECTED if value == REJECTED else base[row] + value)
        return selected, len(rows)

    def _select_compiled(
        self, compiled: Callable[..., tuple[int, int, int]], numbers: UInt64s, usage: PodUsage
    ) -> tuple[SelectedColumns, int]:
        """``select_sequentially`` in one compiled loop; ``numbers`` (uint64[K]) decide between equals."""
        tracker, found = self._tracker, np.empty((4, len(numbers)), np.int32)
        nodes = self.values, tracker.resource_ids
        known = self.base, self._resources.states.values, tracker.column_after(usage)
        count, taken_in, self.feasible = compiled(nodes, known, numbers, self._scales, found)
        self._ranking, self._selections, self._leaders = None, 0, None
        rows, tops, ties, feasible = found[:, :count].tolist()
        return SelectedColumns(rows, tops, ties, feasible, self._static.evaluated), taken_in

    def alone(self, rows: Int32s) -> Int32s | Int64s:
        """Return the totals of ``rows`` (int32[F]), which are feasible, as if there were no others."""
        totals = self.values[rows]
        return totals if len(rows) == self.feasible else self._rescaled(totals, rows)

    def of(self, rows: Int32s) -> Int32s:
        """int32[K]: the totals of ``rows`` as if there were no others; ``REJECTED`` for rejected nodes."""
        # Rows that are new by now are out of bounds.
        rows = np.minimum(rows, len(self.values) - 1)
        totals = self.values.take(rows)
        if self._static.scaled:
            fits = totals != REJECTED
            totals[fits] = self._rescaled(totals[fits], rows[fits])
        return totals

    def _rescaled(self, totals: Int32s, rows: Int32s) -> Int32s | Int64s:
        """Return ``totals`` with the scores that are scaled by ``rows`` alone (both int32[F])."""
        static = self._static
        if not static.scaled:
            return totals
        return totals - self.base[rows] + static.base[rows] + static.scaled_scores(rows)

    def _put(self, rows: Sequence[int]) -> list[int]:
        """Put ``rows`` where they belong now; those whose resource score is unknown are returned."""
        values, resource_ids = self._resources.states.values.data, self._tracker.ids_of(rows)
        known = len(values)
        totals, base = self.values.data, self.base.data
        put = totals.__setitem__ if self._ranking is None else self._ranking.put
        unknown: list[int] = []
        crossed = False
        for row in rows:
            resource_id = resource_ids[row]
            value = values[resource_id] if resource_id < known else UNKNOWN
            if value == UNKNOWN:
                unknown.append(row)
                continue
            stands, old = base[row], totals[row]
            total = REJECTED if REJECTED in (value, stands) else stands + value
            if total != old:
                if REJECTED in (total, old):
                    self.feasible += 1 if old == REJECTED else -1
                    crossed = True
                put(row, total)
        self._leaders = None
        if crossed:
            self._crossed()
        return unknown

    def _put_at_once(self, at: Int32s | slice) -> bool:
        """Rate the rows ``at`` in one compiled pass, which finds who leads, too; return whether one can."""
        put = self._resources.put_at_once(at, self.base, self.values)
        if put is None:
            return False
        crossed, leaders = put
        self._ranking, self._leaders = None, leaders
        if crossed:
            self.feasible = leaders.feasible
            self._crossed()
        return True

    def _put_by_plugins(self, nodes: NodeView, calls: PluginCalls) -> None:
        """Rate ``nodes`` by the plugins' answers."""
        crossed = self._resources.put_by_states(nodes, self.base, self.values, calls)
        self._ranking, self._selections, self._leaders = None, 0, None
        if crossed:
            self.feasible = _count(self.values)
            self._crossed()

    def _worth_gathering(self, rows: Int32s) -> bool:
        return len(rows) <= len(self._static.open) // _ROWS_TO_GATHER

    def _crossed(self) -> None:
        """Scale again, since other rows are feasible now; they may be as many, if one replaced another."""
        if self._scales:
            totals = self.values
            self._add_up(
                np.where(totals == REJECTED, np.int32(REJECTED), totals - self.base + self._static.base)
            )

    def _add_up(self, totals: Int32s) -> None:
        """Take in ``totals`` (int32[capacity]), which lack what is scaled by the nodes that are feasible."""
        static = self._static
        self.feasible = _count(totals)
        self.base = static.base
        if self._scales:
            all_are = self.feasible == len(totals)
            feasible = slice(None) if all_are else np.flatnonzero(totals != REJECTED).astype(np.int32)
            scaled = static.scaled_scores(feasible)
            self.base = static.base.copy()
            self.base[feasible] += scaled
            totals[feasible] += scaled
        self.values = totals
        self._ranking, self._selections, self._leaders = None, 0, None


def _has_out(totals: Int32s) -> bool:
    """Return whether one of ``totals`` (int32[K]) is ``REJECTED``, which is the lowest."""
    return len(totals) > 0 and totals.item(totals.argmin()) == REJECTED


def _count(totals: Int32s) -> int:
    """Return how many of ``totals`` (int32[K]) are not ``REJECTED``."""
    return int(np.count_nonzero(totals != REJECTED)) if _has_out(totals) else len(totals)
