"""The half of an evaluation that stands while pods come and go."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from mooring.framework import (
    BindPlugin,
    Bools,
    ClusterState,
    CycleState,
    Int32s,
    Int64s,
    NodeView,
    Part,
    PermitPlugin,
    Plugin,
    Pod,
    PostBindPlugin,
    PreBindPlugin,
    ReservePlugin,
    ScorePlugin,
)
from mooring.framework.columns import Scalar
from mooring.framework.normalize import Normalizer
from mooring.runtime.cycle import enqueued
from mooring.runtime.evaluation import Evaluation, begin
from mooring.runtime.filtering import run_filters
from mooring.runtime.kept.ranking import OUT
from mooring.runtime.pre_filtering import run_pre_filter
from mooring.runtime.profile import Enabled, Profile
from mooring.runtime.progress import PluginCalls
from mooring.runtime.sampling import nodes_to_find, search_order
from mooring.runtime.scoring import run_pre_score, run_score, weigh

PASSING = Part.AMOUNTS | Part.PODS | Part.FEASIBLE | Part.OUTSIDE
"""What every decision changes, or time alone."""


class NotKeptError(Exception):
    """The pod has to be evaluated in full."""


class PluginsNeededError(NotKeptError):
    """A plugin has to be asked, by whom nobody wants to wait."""


def ask_nobody(*_: object) -> NoReturn:
    """In place of the way to call plugins, for who has no slot for them.

    Raises:
        PluginsNeededError: Always.
    """
    raise PluginsNeededError


@dataclass(frozen=True, slots=True)
class Scaled:
    """The raw scores of a plugin, brought to 0..100 by a normaliser that looks at the feasible nodes.

    Attributes:
        weight: The plugin's.
        normalizer: How they are brought there.
        raw: int64[capacity].
    """

    weight: int
    normalizer: Normalizer
    raw: Int64s


@dataclass(slots=True)
class Standing:
    """What the plugins say of all nodes that look neither at amounts nor at ordinary pods.

    Attributes:
        version: The version of the state from which on it is true,
        parts: until one of these parts changes.
        rows: int32[N], all nodes.
        open: The nodes that none of them refuses.
        base: int32[capacity], the weighted sum of the scores that are the same whichever nodes are feasible;
            ``OUT`` for rows that aren't open.
        scaled: The other scores.
        passing: The profile's plugins whose answers pass with every decision.
        timeless: What they say stays true for as long as the state has the same version.
        evaluated: How many nodes PreFilter leaves.
        order: int32[evaluated], their rows in the order of the search, when it ends before all of them were
            looked at; else None.
        wanted: After how many feasible nodes it ends.
        notes: What the plugins noted.
        used: When it was used last, as its cache counts.
    """

    version: int
    parts: Part
    rows: Int32s
    open: NodeView
    base: Int32s
    scaled: tuple[Scaled, ...]
    passing: Profile
    timeless: bool
    evaluated: int
    order: Int32s | None
    wanted: int
    notes: CycleState
    used: int = 0

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays; what plugins note isn't known."""
        order = 0 if self.order is None else self.order.nbytes
        scaled = sum(scaled.raw.nbytes for scaled in self.scaled)
        open_rows = 0 if self.open.rows is self.rows else self.open.rows.nbytes
        return self.rows.nbytes + open_rows + self.base.nbytes + scaled + order

    @property
    def passes(self) -> bool:
        """Whether any plugin has to be asked again."""
        passing = self.passing
        return bool(passing.pre_filter or passing.filter or passing.pre_score or passing.score)

    def scaled_scores(self, feasible: Int32s | slice) -> Int64s | int:
        """int64[F]: the weighted sum of ``scaled`` for the feasible rows."""
        return sum(scaled.weight * scaled.normalizer.apply(scaled.raw[feasible]) for scaled in self.scaled)


def narrowed(profile: Profile, takes: Callable[[Plugin[Any]], bool]) -> Profile:
    """``profile`` with only those of the plugins that evaluate a pod that ``takes`` says yes to."""

    def some(enabled: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(one for one in enabled if takes(one.plugin))

    return replace(
        profile,
        pre_enqueue=some(profile.pre_enqueue),
        pre_filter=some(profile.pre_filter),
        filter=some(profile.filter),
        pre_score=some(profile.pre_score),
        score=some(profile.score),
    )


def stand(profile: Profile, cluster: ClusterState, pod: Pod, version: int, calls: PluginCalls) -> Standing:
    """Ask the plugins of ``profile`` about all nodes; what doesn't stand is left to be asked again.

    Raises:
        NotKeptError: PreEnqueue or PreFilter refuses the pod, or may do so next time.
    """
    rows = cluster.snapshot.nodes.rows()
    evaluation = begin(profile, cluster, pod, rows)
    allowed = run_pre_filter(evaluation, calls) if enqueued(evaluation, calls) else None
    if allowed is None or not len(rows):
        raise NotKeptError
    roles = _Roles(pod)
    roles.sort((*profile.pre_enqueue, *profile.pre_filter, *profile.filter), evaluation.skipped)
    for enabled in profile.pre_filter:
        outcome = evaluation.prefilter.get(enabled.name)
        if outcome is not None and outcome.nodes is not None and roles.passes(enabled.plugin):
            raise NotKeptError
    if any(roles.passes(enabled.plugin) for enabled in profile.pre_enqueue):
        raise NotKeptError
    evaluation.profile = narrowed(profile, roles.stands)
    run_filters(evaluation, np.flatnonzero(allowed).astype(np.int32), calls)
    fits = evaluation.codes == 0
    view = NodeView(cluster.snapshot, rows if fits.all() else rows[fits])
    evaluation.profile = profile
    skipped = run_pre_score(evaluation, view, calls)
    roles.sort((*profile.pre_score, *profile.score), skipped)
    evaluation.profile = narrowed(profile, roles.stands)
    raw = run_score(evaluation, view, skipped, calls)
    base, scaled = _combined(evaluation, view, raw, calls)
    evaluated = int(np.count_nonzero(allowed))
    wanted = nodes_to_find(profile.percentage_of_nodes_to_score, evaluated, profile.compares_nodes)
    return Standing(
        version=version,
        parts=roles.parts,
        rows=rows,
        open=view,
        base=base,
        scaled=scaled,
        passing=narrowed(profile, roles.passes),
        timeless=roles.timeless,
        evaluated=evaluated,
        order=_order(evaluation, allowed) if wanted < evaluated else None,
        wanted=wanted,
        notes=evaluation.state,
    )


def _order(evaluation: Evaluation, allowed: Bools) -> Int32s:
    """int32[M]: the ``allowed`` rows (bool[N], by candidate) in the order of the search."""
    order = search_order(evaluation.snapshot.nodes, evaluation.rows)
    rows: Int32s = evaluation.rows[order[allowed[order]]]
    return rows


class _Roles:
    """Tells plugins whose answers stand from those whose answers pass."""

    def __init__(self, pod: Pod) -> None:
        self._pod = pod
        self._passing: set[int] = set()
        self.parts = Part.NODES
        self.timeless = True

    def sort(self, plugins: Iterable[Enabled[Any]], idle: Container[str]) -> None:
        for enabled in plugins:
            parts = enabled.plugin.depends_on(self._pod, idle=enabled.name in idle)
            if parts & PASSING or (enabled.name not in idle and normalizes_itself(enabled.plugin)):
                if acts_later(enabled.plugin):
                    raise NotKeptError
                self._passing.add(id(enabled.plugin))
                self.timeless &= Part.OUTSIDE not in parts
            else:
                self.parts |= parts

    def passes(self, plugin: Plugin[Any]) -> bool:
        return id(plugin) in self._passing

    def stands(self, plugin: Plugin[Any]) -> bool:
        return id(plugin) not in self._passing


def acts_later(plugin: Plugin[Any]) -> bool:
    """Whether the plugin has a part in what follows the choice that needs its notes about this very pod."""
    later = isinstance(plugin, ReservePlugin | PermitPlugin | PreBindPlugin | BindPlugin | PostBindPlugin)
    return later and plugin.needs_notes


def normalizes_itself(plugin: Plugin[Any]) -> bool:
    """Whether nobody knows how the plugin's scores depend on which nodes are feasible."""
    return isinstance(plugin, ScorePlugin) and type(plugin).normalize_score is not ScorePlugin.normalize_score


def _combined(
    evaluation: Evaluation, view: NodeView, raw: Mapping[str, Int64s], calls: PluginCalls
) -> tuple[Int32s, tuple[Scaled, ...]]:
    """The weighted sum of the scores that are the same whichever nodes are feasible, and the other ones."""
    scaled, same = [], dict(raw)
    for enabled in evaluation.profile.score:
        scores, normalizer = raw.get(enabled.name), enabled.plugin.normalizer
        if scores is None or normalizer is None or not len(scores) or scores.min() == scores.max():
            continue
        scaled.append(Scaled(enabled.weight, normalizer, _by_row(view, same.pop(enabled.name))))
    totals = weigh(evaluation, same, len(view), calls).totals
    base = np.full(view.table.capacity, OUT, np.int32)
    base[view.rows] = totals
    return base, tuple(scaled)


def _by_row(view: NodeView, values: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """[capacity]: ``values`` of the nodes of ``view``, 0 elsewhere."""
    column = np.zeros(view.table.capacity, values.dtype)
    column[view.rows] = values
    return column
