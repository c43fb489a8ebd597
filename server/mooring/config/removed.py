"""Plugins of older releases that a file may still enable.

kube-scheduler names them in ``invalidPluginsByVersion`` of ``pkg/scheduler/apis/config/validation``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from mooring.config.catalog import REMOVED
from mooring.config.fields import join
from mooring.config.types import ProfileStanza
from mooring.framework import FieldError


def removed_plugins(profiles: Sequence[ProfileStanza]) -> Iterator[FieldError]:
    """Yield where the profiles enable or configure a removed plugin."""
    for index, profile in enumerate(profiles):
        path = join("profiles", index)
        for section, plugins in profile.plugins.items():
            for position, plugin in enumerate(plugins.enabled):
                if plugin.name in REMOVED:
                    yield _gone(join(path, "plugins", section, "enabled", position), plugin.name)
        for position, entry in enumerate(profile.plugin_config):
            if entry.name in REMOVED:
                yield _gone(join(path, "pluginConfig", position), entry.name)


def without_removed_plugins(profile: ProfileStanza) -> ProfileStanza:
    """Return the profile with nothing enabled or configured that was removed."""
    return replace(
        profile,
        plugins={
            section: replace(plugins, enabled=tuple(p for p in plugins.enabled if p.name not in REMOVED))
            for section, plugins in profile.plugins.items()
        },
        plugin_config=tuple(entry for entry in profile.plugin_config if entry.name not in REMOVED),
    )


def without_removed_names(document: dict[str, Any]) -> dict[str, Any]:
    """Return the same for a plain document whose types are sound."""
    result = copy.deepcopy(document)
    for profile in result.get("profiles", ()):
        for section in profile.get("plugins", {}).values():
            if "enabled" in section:
                section["enabled"] = _remaining(section["enabled"])
        if "pluginConfig" in profile:
            profile["pluginConfig"] = _remaining(profile["pluginConfig"])
    return result


def _remaining(listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item for item in listed if item["name"] not in REMOVED]


def _gone(path: str, name: str) -> FieldError:
    return FieldError(path, f"plugin {name} was removed from kube-scheduler; NodeVolumeLimits does its work")
