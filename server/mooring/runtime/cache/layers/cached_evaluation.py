"""One cached evaluation: the totals of all nodes for the pods with one signature."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType

import msgspec
import numpy as np

from mooring.framework import SUCCESS, Bools, Int32s, Int64s, NodeView, Pod, Status
from mooring.framework.errors import PluginFailureError
from mooring.framework.pod_table import PodKind
from mooring.framework.state import ClusterState
from mooring.framework.view import NodesChangedError
from mooring.kernels.arrays import REJECTED
from mooring.runtime.cache.layers.claim_scores import ClaimReaders, ClaimScores
from mooring.runtime.cache.layers.dynamic_scores import DynamicScores
from mooring.runtime.cache.layers.node_totals import NodeTotals
from mooring.runtime.cache.layers.ranking import NONE_SELECTED, Selected, SelectedColumns, best
from mooring.runtime.cache.layers.resource_scores import ResourceScores
from mooring.runtime.cache.layers.static_scores import StaticScores
from mooring.runtime.cache.outcome import Bypass, NotCachedError
from mooring.runtime.cache.tracking.change_tracker import Changes, ChangeTracker
from mooring.runtime.cycle.plugin_calls import NeedsPluginsError, PluginCalls
from mooring.runtime.cycle.sampling import search
from mooring.runtime.profiles.profile_split import ClaimSplit
from mooring.runtime.tuning import CacheTuning

FindStaticScores = Callable[[PluginCalls, int], StaticScores]
"""Gives the static scores as of a version of the state; called again once they have changed."""


PATIENCE = 0.01
"""Seconds to wait for a thread that decides from the same evaluation and may be held up by a plugin."""


UNKNOWN_REASON = 0
"""The code of a row whose reason is not known in its current state."""

_NONE: Int32s = np.zeros(0, np.int32)


class Rejections:
    """Why rows were rejected, as far as known. It is as current as the static scores of the evaluation, for
    rows that have the resources they had. Callers hold the evaluation's lock.
    """

    def __init__(self, capacity: int) -> None:
        self._statuses: dict[Status, int] = {}
        self._capacity = capacity
        self._codes = self._resource_ids = _NONE

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays."""
        return self._codes.nbytes + self._resource_ids.nbytes

    def of(self, rows: Int32s, resource_ids: Int32s) -> tuple[Int32s, list[Status]]:
        """int32[K]: why ``rows`` in the states ``resource_ids`` (int32[K]) are rejected, and the statuses.

        Codes are ``UNKNOWN_REASON`` or index the statuses, each of which is used; number 0 is Success.
        """
        if self._codes is _NONE:
            return np.full(len(rows), UNKNOWN_REASON, np.int32), [SUCCESS]
        same = self._resource_ids.take(rows, mode="clip") == resource_ids
        codes = np.where(same, self._codes.take(rows, mode="clip"), UNKNOWN_REASON)
        said = np.bincount(codes, minlength=1) > 0
        said[UNKNOWN_REASON] = True
        statuses = [status for status, code in self._statuses.items() if code < len(said) and said[code]]
        return (np.cumsum(said) - 1).astype(np.int32)[codes], statuses

    def put(self, rows: Int32s, resource_ids: Int32s, codes: Int32s, statuses: Sequence[Status]) -> None:
        """``rows`` (int32[K]) in the states ``resource_ids`` said ``codes``, which index ``statuses``."""
        if self._codes is _NONE:
            self._codes, self._resource_ids = np.zeros((2, self._capacity), np.int32)
            self._statuses[SUCCESS] = UNKNOWN_REASON
        known = self._statuses
        lookup = np.array([known.setdefault(status, len(known)) for status in statuses], np.int32)
        self._resource_ids[rows], self._codes[rows] = resource_ids, lookup[codes]


class CachedEvaluation:
    """The evaluation of one signature.

    Callers hold it, by ``with``, while they bring it up to date and read it. Taking hold of it and letting go
    raise NotCachedError: another thread has it for too long, or plugins failed within.

    Attributes:
        version: The version of the state that it matches; -1 at first.
        pod: One of the pods, without a name.
        begun: How often it was evaluated as a whole.
        generation: The generation of its resource-state ids, as in ``ChangeTracker``.
        nodes: All nodes.
        rejections: Why rows are rejected, as far as known; begun again with ``static`` and the ids.
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
        tuning: CacheTuning,
        reads_more: Callable[[], bool],
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
        self._reads_more = reads_more
        self._pod_bytes = pod_bytes
        self.generation = -1
        self._structure = -1
        self._start = 0
        self._tuning = tuning
        self._totals = NodeTotals(resources, tracker, tuning)
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
        if isinstance(error, NeedsPluginsError):
            raise NotCachedError(Bypass.NEEDS_PLUGINS) from None

    def update(self, calls: PluginCalls, *, dynamic: bool = True, start: int = 0) -> None:
        """Bring it up to date with the state; without ``dynamic`` only the static and the resource scores.

        When not all nodes are evaluated, the search begins at ``start``. Raises NotCachedError if the pods
        have to be evaluated in full as things are, and PluginFailureError if a plugin failed.
        """
        current = self.current()
        if current and self._dynamic is None:
            self._start = start
            return
        try:
            if not (current and self.static.is_true(self._tracker, self.version)):
                self._read(calls)
            if dynamic and self._dynamic is not None:
                self._dynamic.update(self.version, self._totals.values, calls, start)
            self._check_reads()
            self._start = start
        except NeedsPluginsError:
            # It is raised before a step that can't be left half done.
            raise
        except BaseException:
            self.version = -1
            raise

    def _check_reads(self) -> None:
        """Leave an evaluation whose pod came without something that a plugin was seen to read just now."""
        if self._reads_more():
            raise NotCachedError(Bypass.NEW_READS)

    def _read(self, calls: PluginCalls) -> None:
        """Take in what changed of the static and the resource scores."""
        moved = self._tracker.read(self.version)
        rows = moved.rows
        if rows is None or self.version < 0 or not self._static_is_true(moved):
            self._begin(moved, calls)
        elif len(rows):
            self._totals.apply_changes(rows, calls)
            self.version = moved.version

    def select(self, seed: int, uid: str, claims: ClaimScores | None = None) -> Selected | None:
        """Select the node for the pod with ``uid``, given what its claims add; None when none is feasible."""
        if claims is not None and claims.nodes is not None:
            rows, totals = claims.nodes
            return best(totals, seed, uid, self.static.evaluated, rows)
        if self._dynamic is not None:
            return self._dynamic.select(seed, uid)
        if self.static.order is not None and self._totals.feasible:
            return self._sampled(self.static.order, seed, uid)
        return self._totals.select(seed, uid)

    def select_named(self, row: int) -> Selected | None:
        """Select the node of ``row``, the only candidate; None when it is rejected."""
        if self._dynamic is not None:
            fits = self._dynamic.is_feasible(row)
        else:
            totals = self._totals.values
            fits = row < len(totals) and totals.item(row) != REJECTED
        return Selected(row, 0, 1, 1, 1) if fits else None

    def select_next(self, seed: int, uid: str, kind: PodKind) -> tuple[Selected | None, bool]:
        """``select`` for a pod of ``kind`` that comes to the selected node. Returns the selected node, and
        whether what follows from the pod is taken in, as in ``select_batch``.
        """
        selected = self.select(seed, uid)
        follows = self._dynamic is not None or (self._totals.is_ranked and self.static.order is None)
        return selected, selected is not None and follows and self.follow(selected.row, kind)

    def select_batch(self, seed: int, uids: Sequence[str], kind: PodKind) -> tuple[SelectedColumns, int]:
        """Select nodes for the first of some pods of ``kind``; each of them counts for the next one.

        The caller holds the state's lock, and nothing changed since ``update``. The effects of the first pods
        are counted already: once the state has all of these, the caller calls ``placed``. Returns the
        selected nodes, none when no node is feasible, and what follows from how many is taken in.
        """
        asks_later = self._dynamic is not None or kind.base.affinity_key is not None
        one_by_one = asks_later or self.static.order is not None or len(uids) == 1
        if not one_by_one and self._totals.is_worth_ranking(len(uids)):
            return self._totals.select_sequentially(seed, uids, kind.usage)
        selected, follows = self.select_next(seed, uids[0], kind)
        return (NONE_SELECTED if selected is None else SelectedColumns.of(selected)), int(follows)

    def follow(self, row: int, kind: PodKind) -> bool:
        """Take in that a pod of ``kind``, which was just selected, comes to ``row``; return whether it could
        be.

        As with ``select_batch``, ``placed`` comes next. The caller holds the state's lock.
        """
        dynamic = self._dynamic
        if dynamic is not None:
            dynamic.forget()
        elif kind.affinity_key is not None:
            # Static scores may depend on its terms.
            return False
        if not self._totals.follow(row, kind.usage):
            return False
        if dynamic is not None:
            dynamic.follow(row, kind)
        return True

    def placed(self, version: int, kind: PodKind) -> None:
        """Mark as current for ``version``, with the pods that were taken in; -1 = as not current."""
        self.version = version
        if self._dynamic is not None:
            self._dynamic.placed(version)
        self._tracker.placed(version, kind)

    def placed_by_log(self, row: int, version: int, kind: PodKind) -> None:
        """Take in that a pod of ``kind`` came to ``row`` with ``version``, which was not taken in here.

        The caller holds the state's lock.
        """
        self._tracker.pod_placed(row, kind, version)

    def _sampled(self, order: Int32s, seed: int, uid: str) -> Selected | None:
        """Select the best of those that are found first, scored as if there were no others."""
        static = self.static
        found, looked_at = search(order, self._totals.values != REJECTED, self._start, static.wanted)
        rows = np.sort(found)
        return best(self._totals.alone(rows), seed, uid, len(looked_at), rows)

    def claim_scores(self, split: ClaimSplit, pod: Pod, calls: PluginCalls) -> ClaimScores:
        """Call the plugins that read claims about ``pod``, one of the pods but for its claims.

        All but the dynamic scores is up to date. Raises NotCachedError if PreEnqueue or PreFilter rejects the
        pod, or some nodes, and PluginFailureError if a plugin failed.
        """
        calls.require_plugins()
        readers = ClaimReaders(split, pod, self.cluster, self.nodes, self.static.cycle_state, calls)
        passing = readers.passing
        if passing is None:
            if self._dynamic is None:
                return ClaimScores(None, readers.state)
            passing = np.ones(self.nodes.table.capacity, np.bool_)
        if readers.filters_last and len(feasible := self._feasible(passing)):
            passing[feasible] = readers.filter_last(feasible)
        rows, totals = self._among(passing, calls)
        own = readers.own_scores(rows)
        if own is None and self._dynamic is None and len(rows) == self._totals.feasible:
            return ClaimScores(None, readers.state)
        return ClaimScores((rows, totals if own is None else totals + own), readers.state)

    def _feasible(self, passing: Bools) -> Int32s:
        """int32[F]: the rows in ``passing`` (bool[capacity]) that are feasible, dynamic scores aside."""
        totals = self._totals.values
        return np.flatnonzero((totals != REJECTED) & passing[: len(totals)]).astype(np.int32)

    def _among(self, passing: Bools, calls: PluginCalls) -> tuple[Int32s, Int32s | Int64s]:
        """int32[F], int[F]: the feasible rows in ``passing`` (bool[capacity]), with all scores.

        Their totals are those that they have when there are no others.
        """
        if self._dynamic is not None:
            return self._dynamic.among(self.version, self._totals.values, calls, passing)
        rows, kept = self._feasible(passing), self._totals
        return rows, kept.values if len(rows) == kept.feasible == len(kept.values) else kept.alone(rows)

    def totals(self, rows: Int32s) -> Int32s:
        """int32[K]: the totals of ``rows`` as if there were no others; ``REJECTED`` where a node is rejected.

        True if no plugin has to be called again (``StaticScores.has_dynamic``), and only if this is
        ``current`` afterwards.
        """
        return self._totals.of(rows)

    def current_totals(self, rows: Int32s, calls: PluginCalls) -> Int32s:
        """As ``totals``, with the dynamic plugins, which answer about ``rows`` alone.

        All but the dynamic scores is up to date. Raises NotCachedError if PreFilter now rejects the pod or
        some nodes, or not all nodes are evaluated, and PluginFailureError if a plugin failed.
        """
        if self._dynamic is None:
            return self.totals(rows)
        if self.static.order is not None:
            raise NotCachedError(Bypass.SAMPLING)
        totals = self._dynamic.totals(self.version, self._totals.values, calls, rows)
        self._check_reads()
        return totals

    @property
    def knows_rejections(self) -> bool:
        """Whether the first plugin that rejects a node is the same as long as ``rejections`` are kept."""
        return not self.static.dynamic.every.filter

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
        return self._pod_bytes + self._totals.nbytes + self._resources.nbytes + rejections + dynamic

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

    @property
    def node_totals(self) -> NodeTotals:
        """The totals by static and resource scores: all that there is. Raises NotCachedError if a part has to
        be computed again for each pod.
        """
        if self._dynamic is not None:
            raise NotCachedError(Bypass.DYNAMIC)
        return self._totals

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

    def _begin(self, moved: Changes, calls: PluginCalls) -> None:
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
            self._dynamic = DynamicScores(self.cluster, self.pod, static, self._tracker, self._tuning)
        self._totals.begin(static, calls, whole=self._dynamic is None)
        self.rejections = Rejections(len(static.base))
        self.version = moved.version


class Template(msgspec.Struct, frozen=True):
    """The common part of all pods like one.

    Attributes:
        labels: The labels of the latest of them, and of ``kind``.
        cached: Their evaluation.
        selected_keys: The label keys that selectors named when it was found: as long as it is these,
            other labels are read by no plugin.
        plain: Whether they name no node and can't have claims, so that decisions about them come from this
            evaluation.
        unclaimed: The version of the device classes under which that is so although they might have claims;
            -1 = none is known.
        node: The only node that they can go to, while the evaluation is of pods that may go anywhere; "" when
            they may as well.
        split: The parts of the profile, if the evaluation is of pods without claims; None if it isn't.
        named: Whether like pods that name a node have the same evaluation; None = no such pod has come.
    """

    kind: PodKind
    labels: Mapping[str, str]
    cached: CachedEvaluation
    selected_keys: frozenset[str]
    plain: bool = False
    unclaimed: int = -1
    node: str = ""
    split: ClaimSplit | None = None
    named: bool | None = None
