"""The plugins that kube-scheduler ships: where each takes part, and which are enabled by default.

Mirrors ``pkg/scheduler/apis/config/v1/default_plugins.go`` and the interfaces that the plugins under
``pkg/scheduler/framework/plugins`` declare, of v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from mooring.config.catalog import Catalog, PluginDescription
from mooring.config.types import Plugin
from mooring.framework.releases import Gates, KubeVersion

IN_TREE_POINTS: Mapping[str, tuple[str, ...]] = {
    "SchedulingGates": ("preEnqueue",),
    "PrioritySort": ("queueSort",),
    "NodeUnschedulable": ("filter",),
    "NodeName": ("filter",),
    "TaintToleration": ("filter", "preScore", "score"),
    "NodeAffinity": ("preFilter", "filter", "preScore", "score"),
    "NodePorts": ("preFilter", "filter"),
    "NodeResourcesFit": ("preFilter", "filter", "preScore", "score", "placementScore"),
    "VolumeRestrictions": ("preFilter", "filter"),
    "NodeVolumeLimits": ("preFilter", "filter"),
    "VolumeBinding": ("preFilter", "filter", "preScore", "score", "reserve", "preBind"),
    "VolumeZone": ("preFilter", "filter"),
    "PodTopologySpread": ("preFilter", "filter", "preScore", "score"),
    "InterPodAffinity": ("preFilter", "filter", "preScore", "score"),
    "DynamicResources": ("preEnqueue", "preFilter", "filter", "postFilter", "score", "reserve", "preBind"),
    "DefaultPreemption": ("preEnqueue", "postFilter"),
    "NodeResourcesBalancedAllocation": ("preScore", "score"),
    "ImageLocality": ("score",),
    "DefaultBinder": ("bind",),
    "NodeDeclaredFeatures": ("preFilter", "filter"),
    "GangScheduling": ("preEnqueue", "permit"),
    "TopologyPlacementGenerator": ("placementGenerate",),
    "PodGroupPodsCount": ("placementScore",),
}


def implements(plugin: PluginDescription, point: str) -> bool:
    """Whether a file may list a plugin at a point.

    An in-tree plugin may stand wherever kube-scheduler's does, also where mooring's needs no method.
    """
    return point in plugin.points or (plugin.in_tree and point in IN_TREE_POINTS.get(plugin.name, ()))


REMOVED = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})
"""Plugins of older releases whose work NodeVolumeLimits does now; a current kube-scheduler refuses them."""

_WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
    "PodGroupPodsCount": 1,
}

_GATE_OF = {
    "DynamicResources": "DynamicResourceAllocation",
    "NodeDeclaredFeatures": "NodeDeclaredFeatures",
    "GangScheduling": "GangScheduling",
    "TopologyPlacementGenerator": "TopologyAwareWorkloadScheduling",
    "PodGroupPodsCount": "TopologyAwareWorkloadScheduling",
}


_SINCE = {
    "NodeDeclaredFeatures": KubeVersion(1, 35),
    "GangScheduling": KubeVersion(1, 36),
    "TopologyPlacementGenerator": KubeVersion(1, 36),
    "PodGroupPodsCount": KubeVersion(1, 36),
}
"""The first release of plugins that not every release has, or has as they are followed here."""

_DEVICES_SCORE_SINCE = KubeVersion(1, 35)
"""Before, DynamicResources had no Score."""


class ReleaseCatalog(Mapping[str, PluginDescription]):
    """What a configuration for a release may name: without the plugins and points that came later.

    Plugins are described on demand, as in the catalog below it: one that fails harms nobody else.
    """

    def __init__(self, catalog: Catalog, version: KubeVersion) -> None:
        self._catalog = catalog
        self._version = version

    def __contains__(self, name: object) -> bool:
        came_later = isinstance(name, str) and self._version < _SINCE.get(name, self._version)
        return not came_later and name in self._catalog

    def __getitem__(self, name: str) -> PluginDescription:
        if name not in self:
            raise KeyError(name)
        plugin = self._catalog[name]
        if name == "DynamicResources" and self._version < _DEVICES_SCORE_SINCE:
            return replace(plugin, points=plugin.points - {"preScore", "score"})
        return plugin

    def __iter__(self) -> Iterator[str]:
        return filter(self.__contains__, self._catalog)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def default_plugins(version: KubeVersion, gates: Gates) -> tuple[Plugin, ...]:
    """The multiPoint list of a profile that says nothing, in order, with the default weights."""
    enabled = [name for name in IN_TREE_POINTS if name not in _GATE_OF or gates.enabled(_GATE_OF[name])]
    weights = dict(_WEIGHTS)
    if version < _DEVICES_SCORE_SINCE:
        del weights["DynamicResources"]
    return tuple(Plugin(name, weights.get(name)) for name in enabled)
