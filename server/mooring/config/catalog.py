"""Facts about plugins for the configuration; the caller passes them in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mooring.framework.points import POINTS as IMPLEMENTED
from mooring.framework.releases import KubeVersion
from mooring.framework.upstream import Upstream

POINTS = tuple(IMPLEMENTED)
"""Every extension point that a profile may list plugins at, spelt as in the file."""

MULTI_POINT = "multiPoint"
"""The section whose plugins serve every point that they implement."""

REMOVED = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})
"""Plugins of older releases whose work NodeVolumeLimits does now; a current kube-scheduler rejects them."""


@dataclass(frozen=True, slots=True)
class PluginDescription:
    """A plugin, as configuration files see it.

    Attributes:
        name: The name in the file.
        points: The extension points it implements, out of ``POINTS``.
        args: The dataclass of its arguments; None when it takes none, or takes them as written.
        in_tree: Whether the plugin is mooring's own.
        supported: False for an in-tree plugin that is accepted by name only.
    """

    name: str
    points: frozenset[str]
    args: type[Any] | None = None
    in_tree: bool = False
    supported: bool = True


class Catalog(Mapping[str, PluginDescription]):
    """The plugins that a configuration may name, by name.

    A plugin is described when it is looked up: one whose import fails breaks no configuration without it.

    Attributes:
        upstream: How kube-scheduler ships those of its plugins that it ships, in its order.
        points: The extension points that the release's files have.
    """

    def __init__(
        self,
        plugins: Mapping[str, PluginDescription],
        upstream: Mapping[str, Upstream],
        version: KubeVersion | None = None,
    ) -> None:
        """``version`` leaves out what came later; None = nothing."""
        self.upstream = upstream
        self.points = [name for name, point in IMPLEMENTED.items() if not _later(point.since, version)]
        self._plugins = plugins
        self._version = version
        self._described: dict[str, PluginDescription] = {}
        self._releases: dict[KubeVersion, Catalog] = {}

    def of_release(self, version: KubeVersion) -> Catalog:
        """Return the same without the plugins and extension points that came after a release."""
        if version not in self._releases:
            self._releases[version] = Catalog(self._plugins, self.upstream, version)
        return self._releases[version]

    def may_list(self, name: str, point: str) -> bool:
        """Return whether a file may list a known plugin at a point.

        A plugin of kube-scheduler may be listed at all points of kube-scheduler's, also at those where
        mooring's needs no method; at a point of a later release it is ignored.
        """
        plugin = self._plugins[name]
        return point in plugin.points or (
            plugin.in_tree and name in self.upstream and point in self.upstream[name].more_points
        )

    def __contains__(self, name: object) -> bool:
        return name in self._plugins and not _later(self._since(name), self._version)

    def __getitem__(self, name: str) -> PluginDescription:
        described = self._described.get(name)
        if described is None:
            described = self._described[name] = self._describe(name)
        return described

    def __iter__(self) -> Iterator[str]:
        return filter(self.__contains__, self._plugins)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _describe(self, name: str) -> PluginDescription:
        if name not in self:
            raise KeyError(name)
        plugin = self._plugins[name]
        points = plugin.points.intersection(self.points)
        if name in self.upstream:
            since = self.upstream[name].points_since
            points = points.difference(point for point in since if _later(since[point], self._version))
        return replace(plugin, points=points)

    def _since(self, name: object) -> KubeVersion | None:
        known = self.upstream.get(name) if isinstance(name, str) else None
        return known.since if known is not None else None


def _later(since: KubeVersion | None, version: KubeVersion | None) -> bool:
    """Return whether something came after a release."""
    return version is not None and since is not None and version < since
