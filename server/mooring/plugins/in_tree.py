"""The plugins that every registry starts with, and how kube-scheduler ships its own among them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mooring.framework import Plugin
from mooring.framework.upstream import Upstream
from mooring.plugins.default_binder.plugin import DefaultBinder
from mooring.plugins.default_preemption.plugin import DefaultPreemption
from mooring.plugins.dynamic_resources.plugin import DynamicResources
from mooring.plugins.gang_scheduling.plugin import GangScheduling
from mooring.plugins.hello_world_plugin.plugin import HelloWorldPlugin
from mooring.plugins.image_locality.plugin import ImageLocality
from mooring.plugins.inter_pod_affinity.plugin import InterPodAffinity
from mooring.plugins.network_traffic.plugin import NetworkTraffic
from mooring.plugins.node_affinity.plugin import NodeAffinity
from mooring.plugins.node_declared_features.plugin import NodeDeclaredFeatures
from mooring.plugins.node_filter.plugin import NodeFilter
from mooring.plugins.node_name.plugin import NodeName
from mooring.plugins.node_ports.plugin import NodePorts
from mooring.plugins.node_resources_balanced_allocation.plugin import NodeResourcesBalancedAllocation
from mooring.plugins.node_resources_fit.plugin import NodeResourcesFit
from mooring.plugins.node_unschedulable.plugin import NodeUnschedulable
from mooring.plugins.node_volume_limits.plugin import NodeVolumeLimits
from mooring.plugins.pod_group_pods_count.plugin import PodGroupPodsCount
from mooring.plugins.pod_topology_spread.plugin import PodTopologySpread
from mooring.plugins.priority_sort.plugin import PrioritySort
from mooring.plugins.scheduling_gates.plugin import SchedulingGates
from mooring.plugins.taint_toleration.plugin import TaintToleration
from mooring.plugins.topology_placement_generator.plugin import TopologyPlacementGenerator
from mooring.plugins.underlay_ip.plugin import UnderlayIP
from mooring.plugins.unsupported import UNSUPPORTED
from mooring.plugins.volume_binding.plugin import VolumeBinding
from mooring.plugins.volume_restrictions.plugin import VolumeRestrictions
from mooring.plugins.volume_zone.plugin import VolumeZone

IN_TREE: tuple[type[Plugin[Any]], ...] = (
    SchedulingGates,
    PrioritySort,
    NodeUnschedulable,
    NodeName,
    TaintToleration,
    NodeAffinity,
    NodePorts,
    NodeResourcesFit,
    VolumeRestrictions,
    NodeVolumeLimits,
    VolumeBinding,
    VolumeZone,
    PodTopologySpread,
    InterPodAffinity,
    DynamicResources,
    DefaultPreemption,
    NodeResourcesBalancedAllocation,
    ImageLocality,
    DefaultBinder,
    NodeDeclaredFeatures,
    GangScheduling,
    TopologyPlacementGenerator,
    PodGroupPodsCount,
    NodeFilter,
    NetworkTraffic,
    HelloWorldPlugin,
    UnderlayIP,
)
"""kube-scheduler's own first, in its order; then those of other systems."""

_BUILT = {kind.name: getattr(kind, "upstream", None) for kind in IN_TREE}

UPSTREAM: Mapping[str, Upstream] = {
    **{name: declared for name, declared in _BUILT.items() if isinstance(declared, Upstream)},
    **{name: missing.upstream for name, missing in UNSUPPORTED.items()},
}
"""How kube-scheduler ships its plugins, in the order of its default list; what is not built comes last."""
