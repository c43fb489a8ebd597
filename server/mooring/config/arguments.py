"""A profile's pluginConfig: each plugin's arguments, decoded into the plugin's own dataclass.

Mirrors the decoding of nested objects in ``k8s.io/kube-scheduler/config/v1/types.go``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import PydanticUserError

from mooring.config.catalog import Catalog, PluginDescription
from mooring.config.expand import enabled_names
from mooring.config.fields import GATES, decode, join, names
from mooring.config.types import API_VERSION, ExtenderStanza, PluginConfig, ProfileStanza
from mooring.framework import FieldError, Gates

FIT = "NodeResourcesFit"
"""The one plugin whose arguments extenders change."""

_TYPE_FIELDS = ("apiVersion", "kind")


def decode_arguments(
    profile: ProfileStanza, path: str, catalog: Catalog, gates: Gates
) -> tuple[ProfileStanza, list[FieldError]]:
    """Return the profile with typed arguments.

    Entries of plugins without an Args class, and of plugins that are not in the catalog, stay as written.
    """
    errors: list[FieldError] = []
    entries = []
    for index, entry in enumerate(profile.plugin_config):
        plugin = catalog.get(entry.name)
        if plugin is not None and plugin.args is not None:
            where = join(path, "pluginConfig", index, "args")
            args, found = _decode(plugin, entry.args, where, gates)
            errors += found
            entry = PluginConfig(entry.name, args)  # noqa: PLW2901
        entries.append(entry)
    return dataclasses.replace(profile, plugin_config=tuple(entries)), errors


def with_default_arguments(
    profile: ProfileStanza, path: str, catalog: Catalog, gates: Gates
) -> tuple[ProfileStanza, list[FieldError]]:
    """Return the profile with an entry for each of its enabled plugins that takes arguments, in name order.

    Entries of plugins that the profile does not enable are left out: nothing reads them. A plugin whose
    arguments have no defaults is a fault when the profile gives none.
    """
    errors: list[FieldError] = []
    given = {entry.name: entry for entry in profile.plugin_config}
    entries = []
    for name in sorted(enabled_names(profile.plugins)):
        plugin = catalog[name]
        if name in given and given[name].args is not None:
            entries.append(given[name])
        elif plugin.args is not None:
            args, found = _decode(plugin, {}, join(path, f"pluginConfig[{name}]", "args"), gates)
            entries.append(PluginConfig(name, args))
            errors += found
    return dataclasses.replace(profile, plugin_config=tuple(entries)), errors


def ignored_resources(extenders: Sequence[ExtenderStanza]) -> tuple[str, ...]:
    """Return the resources that extenders look after in NodeResourcesFit's stead."""
    return tuple(
        resource.name
        for extender in extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )


def ignoring(profile: ProfileStanza, resources: tuple[str, ...]) -> ProfileStanza:
    """Return the profile whose NodeResourcesFit ignores these resources, and no others that the file may
    name.

    Mirrors ``buildExtenders`` in ``pkg/scheduler/scheduler.go``.
    """
    entries = (
        PluginConfig(entry.name, dataclasses.replace(entry.args, ignored_resources=resources))
        if entry.name == FIT and entry.args is not None
        else entry
        for entry in profile.plugin_config
    )
    return dataclasses.replace(profile, plugin_config=tuple(entries))


def _decode(plugin: PluginDescription, given: Any, path: str, gates: Gates) -> tuple[Any, list[FieldError]]:
    document = {} if given is None else given
    if not isinstance(document, dict):
        return None, [FieldError(path, "should be a mapping")]
    errors = list(_type_errors(plugin, document, path))
    fields = {key: value for key, value in document.items() if key not in _TYPE_FIELDS and value is not None}
    assert plugin.args is not None  # noqa: S101  # the caller asks for plugins with arguments alone
    try:
        args, found = decode(plugin.args, fields, path)
    except (PydanticUserError, NameError) as error:
        return None, [FieldError(path, f"{plugin.args.__name__} cannot be read from a file: {error}")]
    errors += found
    if args is None:
        return None, errors
    errors += [
        FieldError(join(path, alias), message) for alias, message in _gate_errors(args, set(fields), gates)
    ]
    args = _gated(args, set(fields), gates)
    if hasattr(args, "validate"):
        faults = (FieldError(_below(path, error.path), error.message) for error in args.validate())
        reported = {error.path for error in errors}
        errors += [error for error in faults if error.path not in reported]
    return args, errors


def _type_errors(plugin: PluginDescription, document: dict[str, Any], path: str) -> Iterator[FieldError]:
    kind, version = document.get("kind"), document.get("apiVersion")
    if kind not in (None, f"{plugin.name}Args"):
        yield FieldError(join(path, "kind"), f"should be {plugin.name}Args, not {kind!r}")
    if plugin.in_tree and version not in (None, API_VERSION):
        yield FieldError(join(path, "apiVersion"), f"should be {API_VERSION}, not {version!r}")


def _gate_errors(args: Any, given: set[str], gates: Gates) -> Iterator[tuple[str, str]]:
    aliases = dict(names(type(args)))
    for name, needed in _closed(args, gates):
        if aliases[name] in given:
            yield aliases[name], f"needs the feature gate {' and '.join(needed)}, which is off"


def _gated(args: Any, given: set[str], gates: Gates) -> Any:
    """Return the arguments without the defaults of features that are off."""
    aliases = dict(names(type(args)))
    off = {name: None for name, _ in _closed(args, gates) if aliases[name] not in given}
    return dataclasses.replace(args, **off) if off else args


def _closed(args: Any, gates: Gates) -> Iterator[tuple[str, tuple[str, ...]]]:
    for field in dataclasses.fields(args):
        needed = field.metadata.get(GATES, ())
        if not all(map(gates.enabled, needed)):
            yield field.name, needed


def _below(path: str, inner: str) -> str:
    return path if not inner else f"{path}{inner}" if inner.startswith("[") else f"{path}.{inner}"
