"""One cached evaluation: the totals of all nodes for the pods with one signature."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np

from mooring.framework import Bools, Int32s, Int64s, NodeView, Pod
from mooring.framework.pod_table import UNPLACED, PodKind
from mooring.framework.resources import PodUsage
from mooring.framework.state import ClusterState
from mooring.runtime.cache.change_tracker import Changes, ChangeTracker
from mooring.runtime.cache.dynamic_scores import DynamicScores
from mooring.runtime.cache.outcome import Bypass, NotCachedError
from mooring.runtime.cache.ranking import OUT, Ranking
from mooring.runtime.cache.rejections import Rejections
from mooring.runtime.cache.resource_scores import UNKNOWN, ResourceScores
from mooring.runtime.cache.selected import Selected, best, best_of_rows
from mooring.runtime.cache.static_scores import StaticScores
from mooring.runtime.cycle.plugin_calls import PluginCalls
from mooring.runtime.cycle.sampling import search
from mooring.runtime.cycle.tie_break import choose, mixed_in_turn

_FEW_ROWS, _FEW_BESIDE_A_PASS, _ROWS_TO_ONE = 16, 2, 1024
"""Up to this many changed rows, plus one for this many rows in all, each is put in its place by itself; up to
fewer, where one compiled pass can rate them."""

_ROWS_TO_GATHER = 2
"""With more changed rows than one in so many, rating all takes less: they are in sequence."""

_SEARCHES = 8
"""How many selections look through all totals before a ranking is built, which takes as long as these do. The
count begins anew when many totals change."""

Calls = Callable[[], PluginCalls]
"""Gives the way to call plugins, when one has to be called after all."""

FindStaticScores = Callable[[Calls, int], StaticScores]
"""Gives the static scores as of a version of the state; called again once they have changed."""


class CachedEvaluation:
    """The evaluation of one signature. Callers hold ``lock``.

    Attributes:
        lock: Held from ``update`` to ``select``.
        version: The version of the state that it matches; -1 at first.
        pod: One of the pods, without a name.
        begun: How often it was evaluated as a whole.
        generation: The generation of its resource-state ids, as in ``ChangeTracker``.
        cluster: The state.
        static: The static scores.
        nodes: All nodes.
        rejections: Why rows are rejected, as far as known; begun anew with ``static`` and the ids.
        used: When it was used last, as its cache counts.
    """

    static: StaticScores
    nodes: NodeView
    rejections: Rejections
    _dynamic: DynamicScores | None

    def __init__(
        self,
        cluster: ClusterState,
        tracker: ChangeTracker,
        pod: Pod,
        find_static_scores: FindStaticScores,
        resources: ResourceScores,
        pod_bytes: int,
    ) -> None:
        self.lock = threading.Lock()
        self.version = -1
        self.begun = 0
        self.used = 0
        self.cluster = cluster
        self._tracker = tracker
        self.pod = pod
        self._find_static = find_static_scores
        self._resources = resources
        self._pod_bytes = pod_bytes
        self.generation = -1
        self._feasible = self._start = 0
        self._base: Int32s = np.zeros(0, np.int32)
        self._totals: Int32s = self._base
        self._ranking: Ranking | None = None
        self._searched = 0
        self._dynamic = None

    def update(self, calls: Calls, *, dynamic: bool = True, start: int = 0) -> None:
        """Bring it up to date with the state; without ``dynamic`` only the static and the resource scores.

        When not all nodes are evaluated, the search begins at ``start``.

        Raises:
            NotCachedError: The pods have to be evaluated in full as things are.
            PluginFailureError: A plugin failed.
        """
        if self.current() and self._dynamic is None:
            self._start = start
            return
        try:
            if not (self.current() and self.static.is_true(self._tracker, self.version)):
                self._read(calls)
            if dynamic and self._dynamic is not None:
                self._dynamic.update(self.version, self._totals, calls, start)
            self._start = start
        except BaseException as error:
            # Half of it may be done, unless it ends before the first plugin is called.
            if not (isinstance(error, NotCachedError) and error.reason is Bypass.NEEDS_PLUGINS):
                self.version = -1
            raise

    def _read(self, calls: Calls) -> None:
        """Take in what changed of the static and the resource scores."""
        moved = self._tracker.read(self.version)
        rows = moved.rows
        if rows is None or self.version < 0 or not self._static_is_true(moved):
            self._begin(moved, calls)
        elif len(rows):
            self._take_in(rows, calls)
            self.version = moved.version

    def select(self, seed: int, uid: str) -> Selected | None:
        """Select the node for the pod with ``uid``; None when none is feasible."""
        if self._dynamic is not None:
            return self._dynamic.select(seed, uid)
        if not self._feasible:
            return None
        static = self.static
        if static.order is not None:
            return self._sampled(static.order, seed, uid)
        ranking = self._ranking
        if ranking is None:
            if self._searched < _SEARCHES:
                self._searched += 1
                return best_of_rows(self._totals, seed, uid, static.evaluated)
            ranking = self._ranked()
        row = ranking.leader(choose(seed, uid, ranking.ties))
        total = ranking.top if self._feasible > 1 else 0
        return Selected(row, total, ranking.ties, self._feasible, static.evaluated)

    def select_named(self, row: int) -> Selected | None:
        """Select the node of ``row``, the only candidate; None when it is rejected."""
        if self._dynamic is not None:
            fits = self._dynamic.is_feasible(row)
        else:
            fits = row < len(self._totals) and self._totals.item(row) != OUT
        return Selected(row, 0, 1, 1, 1) if fits else None

    def select_batch(self, seed: int, uids: Sequence[str], kind: PodKind) -> tuple[list[Selected], int]:
        """Select nodes for the first of some pods of ``kind``; each of them counts for the next one.

        The caller holds the state's lock, and nothing changed since ``update``. What follows from the first
        so many is taken in already: once the state has all of them, ``placed`` has to be told.

        Returns:
            The selected nodes, none when no node is feasible, and what follows from how many is taken in.
        """
        asks_later = self._dynamic is not None or kind.affinity_key is not None
        ranks = self._ranking is not None or len(uids) > 1
        if ranks and not asks_later and self.static.order is None:
            return self._select_alike(seed, uids, kind.usage)
        selected = self.select(seed, uids[0])
        if selected is None:
            return [], 0
        followed = self._dynamic is not None and self._follow(selected.row, kind.usage)
        return [selected], int(followed)

    def _follow(self, row: int, usage: PodUsage) -> bool:
        """Take in that a pod which takes ``usage`` comes to ``row``, but for dynamic scores; return whether
        its new resource score is known, and so it was.
        """
        resource_ids, values = self._tracker.resource_ids.data, self._resources.values.data
        resource_id = self._tracker.next_ids(usage).get(resource_ids[row])
        if resource_id is None or resource_id >= len(values) or values[resource_id] == UNKNOWN:
            return False
        value, resource_ids[row] = values[resource_id], resource_id
        if value == OUT:
            self._feasible -= 1
        self._totals.data[row] = OUT if value == OUT else self._base.data[row] + value
        return True

    def _select_alike(self, seed: int, uids: Sequence[str], usage: PodUsage) -> tuple[list[Selected], int]:
        """As ``select_batch``, up to the pod after which a plugin has to be called."""
        tracker, ranking = self._tracker, self._ranked()
        resource_ids, after = tracker.resource_ids.data, tracker.next_ids(usage)
        values, base = self._resources.values.data, self._base.data
        known, evaluated, scaled = len(values), self.static.evaluated, bool(self.static.scaled)
        selected: list[Selected] = []
        for mixed in mixed_in_turn(seed, uids):
            ties, feasible = ranking.ties, self._feasible
            if not ties:
                break
            row = ranking.leader(mixed % ties)
            selected.append(Selected(row, ranking.top if feasible > 1 else 0, ties, feasible, evaluated))
            resource_id = after.get(resource_ids[row])
            value = values[resource_id] if resource_id is not None and resource_id < known else UNKNOWN
            if resource_id is None or value == UNKNOWN or (value == OUT and scaled):
                return selected, len(selected) - 1
            resource_ids[row] = resource_id
            if value == OUT:
                self._feasible = feasible - 1
            ranking.put(row, OUT if value == OUT else base[row] + value)
        return selected, len(selected)

    def placed(self, version: int, kind: PodKind) -> None:
        """All is true for ``version``, with the pods of ``select_batch`` in their places; -1 = nothing is."""
        self.version = version
        self._tracker.placed(version, kind)

    def _sampled(self, order: Int32s, seed: int, uid: str) -> Selected:
        """Select the best of those that are found first, scored as if there were no others."""
        static = self.static
        found, looked_at = search(order, self._totals != OUT, self._start, static.wanted)
        rows = np.sort(found)
        feasible, evaluated = len(rows), len(looked_at)
        return best(self._alone(rows), seed, uid, feasible=feasible, evaluated=evaluated, rows=rows)

    def feasible(self, passing: Bools) -> Int32s:
        """int32[F]: the rows in ``passing`` (bool[capacity]) that are feasible, dynamic scores aside."""
        totals = self._totals
        return np.flatnonzero((totals != OUT) & passing[: len(totals)]).astype(np.int32)

    def among(self, passing: Bools, calls: Calls) -> tuple[Int32s, Int32s | Int64s]:
        """int32[F], int[F]: the feasible rows in ``passing`` (bool[capacity]), with all scores.

        Their totals are those that they have when there are no others.
        """
        if self._dynamic is not None:
            return self._dynamic.among(self.version, self._totals, calls, passing)
        rows = self.feasible(passing)
        return rows, self._totals if len(rows) == self._feasible == len(self._totals) else self._alone(rows)

    @property
    def ranks_all(self) -> bool:
        """Whether ``select`` ranks all nodes that are feasible."""
        return self._dynamic is None

    def ranks(self, rows: Int32s) -> bool:
        """Return whether ``rows`` (int32[F]), all feasible, are all that are, and ``select`` ranks them."""
        return self._dynamic is None and len(rows) == self._feasible

    def _alone(self, rows: Int32s) -> Int32s | Int64s:
        """Return the totals of ``rows``, which are feasible, as if there were no others."""
        totals, static = self._totals[rows], self.static
        if not static.scaled or len(rows) == self._feasible:
            return totals
        return totals - self._base[rows] + static.base[rows] + static.scaled_scores(rows)

    def totals(self, rows: Int32s) -> Int32s:
        """int32[K]: the totals of ``rows`` as if there were no others; ``OUT`` where a node is rejected.

        True where no plugin has to be asked again (``StaticScores.has_dynamic``), and only if this is
        ``current`` afterwards.
        """
        static = self.static
        # Rows that are new by now are out of bounds.
        rows = np.minimum(rows, len(self._totals) - 1)
        totals = self._totals.take(rows)
        if static.scaled:
            fits = totals != OUT
            at = rows[fits]
            totals[fits] += static.base[at] + static.scaled_scores(at) - self._base[at]
        return totals

    def resource_ids(self, rows: Int32s) -> Int32s:
        """int32[K]: their resource-state ids; true as ``totals`` is."""
        return self._tracker.resource_ids.take(rows, mode="clip")

    @property
    def resources(self) -> ResourceScores:
        """The part that depends on room alone."""
        return self._resources

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays and its pod, without those of the static scores."""
        base = 0 if self.version < 0 or self._base is self.static.base else self._base.nbytes
        rejections = 0 if self.version < 0 else self.rejections.nbytes
        dynamic = 0 if self._dynamic is None else self._dynamic.nbytes
        return self._pod_bytes + base + self._totals.nbytes + self._resources.nbytes + rejections + dynamic

    @property
    def basis(self) -> tuple[int, int]:
        """The version of the state, and the generation of the resource-state ids, that it is true for."""
        return self.version, self.generation

    def current(self, basis: tuple[int, int] | None = None) -> bool:
        """Return whether it is true now, or was at ``basis`` and nothing changed since.

        Certain for the holder of the state's lock.
        """
        version, generation = (self.version, self.generation) if basis is None else basis
        return version == self.cluster.version and generation == self._tracker.generation

    def branch(self) -> tuple[Ranking, Int32s, int, ResourceScores]:
        """Return what an overlay continues from.

        It is a copy of the ranking, int32[capacity] the static part of each total, how many nodes are
        feasible, and where the rest of each total comes from.

        Raises:
            NotCachedError: A part of it has to be asked again for each pod.
        """
        if self._dynamic is not None:
            raise NotCachedError(Bypass.DYNAMIC)
        return self._ranked().copy(), self._base, self._feasible, self._resources

    def steady(self, rows: Int32s) -> tuple[Int32s, Int32s]:
        """int32[K] twice: the totals of ``rows``, and what they are made of besides resources.

        Raises:
            NotCachedError: Totals depend on which nodes are feasible, or have to be asked about for each pod.
        """
        if self._dynamic is not None or self.static.scaled:
            raise NotCachedError(Bypass.DYNAMIC)
        return self._totals.take(rows, mode="clip"), self._base.take(rows, mode="clip")

    def _static_is_true(self, moved: Changes) -> bool:
        static = moved.generation == self.generation and self.static.is_true(self._tracker, moved.version)
        return static and self._resources.is_true()

    def _begin(self, moved: Changes, calls: Calls) -> None:
        """Find everything out, as if every row had changed."""
        self.version = -1
        self.begun += 1
        self.generation = moved.generation
        self._resources.begin(moved.generation)
        self.static = static = self._find_static(calls, moved.version)
        whole = static.open.rows is static.rows
        self.nodes = static.open if whole else NodeView(self.cluster.snapshot, static.rows)
        self._dynamic = DynamicScores(self.cluster, self.pod, static) if static.has_dynamic else None
        self._rate_all(calls)
        self.rejections = Rejections(len(static.base))
        self.version = moved.version

    def _rate_all(self, calls: Calls) -> None:
        """Rate all rows in one step."""
        static = self.static
        totals = np.full(len(static.base), OUT, np.int32)
        self._resources.put_totals(static.open, static.base, totals, calls())
        self._add_up(totals)

    def _add_up(self, totals: Int32s) -> None:
        """Take in ``totals`` (int32[capacity]), which lack what is scaled by the nodes that are feasible."""
        static = self.static
        self._feasible = _count(totals)
        self._base = static.base
        if static.scaled and self._dynamic is None:
            all_are = self._feasible == len(totals)
            feasible = slice(None) if all_are else np.flatnonzero(totals != OUT).astype(np.int32)
            scaled = static.scaled_scores(feasible)
            self._base = static.base.copy()
            self._base[feasible] += scaled
            totals[feasible] += scaled
        self._totals = totals
        self._ranking, self._searched = None, 0

    def _ranked(self) -> Ranking:
        """Return the ranking, which is built once that is worth it."""
        if self._ranking is None:
            self._ranking = Ranking(self._totals)
        return self._ranking

    def _take_in(self, rows: Int32s, calls: Calls) -> None:
        """Look at ``rows`` (int32[C]) again, each of which may occur more than once."""
        changed = len(rows) - len(self._totals) // _ROWS_TO_ONE
        if changed > min(_FEW_ROWS, _FEW_BESIDE_A_PASS) and self._rate_again(
            rows[rows != UNPLACED], calls if changed > _FEW_ROWS else None
        ):
            return
        unknown = self._put([row for row in rows.tolist() if row != UNPLACED])
        if unknown:
            self._resources.learn(unknown, calls())
            # What is unknown even now changed meanwhile, and comes again.
            self._put(unknown)

    def _put(self, rows: Sequence[int]) -> list[int]:
        """Put ``rows`` where they belong now; those whose resource score is unknown are returned."""
        values, resource_ids = self._resources.values.data, self._tracker.resource_ids.data
        known = len(values)
        totals, base = self._totals.data, self._base.data
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
                    self._feasible += 1 if old == OUT else -1
                    crossed = True
                put(row, total)
        if crossed:
            self._crossed()
        return unknown

    def _rate_again(self, rows: Int32s, calls: Calls | None) -> bool:
        """Rate all of ``rows`` in one step; the ranking is built again once it is worth it.

        Return whether that could be: without ``calls`` it takes a compiled pass.
        """
        every, base, totals = self.static.open, self._base, self._totals
        few = len(rows) <= len(every) // _ROWS_TO_GATHER
        crossed = self._resources.put_at_once(rows if few else every.at, base, totals)
        if crossed is None:
            if calls is None:
                return False
            nodes = NodeView(self.cluster.snapshot, rows) if few else every
            crossed = self._resources.put_by_plugins(nodes, base, totals, calls())
        self._ranking, self._searched = None, 0
        if crossed:
            self._feasible = _count(self._totals)
            self._crossed()
        return True

    def _crossed(self) -> None:
        """Take in that other rows are feasible than before; also as many, when one took another's place."""
        static, totals = self.static, self._totals
        if static.scaled and self._dynamic is None:
            self._add_up(np.where(totals == OUT, np.int32(OUT), totals - self._base + static.base))


def _has_out(totals: Int32s) -> bool:
    """Return whether one of ``totals`` (int32[K]) is ``OUT``, which is the lowest."""
    return len(totals) > 0 and totals.item(totals.argmin()) == OUT


def _count(totals: Int32s) -> int:
    """Return how many of ``totals`` (int32[K]) are not ``OUT``."""
    return int(np.count_nonzero(totals != OUT)) if _has_out(totals) else len(totals)
