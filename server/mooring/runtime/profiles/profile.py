"""A profile with its plugins made: what one ``schedulerName`` runs at each extension point.

Mirrors ``NewFramework`` in ``framework/runtime/framework.go``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Generic, TypeVar

from mooring.config.configuration import EffectiveProfile
from mooring.framework import (
    BindPlugin,
    CycleState,
    FilterPlugin,
    Gates,
    Handle,
    NodeView,
    ObjectTable,
    PermitPlugin,
    PlacementFeasiblePlugin,
    PlacementGeneratePlugin,
    PlacementScorePlugin,
    Plugin,
    Pod,
    PodGroupInfo,
    PodGroupPostFilterPlugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
    Status,
)
from mooring.framework.batch import BatchPlugin, as_batch, is_batch
from mooring.framework.cacheable import Aspect, CacheablePlugin, Dependencies, Part
from mooring.framework.groups import GroupOnly
from mooring.framework.handle import as_sending
from mooring.framework.points import POINTS
from mooring.plugins.in_tree import IN_TREE
from mooring.plugins.unsupported import UNSUPPORTED
from mooring.runtime.profiles.extender import Extender
from mooring.runtime.profiles.registry import Registry, RegistryError
from mooring.runtime.profiles.tracebacks import TRACEBACKS
from mooring.runtime.pure.followed_plugin import FollowedPlugin, followed, rule_of

P = TypeVar("P", bound=Plugin[Any])

_OWN = frozenset([kind.name for kind in IN_TREE])


@dataclass(frozen=True, slots=True)
class Enabled(Generic[P]):
    """A plugin at a point of a profile; ``weight`` counts only at Score."""

    name: str
    plugin: P
    weight: int = 1


class UnsupportedPlugin(PreFilterPlugin[None]):
    """Stands in for an in-tree plugin that mooring doesn't have: rejects the pods that need it, by name."""

    name = "Unsupported"

    def __init__(self, name: str, uses: Callable[[Pod, ObjectTable], bool], handle: Handle) -> None:
        super().__init__(None, handle)
        self._reason = f"plugin {name} is not supported yet"
        self._uses = uses

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        return Status.unresolvable(self._reason) if self._uses(pod, nodes.snapshot.objects) else Status.skip()


class PlacedTogether(PreFilterPlugin[None], CacheablePlugin):
    """Stands in for a plugin that places the pods of a group together: rejects those that come alone."""

    name = "PlacedTogether"
    aspects = Aspect.GROUP

    def __init__(self, plugin: GroupOnly, handle: Handle) -> None:
        super().__init__(None, handle)
        self._plugin = plugin

    def dependencies(self, pod: Pod) -> Dependencies:
        return Dependencies(signature=() if pod.group is None else None, parts=Part.NONE)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        if pod.group is None or state.get(PodGroupInfo, PodGroupInfo) is not None:
            return Status.skip()
        why = self._plugin.alone(pod, nodes.snapshot.objects)
        return Status.unresolvable(why) if why else Status.skip()


@dataclass(frozen=True, slots=True)
class Profile:
    """The plugins of a profile by extension point, in the order in which they run.

    Attributes:
        name: The ``schedulerName``.
        key: The hash of the configuration, and the name: the cache's key for answers of these plugins.
        configuration: The hash of the configuration.
        weight_sum: The sum of the weights of all score plugins, so 100 times this is the highest total.
        unsupported: In-tree plugins of the profile that mooring doesn't have.
        percentage_of_nodes_to_score: None = evaluate every node; 0 = kube-scheduler's adaptive rule.
        placement_feasible: The plugins that say whether a placement can still take a group; no configuration
            lists them.
        extenders: Those that take part, in the order in which they are called; none outside the scheduler.
        not_evaluated: Unknown plugins of the profile's file, skipped on request.
        binds_at_once: Whether a binding can be sent ahead, and nothing follows it. PreBindPreFlight shows,
            quickly, whether anything comes before it.
        reserves_for_pre_bind: Whether the plugins of PreBind are all among those of Reserve: what has nothing
            to do for a pod there has nothing to do for it here.
    """

    name: str
    key: str
    configuration: str
    pre_enqueue: tuple[Enabled[PreEnqueuePlugin[Any]], ...]
    queue_sort: tuple[Enabled[QueueSortPlugin[Any]], ...]
    pre_filter: tuple[Enabled[PreFilterPlugin[Any]], ...]
    filter: tuple[Enabled[FilterPlugin[Any]], ...]
    post_filter: tuple[Enabled[PostFilterPlugin[Any]], ...]
    pre_score: tuple[Enabled[PreScorePlugin[Any]], ...]
    score: tuple[Enabled[ScorePlugin[Any]], ...]
    reserve: tuple[Enabled[ReservePlugin[Any]], ...]
    permit: tuple[Enabled[PermitPlugin[Any]], ...]
    pre_bind: tuple[Enabled[PreBindPlugin[Any]], ...]
    bind: tuple[Enabled[BindPlugin[Any]], ...]
    post_bind: tuple[Enabled[PostBindPlugin[Any]], ...]
    placement_generate: tuple[Enabled[PlacementGeneratePlugin[Any]], ...]
    placement_score: tuple[Enabled[PlacementScorePlugin[Any]], ...]
    pod_group_post_filter: tuple[Enabled[PodGroupPostFilterPlugin[Any]], ...]
    weight_sum: int
    unsupported: tuple[str, ...]
    percentage_of_nodes_to_score: int | None
    gates: Gates
    placement_feasible: Mapping[str, PlacementFeasiblePlugin[Any]]
    extenders: tuple[Extender, ...] = ()
    not_evaluated: tuple[str, ...] = ()
    binds_at_once: bool = field(init=False)
    reserves_for_pre_bind: bool = field(init=False)
    _reserving: tuple[BatchPlugin, ...] = field(init=False, repr=False, compare=False)
    _followed: tuple[FollowedPlugin, ...] = field(init=False, repr=False, compare=False)
    _grouped: list[Profile] = field(init=False, repr=False, compare=False, default_factory=list)

    def __post_init__(self) -> None:
        at_once = (
            len(self.bind) == 1
            and as_sending(self.bind[0].plugin) is not None
            and not self.post_bind
            and not self.extenders
            and all(is_batch(enabled.plugin) for enabled in self.pre_bind)
        )
        object.__setattr__(self, "binds_at_once", at_once)
        reserving = {enabled.name for enabled in self.reserve}
        covered = reserving.issuperset(enabled.name for enabled in self.pre_bind)
        object.__setattr__(self, "reserves_for_pre_bind", covered)
        reserving_plugins = tuple([as_batch(enabled.plugin) for enabled in self.reserve])
        object.__setattr__(self, "_reserving", reserving_plugins)
        rules = tuple([plugin for plugin in self.evaluating if isinstance(plugin, FollowedPlugin)])
        object.__setattr__(self, "_followed", rules)

    @property
    def reads(self) -> int:
        """A number that grows when a plugin whose reads are found reads something new."""
        return sum([rule.found.number for rule in self._followed]) if self._followed else 0

    @property
    def cache_key(self) -> str:
        """``key`` and ``reads``: what was cached before a plugin read something new is not used after it."""
        return f"{self.key}@{self.reads}" if self._followed else self.key

    @property
    def as_written(self) -> Profile:
        """The profile with the plugins as their authors wrote them: nothing that they said before is used."""
        if not self._followed:
            return self
        written: dict[str, Any] = {
            point.attribute: tuple([replace(each, plugin=rule_of(each.plugin)) for each in self.at(name)])
            for name, point in POINTS.items()
        }
        return replace(self, **written)

    def stop_following(self, plugin: str, why: str) -> None:
        """Call the plugin of that name for each node from now on, if its reads are found."""
        for rule in self._followed:
            if rule.name == plugin:
                rule.stop_following(why)

    def is_authors(self, plugin: str) -> bool:
        """Return whether the plugin of that name is not one of mooring's own."""
        return plugin not in _OWN

    @property
    def plugins(self) -> dict[str, Plugin[Any]]:
        """Every plugin, by name."""
        enabled = (entry for point in POINTS for entry in self.at(point))
        return {entry.name: entry.plugin for entry in enabled}

    @property
    def grouped(self) -> Profile:
        """The profile for a pod in the cycle of its group: without the points before and after it."""
        made = self._grouped
        if not made:
            # Two threads may make one each, which say the same.
            made.append(replace(placing(self), key=f"{self.key}/group", pre_enqueue=(), permit=()))
        return made[0]

    @property
    def evaluating(self) -> tuple[Plugin[Any], ...]:
        """The plugins that evaluate a pod, each once."""
        points = (self.at(name) for name, point in POINTS.items() if point.evaluates)
        return tuple(dict.fromkeys(enabled.plugin for enabled_at in points for enabled in enabled_at))

    def at(self, point: str) -> tuple[Enabled[Any], ...]:
        """Return the plugins at a point, named as in configurations, in the order in which they run."""
        enabled: tuple[Enabled[Any], ...] = getattr(self, POINTS[point].attribute)
        return enabled

    def reserves_now(self, pod: Pod) -> bool:
        """Return whether a plugin would, or may, reserve anything for ``pod`` now."""
        return any(plugin.reserves_now(pod) for plugin in self._reserving)

    @property
    def samples(self) -> bool:
        """Whether the search for nodes may end before all were evaluated."""
        return self.percentage_of_nodes_to_score not in (None, 100)

    @property
    def has_scoring(self) -> bool:
        """Whether any Score plugin is enabled, those that are not built included."""
        return self.weight_sum > 0

    @property
    def compares_nodes(self) -> bool:
        """Whether more than one feasible node is wanted: to be scored, or for extenders to choose from."""
        return self.has_scoring or any(one.filters or one.prioritizes for one in self.extenders)

    def extenders_for(self, pod: Pod) -> tuple[Extender, ...]:
        """Return the extenders that are interested in ``pod``."""
        if not self.extenders:
            return ()
        return tuple(extender for extender in self.extenders if extender.is_interested(pod))

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings that answers of this profile carry."""
        said = []
        if self.unsupported:
            names = ", ".join(self.unsupported)
            said.append(f"not supported yet: {names}; pods that need one are rejected")
        if self.not_evaluated:
            said.append(f"not evaluated: {', '.join(self.not_evaluated)}; they may reject or prefer nodes")
        return tuple(said)


def placing(profile: Profile) -> Profile:
    """Return what commits a pod that was placed with its group: pods that share a domain are let through."""
    kept = tuple(each for each in profile.pre_filter if not isinstance(each.plugin, PlacedTogether))
    return replace(profile, pre_filter=kept)


def build_profile(
    effective: EffectiveProfile, registry: Registry, handle: Handle, configuration_hash: str = ""
) -> Profile:
    """Make the plugins of ``effective``, one object per plugin for all its points. Raises RegistryError if a
    plugin can't be made; the message names profile and plugin.
    """
    made: dict[str, Plugin[Any]] = {}
    unsupported: dict[str, None] = {}
    for enabled in effective.plugins.values():
        for entry in enabled:
            if entry.name in registry and entry.name not in made:
                made[entry.name] = _make(entry.name, effective, registry, handle)
            elif entry.name not in registry:
                unsupported[entry.name] = None

    enabled_at: dict[str, Any] = {
        point.attribute: tuple(
            Enabled(entry.name, plugin, entry.weight)
            for entry in effective.plugins.get(point.name, ())
            if isinstance(plugin := made.get(entry.name), point.base)
        )
        for point in POINTS.values()
    }
    built = enabled_at["pre_filter"]
    enabled_at["pre_filter"] = _with_stand_ins(effective, made, unsupported, built, handle)
    return Profile(
        name=effective.scheduler_name,
        key=f"{configuration_hash}/{effective.scheduler_name}",
        configuration=configuration_hash,
        **enabled_at,
        weight_sum=sum(entry.weight for entry in effective.plugins.get("score", ())),
        unsupported=tuple(unsupported),
        percentage_of_nodes_to_score=effective.percentage_of_nodes_to_score,
        gates=handle.gates,
        placement_feasible={
            entry.name: entry.plugin
            for entry in chain.from_iterable(enabled_at.values())
            if isinstance(entry.plugin, PlacementFeasiblePlugin)
        },
        not_evaluated=effective.not_evaluated,
    )


def _make(name: str, effective: EffectiveProfile, registry: Registry, handle: Handle) -> Plugin[Any]:
    own = replace(handle, logger=logging.getLogger(f"mooring.plugins.{name}"))
    try:
        return followed(registry[name].factory()(effective.args.get(name), own))
    except RegistryError:
        raise
    except Exception as error:
        TRACEBACKS.tell(name, "New", error)
        raise RegistryError(
            f"profile {effective.scheduler_name!r}: plugin {name!r} can't be made: "
            f"{type(error).__name__}: {error}"
        ) from error


def _with_stand_ins(
    effective: EffectiveProfile,
    made: Mapping[str, Plugin[Any]],
    unsupported: Mapping[str, None],
    built: tuple[Enabled[PreFilterPlugin[Any]], ...],
    handle: Handle,
) -> tuple[Enabled[PreFilterPlugin[Any]], ...]:
    """Return the PreFilter plugins in order, with a stand-in for each that isn't built or places groups."""
    known = {enabled.name: enabled for enabled in built}
    stand_ins: dict[str, Enabled[PreFilterPlugin[Any]]] = {
        name: Enabled(name, UnsupportedPlugin(name, UNSUPPORTED[name].uses, handle)) for name in unsupported
    }
    for name, plugin in made.items():
        if isinstance(plugin, GroupOnly):
            stand_ins[name] = Enabled(name, PlacedTogether(plugin, handle))
    order = [entry.name for entry in effective.plugins.get("preFilter", ())]
    order += [name for name in stand_ins if name not in order]
    found: dict[str, Enabled[PreFilterPlugin[Any]]] = {**known, **stand_ins}
    return tuple(found[name] for name in order if name in found)
