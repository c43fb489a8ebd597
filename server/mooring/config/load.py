"""From the text of a KubeSchedulerConfiguration to the plugins that run."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypedDict, Unpack

from mooring.config.advice import advise, advise_on_gates, differing_defaults
from mooring.config.arguments import (
    decode_arguments,
    ignored_resources,
    ignoring,
    with_default_arguments,
)
from mooring.config.catalog import Catalog
from mooring.config.configuration import Configuration, EffectiveProfile
from mooring.config.defaults import default_plugins, with_defaults
from mooring.config.documents import read_configuration
from mooring.config.errors import ConfigError
from mooring.config.expand import EnabledPlugin, enabled_names, expand
from mooring.config.fields import decode, encode, join
from mooring.config.lines import lines_of
from mooring.config.types import (
    API_VERSION,
    KIND,
    KubeSchedulerConfiguration,
    PluginHostStanza,
    ProfileStanza,
)
from mooring.config.unknown import (
    removed_plugins,
    stub_notes,
    unknown_faults,
    unknown_plugins,
    without_removed_plugins,
    without_unknown,
)
from mooring.config.validation import check_document, check_gates, check_profile, check_profiles
from mooring.config.versions import as_v1, version_notes
from mooring.framework import FieldError, Gates, KubeVersion
from mooring.framework.releases import DEFAULT_KUBE_VERSION


class Reading(TypedDict, total=False):
    """How a configuration is read.

    Attributes:
        kube_version: The release whose defaults hold, such as ``1.36``; default the newest that is followed.
        feature_gates: Gates that differ from that release's defaults.
        strict: Reject what a current kube-scheduler rejects: older versions and removed plugins.
        scheduling: ``mooring scheduler`` reads it: no warning of the fields that only it acts on.
        stubs: Skip unknown plugins, and note them in the profiles; nothing may be committed
            with such a profile.
    """

    kube_version: str
    feature_gates: Mapping[str, bool] | None
    strict: bool
    scheduling: bool
    stubs: bool


def load(text: str, catalog: Catalog, **reading: Unpack[Reading]) -> Configuration:
    """Read a configuration file.

    Args:
        text: YAML or JSON of a KubeSchedulerConfiguration, v1 or an older version, by itself or in a
            ConfigMap.
        catalog: The plugins that it may name.
        reading: See ``Reading``.

    Raises:
        ConfigError: The file has faults; the error names every one.
        ValueError: ``kube_version`` is not a release that mooring follows.
    """
    document = read_configuration(text)
    try:
        return from_document(document, catalog, **reading)
    except ConfigError as error:
        raise ConfigError(error.errors, lines_of(text, (each.path for each in error.errors))) from error


def plugin_hosts(text: str) -> tuple[PluginHostStanza, ...]:
    """Return the hosts that a file names, whose plugins have to be known before it can be loaded. Raises
    ConfigError if it can't be read, or a host is not written as one.
    """
    document = read_configuration(text)
    listed = document.get("pluginHosts") if isinstance(document, dict) else None
    written, errors = decode(KubeSchedulerConfiguration, {"pluginHosts": listed}, "")
    if written is None or errors:
        raise ConfigError(errors, lines_of(text, (each.path for each in errors)))
    return written.plugin_hosts


def check(
    text: str, catalog: Catalog, **reading: Unpack[Reading]
) -> tuple[tuple[FieldError, ...], tuple[str, ...]]:
    """Return what ``load`` would complain about: the errors and, when there are none, the warnings."""
    try:
        loaded = load(text, catalog, **reading)
    except ConfigError as error:
        return tuple(error.errors), ()
    return (), loaded.warnings


def default(
    catalog: Catalog,
    *,
    kube_version: str = DEFAULT_KUBE_VERSION,
    feature_gates: Mapping[str, bool] | None = None,
) -> Configuration:
    """Return the configuration that holds without a file: one profile, ``default-scheduler``.

    Its warnings are those about ``feature_gates`` alone.
    """
    document = {"apiVersion": API_VERSION, "kind": KIND}
    loaded = from_document(document, catalog, kube_version=kube_version, feature_gates=feature_gates)
    gates = Gates(KubeVersion.parse(kube_version), feature_gates)
    return dataclasses.replace(loaded, warnings=tuple(advise_on_gates(gates)))


def from_document(document: object, catalog: Catalog, **reading: Unpack[Reading]) -> Configuration:
    """As ``load``, from a document that is already read."""
    kube_version, strict = reading.get("kube_version", DEFAULT_KUBE_VERSION), reading.get("strict", False)
    feature_gates = reading.get("feature_gates")
    version = KubeVersion.parse(kube_version)
    gates = Gates(version, feature_gates)
    catalog = catalog.of_release(version)
    current, notes = as_v1(document, strict=strict)
    written, errors = _decode(current, catalog, gates)
    errors += check_gates(gates)
    removed = list(removed_plugins(written.profiles))
    errors += removed if strict else ()
    for index, profile in enumerate(written.profiles):
        errors += check_profile(profile, join("profiles", index), catalog)
    unknown = unknown_plugins(written.profiles, catalog)
    if not reading.get("stubs", False):
        errors += unknown_faults(unknown, catalog)
    notes = (
        *version_notes(document),
        *notes,
        *map(str, removed),
        *stub_notes(unknown, catalog),
        *advise(current, written, catalog, scheduling=reading.get("scheduling", False)),
        *advise_on_gates(gates),
    )
    kept = (without_unknown(without_removed_plugins(profile), unknown) for profile in written.profiles)
    known = dataclasses.replace(written, profiles=tuple(kept))
    complete = with_defaults(known, default_plugins(catalog, version, gates))
    points = [expand(profile.plugins, catalog) for profile in complete.profiles]
    errors += _unreported((*check_document(complete), *check_profiles(complete, points)), errors)
    if errors:
        raise ConfigError(errors)
    complete = _with_all_arguments(complete, catalog, gates)
    profiles = _effective_profiles(complete, points, written, catalog, unknown)
    return Configuration(
        document=complete,
        profiles=profiles,
        lease_name=written.leader_election.resource_name or None,
        warnings=notes,
        differences=differing_defaults(written),
        hash=_hash(complete, profiles, kube_version, feature_gates),
    )


def _decode(
    document: dict[str, Any], catalog: Catalog, gates: Gates
) -> tuple[KubeSchedulerConfiguration, list[FieldError]]:
    """Return the typed document with typed arguments, as far as it can be read, and what is wrong with it."""
    written, errors = decode(KubeSchedulerConfiguration, document, "")
    if written is None:
        raise ConfigError(errors)
    profiles = []
    for index, profile in enumerate(written.profiles):
        typed, found = decode_arguments(profile, join("profiles", index), catalog, gates)
        profiles.append(typed)
        errors += found
    return dataclasses.replace(written, profiles=tuple(profiles)), errors


def _unreported(found: Iterable[FieldError], errors: list[FieldError]) -> list[FieldError]:
    """Return the faults of fields that have none yet: a faulty field, left out, is not missing too."""
    reported = {error.path for error in errors}
    return [error for error in found if error.path not in reported]


def _with_all_arguments(
    document: KubeSchedulerConfiguration, catalog: Catalog, gates: Gates
) -> KubeSchedulerConfiguration:
    """Return every plugin's arguments, and in NodeResourcesFit's the resources that extenders took over."""
    ignored = ignored_resources(document.extenders)
    profiles, errors = [], []
    for index, given in enumerate(document.profiles):
        profile, found = with_default_arguments(given, join("profiles", index), catalog, gates)
        profiles.append(ignoring(profile, ignored) if ignored else profile)
        errors += found
    if errors:
        raise ConfigError(errors)
    return dataclasses.replace(document, profiles=tuple(profiles))


def _effective_profiles(
    complete: KubeSchedulerConfiguration,
    points: Sequence[Mapping[str, tuple[EnabledPlugin, ...]]],
    given: KubeSchedulerConfiguration,
    catalog: Catalog,
    unknown: Collection[str],
) -> tuple[EffectiveProfile, ...]:
    """Return the profiles; ``given`` are the ones in the file, with the unknown plugins."""
    stubbed = [enabled_names(profile.plugins) & set(unknown) for profile in given.profiles] or [set()]
    return tuple(
        _effective(profile, expanded, given, catalog, not_evaluated)
        for profile, expanded, not_evaluated in zip(complete.profiles, points, stubbed, strict=True)
    )


def _effective(
    profile: ProfileStanza,
    points: Mapping[str, tuple[EnabledPlugin, ...]],
    written: KubeSchedulerConfiguration,
    catalog: Catalog,
    not_evaluated: Collection[str],
) -> EffectiveProfile:
    percentage = profile.percentage_of_nodes_to_score
    return EffectiveProfile(
        scheduler_name=profile.scheduler_name or "",
        plugins=points,
        args={entry.name: entry.args for entry in profile.plugin_config},
        percentage_of_nodes_to_score=written.percentage_of_nodes_to_score
        if percentage is None
        else percentage,
        unsupported=tuple(
            name for name in sorted(enabled_names(profile.plugins)) if not catalog[name].supported
        ),
        not_evaluated=tuple(sorted(not_evaluated)),
    )


def _hash(
    document: KubeSchedulerConfiguration,
    profiles: tuple[EffectiveProfile, ...],
    kube_version: str,
    feature_gates: Mapping[str, bool] | None,
) -> str:
    content = [encode(document), encode(profiles), kube_version, dict(feature_gates or {})]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
