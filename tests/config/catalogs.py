"""Catalogs for tests: the in-tree plugins with their arguments, and whatever a test adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mooring.config import Catalog, PluginDescription
from mooring.config.in_tree import IN_TREE_POINTS
from mooring.plugins.default_preemption.args import DefaultPreemptionArgs
from mooring.plugins.dynamic_resources.args import DynamicResourcesArgs
from mooring.plugins.inter_pod_affinity.args import InterPodAffinityArgs
from mooring.plugins.node_affinity.args import NodeAffinityArgs
from mooring.plugins.node_resources_balanced_allocation.args import NodeResourcesBalancedAllocationArgs
from mooring.plugins.node_resources_fit.args import NodeResourcesFitArgs
from mooring.plugins.pod_topology_spread.args import PodTopologySpreadArgs
from mooring.plugins.volume_binding.args import VolumeBindingArgs

IN_TREE_ARGS: tuple[type[Any], ...] = (
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    VolumeBindingArgs,
)


@dataclass(frozen=True)
class HelloWorldPluginArgs:
    """Arguments of mixed types."""

    xxx: str = ""
    yyy: str = ""
    zzz: int = 0


def in_tree() -> dict[str, PluginDescription]:
    """Every in-tree plugin; those with arguments are supported, the others are not."""
    args = {kind.__name__.removesuffix("Args"): kind for kind in IN_TREE_ARGS}
    return {
        name: PluginDescription(name, frozenset(points), args.get(name), in_tree=True, supported=name in args)
        for name, points in IN_TREE_POINTS.items()
    }


def plugin(name: str, *points: str, args: type[Any] | None = None) -> PluginDescription:
    """An out-of-tree plugin."""
    return PluginDescription(name, frozenset(points), args)


def with_plugins(*plugins: PluginDescription) -> Catalog:
    """The in-tree plugins and others."""
    return in_tree() | {description.name: description for description in plugins}


def seeds() -> Catalog:
    """What the published systems' configurations name."""
    return with_plugins(
        plugin("HelloWorldPlugin", "score", args=HelloWorldPluginArgs),
        plugin("example", "preFilter", "filter", "preBind"),
        plugin("nodeFilter", "filter"),
    )
