"""Additions to the command line by a program that embeds it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mooring.framework import PluginFactory
    from mooring.runtime.profiles.registry import Registry

Option = Callable[["Registry"], None]
"""Changes the registry before the configuration is read."""


def with_plugin(name: str, factory: PluginFactory) -> Option:
    """Return an option for ``mooring.cli.main`` that registers a plugin, as ``app.WithPlugin`` does.

    The command fails when another plugin of that name exists, or the factory doesn't fit. An installed
    package may announce the same factory.
    """
    return lambda registry: registry.register(name, factory)
