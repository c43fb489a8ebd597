"""The plugins that kube-scheduler ships: where each takes part, and which are enabled by default.

Mirrors ``pkg/scheduler/apis/config/v1/default_plugins.go`` and the interfaces that the plugins under
``pkg/scheduler/framework/plugins`` declare, of v1.36.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mooring.config.catalog import PluginDescription
from mooring.config.types import Plugin
from mooring.framework import KubeVersion

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


@dataclass(frozen=True, slots=True)
class FeatureGate:
    """A feature gate that mooring acts on.

    Attributes:
        known_since: The first release that has it; before, setting it changes nothing.
        on_since: The release in which it came to be on unless set otherwise; None = it is off.
    """

    known_since: KubeVersion
    on_since: KubeVersion | None = None


FEATURE_GATES: Mapping[str, FeatureGate] = {
    "DynamicResourceAllocation": FeatureGate(KubeVersion(1, 26), KubeVersion(1, 34)),
    "DRAResourceClaimDeviceStatus": FeatureGate(KubeVersion(1, 32), KubeVersion(1, 33)),
    "DRASchedulerFilterTimeout": FeatureGate(KubeVersion(1, 34), KubeVersion(1, 34)),
    "DRADeviceBindingConditions": FeatureGate(KubeVersion(1, 34), KubeVersion(1, 36)),
    "NodeDeclaredFeatures": FeatureGate(KubeVersion(1, 35), KubeVersion(1, 36)),
    "GangScheduling": FeatureGate(KubeVersion(1, 35)),
    "TopologyAwareWorkloadScheduling": FeatureGate(KubeVersion(1, 36)),
    "StorageCapacityScoring": FeatureGate(KubeVersion(1, 33)),
    "TaintTolerationComparisonOperators": FeatureGate(KubeVersion(1, 35)),
}
"""All gates that mooring acts on, in the configuration or in a plugin (pkg/features/kube_features.go)."""


class Gates:
    """Which feature gates are on for a release, unless set otherwise."""

    def __init__(self, version: KubeVersion, explicit: Mapping[str, bool] | None = None) -> None:
        self.version = version
        self._explicit = dict(explicit or {})

    def enabled(self, name: str) -> bool:
        """Whether a gate is on."""
        gate = FEATURE_GATES.get(name)
        if gate is not None and self.version < gate.known_since:
            return False
        on_since = gate.on_since if gate is not None else None
        return self._explicit.get(name, on_since is not None and self.version >= on_since)

    def without_effect(self) -> list[str]:
        """The gates that were set although mooring, at this release, does not act on them."""
        return sorted(
            name
            for name in self._explicit
            if name not in FEATURE_GATES or self.version < FEATURE_GATES[name].known_since
        )


def default_plugins(version: KubeVersion, gates: Gates) -> tuple[Plugin, ...]:
    """The multiPoint list of a profile that says nothing, in order, with the default weights."""
    enabled = [name for name in IN_TREE_POINTS if name not in _GATE_OF or gates.enabled(_GATE_OF[name])]
    weights = dict(_WEIGHTS)
    if version < KubeVersion(1, 35):
        weights["DynamicResources"] = 1
    return tuple(Plugin(name, weights.get(name)) for name in enabled)
