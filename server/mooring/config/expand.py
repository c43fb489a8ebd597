"""Which plugins run at each point: merging with the defaults and expanding multiPoint.

Mirrors ``mergePluginSet`` in ``pkg/scheduler/apis/config/v1/default_plugins.go`` and
``expandMultiPointPlugins`` in ``pkg/scheduler/framework/runtime/framework.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mooring.config.catalog import MULTI_POINT, POINTS, Catalog
from mooring.config.types import ListedPlugin, PluginSet, Section

ALL = "*"
"""In ``disabled``: every plugin that is on by default."""

Sections = Mapping[Section, PluginSet]
_NOTHING = PluginSet()


@dataclass(frozen=True, slots=True)
class EnabledPlugin:
    """A plugin at one point of a profile.

    Attributes:
        name: The plugin.
        weight: The factor of its normalised score, 1 or more; 0 at points that do not score.
    """

    name: str
    weight: int


def merge(defaults: PluginSet, custom: PluginSet) -> PluginSet:
    """Put a section of the file over the default one.

    A default that is listed again keeps its place and takes the file's weight; what the file adds comes
    after the defaults. A name both disabled and enabled therefore moves to the end.
    """
    disabled = {plugin.name for plugin in custom.disabled}
    listed = {plugin.name: plugin for plugin in custom.enabled}
    kept = [] if ALL in disabled else [plugin for plugin in defaults.enabled if plugin.name not in disabled]
    replaced = {plugin.name for plugin in kept if plugin.name in listed}
    return PluginSet(
        enabled=(
            *(listed.get(plugin.name, plugin) for plugin in kept),
            *(plugin for plugin in custom.enabled if plugin.name not in replaced),
        ),
        disabled=tuple(ListedPlugin(plugin.name) for plugin in (*custom.disabled, *defaults.disabled)),
    )


def merge_sections(defaults: Sections, custom: Sections) -> dict[Section, PluginSet]:
    """Return all sections of a profile over the default ones."""
    return {name: merge(plugins, custom.get(name, _NOTHING)) for name, plugins in defaults.items()}


def expand(sections: Sections, catalog: Catalog) -> dict[str, tuple[EnabledPlugin, ...]]:
    """Return the plugins of each point in the order in which they run. ``sections`` are those of a profile,
    merged; names that the catalog lacks are passed over.

    Returns:
        Every point of ``POINTS``. At a point, plugins that the point lists over multiPoint come first, then
        those of multiPoint alone, then those of the point alone. A multiPoint plugin is left out where it has
        no method, where the point disables it, and wherever the point disables ``*``.
    """
    everywhere = sections.get(MULTI_POINT, _NOTHING).enabled
    return {point: _at(point, sections.get(point, _NOTHING), everywhere, catalog) for point in POINTS}


def enabled_names(sections: Sections) -> set[str]:
    """Return the plugins that any section enables."""
    return {plugin.name for section in sections.values() for plugin in section.enabled}


def _at(
    point: str, section: PluginSet, everywhere: tuple[ListedPlugin, ...], catalog: Catalog
) -> tuple[EnabledPlugin, ...]:
    disabled = {plugin.name for plugin in section.disabled}
    own = [plugin for plugin in section.enabled if _has(plugin, point, catalog)]
    candidates = [
        plugin
        for plugin in everywhere
        if ALL not in disabled and plugin.name not in disabled and _has(plugin, point, catalog)
    ]
    shared = {plugin.name for plugin in candidates}
    listed = {plugin.name for plugin in own}
    order = (
        *(plugin for plugin in own if plugin.name in shared),
        *(plugin for plugin in candidates if plugin.name not in listed),
        *(plugin for plugin in own if plugin.name not in shared),
    )
    scores = point in {"score", "placementScore"}
    return tuple(EnabledPlugin(plugin.name, (plugin.weight or 1) if scores else 0) for plugin in order)


def _has(plugin: ListedPlugin, point: str, catalog: Catalog) -> bool:
    known = catalog.get(plugin.name)
    return known is not None and point in known.points
