"""The totals of all nodes by what a decision changes on few of them, and who leads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mooring.framework import Int32s, Int64s, NodeView
from mooring.framework.pod_requests import PodUsage
from mooring.framework.pod_table import UNPLACED
from mooring.plugins.leading_rows import Leaders, leader_at, leaders_of
from mooring.runtime.cache.change_tracker import ChangeTracker
from mooring.runtime.cache.ranking import OUT, Ranking
from mooring.runtime.cache.rated_states import UNKNOWN
from mooring.runtime.cache.resource_scores import ResourceScores
from mooring.runtime.cache.selected import Selected, SelectedColumns
from mooring.runtime.cache.selection_loop import select_in_turn
from mooring.runtime.cache.static_scores import StaticScores
from mooring.runtime.cycle.plugin_calls import Calls
from mooring.runtime.cycle.tie_break import UInt64s, choose, mix64_column

_FEW_ROWS, _FEW_BESIDE_A_PASS, _ROWS_TO_ONE = 16, 2, 1024
"""Up to this many changed rows, plus one for this many rows in all, each is put in its place by itself; up to
fewer, where one compiled pass can rate them."""

_ROWS_TO_GATHER = 2
"""With more changed rows than one in so many, rating all takes less: they are in sequence."""

_SELECTIONS = 8
"""How many selections go without a ranking, which takes as long to build as these do. The count begins anew
when many totals change."""

_ROWS_A_POD = 1 << 8
"""With at most this many rows per pod of a batch, the compiled loop is faster than the ranking."""


class KeptTotals:
    """The totals by static and resource scores, kept while nodes change. For one thread at a time.

    Args:
        resources: The resource scores.
        tracker: What changed.

    Attributes:
        values: int32[capacity]; ``OUT`` where a node is rejected.
        base: int32[capacity], what they are made of besides resources.
        feasible: How many are not ``OUT``.
    """

    _static: StaticScores
    _leaders: Leaders | None
    _ranking: Ranking | None
    _selections: int

    def __init__(self, resources: ResourceScores, tracker: ChangeTracker) -> None:
        self._resources = resources
        self._tracker = tracker
        self.base: Int32s = np.zeros(0, np.int32)
        self.values: Int32s = self.base
        self.feasible = 0

    def begin(self, static: StaticScores, calls: Calls, *, whole: bool) -> None:
        """Rate all nodes.

        ``whole`` says whether nothing comes on top of these totals, so that those scores are part of them
        that depend on which nodes are feasible.
        """
        self._static = static
        self._whole = whole
        self._scales = whole and bool(static.scaled)
        self.base, self.feasible = static.base, 0
        self.values = np.empty(len(static.base), np.int32)
        self.values.fill(OUT)
        self._selections = 0
        if not self._put_at_once(static.open.at):
            self._put_by_plugins(static.open, calls)

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays, without those of the static scores."""
        own = len(self.values) > 0 and self.base is not self._static.base
        return self.values.nbytes + (self.base.nbytes if own else 0)

    def take_in(self, rows: Int32s, calls: Calls) -> None:
        """Look at ``rows`` (int32[C]) again, each of which may occur more than once; ``UNPLACED`` is none."""
        count = len(rows) - len(self.values) // _ROWS_TO_ONE
        few = count <= _FEW_BESIDE_A_PASS
        # Row by row, resource states get their scores, which ``follow`` needs. The pass finds the leaders,
        # which a ranking has already, and which mean nothing where dynamic scores are added or none is asked
        # for.
        at_once = not few or (self._whole and self._ranking is None and self._selections > 0)
        if at_once and self._put_at_once(
            rows if few or self._worth_gathering(rows) else self._static.open.at
        ):
            self._selections = self._selections if few else 0
            return
        placed = rows[rows != UNPLACED]
        if count > _FEW_ROWS:
            every = self._static.open
            gathers = self._worth_gathering(placed)
            self._put_by_plugins(NodeView(every.snapshot, placed) if gathers else every, calls)
            return
        unknown = self._put(placed.tolist())
        if unknown:
            self._resources.learn(unknown, calls)
            # What is unknown even now changed meanwhile, and comes again.
            self._put(unknown)

    def select(self, seed: int, uid: str) -> Selected | None:
        """Select the node for the pod with ``uid``; None when none is feasible."""
        feasible = self.feasible
        if not feasible:
            return None
        leaders: Ranking | Leaders
        if self._ranking is None and self._selections < _SELECTIONS:
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
        """Return whether ``selections`` rows, at least 2, are selected faster by ranking all of them, or in
        the compiled loop, than one by one.
        """
        return self._ranking is not None or self._selections + selections > _SELECTIONS

    @property
    def is_ranked(self) -> bool:
        """Whether the ranking is built."""
        return self._ranking is not None

    def follow(self, row: int, usage: PodUsage) -> bool:
        """Take in that a pod which takes ``usage`` comes to ``row``; return whether its new resource score is
        known, and so it was.
        """
        resource_ids, values = self._tracker.ids_with(row), self._resources.states.values.data
        resource_id = self._tracker.next_ids(usage).get(resource_ids[row])
        if resource_id is None or resource_id >= len(values):
            return False
        value = values[resource_id]
        if value == UNKNOWN or (value == OUT and self._scales):
            return False
        resource_ids[row] = resource_id
        if value == OUT:
            self.feasible -= 1
        put = self.values.data.__setitem__ if self._ranking is None else self._ranking.put
        put(row, OUT if value == OUT else self.base.data[row] + value)
        self._leaders = None
        return True

    def select_alike(self, seed: int, uids: Sequence[str], usage: PodUsage) -> tuple[SelectedColumns, int]:
        """Select nodes for the first of some pods that take ``usage``, each of which counts for the next one:
        up to the pod after which a plugin has to be called.

        Returns:
            The selected nodes, and what follows from how many is taken in.
        """
        numbers = mix64_column(seed, uids)
        if len(self.values) <= _ROWS_A_POD * len(uids):
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
            if resource_id is None or value == UNKNOWN or (value == OUT and scales):
                return selected, len(rows) - 1
            resource_ids[row] = resource_id
            if value == OUT:
                self.feasible = feasible - 1
            ranking.put(row, OUT if value == OUT else base[row] + value)
        return selected, len(rows)

    def _select_compiled(
        self, compiled: Callable[..., tuple[int, int, int]], numbers: UInt64s, usage: PodUsage
    ) -> tuple[SelectedColumns, int]:
        """``select_alike`` in one compiled loop; ``numbers`` (uint64[K]) decide between equals."""
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
        """int32[K]: the totals of ``rows`` as if there were no others; ``OUT`` where a node is rejected."""
        # Rows that are new by now are out of bounds.
        rows = np.minimum(rows, len(self.values) - 1)
        totals = self.values.take(rows)
        if self._static.scaled:
            fits = totals != OUT
            totals[fits] = self._rescaled(totals[fits], rows[fits])
        return totals

    def _rescaled(self, totals: Int32s, rows: Int32s) -> Int32s | Int64s:
        """Return ``totals`` with what is scaled by ``rows`` alone (both int32[F])."""
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
            total = OUT if OUT in (value, stands) else stands + value
            if total != old:
                if OUT in (total, old):
                    self.feasible += 1 if old == OUT else -1
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

    def _put_by_plugins(self, nodes: NodeView, calls: Calls) -> None:
        """Rate ``nodes`` by what each plugin says."""
        crossed = self._resources.put_by_states(nodes, self.base, self.values, calls)
        self._ranking, self._selections, self._leaders = None, 0, None
        if crossed:
            self.feasible = _count(self.values)
            self._crossed()

    def _worth_gathering(self, rows: Int32s) -> bool:
        return len(rows) <= len(self._static.open) // _ROWS_TO_GATHER

    def _crossed(self) -> None:
        """Take in that other rows are feasible than before; also as many, when one took another's place."""
        if self._scales:
            totals = self.values
            self._add_up(np.where(totals == OUT, np.int32(OUT), totals - self.base + self._static.base))

    def _add_up(self, totals: Int32s) -> None:
        """Take in ``totals`` (int32[capacity]), which lack what is scaled by the nodes that are feasible."""
        static = self._static
        self.feasible = _count(totals)
        self.base = static.base
        if self._scales:
            all_are = self.feasible == len(totals)
            feasible = slice(None) if all_are else np.flatnonzero(totals != OUT).astype(np.int32)
            scaled = static.scaled_scores(feasible)
            self.base = static.base.copy()
            self.base[feasible] += scaled
            totals[feasible] += scaled
        self.values = totals
        self._ranking, self._selections, self._leaders = None, 0, None


def _has_out(totals: Int32s) -> bool:
    """Return whether one of ``totals`` (int32[K]) is ``OUT``, which is the lowest."""
    return len(totals) > 0 and totals.item(totals.argmin()) == OUT


def _count(totals: Int32s) -> int:
    """Return how many of ``totals`` (int32[K]) are not ``OUT``."""
    return int(np.count_nonzero(totals != OUT)) if _has_out(totals) else len(totals)
