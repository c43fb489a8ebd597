"""One cached evaluation: the totals of all nodes for the pods with one signature."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import TracebackType

import numpy as np

from mooring.framework import Bools, Int32s, Int64s, NodeView, Pod
from mooring.framework.errors import PluginFailureError
from mooring.framework.pod_table import PodKind
from mooring.framework.state import ClusterState
from mooring.framework.view import NodesChangedError
from mooring.runtime.cache.change_tracker import Changes, ChangeTracker
from mooring.runtime.cache.dynamic_scores import DynamicScores
from mooring.runtime.cache.kept_totals import KeptTotals
from mooring.runtime.cache.outcome import Bypass, NotCachedError
from mooring.runtime.cache.ranking import OUT, Ranking
from mooring.runtime.cache.rejections import Rejections
from mooring.runtime.cache.resource_scores import ResourceScores
from mooring.runtime.cache.selected import NONE_SELECTED, Selected, SelectedColumns, best
from mooring.runtime.cache.static_scores import StaticScores
from mooring.runtime.cycle.plugin_calls import Calls
from mooring.runtime.cycle.sampling import search

FindStaticScores = Callable[[Calls, int], StaticScores]
"""Gives the static scores as of a version of the state; called again once they have changed."""


PATIENCE = 0.01
"""Seconds to wait for a thread that decides from the same evaluation and may be held up by a plugin."""


class CachedEvaluation:
    """The evaluation of one signature.

    Callers hold it, by ``with``, while they bring it up to date and read it. Taking hold of it and letting go
    raise NotCachedError: another thread has it for too long, or plugins failed within.

    Attributes:
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
        self._lock = threading.Lock()
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
        self._structure = -1
        self._start = 0
        self._kept = KeptTotals(resources, tracker)
        self._dynamic = None

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=PATIENCE):
            raise NotCachedError(Bypass.BUSY)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
        if error is None:
            return
        if isinstance(error, NodesChangedError):
            raise NotCachedError(Bypass.NODES_CHANGED) from None
        if isinstance(error, PluginFailureError):
            raise NotCachedError(Bypass.PLUGIN_FAILED) from None

    def update(self, calls: Calls, *, dynamic: bool = True, start: int = 0) -> None:
        """Bring it up to date with the state; without ``dynamic`` only the static and the resource scores.

        When not all nodes are evaluated, the search begins at ``start``.

        Raises:
            NotCachedError: The pods have to be evaluated in full as things are.
            PluginFailureError: A plugin failed.
        """
        current = self.current()
        if current and self._dynamic is None:
            self._start = start
            return
        try:
            if not (current and self.static.is_true(self._tracker, self.version)):
                self._read(calls)
            if dynamic and self._dynamic is not None:
                self._dynamic.update(self.version, self._kept.values, calls, start)
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
            self._kept.take_in(rows, calls)
            self.version = moved.version

    def select(self, seed: int, uid: str) -> Selected | None:
        """Select the node for the pod with ``uid``; None when none is feasible."""
        if self._dynamic is not None:
            return self._dynamic.select(seed, uid)
        if self.static.order is not None and self._kept.feasible:
            return self._sampled(self.static.order, seed, uid)
        return self._kept.select(seed, uid)

    def select_named(self, row: int) -> Selected | None:
        """Select the node of ``row``, the only candidate; None when it is rejected."""
        if self._dynamic is not None:
            fits = self._dynamic.is_feasible(row)
        else:
            totals = self._kept.values
            fits = row < len(totals) and totals.item(row) != OUT
        return Selected(row, 0, 1, 1, 1) if fits else None

    def select_next(self, seed: int, uid: str, kind: PodKind) -> tuple[Selected | None, bool]:
        """``select`` for a pod of ``kind`` that comes to the selected node.

        Returns:
            The selected node, and whether what follows from the pod is taken in, as in ``select_batch``.
        """
        selected = self.select(seed, uid)
        follows = self._dynamic is not None or (self._kept.is_ranked and self.static.order is None)
        return selected, selected is not None and follows and self.follow(selected.row, kind)

    def select_batch(self, seed: int, uids: Sequence[str], kind: PodKind) -> tuple[SelectedColumns, int]:
        """Select nodes for the first of some pods of ``kind``; each of them counts for the next one.

        The caller holds the state's lock, and nothing changed since ``update``. What follows from the first
        so many is taken in already: once the state has all of them, ``placed`` has to be told.

        Returns:
            The selected nodes, none when no node is feasible, and what follows from how many is taken in.
        """
        asks_later = self._dynamic is not None or kind.base.affinity_key is not None
        one_by_one = asks_later or self.static.order is not None or len(uids) == 1
        if not one_by_one and self._kept.is_worth_ranking(len(uids)):
            return self._kept.select_alike(seed, uids, kind.usage)
        selected, follows = self.select_next(seed, uids[0], kind)
        return (NONE_SELECTED if selected is None else SelectedColumns.of(selected)), int(follows)

    def follow(self, row: int, kind: PodKind) -> bool:
        """Take in that a pod of ``kind``, which was just selected, comes to ``row``; return whether it could
        be.

        As with ``select_batch``, ``placed`` has to be told. The caller holds the state's lock.
        """
        dynamic = self._dynamic
        if dynamic is not None:
            dynamic.forget()
        elif kind.affinity_key is not None:
            # What is static may depend on its terms.
            return False
        if not self._kept.follow(row, kind.usage):
            return False
        if dynamic is not None:
            dynamic.follow(row, kind)
        return True

    def placed(self, version: int, kind: PodKind) -> None:
        """All is true for ``version``, with the pods that were taken in in their places; -1 = nothing is."""
        self.version = version
        if self._dynamic is not None:
            self._dynamic.placed(version)
        self._tracker.placed(version, kind)

    def _sampled(self, order: Int32s, seed: int, uid: str) -> Selected:
        """Select the best of those that are found first, scored as if there were no others."""
        static = self.static
        found, looked_at = search(order, self._kept.values != OUT, self._start, static.wanted)
        rows = np.sort(found)
        feasible, evaluated = len(rows), len(looked_at)
        return best(self._kept.alone(rows), seed, uid, feasible=feasible, evaluated=evaluated, rows=rows)

    def feasible(self, passing: Bools) -> Int32s:
        """int32[F]: the rows in ``passing`` (bool[capacity]) that are feasible, dynamic scores aside."""
        totals = self._kept.values
        return np.flatnonzero((totals != OUT) & passing[: len(totals)]).astype(np.int32)

    def among(self, passing: Bools, calls: Calls) -> tuple[Int32s, Int32s | Int64s]:
        """int32[F], int[F]: the feasible rows in ``passing`` (bool[capacity]), with all scores.

        Their totals are those that they have when there are no others.
        """
        if self._dynamic is not None:
            return self._dynamic.among(self.version, self._kept.values, calls, passing)
        rows, kept = self.feasible(passing), self._kept
        return rows, kept.values if len(rows) == kept.feasible == len(kept.values) else kept.alone(rows)

    @property
    def ranks_all(self) -> bool:
        """Whether ``select`` ranks all nodes that are feasible."""
        return self._dynamic is None

    def ranks(self, rows: Int32s) -> bool:
        """Return whether ``rows`` (int32[F]), all feasible, are all that are, and ``select`` ranks them."""
        return self._dynamic is None and len(rows) == self._kept.feasible

    def totals(self, rows: Int32s) -> Int32s:
        """int32[K]: the totals of ``rows`` as if there were no others; ``OUT`` where a node is rejected.

        True where no plugin has to be asked again (``StaticScores.has_dynamic``), and only if this is
        ``current`` afterwards.
        """
        return self._kept.of(rows)

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
        rejections = 0 if self.version < 0 else self.rejections.nbytes
        dynamic = 0 if self._dynamic is None else self._dynamic.nbytes
        return self._pod_bytes + self._kept.nbytes + self._resources.nbytes + rejections + dynamic

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
        kept = self._kept
        return kept.ranked().copy(), kept.base, kept.feasible, self._resources

    def steady(self, rows: Int32s) -> tuple[Int32s, Int32s]:
        """int32[K] twice: the totals of ``rows``, and what they are made of besides resources.

        Raises:
            NotCachedError: Totals depend on which nodes are feasible, or have to be asked about for each pod.
        """
        if self._dynamic is not None or self.static.scaled:
            raise NotCachedError(Bypass.DYNAMIC)
        return self._kept.values.take(rows, mode="clip"), self._kept.base.take(rows, mode="clip")

    def _static_is_true(self, moved: Changes) -> bool:
        """Return whether the static scores, and what resources are rated by, are true for ``moved``."""
        structure = self._tracker.structure
        if moved.generation != self.generation:
            return False
        if structure == self._structure:
            return True
        if not (self.static.is_true(self._tracker, moved.version) and self._resources.is_true()):
            return False
        self._structure = structure
        return True

    def _begin(self, moved: Changes, calls: Calls) -> None:
        """Find everything out, as if every row had changed."""
        self.version = -1
        self.begun += 1
        self.generation = moved.generation
        self._resources.begin(moved.generation)
        self.static = static = self._find_static(calls, moved.version)
        whole = static.open.rows is static.rows
        self.nodes = static.open if whole else NodeView(self.cluster.snapshot, static.rows)
        self._dynamic = None
        if static.has_dynamic:
            self._dynamic = DynamicScores(self.cluster, self.pod, static, self._tracker)
        self._kept.begin(static, calls, whole=self._dynamic is None)
        self.rejections = Rejections(len(static.base))
        self.version = moved.version
