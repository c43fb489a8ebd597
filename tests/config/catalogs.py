"""Catalogs for tests: the in-tree plugins with their arguments, and whatever a test adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mooring.config import Catalog, PluginDescription
from mooring.framework.points import points_of
from mooring.plugins.default_preemption.args import DefaultPreemptionArgs
from mooring.plugins.dynamic_resources.args import DynamicResourcesArgs
from mooring.plugins.in_tree import IN_TREE, UPSTREAM
from mooring.plugins.inter_pod_affinity.args import InterPodAffinityArgs
from mooring.plugins.node_affinity.args import NodeAffinityArgs
from mooring.plugins.node_resources_balanced_allocation.args import NodeResourcesBalancedAllocationArgs
from mooring.plugins.node_resources_fit.args import NodeResourcesFitArgs
from mooring.plugins.pod_topology_spread.args import PodTopologySpreadArgs
from mooring.plugins.unsupported import UNSUPPORTED
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


_BUILT = {kind.name: tuple(points_of(kind)) for kind in IN_TREE}

IN_TREE_POINTS: dict[str, tuple[str, ...]] = {
    name: (_BUILT[name] if name in _BUILT else tuple(UNSUPPORTED[name].points)) + declared.more_points
    for name, declared in UPSTREAM.items()
}
"""Extension points of kube-scheduler's plugins, in the order of its default list."""


@dataclass(frozen=True)
class HelloWorldPluginArgs:
    """Arguments of mixed types."""

    xxx: str = ""
    yyy: str = ""
    zzz: int = 0


def in_tree() -> Catalog:
    """Return every plugin of kube-scheduler; those with arguments are supported, the others are not."""
    return with_plugins()


def _described() -> dict[str, PluginDescription]:
    args = {kind.__name__.removesuffix("Args"): kind for kind in IN_TREE_ARGS}
    return {
        name: PluginDescription(name, frozenset(points), args.get(name), in_tree=True, supported=name in args)
        for name, points in IN_TREE_POINTS.items()
    }


def plugin(name: str, *points: str, args: type[Any] | None = None) -> PluginDescription:
    """Return an out-of-tree plugin."""
    return PluginDescription(name, frozenset(points), args)


def with_plugins(*plugins: PluginDescription) -> Catalog:
    """Return the in-tree plugins and others."""
    return Catalog(_described() | {description.name: description for description in plugins}, UPSTREAM)


def seeds() -> Catalog:
    """Return the plugins that the published systems' configurations name."""
    return with_plugins(
        plugin("HelloWorldPlugin", "score", args=HelloWorldPluginArgs),
        plugin("example", "preFilter", "filter", "preBind"),
        plugin("nodeFilter", "filter"),
    )
