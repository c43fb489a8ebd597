"""Pods of one template, decided among so few nodes that those that lead are found by looking at all.

A placement of a group is such a few, and a group is tried in every placement: what each step costs counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mooring.framework import Int32s
from mooring.runtime.cache.ranking import OUT
from mooring.runtime.cache.rated_states import UNKNOWN
from mooring.runtime.cycle.choice import ChoiceColumns

MAX_FEW = 512
"""Nodes of which a ranking wouldn't find the leaders sooner."""

CHECKED = 256
"""Pods between two checks whether the caller still waits."""


@dataclass
class FewNodes:
    """The nodes, one entry each.

    Attributes:
        rows: Their rows, in ascending order.
        bases: What their totals are made of besides resources; ``OUT`` for those that take no such pod.
        resource_ids: The resource states that they are in, with the pods that were placed.
        totals: Their totals; ``OUT`` for those that can't take one more.
        stays: Whether no total depends on which nodes are feasible.
    """

    rows: Sequence[int]
    bases: Sequence[int]
    resource_ids: list[int]
    totals: list[int]
    stays: bool

    @classmethod
    def of(
        cls, rows: Int32s, bases: Int32s, resource_ids: Int32s, totals: Int32s, *, stays: bool
    ) -> FewNodes:
        """Return ``rows`` of columns of all nodes."""
        known, states, now = (column.take(rows).tolist() for column in (bases, resource_ids, totals))
        return cls(rows.tolist(), known, states, now, stays)

    def place(
        self,
        numbers: Sequence[int],
        values: Sequence[int],
        following: Mapping[int, int],
        columns: ChoiceColumns,
        check: Callable[[], None],
    ) -> None:
        """Select nodes for the first pods, each of which has a number that decides between equals.

        It ends before the first one with which something would have to be found out.

        Args:
            numbers: One per pod.
            values: By resource state, what it is worth; ``OUT`` where no room is left, or ``UNKNOWN``.
            following: The resource state after one more pod, by that before.
            columns: What is selected comes to it, but for how many nodes were evaluated.
            check: Called now and then; raises when nobody waits any more.
        """
        totals, resource_ids, bases, known = self.totals, self.resource_ids, self.bases, len(values)
        feasible = len(totals) - totals.count(OUT)
        top, leaders = _leaders(totals)
        for tried, number in enumerate(numbers):
            if not tried % CHECKED:
                check()
            count = len(leaders)
            if not count:
                return
            pick = number % count
            at = leaders[pick]
            after = following.get(resource_ids[at], known)
            value = values[after] if after < known else UNKNOWN
            if value == UNKNOWN or (value == OUT and not self.stays):
                return
            columns.rows.append(self.rows[at])
            columns.totals.append(top if feasible > 1 else 0)
            columns.tie_counts.append(count)
            columns.feasible.append(feasible)
            resource_ids[at] = after
            total = totals[at] = OUT if value == OUT else bases[at] + value
            feasible -= total == OUT
            if total > top:
                top, leaders = total, [at]
            elif total < top:
                del leaders[pick]
                if not leaders:
                    top, leaders = _leaders(totals)


def _leaders(totals: Sequence[int]) -> tuple[int, list[int]]:
    """Return the highest total, and which nodes have it; none when that is ``OUT``."""
    top = max(totals, default=OUT)
    return top, [] if top == OUT else [at for at, total in enumerate(totals) if total == top]
