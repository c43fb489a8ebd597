"""Profiles with some of their plugins alone, and what divides the plugins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from mooring.framework import Dependencies, Part, Plugin, ScorePlugin
from mooring.framework.batch import BatchPlugin, as_batch
from mooring.framework.points import POINTS
from mooring.framework.remembering import ByIdentity
from mooring.runtime.profiles.profile import Profile

_MAX_PROFILES = 1 << 6
"""Profiles, and parts of profiles, whose halves are remembered."""

_COMMITTING = tuple(point.base for point in POINTS.values() if point.commits)

_BEYOND_ROW = Part.OTHER_NODES | Part.AFFINITIES | Part.FEASIBLE | Part.OUTSIDE


def commits(plugin: Plugin[Any]) -> bool:
    """Return whether ``plugin`` has an extension point after the selection."""
    return isinstance(plugin, _COMMITTING)


def normalizes_itself(plugin: Plugin[Any]) -> bool:
    """Return whether it is unknown how the plugin's scores depend on which nodes are feasible."""
    return isinstance(plugin, ScorePlugin) and type(plugin).normalize_score is not ScorePlugin.normalize_score


def may_read_resources_alone(plugin: Plugin[Any]) -> bool:
    """Return whether nodes with equal resources may get equal answers from ``plugin``, whatever the others
    have.

    They do for a pod whose ``parts`` are ``Part.RESOURCES``.
    """
    if commits(plugin):
        return False
    return not isinstance(plugin, ScorePlugin) or (
        plugin.normalizer is None and not normalizes_itself(plugin)
    )


def reads_beyond_row(plugin: Plugin[Any], declared: Dependencies) -> bool:
    """Return whether the answer about a node may change although the node, its pods, the counters that are
    ``declared`` and all objects that are neither node nor pod stay the same.
    """
    beyond = _BEYOND_ROW & ~Part.OTHER_NODES if declared.counters else _BEYOND_ROW
    counts = type(as_batch(plugin)).counts_in is not BatchPlugin.counts_in
    return bool(declared.parts & beyond) or counts or normalizes_itself(plugin)


def narrowed(profile: Profile, takes: Callable[[Plugin[Any]], bool]) -> Profile:
    """``profile`` with only those of the plugins that evaluate a pod that ``takes`` says yes to."""
    narrower: dict[str, Any] = {
        point.attribute: tuple(enabled for enabled in profile.at(name) if takes(enabled.plugin))
        for name, point in POINTS.items()
        if point.evaluates
    }
    return replace(profile, **narrower)


class ProfileSplit:
    """The two halves of profiles; pods of other labels have the same. Safe from any thread.

    It belongs to one cache: plugins hold the state that they read, which has to go when its engine goes.
    """

    def __init__(self) -> None:
        self._known: ByIdentity[Profile, dict[frozenset[int], tuple[Profile, Profile]]] = ByIdentity(
            lambda _: {}, most=_MAX_PROFILES
        )

    def of(self, profile: Profile, dynamic: frozenset[int]) -> tuple[Profile, Profile]:
        """Return the profile without its plugins of these ids, and with them alone."""
        known = self._known(profile)
        halves = known.get(dynamic)
        if halves is None:
            static = narrowed(profile, lambda plugin: id(plugin) not in dynamic)
            halves = known[dynamic] = static, narrowed(profile, lambda plugin: id(plugin) in dynamic)
        return halves


class DynamicPlugins(msgspec.Struct, frozen=True):
    """The plugins that each decision asks again.

    Attributes:
        every: A profile with all of them,
        counting: with those that read several nodes for an answer about one,
        by_row: and with those whose answer about a node stays true until that node changes.
    """

    every: Profile
    counting: Profile
    by_row: Profile

    @classmethod
    def of(
        cls, profile: Profile, halves: ProfileSplit, every: frozenset[int], by_row: frozenset[int]
    ) -> DynamicPlugins:
        """Return those of ``profile`` with the ids in ``every``, which include the ids in ``by_row``."""
        _, dynamic = halves.of(profile, every)
        return cls(dynamic, *halves.of(dynamic, by_row))

    def with_others(self, others: DynamicPlugins, profile: Profile, halves: ProfileSplit) -> DynamicPlugins:
        """Return these and ``others`` of ``profile``."""
        every = frozenset(map(id, (*self.every.evaluating, *others.every.evaluating)))
        by_row = frozenset(map(id, (*self.by_row.evaluating, *others.by_row.evaluating)))
        return DynamicPlugins.of(profile, halves, every, by_row)

    def __bool__(self) -> bool:
        every = self.every
        return bool(every.pre_filter or every.filter or every.pre_score or every.score)


class ClaimSplit(msgspec.Struct, frozen=True):
    """A profile in parts, for pods with claims.

    Attributes:
        others: The profile with the plugins that read no claims, to which pods are as if they had none.
        readers: The same with those that read them, but for the Filter of
        last: those whose Filter comes after that of all others.
        quick: The same, where each can compute its rejected rows in one call; else none.
    """

    others: Profile
    readers: Profile
    last: Profile
    quick: tuple[tuple[str, BatchPlugin], ...]

    @classmethod
    def of(cls, profile: Profile, readers: frozenset[str]) -> ClaimSplit:
        """Return the parts of ``profile``; the plugins with these names read claims."""
        others = narrowed(profile, lambda plugin: plugin.name not in readers)
        reading = narrowed(profile, lambda plugin: plugin.name in readers)
        after = max((at for at, each in enumerate(profile.filter, 1) if each.name not in readers), default=0)
        last = profile.filter[after:]
        filtering = tuple([(each.name, as_batch(each.plugin)) for each in reading.filter])
        early = {each.name for each in reading.pre_filter}
        everywhere = early == readers == {name for name, _ in filtering}
        return cls(
            replace(others, key="/".join((profile.key, "without", *sorted(readers)))),
            replace(reading, filter=tuple(each for each in reading.filter if each not in last)),
            replace(reading, filter=last),
            filtering if everywhere else (),
        )
