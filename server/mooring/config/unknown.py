"""Plugins that a file names and that aren't there: unknown ones, and those of older releases.

kube-scheduler names the latter in ``invalidPluginsByVersion`` of ``pkg/scheduler/apis/config/validation``.
"""

from __future__ import annotations

import copy
import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from mooring.config.catalog import MULTI_POINT, REMOVED, Catalog
from mooring.config.expand import ALL
from mooring.config.fields import join
from mooring.config.types import ListedPlugin, PluginSet, ProfileStanza
from mooring.framework import FieldError

_SCHEDULER_PLUGINS: Final = "scheduler-plugins'"
_KOORDINATOR: Final = "Koordinator's"
_VOLCANO: Final = "Volcano's"
_OLD: Final = "kube-scheduler's up to v1beta1"
_GANGS: Final = "GangScheduling, with the feature gate GenericWorkload"
_BY_RATIO: Final = "NodeResourcesFit with a scoringStrategy"
_ALIKE: Final = 0.85
"""How alike a name and its mistyped form have to be; NodeNumber and NodeName are 0.78."""

OUT_OF_TREE: Final[Mapping[str, tuple[str, str]]] = {
    "BatchResourceFit": (_KOORDINATOR, "NodeResourcesFit counts extended resources"),
    "CapacityScheduling": (_SCHEDULER_PLUGINS, ""),
    "CompatibleDefaultPreemption": (_KOORDINATOR, "DefaultPreemption"),
    "Coscheduling": (f"{_SCHEDULER_PLUGINS} or {_KOORDINATOR}", _GANGS),
    "CrossNodePreemption": (_SCHEDULER_PLUGINS, "DefaultPreemption, on one node"),
    "DefaultPreBind": (_KOORDINATOR, ""),
    "DeviceShare": (_KOORDINATOR, "DynamicResources"),
    "DiskIO": (_SCHEDULER_PLUGINS, ""),
    "Dynamic": ("crane-scheduler's", "Score by measurements from elsewhere, in a plugin of your own"),
    "ElasticQuota": (_KOORDINATOR, ""),
    "Fluence": ("Fluence's", _GANGS),
    "LoadAwareScheduling": (_KOORDINATOR, ""),
    "LoadVariationRiskBalancing": (_SCHEDULER_PLUGINS, ""),
    "LowRiskOverCommitment": (_SCHEDULER_PLUGINS, ""),
    "NetworkOverhead": (_SCHEDULER_PLUGINS, "NetworkTraffic"),
    "NodeLabel": (_OLD, "NodeAffinity with addedAffinity"),
    "NodeMetadata": (_SCHEDULER_PLUGINS, "NodeAffinity with preferred terms"),
    "NodeNUMAResource": (_KOORDINATOR, ""),
    "NodeNumber": ("an example of kube-scheduler-simulator", ""),
    "NodeResourceTopologyMatch": (_SCHEDULER_PLUGINS, ""),
    "NodeResourcesAllocatable": (_SCHEDULER_PLUGINS, _BY_RATIO),
    "NodeResourcesLeastAllocated": (_OLD, "NodeResourcesFit with the strategy LeastAllocated"),
    "NodeResourcesMostAllocated": (_OLD, "NodeResourcesFit with the strategy MostAllocated"),
    "NodeResourcesFitPlus": (f"{_SCHEDULER_PLUGINS} or {_KOORDINATOR}", _BY_RATIO),
    "Peaks": (_SCHEDULER_PLUGINS, ""),
    "PodState": (_SCHEDULER_PLUGINS, ""),
    "PreemptionToleration": (_SCHEDULER_PLUGINS, "DefaultPreemption and preemptionPolicy"),
    "QOSSort": (_SCHEDULER_PLUGINS, "PrioritySort"),
    "RequestedToCapacityRatio": (_OLD, "NodeResourcesFit with the strategy RequestedToCapacityRatio"),
    "Reservation": (_KOORDINATOR, "Reserve and Unreserve of the service"),
    "ScarceResourceAvoidance": (f"{_SCHEDULER_PLUGINS} or {_KOORDINATOR}", _BY_RATIO),
    "SelectorSpread": (_OLD, "PodTopologySpread with its default constraints"),
    "ServiceAffinity": (_OLD, "InterPodAffinity"),
    "SySched": (_SCHEDULER_PLUGINS, ""),
    "TargetLoadPacking": (_SCHEDULER_PLUGINS, _BY_RATIO),
    "TopologicalSort": (_SCHEDULER_PLUGINS, "PrioritySort"),
    "binpack": (_VOLCANO, "NodeResourcesFit with the strategy MostAllocated"),
    "capacity": (_VOLCANO, ""),
    "cdp": (_VOLCANO, ""),
    "conformance": (_VOLCANO, ""),
    "deviceshare": (_VOLCANO, "DynamicResources"),
    "drf": (_VOLCANO, ""),
    "gang": (_VOLCANO, _GANGS),
    "nodegroup": (_VOLCANO, "NodeAffinity"),
    "numa-aware": (_VOLCANO, ""),
    "overcommit": (_VOLCANO, ""),
    "pdb": (_VOLCANO, "DefaultPreemption"),
    "proportion": (_VOLCANO, ""),
    "resource-strategy-fit": (_VOLCANO, _BY_RATIO),
    "sla": (_VOLCANO, ""),
    "task-topology": (_VOLCANO, "InterPodAffinity"),
    "tdm": (_VOLCANO, ""),
    "usage": (_VOLCANO, ""),
}
"""Whose a plugin is, and what mooring has that does such work; "" = nothing. By the name in files.

Most are registered in ``cmd/scheduler/main.go`` of kubernetes-sigs/scheduler-plugins, in
``cmd/koord-scheduler/main.go`` of koordinator-sh/koordinator, and in ``pkg/scheduler/plugins/factory.go`` of
volcano-sh/volcano; the others are named in the documents of these projects.
"""

_SOLE: Final = {"queueSort": "PrioritySort", "bind": "DefaultBinder"}
"""The points that need a plugin, and kube-scheduler's own there."""

Places = Mapping[str, Sequence[str]]
"""The places in the file by plugin."""


def unknown_plugins(profiles: Sequence[ProfileStanza], catalog: Catalog) -> Places:
    """Return where profiles enable plugins that neither the catalog nor kube-scheduler has."""
    places: dict[str, list[str]] = {}
    for index, profile in enumerate(profiles):
        for section, plugins in profile.plugins.items():
            for position, plugin in enumerate(plugins.enabled):
                name = plugin.name
                if name not in catalog and name not in catalog.upstream and name not in REMOVED:
                    where = join("profiles", index, "plugins", section, "enabled", position)
                    places.setdefault(name, []).append(where)
    return places


def unknown_faults(unknown: Places, catalog: Catalog) -> list[FieldError]:
    """Return a fault for each unknown plugin, which names all of its places."""
    faults = []
    for name, places in unknown.items():
        others = f" (also at {', '.join(places[1:])})" if len(places) > 1 else ""
        said = f"no plugin named {name} exists{others}{origin(name, catalog)}"
        advice = "nstall its package, name it with --plugin, or go without it by --unknown-plugins=stub"
        faults.append(FieldError(places[0], said + (" I" if said.endswith("?") else "; i") + advice))
    return faults


def stub_notes(unknown: Places, catalog: Catalog) -> list[str]:
    """Return a sentence for each plugin that is passed over."""
    return [
        f"{places[0]}: plugin {name} is not evaluated{origin(name, catalog)}"
        for name, places in unknown.items()
    ]


def without_unknown(profile: ProfileStanza, unknown: Collection[str]) -> ProfileStanza:
    """Return the profile without the plugins; kube-scheduler's own sorts or binds if none is left to."""
    sections = {}
    for name, plugins in profile.plugins.items():
        kept = tuple(plugin for plugin in plugins.enabled if plugin.name not in unknown)
        sections[name] = replace(plugins, enabled=kept)
    for point, own in _SOLE.items():
        given = sections.get(point, PluginSet())
        cleared = _is_cleared(given) or _is_cleared(sections.get(MULTI_POINT))
        gone = _enables(profile.plugins.get(point), unknown) or _enables(
            profile.plugins.get(MULTI_POINT), unknown
        )
        if cleared and gone and not given.enabled:
            sections[point] = replace(given, enabled=(ListedPlugin(own),))
    entries = tuple(entry for entry in profile.plugin_config if entry.name not in unknown)
    return replace(profile, plugins=sections, plugin_config=entries)


def _enables(section: PluginSet | None, names: Collection[str]) -> bool:
    return section is not None and any(plugin.name in names for plugin in section.enabled)


def _is_cleared(section: PluginSet | None) -> bool:
    """Return whether a section switches every default off."""
    return section is not None and any(plugin.name == ALL for plugin in section.disabled)


def origin(name: str, catalog: Catalog) -> str:
    """Return where an unknown plugin comes from, or which one may be meant, as the end of a sentence."""
    if name in OUT_OF_TREE:
        whose, instead = OUT_OF_TREE[name]
        return f": it is {whose}" + (f"; mooring has {instead}" if instead else "")
    meant = difflib.get_close_matches(name, list(catalog), 1, _ALIKE)
    return f"; did you mean {meant[0]}?" if meant else ""


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
