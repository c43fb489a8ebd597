"""The part of an evaluation that stays true while pods come and go."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mooring.framework import Bools, CycleState, Int32s, Int64s, NodeView, Part, Plugin, Pod
from mooring.framework.cacheable import Dependencies, dependencies_of
from mooring.framework.columns import Scalar
from mooring.framework.pod_affinity import AffinityTerms, labelled
from mooring.framework.remembering import MAX_PODS, ByIdentity
from mooring.framework.state import ClusterState
from mooring.kernels.arrays import REJECTED
from mooring.runtime.cache.outcome import Bypass, NotCachedError
from mooring.runtime.cache.tracking.change_tracker import DYNAMIC, MOVING, ChangeTracker, ObjectsRead
from mooring.runtime.cycle.cycle import enqueued
from mooring.runtime.cycle.evaluation import Evaluation, begin
from mooring.runtime.cycle.filter import run_filters
from mooring.runtime.cycle.plugin_calls import PluginCalls
from mooring.runtime.cycle.pre_filter import run_pre_filter
from mooring.runtime.cycle.sampling import nodes_to_find, search_order
from mooring.runtime.cycle.score import Scaled, run_pre_score, run_score, weigh
from mooring.runtime.profiles.profile import Enabled, Profile
from mooring.runtime.profiles.profile_split import (
    DynamicPlugins,
    ProfileSplit,
    commits,
    normalizes_itself,
    reads_beyond_row,
)


@dataclass(slots=True)
class StaticScores:
    """The scores of all nodes by the plugins that read neither resources nor ordinary pods.

    Attributes:
        version: The version of the state from which on it is true,
        parts: until one of these parts changes, of those that ``ChangeTracker`` tells apart.
        images: Returns the version of the pod's images; None when a plugin reads others as well.
        images_version: That version before the plugins were called.
        objects: The objects that they read; None when they may read any.
        concerned: Returns whether a placed pod's terms about others matter to these; None = all do.
        checked: The latest version of the state at which nothing that matters was found to have changed,
        structure: and ``ChangeTracker.structure`` then.
        below: The scores by other plugins that are part of it, and have to be true as well; None = none are.
        rows: int32[N], all nodes.
        open: The nodes that none of them rejects.
        base: int32[capacity], the weighted sum of the scores that are the same whichever nodes are feasible;
            ``REJECTED`` for rows that aren't open.
        scaled: The other scores.
        dynamic: The profile's plugins that each decision asks again.
        timeless: Whether their answers stay true as long as the state has the same version.
        evaluated: How many nodes PreFilter leaves.
        order: int32[evaluated], their rows in the order of the search; None unless it may end early.
        wanted: After how many feasible nodes it ends.
        used: When it was used last, as its cache counts.
        pod_bytes: The bytes of the pod for which it was found.
    """

    version: int
    parts: tuple[Part, ...]
    rows: Int32s
    open: NodeView
    base: Int32s
    scaled: tuple[Scaled, ...]
    dynamic: DynamicPlugins
    timeless: bool
    evaluated: int
    order: Int32s | None
    wanted: int
    cycle_state: CycleState
    images: Callable[[], Hashable] | None
    images_version: Hashable
    objects: ObjectsRead | None
    concerned: Callable[[AffinityTerms], bool] | None
    checked: int
    structure: int = -1
    below: StaticScores | None = None
    used: int = 0
    pod_bytes: int = 0

    def is_true(self, tracker: ChangeTracker, version: int) -> bool:
        """Return whether nothing that it depends on changed up to ``version``, to which the log was read."""
        structure = tracker.structure
        if structure == self.structure:
            return True
        for part in tracker.moved_since(self.checked):
            if part in self.parts and self._depends_on_change(part, tracker):
                return False
        if self.below is not None and not self.below.is_true(tracker, version):
            return False
        self.checked, self.structure = max(self.checked, version), structure
        return True

    def _depends_on_change(self, part: Part, tracker: ChangeTracker) -> bool:
        """Return whether these scores depend on the changes of ``part`` since the last check."""
        if part is Part.IMAGES:
            return self.images is None or self.images() != self.images_version
        if part is Part.OBJECTS:
            return self.objects is None or not self.objects.unchanged()
        if part is Part.AFFINITIES:
            return self.concerned is None or tracker.terms_moved_since(self.checked, self.concerned)
        return True

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays and its pod; what plugins wrote isn't known."""
        order = 0 if self.order is None else self.order.nbytes
        scaled = sum(scaled.raw.nbytes for scaled in self.scaled)
        open_rows = 0 if self.open.rows is self.rows else self.open.rows.nbytes
        return self.pod_bytes + self.rows.nbytes + open_rows + self.base.nbytes + scaled + order

    @property
    def has_dynamic(self) -> bool:
        """Whether any plugin has to be called for each decision."""
        return bool(self.dynamic)

    def scaled_scores(self, feasible: Int32s | slice) -> Int64s | int:
        """int64[F]: the weighted sum of ``scaled`` for the feasible rows."""
        return sum(scaled.scores(feasible) for scaled in self.scaled)


def find_static_scores(
    profile: Profile,
    cluster: ClusterState,
    pod: Pod,
    version: int,
    calls: PluginCalls,
    halves: ProfileSplit,
    below: StaticScores | None = None,
) -> StaticScores:
    """Ask the plugins of ``profile`` about all nodes, except the dynamic ones.

    With scores ``below`` about those that are open there, as if there were no others. Raises NotCachedError
    if PreEnqueue or PreFilter rejects the pod, or may do so next time, or if it has claims now.
    """
    evaluation = _begin(profile, cluster, pod, below)
    rows = evaluation.rows
    roles = _Roles(_declared(profile, pod), halves)
    images = _images(roles.declared.values(), cluster)
    images_version, objects = images and images(), cluster.snapshot.objects
    versions = {kind: objects.version(kind) for kind in tuple(objects.kinds)}
    allowed = _allowed(evaluation, roles, calls)
    evaluation = evaluation.by(roles.static(profile))
    run_filters(evaluation, np.flatnonzero(allowed).astype(np.int32), calls)
    fits = evaluation.codes == 0
    view = NodeView(cluster.snapshot, rows if fits.all() else rows[fits])
    evaluation = evaluation.by(profile)
    skipped = run_pre_score(evaluation, view, calls)
    roles.sort((*profile.pre_score, *profile.score), skipped)
    evaluation = evaluation.by(roles.static(profile))
    raw = run_score(evaluation, view, skipped, calls)
    base, scaled = _combined(evaluation, view, raw, calls)
    evaluated = int(np.count_nonzero(allowed))
    wanted = nodes_to_find(profile.percentage_of_nodes_to_score, evaluated, profile.compares_nodes)
    return StaticScores(
        version=version,
        parts=tuple(part for part in MOVING if part & roles.parts),
        rows=rows,
        open=view,
        base=base,
        scaled=scaled,
        dynamic=roles.dynamic(profile),
        timeless=roles.timeless,
        evaluated=evaluated,
        order=_order(evaluation, allowed) if wanted < evaluated else None,
        wanted=wanted,
        cycle_state=evaluation.state,
        images=images,
        images_version=images_version,
        objects=ObjectsRead.of(roles.static_dependencies(), objects, versions),
        concerned=None if Part.OTHER_TERMS in roles.parts else _concerned(pod, cluster),
        checked=version,
    )


def _begin(profile: Profile, cluster: ClusterState, pod: Pod, below: StaticScores | None) -> Evaluation:
    if below is None:
        return begin(profile, cluster, pod, cluster.snapshot.nodes.rows())
    return begin(profile, cluster, pod, below.open.rows, below.open, state=below.cycle_state.shared())


def _declared(profile: Profile, pod: Pod) -> Mapping[Plugin[Any], Dependencies]:
    declared = {plugin: dependencies_of(plugin, pod) for plugin in profile.evaluating}
    if any(each.signature is None for each in declared.values()):
        # It was signed before an object came, such as a DeviceClass for a resource that it requests.
        raise NotCachedError(Bypass.UNSIGNED)
    return declared


def _images(declared: Iterable[Dependencies], cluster: ClusterState) -> Callable[[], Hashable] | None:
    """Return a function whose result changes with the ``declared`` images on nodes; None = all count."""
    names: list[str] = []
    for each in declared:
        if Part.IMAGES in each.parts:
            if each.images is None:
                return None
            names += each.images
    if not names:
        return tuple

    def version() -> Hashable:
        uses = map(cluster.snapshot.nodes.images.get, names)
        return tuple([use and use.version for use in uses])

    return version


def _concerned(pod: Pod, cluster: ClusterState) -> Callable[[AffinityTerms], bool]:
    """Return which terms of placed pods are about ``pod``, as long as its namespace stays the same."""

    def concerned(terms: AffinityTerms) -> bool:
        snapshot = cluster.snapshot
        subject = labelled(pod, snapshot.objects.namespace_labels(pod.metadata.namespace))
        return terms.are_about(subject, snapshot.nodes.label_keys)

    return ByIdentity(concerned, most=MAX_PODS)


def _allowed(evaluation: Evaluation, roles: _Roles, calls: PluginCalls) -> Bools:
    """bool[N]: the candidates that PreFilter leaves; raises as ``find_static_scores``."""
    profile = evaluation.profile
    allowed = run_pre_filter(evaluation, calls) if enqueued(evaluation, calls) else None
    if allowed is None or not len(evaluation.rows):
        raise NotCachedError(Bypass.PRE_FILTER)
    roles.sort((*profile.pre_enqueue, *profile.pre_filter, *profile.filter), evaluation.written.skipped)
    for enabled in profile.pre_filter:
        outcome = evaluation.written.prefilter.get(enabled.name)
        if outcome is not None and outcome.nodes is not None and roles.is_dynamic(enabled.plugin):
            raise NotCachedError(Bypass.PRE_FILTER)
    if any(roles.is_dynamic(enabled.plugin) for enabled in profile.pre_enqueue):
        raise NotCachedError(Bypass.PRE_FILTER)
    return allowed


def _order(evaluation: Evaluation, allowed: Bools) -> Int32s:
    """int32[M]: the ``allowed`` rows (bool[N], by candidate) in the order of the search."""
    order = search_order(evaluation.snapshot.nodes, evaluation.rows)
    rows: Int32s = evaluation.rows[order[allowed[order]]]
    return rows


class _Roles:
    """Separates static plugins from dynamic ones."""

    def __init__(self, declared: Mapping[Plugin[Any], Dependencies], halves: ProfileSplit) -> None:
        self.declared = declared
        self._halves = halves
        self._dynamic: set[int] = set()
        self._counting: set[int] = set()
        self.parts = Part.NODES_BUT_IMAGES
        self.timeless = True
        self._sorted: set[tuple[int, bool]] = set()

    def sort(self, plugins: Iterable[Enabled[Any]], skipped: Container[str]) -> None:
        for enabled in plugins:
            skips = enabled.name in skipped
            if (id(enabled.plugin), skips) in self._sorted:
                continue
            self._sorted.add((id(enabled.plugin), skips))
            declared = self.declared[enabled.plugin]
            parts = declared.parts_of_skip if skips else declared.parts
            if parts & DYNAMIC or (not skips and normalizes_itself(enabled.plugin)):
                if commits(enabled.plugin) and declared.written_is_read:
                    raise NotCachedError(Bypass.RESERVE)
                self._dynamic.add(id(enabled.plugin))
                if skips or reads_beyond_row(enabled.plugin, declared):
                    self._counting.add(id(enabled.plugin))
                self.timeless &= Part.OUTSIDE not in parts
                self.parts |= parts & Part.IMAGES
            else:
                self.parts |= parts

    def static(self, profile: Profile) -> Profile:
        """Return the profile with the static plugins alone."""
        return self._halves.of(profile, frozenset(self._dynamic))[0]

    def dynamic(self, profile: Profile) -> DynamicPlugins:
        """Return the dynamic plugins of the profile."""
        every, by_row = frozenset(self._dynamic), frozenset(self._dynamic - self._counting)
        return DynamicPlugins.of(profile, self._halves, every, by_row)

    def is_dynamic(self, plugin: Plugin[Any]) -> bool:
        return id(plugin) in self._dynamic

    def static_dependencies(self) -> Iterable[Dependencies]:
        return [each for plugin, each in self.declared.items() if id(plugin) not in self._dynamic]


def _combined(
    evaluation: Evaluation, view: NodeView, raw: Mapping[str, Int64s], calls: PluginCalls
) -> tuple[Int32s, tuple[Scaled, ...]]:
    """Return the weighted sum of the scores that don't depend on which nodes are feasible, and the others."""
    scaled, same = [], dict(raw)
    for enabled in evaluation.profile.score:
        scores, normalizer = raw.get(enabled.name), enabled.plugin.normalizer
        if scores is None or normalizer is None or not len(scores) or scores.min() == scores.max():
            continue
        scaled.append(Scaled(enabled.weight, normalizer, _by_row(view, same.pop(enabled.name))))
    totals = weigh(evaluation, same, len(view), calls).totals
    base = np.full(view.table.capacity, REJECTED, np.int32)
    base[view.rows] = totals
    return base, tuple(scaled)


def _by_row(view: NodeView, values: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """[capacity]: ``values`` of the nodes of ``view``, 0 elsewhere."""
    column = np.zeros(view.table.capacity, values.dtype)
    column[view.rows] = values
    return column


def find_static_above(
    below: StaticScores,
    profile: Profile,
    above: Profile,
    cluster: ClusterState,
    pod: Pod,
    version: int,
    calls: PluginCalls,
    halves: ProfileSplit,
) -> StaticScores:
    """Return the static scores by all plugins of ``profile``, calling only those of ``above``.

    The answers of the others are ``below``, true for ``version``, and at least one node is open there. Raises
    NotCachedError as ``find_static_scores`` does.
    """
    found = find_static_scores(above, cluster, pod, version, calls, halves, below)
    if found.evaluated != len(below.open):
        # Which nodes PreFilter leaves is up to all plugins together.
        return find_static_scores(profile, cluster, pod, version, calls, halves)
    found.base = _sum(below, found)
    found.rows, found.evaluated, found.below = below.rows, below.evaluated, below
    found.scaled = (*below.scaled, *found.scaled)
    if below.has_dynamic:
        # The notes of its dynamic plugins are as old as it is.
        found.version = below.version
        found.timeless &= below.timeless
        found.dynamic = below.dynamic.with_others(found.dynamic, profile, halves)
    return found


def _sum(below: StaticScores, found: StaticScores) -> Int32s:
    """int32[capacity]: the sum of the totals of both, ``REJECTED`` if either rejects the node."""
    rows = found.open.at
    if found.open.rows is below.open.rows and not found.base[rows].any():
        return below.base
    total = np.full(len(found.base), REJECTED, np.int32)
    total[rows] = found.base[rows] + below.base[rows]
    return total
