"""The search for victims: on node after node until there are enough candidates, many at once where
possible.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mooring.framework import Int32s, Int64s
from mooring.framework.errors import PluginFailureError
from mooring.framework.pod_table import UNPLACED
from mooring.framework.preemption import NodeSums
from mooring.plugins.default_preemption.by_sums import SumsSearch
from mooring.plugins.default_preemption.outcomes import CANDIDATE, UNKNOWN, VIOLATING, KnownOutcomes
from mooring.plugins.default_preemption.row_pods import PodsByRow
from mooring.plugins.default_preemption.victims import VictimSearch

MAX_AT_ONCE = 256
"""The most nodes that are tried at once; work beyond the last one needed is wasted."""

FIRST_BY_SUMS, MAX_BY_SUMS = 32, 1024
"""The least and the most nodes that are tried at once, if many take hardly longer than one."""

_AHEAD = 2
"""Nodes of the first look for each candidate that is wanted: most nodes of a full cluster are one."""


class Looking:
    """The search for the candidates of one pod. Used once.

    Args:
        search: Finds the victims on a node.
        known: The outcomes on nodes that are known; the search adds its own.
        pods: The pods of each node.
    """

    def __init__(self, search: VictimSearch, known: KnownOutcomes, pods: PodsByRow) -> None:
        self._search = search
        self._known = known
        self._pods = pods

    def until(self, order: Int32s, wanted: int, enough: int) -> tuple[Int32s, Int32s]:
        """int32[L], int32[C]: the first rows of ``order``, after which the search ends, and the candidates
        among them, in row order.

        That is with ``wanted`` candidates, or with ``enough`` of both kinds.
        """
        ahead, size = min(_AHEAD * wanted, len(order)), 0
        while True:
            codes = self._known.codes(order[:ahead])
            unknown = np.flatnonzero(codes == UNKNOWN)
            told = codes[: unknown[0]] if len(unknown) else codes
            found, end = _candidates(told, wanted, enough)
            if end is not None or len(told) == len(order):
                return order[:end], np.sort(order[found])
            if len(unknown):
                size = self._next_size(size, min(wanted, enough))
                # Those that changed on the other nodes are searched with them: later pods begin there.
                every = np.flatnonzero(self._known.codes(order) == UNKNOWN) if size > 1 else unknown
                self._look(order[every[:size]])
            else:
                ahead = min(2 * ahead, len(order))

    @cached_property
    def _sums(self) -> NodeSums | None:
        return self._search.nodes.sums()

    @cached_property
    def _apart(self) -> list[int]:
        """The rows that are searched one by one: those with nominated pods, or with pods of groups."""
        pods, index = self._search.nodes.snapshot.pods, self._search.nodes.snapshot.nodes.index
        crowded = [index.get(name, UNPLACED) for name in tuple(pods.nominated)]
        groups = tuple(pods.groups.values()) if self._search.units.grouping else ()
        members = (pods.get(uid) for group in groups for uid in tuple(group))
        return crowded + [member.row for member in members if member is not None]

    def _next_size(self, size: int, needed: int) -> int:
        """Return how many nodes are searched at once after ``size``, at first 0, where ``needed`` may do."""
        if self._sums is not None:
            return min(max(2 * size, needed, FIRST_BY_SUMS), MAX_BY_SUMS)
        return min(2 * size, MAX_AT_ONCE) if size and self._search.nodes.independent else 1

    def _look(self, rows: Int32s) -> None:
        if self._sums is None:
            self._one_by_one(rows)
            return
        apart = np.isin(rows, self._apart)
        for some, look in ((rows[apart], self._one_by_one), (rows[~apart], self._at_once)):
            if len(some):
                look(some)

    def _one_by_one(self, rows: Int32s) -> None:
        names = self._search.nodes.snapshot.nodes.names
        self._known.put(rows, self._search.on_nodes([names[row] for row in rows.tolist()]))

    def _at_once(self, rows: Int32s) -> None:
        search, sums = self._search, self._sums
        lower = self._pods.lower(search.nodes.snapshot, rows, search.pod.priority)
        # With a later start, the clock decides which pod started first.
        if sums is None or (lower.latest >= search.units.now).any():
            self._one_by_one(rows)
            return
        try:
            self._known.put_found(rows, *SumsSearch(sums, rows, search, lower).run(), lower.mixed)
        except PluginFailureError:
            self._one_by_one(rows)


def _candidates(told: Int32s, wanted: int, enough: int) -> tuple[Int64s, int | None]:
    """int64[C]: where candidates are in ``told`` (int32[L]), at most ``wanted`` of each kind, up to where the
    search ends; and after how many nodes that is, None = not yet.
    """
    harmless, violating = (np.flatnonzero(told == kind)[:wanted] for kind in (CANDIDATE, VIOLATING))
    found = np.sort(np.concatenate((harmless, violating)))
    ends = []
    if len(found) >= enough:
        ends.append(int(found[enough - 1]))
    if len(found) >= wanted and len(harmless):
        ends.append(max(int(found[wanted - 1]), int(harmless[0])))
    if not ends:
        return found, None
    return found[found <= min(ends)], min(ends) + 1
