"""Ratings of nodes by their resources, as arguments of the kernels that do the work."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from mooring.framework.batch import BatchPlugin, BatchScorer
from mooring.framework.pod_requests import PodUsage
from mooring.framework.view import NodeView, Snapshot
from mooring.kernels.arrays import Int32s, Int64s
from mooring.kernels.compile import Loop
from mooring.kernels.resource_totals import put_and_lead
from mooring.kernels.resources import Columns, Places, add_free_shares, add_improvements
from mooring.kernels.select import Leaders

_LOOPS = [add_free_shares, add_improvements]

_MAX_NAMES = 1 << 6
"""How many combinations of resource names are remembered at most."""

_NO_AMOUNTS: Int64s = np.zeros(0, np.int64)

_Asked = list[tuple[Int64s | int, ...]]
"""A pod's arguments of the loops, each with the weight of its scores."""

Put = tuple[bool, Leaders]
"""Whether a row is feasible that was not, or the other way round; and the rows that lead."""

_NO_ROWS: Int32s = np.zeros(0, np.int32)


class ResourceRating(msgspec.Struct, frozen=True):
    """A ``BatchScorer`` in one compiled pass if that can be, and otherwise with numpy.

    Attributes:
        loop: The pass. It takes ``COLUMNS_AND_PLACES``, ``asked``, the weight and the totals, and returns
            False when a node lacks one of the resources, or an amount is too large; then nothing is done.
        asked: int64[., .] each, the pod's arguments of the pass, with the requests in the last column;
            None when other resources are scored than those that each node has.
        plain: The same with numpy.
        scalars: Gives int64[., 2], the last of ``asked`` with more rows, by the columns of a state; None if
            those lack a resource.
    """

    loop: Loop[bool]
    asked: tuple[Int64s, ...] | None
    plain: BatchScorer
    scalars: Callable[[Snapshot], Int64s | None] | None = None

    def __call__(self, nodes: NodeView, weight: int, totals: Int32s) -> None:
        """Add the scores of ``nodes``, as a ``BatchScorer`` does."""
        if not self.compiled(nodes, weight, totals):
            self.plain(nodes, weight, totals)

    def compiled(self, nodes: NodeView, weight: int, totals: Int32s) -> bool:
        """Do the same in one pass; return whether that could be, and otherwise do nothing."""
        add = None if self.asked is None else self.loop.for_rows(len(nodes), len(nodes.table.alive))
        asked = None if add is None else self.asked_in(nodes.snapshot)
        if add is None or asked is None:
            return False
        return add(*columns_and_places(nodes), *asked, weight, totals)

    def asked_in(self, snapshot: Snapshot) -> tuple[Int64s, ...] | None:
        """Return ``asked`` with ``scalars``; None when one pass can't rate nodes of this state."""
        if self.asked is None or self.scalars is None:
            return self.asked
        last = self.scalars(snapshot)
        return None if last is None else (*self.asked[:-1], last)


class TotalsRating:
    """The ratings of one pod by free shares and by balance, in one compiled pass.

    Args:
        ratings: The one by ``add_free_shares`` with its weight, and the one by ``add_improvements``.
        asked: The pod's arguments of the loops, if they are the same in all states.
        amounts: int64[A], the requests, if ``ratings`` have positions in it in their place; else empty.
    """

    def __init__(
        self,
        ratings: Sequence[tuple[ResourceRating, int]],
        asked: _Asked | None,
        amounts: Int64s = _NO_AMOUNTS,
    ) -> None:
        self._ratings = ratings
        self._asked = asked
        self._amounts = amounts

    @classmethod
    def of(cls, ratings: Sequence[tuple[BatchScorer | None, int]]) -> TotalsRating | None:
        """Return what does the same as ``ratings``, each with its weight; None if one pass can't."""
        found: list[tuple[ResourceRating, int]] = []
        for rating, weight in ratings:
            if not isinstance(rating, ResourceRating) or rating.asked is None:
                return None
            found.append((rating, weight))
        if [rating.loop for rating, _ in found] != _LOOPS:
            return None
        same = all(rating.scalars is None for rating, _ in found)
        return cls(found, [(*(rating.asked or ()), weight) for rating, weight in found] if same else None)

    def with_amounts(self, amounts: Int64s) -> TotalsRating:
        """Return the same for a pod with other ``amounts`` (int64[A])."""
        return TotalsRating(self._ratings, self._asked, amounts)

    def asked_in(self, snapshot: Snapshot) -> _Asked:
        """Return the pod's arguments of the loops that can rate nodes of this state, with the weights."""
        if self._asked is not None:
            return self._asked
        found: _Asked = []
        # A comprehension would be a call of its own.
        for rating, weight in self._ratings:
            asked = rating.asked if rating.scalars is None else rating.asked_in(snapshot)
            if asked is not None:
                found.append((*asked, weight))
        return found

    def put(self, snapshot: Snapshot, at: Int32s | slice, base: Int32s, totals: Int32s) -> Put | None:
        """Give the rows ``at`` the totals that they have by their ``base`` and these scores.

        Both are int32[capacity], and ``REJECTED`` if a node is rejected. A negative row stands for none.

        Returns:
            None when that can't be done now; then nothing is.
        """
        count, places = places_of(at)
        table = snapshot.nodes
        put = put_and_lead.for_rows(count, len(table.alive))
        if put is None:
            return None
        asked = self.asked_in(snapshot)
        if len(asked) != len(_LOOPS):
            return None
        columns = table.allocatable, table.requested, table.non_zero_requested
        both = base, totals
        done, crossed, top, ties, feasible = put(columns, places, count, *asked, self._amounts, both)
        return (crossed, Leaders(top, ties, feasible)) if done else None


class TotalsRatings:
    """The ratings of pods whose usage is the same by all rules. Safe from any thread.

    Pods that ask for the same resources differ in the amounts alone. So one rating, of a pod
    that takes of each resource the position of its amount in a column, serves all of them.

    Args:
        raters: The plugins with their weights.
    """

    def __init__(self, raters: Sequence[tuple[BatchPlugin, int]]) -> None:
        self._raters = raters
        self._known: dict[tuple[str, ...], tuple[TotalsRating | None]] = {}

    def of(self, usage: PodUsage) -> TotalsRating | None:
        """Return the rating of a pod that takes ``usage``; None as of ``TotalsRating.of``."""
        requests = dict(usage.requests)
        if 0 in requests.values():
            requests = {name: amount for name, amount in requests.items() if amount}
        names = tuple(requests)
        known = self._known.get(names)
        if known is None:
            if len(self._known) >= _MAX_NAMES:
                self._known.clear()
            known = self._known[names] = (self._by_position(names),)
        [rating] = known
        if rating is None:
            return None
        amounts = [0, 1, usage.non_zero_cpu, usage.non_zero_memory, *requests.values()]
        return rating.with_amounts(np.array(amounts, np.int64))

    def _by_position(self, names: Sequence[str]) -> TotalsRating | None:
        requests = tuple([(name, at) for at, name in enumerate(names, 4)])
        usage = PodUsage(requests, non_zero_cpu=2, non_zero_memory=3, host_ports=())
        return TotalsRating.of([(rater.usage_scorer(usage), weight) for rater, weight in self._raters])


def columns_and_places(nodes: NodeView) -> tuple[Columns, Places]:
    """Return the columns of ``nodes``, and their places."""
    table = nodes.table
    return (table.allocatable, table.requested, table.non_zero_requested), places_of(nodes.at)[1]


def places_of(at: Int32s | slice) -> tuple[int, Places]:
    """Return how many rows ``at`` are, and their places."""
    if isinstance(at, slice):
        return at.stop - at.start, (at.start, _NO_ROWS)
    return len(at), (0, at)
