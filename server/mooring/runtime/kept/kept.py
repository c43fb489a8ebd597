"""One kept evaluation: the totals of all nodes for the pods that are alike."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np

from mooring.framework import Bools, ClusterState, Int32s, Int64s, Pod
from mooring.framework.pod_table import PodKind
from mooring.framework.resources import PodUsage
from mooring.framework.state import RowChange
from mooring.runtime.kept.amounts import UNKNOWN, AmountValues
from mooring.runtime.kept.lead import Lead, best
from mooring.runtime.kept.movements import Moved, Movements
from mooring.runtime.kept.passing import Passing
from mooring.runtime.kept.ranking import OUT, Ranking
from mooring.runtime.kept.reasons import Reasons
from mooring.runtime.kept.standing import NotKeptError, PluginsNeededError, Standing
from mooring.runtime.progress import PluginCalls
from mooring.runtime.sampling import search
from mooring.runtime.tie_break import choose, mixed_in_turn

Calls = Callable[[], PluginCalls]
"""Gives the way to call plugins, when one has to be called after all."""

Stand = Callable[[Calls, int], Standing]
"""Gives the standing half, true from a version of the state on; asked again when it stands no more."""


class Kept:
    """The evaluation of one signature. Whoever uses it holds ``lock``.

    Attributes:
        lock: Held from ``follow`` to ``lead``.
        version: The version of the state that it is true for; -1 at first.
        pod: One of the pods, without a name.
        generation: What the numbers of the amounts meant then, as in ``Movements``.
        standing: The half that stands.
        reasons: Why rows refuse, as far as somebody asked; anew with ``standing`` and the amounts' numbers.
        used: When it was used last, as its keeper counts.
    """

    standing: Standing
    reasons: Reasons
    _passing: Passing | None

    def __init__(
        self, cluster: ClusterState, movements: Movements, pod: Pod, stand: Stand, amounts: AmountValues
    ) -> None:
        self.lock = threading.Lock()
        self.version = -1
        self.used = 0
        self._cluster = cluster
        self._movements = movements
        self.pod = pod
        self._stand = stand
        self._amounts = amounts
        self.generation = self._structure = -1
        self._feasible = self._start = 0
        self._base: Int32s = np.zeros(0, np.int32)
        self._totals: Int32s = self._base
        self._ranking: Ranking | None = None
        self._led = False
        self._passing = None

    def follow(self, calls: Calls, *, passing: bool = True, start: int = 0) -> None:
        """Take in what changed since the last time; without ``passing`` only in what stands, and in amounts.

        When not all nodes are looked at, the search begins at ``start``.

        Raises:
            NotKeptError: The pods have to be evaluated in full as things are.
            PluginFailureError: A plugin failed.
        """
        if self.current() and self._passing is None:
            self._start = start
            return
        try:
            moved = self._movements.follow(self.version)
            if moved.changes is None or self.version < 0 or not self._stands(moved):
                self._begin(moved, calls)
            elif moved.changes:
                self._take_in(moved.changes, calls)
            if passing and self._passing is not None:
                self._passing.follow(self.version, self._totals, calls, start)
            self._start = start
        except PluginsNeededError:
            raise
        except BaseException:
            # Half of it may be done.
            self.version = -1
            raise

    def lead(self, seed: int, uid: str) -> Lead | None:
        """The node for the pod with ``uid``; None when none is feasible."""
        if self._passing is not None:
            return self._passing.lead(seed, uid)
        if not self._feasible:
            return None
        standing = self.standing
        if standing.order is not None:
            return self._sampled(standing.order, seed, uid)
        ranking = self._ranking
        if ranking is None:
            if not self._led:
                self._led = True
                feasible, evaluated = self._feasible, standing.evaluated
                return best(self._totals, seed, uid, feasible=feasible, evaluated=evaluated)
            ranking = self._ranked()
        row = ranking.leader(choose(seed, uid, ranking.ties))
        total = ranking.top if self._feasible > 1 else 0
        return Lead(row, total, ranking.ties, self._feasible, standing.evaluated)

    def lead_in_turn(self, seed: int, uids: Sequence[str], kind: PodKind) -> tuple[list[Lead], int]:
        """The nodes for the first of some pods of ``kind``, each of which counts for the next one.

        The caller holds the state's lock, and nothing changed since ``follow``. What follows from the first
        so many is taken in already: once the state has all of them, ``placed`` has to be told.

        Returns:
            The leads, none when no node is feasible, and what follows from how many is taken in.
        """
        asks_later = self._passing is not None or kind.affinity_key is not None
        if not asks_later and self._ranking is not None and self.standing.order is None:
            return self._lead_alike(seed, uids, kind.usage)
        lead = self.lead(seed, uids[0])
        return [lead] if lead is not None else [], 0

    def _lead_alike(self, seed: int, uids: Sequence[str], usage: PodUsage) -> tuple[list[Lead], int]:
        """As ``lead_in_turn``, up to the pod after which a plugin has to be asked."""
        movements, ranking = self._movements, self._ranked()
        numbers, after = movements.numbers.data, movements.followers(usage)
        values, base = self._amounts.values.data, self._base.data
        known, evaluated, scaled = len(values), self.standing.evaluated, bool(self.standing.scaled)
        leads: list[Lead] = []
        for mixed in mixed_in_turn(seed, uids):
            ties, feasible = ranking.ties, self._feasible
            if not ties:
                break
            row = ranking.leader(mixed % ties)
            leads.append(Lead(row, ranking.top if feasible > 1 else 0, ties, feasible, evaluated))
            number = after.get(numbers[row])
            value = values[number] if number is not None and number < known else UNKNOWN
            if number is None or value == UNKNOWN or (value == OUT and scaled):
                return leads, len(leads) - 1
            numbers[row] = number
            if value == OUT:
                self._feasible = feasible - 1
            ranking.put(row, OUT if value == OUT else base[row] + value)
        return leads, len(leads)

    def placed(self, version: int) -> None:
        """All is true for ``version``, with the pods of ``lead_in_turn`` in their places; -1 = nothing is."""
        self.version = self._movements.version = version

    def _sampled(self, order: Int32s, seed: int, uid: str) -> Lead:
        """The best of those that are found first, scored as if there were no others."""
        standing = self.standing
        found, looked_at = search(order, self._totals != OUT, self._start, standing.wanted)
        rows = np.sort(found)
        totals: Int32s | Int64s = self._totals[rows]
        if standing.scaled:
            totals = totals - self._base[rows] + standing.base[rows] + standing.scaled_scores(rows)
        return best(totals, seed, uid, feasible=len(rows), evaluated=len(looked_at), rows=rows)

    def totals(self, rows: Int32s) -> Int32s:
        """int32[K]: the totals of ``rows`` as if there were no others; ``OUT`` where a node is refused.

        True for pods of which no plugin has to be asked again, see ``Standing.passes``, and only if it is
        ``current`` afterwards.
        """
        standing = self.standing
        # Rows and numbers that are new by now are out of bounds.
        values = self._amounts.values.take(self.numbers(rows), mode="clip")
        base = standing.base.take(rows, mode="clip")
        totals = np.where((values < 0) | (base < 0), OUT, base + values)
        if standing.scaled:
            fits = totals != OUT
            totals[fits] += standing.scaled_scores(rows[fits])
        return totals

    def numbers(self, rows: Int32s) -> Int32s:
        """int32[K]: equal where rows have the same amounts; true as ``totals`` is."""
        return self._movements.numbers.take(rows, mode="clip")

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays, without those of the standing half."""
        base = 0 if self.version < 0 or self._base is self.standing.base else self._base.nbytes
        reasons = 0 if self.version < 0 else self.reasons.nbytes
        passing = 0 if self._passing is None else self._passing.nbytes
        return base + self._totals.nbytes + self._amounts.nbytes + reasons + passing

    @property
    def basis(self) -> tuple[int, int]:
        """The version of the state, and the generation of the numbers, that it is true for."""
        return self.version, self.generation

    def current(self, basis: tuple[int, int] | None = None) -> bool:
        """Whether it is true now, or was at ``basis`` and nothing changed since.

        Certain for the holder of the state's lock.
        """
        return (basis or self.basis) == (self._cluster.version, self._movements.generation)

    def branch(self) -> tuple[Ranking, Int32s, int, AmountValues]:
        """What an overlay goes on with.

        It is a copy of the ranking, int32[capacity] the standing part of each total, how many nodes are
        feasible, and where the rest of each total comes from.

        Raises:
            NotKeptError: A part of it has to be asked again for each pod.
        """
        if self._passing is not None:
            raise NotKeptError
        return self._ranked().copy(), self._base, self._feasible, self._amounts

    def _stands(self, moved: Moved) -> bool:
        if moved.generation != self.generation:
            return False
        if moved.structure != self._structure:
            if self._movements.moved_since(self.standing.version, self.standing.parts):
                return False
            self._structure = moved.structure
        return True

    def _begin(self, moved: Moved, calls: Calls) -> None:
        """Find everything out, as if every row had changed."""
        self.version = -1
        if moved.generation != self.generation:
            self.generation = moved.generation
            self._amounts.forget()
        self.standing = standing = self._stand(calls, moved.version)
        self._passing = Passing(self._cluster, self.pod, standing) if standing.passes else None
        self._add_up(self._amounts.of(standing.open, calls()))
        self.reasons = Reasons(len(standing.base))
        self.version, self._structure = moved.version, moved.structure

    def _add_up(self, values: Int32s) -> None:
        """Find the totals, of which ``values`` (int32[K], of the open rows) are a part."""
        standing = self.standing
        at = standing.open.at
        if values.min(initial=0) < 0:
            fits: Bools = values >= 0
            at, values = standing.open.rows[fits], values[fits]
        base = standing.base
        if standing.scaled and self._passing is None:
            base = base.copy()
            base[at] += standing.scaled_scores(at)
        self._base = base
        self._feasible = len(values)
        if len(values) == len(base):
            self._totals = base + values
        else:
            self._totals = np.full(len(base), OUT, np.int32)
            self._totals[at] = base[at] + values
        self._ranking, self._led = None, False

    def _ranked(self) -> Ranking:
        """The ranking, made when the totals are asked for again."""
        if self._ranking is None:
            self._ranking = Ranking(self._totals)
        return self._ranking

    def _take_in(self, changes: Sequence[RowChange], calls: Calls) -> None:
        self._amounts.make_room()
        unknown = self._put([row for row, _, _ in changes if row >= 0])
        if unknown:
            self._amounts.learn(unknown, calls())
            # What is unknown even now changed meanwhile, and comes again.
            self._put(unknown)
        self.version += len(changes)

    def _put(self, rows: Sequence[int]) -> list[int]:
        """Put ``rows`` where they belong now; those with amounts of unknown value are returned."""
        values, numbers, known = (
            self._amounts.values.data,
            self._movements.numbers.data,
            len(self._amounts.values),
        )
        totals, base, put = self._totals.data, self._base.data, self._ranked().put
        unknown: list[int] = []
        crossed = False
        for row in rows:
            number = numbers[row]
            value = values[number] if number < known else UNKNOWN
            if value == UNKNOWN:
                unknown.append(row)
                continue
            stands, old = base[row], totals[row]
            total = OUT if OUT in (value, stands) else stands + value
            if total != old:
                if OUT in (total, old):
                    self._feasible += 1 if old == OUT else -1
                    crossed = True
                put(row, total)
        # Not by the number of feasible rows: one may have taken another's place.
        if crossed and self.standing.scaled and self._passing is None:
            numbers_now = self._movements.numbers.take(self.standing.open.rows)
            self._add_up(self._amounts.values.take(numbers_now))
        return unknown
