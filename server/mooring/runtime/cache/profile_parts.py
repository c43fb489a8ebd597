"""Profiles with some of their plugins alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mooring.framework import Plugin
from mooring.framework.points import POINTS
from mooring.framework.remembering import ByIdentity
from mooring.runtime.profiles.profile import Profile

_MAX_PROFILES = 1 << 6
"""Profiles, and parts of profiles, of which the halves are remembered."""


def narrowed(profile: Profile, takes: Callable[[Plugin[Any]], bool]) -> Profile:
    """``profile`` with only those of the plugins that evaluate a pod that ``takes`` says yes to."""
    narrower: dict[str, Any] = {
        point.attribute: tuple(enabled for enabled in profile.at(name) if takes(enabled.plugin))
        for name, point in POINTS.items()
        if point.evaluates
    }
    return replace(profile, **narrower)


class Halves:
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
