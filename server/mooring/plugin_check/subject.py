"""The plugin that is judged, and engines that decide by it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mooring.app.engine import Core, build_core, registry_of
from mooring.app.options import EngineOptions
from mooring.cluster.kinds import ClusterObject
from mooring.config import from_document
from mooring.framework import Plugin, Pure
from mooring.framework.points import POINTS
from mooring.plugin_check.findings import Home, home_of
from mooring.plugin_hosts.rules import HostedRule
from mooring.runtime.profiles.profile import Profile
from mooring.runtime.profiles.registry import Registry

SOURCE = "check"

_SILENT = logging.getLogger("mooring.plugin_check")
_SILENT.disabled = True
"""The logger of the many objects that only answer questions."""

_EMPTY = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
_NEEDED = {
    "queueSort": {"enabled": [{"name": "PrioritySort"}]},
    "bind": {"enabled": [{"name": "DefaultBinder"}]},
}


@dataclass(frozen=True, slots=True)
class Subject:
    """The plugin that is judged. Its arguments are as in a configuration's ``pluginConfig``."""

    kind: type[Plugin[Any]]
    args: Mapping[str, Any]
    registry: Registry
    options: EngineOptions

    @classmethod
    def named(cls, reference: str, args: Mapping[str, Any], options: EngineOptions) -> Subject:
        """Return the plugin that MODULE:CLASS names, or the one of a host that NAME names. Raises
        RegistryError if there is none, it can't be loaded, or another plugin has its name.
        """
        registry, named = registry_of(options), Registry()
        if options.plugin_hosts and ":" not in reference:
            return cls(registry[reference].plugin_class(), args, registry, options)
        name = named.register_reference(reference)
        kind = named[name].plugin_class()
        if name not in registry or registry[name].factory() is not kind:
            registry.merge(named)
        return cls(kind, args, registry, options)

    @property
    def name(self) -> str:
        """The plugin's name."""
        return self.kind.name

    @property
    def pure(self) -> bool:
        """Whether it is ``Pure``."""
        return issubclass(self.kind, Pure)

    @property
    def home(self) -> Home:
        """The packages of the author."""
        return home_of(self.kind)

    @property
    def host(self) -> str:
        """The address of its host, which alone has its code; "" without one."""
        return self.kind.connection.options.address if issubclass(self.kind, HostedRule) else ""

    @property
    def declared(self) -> tuple[str, ...]:
        """The reads that a plugin of a host declares; () for other plugins, whose code shows them."""
        if not issubclass(self.kind, HostedRule):
            return ()
        return (*self.kind.description.pod_fields, *self.kind.description.node_columns)

    def alone(self, objects: Iterable[ClusterObject] = ()) -> Core:
        """Return an engine over ``objects`` that filters and scores by this plugin alone."""
        only = {"disabled": [{"name": "*"}], "enabled": [{"name": self.name}]}
        return self._core(objects, {"multiPoint": only, **_NEEDED})

    def among_defaults(self, objects: Iterable[ClusterObject]) -> Core:
        """Return an engine over ``objects`` with this plugin in the default profile."""
        return self._core(objects, {"multiPoint": {"enabled": [{"name": self.name}]}})

    def without(self, objects: Iterable[ClusterObject]) -> Core:
        """Return an engine over ``objects`` with the default profile."""
        return self._core(objects, {})

    def _core(self, objects: Iterable[ClusterObject], plugins: Mapping[str, Any]) -> Core:
        given = [{"name": self.name, "args": self.args}] if self.args and plugins else []
        document = {**_EMPTY, "profiles": [{"plugins": plugins, "pluginConfig": given}]}
        configuration = from_document(
            document,
            self.registry.catalog(),
            kube_version=self.options.kube_version,
            feature_gates=self.options.feature_gates,
        )
        core = build_core(replace(self.options, self_check_every=0), self.registry, configuration)
        core.state.replace(SOURCE, objects)
        return core

    def make(self, core: Core) -> Plugin[Any]:
        """Return a new object of the class, with nothing around it that keeps its answers."""
        handle = replace(core.builder.handle, logger=_SILENT)
        return self.kind(core.configuration.profiles[0].args.get(self.name), handle)


def profile_of(core: Core, plugin: Plugin[Any]) -> Profile:
    """Return the engine's profile with ``plugin`` itself in it, and nothing that keeps its answers."""
    base = core.engine.profile()
    own: dict[str, Any] = {
        point.attribute: tuple(
            replace(entry, plugin=plugin) if entry.name == plugin.name else entry for entry in base.at(name)
        )
        for name, point in POINTS.items()
    }
    return replace(base, **own)
