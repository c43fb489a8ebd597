"""Which plugins there are: name to factory, in-tree and out-of-tree.

Mirrors ``framework/runtime/registry.go``. Not for use from several threads at once.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, get_type_hints

from mooring.config.catalog import Catalog, PluginDescription
from mooring.framework import Plugin, PluginFactory
from mooring.framework.points import points_of
from mooring.plugins.in_tree import IN_TREE, UPSTREAM
from mooring.plugins.unsupported import UNSUPPORTED
from mooring.runtime.profiles.plugin_checks import PluginDefinitionError, check_plugin_class

ENTRY_POINT_GROUP = "mooring.plugins"
"""Where installed packages announce their plugins."""


class RegistryError(ValueError):
    """A name is registered twice or not at all, or a plugin can't be loaded."""


@dataclass(frozen=True, slots=True)
class Registration:
    """One name in the registry.

    Attributes:
        name: The plugin's name.
        source: Its origin, for people: ``in-tree``, ``in code``, a reference or a distribution.
        load: Gives the factory; imports the plugin's package when it is called for the first time.
        announced: Whether an installed package announces it; else it was named here, in code or by reference.
    """

    name: str
    source: str
    load: Callable[[], PluginFactory]
    announced: bool = False

    def plugin_class(self) -> type[Plugin[Any]]:
        """Return the class that the factory makes, checked against its extension points. Raises RegistryError
        if it can't be imported or doesn't say what it returns, and PluginDefinitionError if it doesn't fit
        its extension points.
        """
        kind = _made_class(self.name, self.factory())
        check_plugin_class(self.name, kind)
        return kind

    def repeats(self, other: Registration) -> bool:
        """Return whether both name one plugin, one of them as an installed package's entry point."""
        if self.announced == other.announced:
            return False
        try:
            return self.factory() is other.factory()
        except RegistryError:
            return False

    def factory(self) -> PluginFactory:
        """Import and return the factory; raises RegistryError, with the source and the cause, if it can't."""
        try:
            return self.load()
        except Exception as error:  # whatever a plugin's module raises is a fault of that plugin alone
            raise RegistryError(
                f"plugin {self.name!r} from {self.source} can't be loaded: {type(error).__name__}: {error}"
            ) from error


class Registry:
    """Plugin factories by name."""

    def __init__(self) -> None:
        self._entries: dict[str, Registration] = {}

    def register(self, name: str, factory: PluginFactory, *, source: str = "in code") -> None:
        """Add a plugin; the factory that an installed package announces by this name takes its place. Raises
        RegistryError if the name is taken, and PluginDefinitionError if the class doesn't fit its extension
        points.
        """
        check_plugin_class(name, _made_class(name, factory))
        self._add(Registration(name, source, lambda: factory))

    def register_reference(self, reference: str) -> str:
        """Add the plugin class that ``reference`` (``package.module:Class``) names; its name is returned.
        Raises RegistryError if the reference is malformed, can't be imported, or its name is taken.
        """
        module, _, attribute = reference.partition(":")
        if not module or not attribute:
            raise RegistryError(f"{reference!r} is not a plugin reference; write package.module:Class")
        try:
            kind = getattr(importlib.import_module(module), attribute)
        except Exception as error:  # as for entry points
            raise RegistryError(
                f"plugin {reference!r} can't be loaded: {type(error).__name__}: {error}"
            ) from error
        if not (isinstance(kind, type) and issubclass(kind, Plugin)) or not getattr(kind, "name", ""):
            raise RegistryError(f"{reference!r} is not a plugin class with a name")
        self.register(kind.name, kind, source=reference)
        return kind.name

    def register_entry_points(self) -> None:
        """Add what installed packages announce. They are imported only when a profile enables them. Raises
        RegistryError if a name is taken; the message names both sources.
        """
        for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name):
            self._add(Registration(point.name, _source_of(point), point.load, announced=True))

    def unregister(self, name: str) -> None:
        """Remove a plugin; raises RegistryError if there is no plugin of that name."""
        if self._entries.pop(name, None) is None:
            raise RegistryError(f"no plugin named {name} exists")

    def merge(self, other: Registry) -> None:
        """Add all plugins of ``other``; nothing is added when one name is taken. Raises RegistryError if a
        name is taken.
        """
        for entry in other:
            self._reject_taken(entry)
        for entry in other:
            self._add(entry)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[Registration]:
        return iter(self._entries.values())

    def __getitem__(self, name: str) -> Registration:
        if name not in self._entries:
            raise RegistryError(f"no plugin named {name} exists")
        return self._entries[name]

    def catalog(self) -> Catalog:
        """Return what the configuration needs to know of each plugin; a look-up imports it."""
        return Catalog(_Descriptions(self), UPSTREAM)

    def _add(self, entry: Registration) -> None:
        self._reject_taken(entry)
        self._entries[entry.name] = entry

    def _reject_taken(self, entry: Registration) -> None:
        taken = self._entries.get(entry.name)
        if taken is not None and not entry.repeats(taken):
            raise RegistryError(
                f"a plugin named {entry.name} already exists: one is {taken.source}, the other {entry.source}"
            )


def new_in_tree_registry() -> Registry:
    """Return a registry of the plugins that come with mooring."""
    registry = Registry()
    for kind in IN_TREE:
        registry.register(kind.name, kind, source="in-tree")
    return registry


def installed_registry() -> Registry:
    """Return a registry of mooring's plugins and of those that installed packages announce. Raises
    RegistryError if two have the same name.
    """
    registry = new_in_tree_registry()
    registry.register_entry_points()
    return registry


class _Descriptions(Mapping[str, PluginDescription]):
    """The registry and the in-tree plugins that are not built, described on demand."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[str, PluginDescription] = {}

    def __getitem__(self, name: str) -> PluginDescription:
        if name not in self._known:
            self._known[name] = self._describe(name)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([entry.name for entry in self._registry] + list(UNSUPPORTED)))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self._registry or name in UNSUPPORTED

    def _describe(self, name: str) -> PluginDescription:
        if name in self._registry:
            entry = self._registry[name]
            kind = entry.plugin_class()
            in_tree = entry.source == "in-tree"
            return PluginDescription(name, frozenset(points_of(kind)), kind.Args, in_tree, supported=True)
        if name in UNSUPPORTED:
            missing = UNSUPPORTED[name]
            return PluginDescription(name, missing.points, None, in_tree=True, supported=False)
        raise KeyError(name)


def _made_class(name: str, factory: PluginFactory) -> type[Plugin[Any]]:
    """Return the plugin class that ``factory`` makes: itself, or the return type of the function."""
    made: object = factory
    if inspect.isroutine(factory):
        made = get_type_hints(factory).get("return")
    if isinstance(made, type) and issubclass(made, Plugin):
        return made
    raise PluginDefinitionError(
        f"plugin {name!r}: a factory is a plugin class, or a function whose return annotation is one"
    )


def _source_of(point: EntryPoint) -> str:
    distribution = point.dist
    origin = f"{distribution.name} {distribution.version}" if distribution else "an unnamed distribution"
    return f"{origin} ({point.value})"
