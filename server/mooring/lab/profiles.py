"""Configurations with a change: rules enabled, weights set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from mooring.lab.rules import Rule


def enabling(document: Mapping[str, Any], rules: Iterable[Rule]) -> dict[str, Any]:
    """Return the configuration with the rules enabled in each of its profiles."""
    changed = _with_profiles(document)
    for profile in changed["profiles"]:
        for rule in rules:
            listed: dict[str, Any] = {"name": rule.name}
            if rule.point == "score":
                listed["weight"] = rule.weight
            _list_of(profile, rule.point, "enabled").append(listed)
    return changed


def weighted(document: Mapping[str, Any], weights: Mapping[str, int]) -> dict[str, Any]:
    """Return the configuration with these weights of Score plugins in each of its profiles; 0 disables."""
    changed = _with_profiles(document)
    for profile in changed["profiles"]:
        for plugin, weight in weights.items():
            _list_of(profile, "score", "disabled").append({"name": plugin})
            enabled = _list_of(profile, "score", "enabled")
            enabled[:] = [listed for listed in enabled if listed.get("name") != plugin]
            if weight:
                enabled.append({"name": plugin, "weight": weight})
    return changed


def _with_profiles(document: Mapping[str, Any]) -> dict[str, Any]:
    changed = deepcopy(dict(document))
    changed["profiles"] = changed.get("profiles") or [{"schedulerName": "default-scheduler"}]
    return changed


def _list_of(profile: dict[str, Any], point: str, kind: str) -> list[dict[str, Any]]:
    plugins = profile["plugins"] = profile.get("plugins") or {}
    section = plugins[point] = plugins.get(point) or {}
    listed: list[dict[str, Any]] = section.setdefault(kind, [])
    return listed
