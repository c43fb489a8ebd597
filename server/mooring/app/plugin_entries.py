"""Every plugin that a server knows, for people and for the PluginService."""

from __future__ import annotations

from collections.abc import Iterator

from mooring.config import POINTS
from mooring.framework.points import points_of
from mooring.plugins.unsupported import UNSUPPORTED
from mooring.runtime.profiles.plugin_checks import PluginDefinitionError
from mooring.runtime.profiles.registry import Registry, RegistryError
from mooring.service.backend import PluginEntry


def plugin_entries(registry: Registry) -> Iterator[PluginEntry]:
    """Every plugin that there is, those that can't be loaded or aren't built included."""
    for registration in registry:
        try:
            points = tuple(points_of(registration.plugin_class()))
        except (RegistryError, PluginDefinitionError) as error:
            yield PluginEntry(registration.name, (), registration.source, load_error=str(error))
        else:
            yield PluginEntry(registration.name, points, registration.source)
    for name, missing in UNSUPPORTED.items():
        if name not in registry:
            yield PluginEntry(
                name, tuple(filter(missing.points.__contains__, POINTS)), "in-tree", supported=False
            )
