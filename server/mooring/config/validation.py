"""The rules that a configuration has to keep beyond the types of its fields.

Mirrors ``pkg/scheduler/apis/config/validation/validation.go`` and the checks that ``NewFramework`` in
``pkg/scheduler/framework/runtime/framework.go`` makes. Everything here yields faults, so that a user sees all
of them at once. (The sum of the weights cannot pass an int64, since each weight is an int32.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

from mooring.config.arguments import FIT, ignored_resources
from mooring.config.catalog import MULTI_POINT, REMOVED, Catalog
from mooring.config.expand import EnabledPlugin, enabled_names
from mooring.config.fields import join
from mooring.config.types import (
    ExtenderStanza,
    KubeSchedulerConfiguration,
    LeaderElectionConfiguration,
    ListedPlugin,
    PluginSet,
    ProfileStanza,
)
from mooring.framework import FieldError, Gates
from mooring.framework.names import is_qualified_name
from mooring.framework.releases import FEATURE_GATES
from mooring.framework.resources import is_extended_resource


def check_gates(gates: Gates) -> Iterator[FieldError]:
    """Feature gates that can't be set so, in kube-scheduler or here."""
    for name in gates.locked():
        yield FieldError(
            f"feature-gates.{name}",
            f"can't be false: Kubernetes {gates.version} locks it to true",
        )
    for name, needed in gates.unmet():
        yield FieldError(f"feature-gates.{name}", f"can't be true without {needed}=true")
    for name, followed in gates.not_followed():
        value, leave = str(not followed).lower(), str(followed).lower()
        gate = FEATURE_GATES[name]
        why, instead = f" ({gate.lacking})" if gate.lacking else "", ""
        if gate.followed_since is not None:
            instead = f", or follow Kubernetes {gate.followed_since} (--kube-version)"
        yield FieldError(
            f"feature-gates.{name}",
            f"{value} is not supported for Kubernetes {gates.version}{why}; leave it {leave}{instead}",
        )


def check_document(document: KubeSchedulerConfiguration) -> Iterator[FieldError]:
    """Faults outside the profiles, of a document with its defaults."""
    if (document.client_connection.burst or 0) < 0:
        yield FieldError("clientConnection.burst", "must not be negative")
    yield from _check_leader_election(document.leader_election)
    if (document.parallelism or 0) <= 0:
        yield FieldError("parallelism", "must be greater than 0")
    yield from _check_percentage("percentageOfNodesToScore", document.percentage_of_nodes_to_score)
    initial, longest = document.pod_initial_backoff_seconds or 0, document.pod_max_backoff_seconds or 0
    if initial <= 0:
        yield FieldError("podInitialBackoffSeconds", "must be greater than 0")
    if longest < initial:
        yield FieldError("podMaxBackoffSeconds", "must not be less than podInitialBackoffSeconds")
    yield from _check_extenders(document.extenders)
    for index, host in enumerate(document.plugin_hosts):
        for name, seconds in ("evaluateTimeout", host.evaluate_timeout), ("actTimeout", host.act_timeout):
            if seconds <= timedelta(0):
                yield FieldError(join("pluginHosts", index, name), "must be greater than 0")
    yield from _check_profile_names(document.profiles)


def check_profile(profile: ProfileStanza, path: str, catalog: Catalog) -> Iterator[FieldError]:
    """Faults of one profile as it was written."""
    where = join(path, "percentageOfNodesToScore")
    yield from _check_percentage(where, profile.percentage_of_nodes_to_score)
    for section, plugins in profile.plugins.items():
        if section not in (MULTI_POINT, *catalog.points):
            yield FieldError(join(path, "plugins", section), "is not part of the selected Kubernetes release")
        yield from _check_enabled(section, plugins, join(path, "plugins", section, "enabled"), catalog)
    seen: set[str] = set()
    for index, entry in enumerate(profile.plugin_config):
        if entry.name in seen:
            yield FieldError(join(path, "pluginConfig", index), f"a second entry for plugin {entry.name}")
        seen.add(entry.name)


def check_profiles(
    document: KubeSchedulerConfiguration, points: Sequence[Mapping[str, Sequence[EnabledPlugin]]]
) -> Iterator[FieldError]:
    """Faults that only show once multiPoint is expanded. The document has its defaults; ``points`` has the
    plugins of each profile by point.
    """
    takes_over = bool(ignored_resources(document.extenders))
    for index, profile in enumerate(document.profiles):
        path = join("profiles", index)
        yield from _check_expanded(points[index], join(path, "plugins"))
        configured = {entry.name for entry in profile.plugin_config} | enabled_names(profile.plugins)
        if takes_over and FIT not in configured:
            yield FieldError(path, f"an extender has ignoredByScheduler resources, so {FIT} must be enabled")
        if index:
            yield from _check_queue_sort(document.profiles, points, index)


def _check_expanded(points: Mapping[str, Sequence[EnabledPlugin]], path: str) -> Iterator[FieldError]:
    sorters = [plugin.name for plugin in points["queueSort"]]
    if len(sorters) != 1:
        found = ", ".join(sorters) or "none"
        yield FieldError(join(path, "queueSort"), f"exactly one queueSort plugin is needed, found {found}")
    if not points["bind"]:
        yield FieldError(join(path, "bind"), "at least one bind plugin is needed")
    if len(points["placementGenerate"]) > 1:
        yield FieldError(join(path, "placementGenerate"), "at most one placementGenerate plugin may run")


def _check_queue_sort(
    profiles: Sequence[ProfileStanza], points: Sequence[Mapping[str, Sequence[EnabledPlugin]]], index: int
) -> Iterator[FieldError]:
    """Yield all profiles share one queue, so they must sort it alike."""
    path = join("profiles", index)
    listed = [profile.plugins.get("queueSort", PluginSet()) for profile in (profiles[0], profiles[index])]
    if listed[0] != listed[1] or points[index]["queueSort"] != points[0]["queueSort"]:
        yield FieldError(join(path, "plugins", "queueSort"), "must be the same for all profiles")
    elif _sort_args(profiles[index], points[index]) != _sort_args(profiles[0], points[0]):
        yield FieldError(join(path, "pluginConfig"), "the queueSort plugin's args must be the same for all")


def _sort_args(profile: ProfileStanza, points: Mapping[str, Sequence[EnabledPlugin]]) -> list[object]:
    sorters = {plugin.name for plugin in points["queueSort"]}
    return [entry.args for entry in profile.plugin_config if entry.name in sorters]


def _check_enabled(section: str, plugins: PluginSet, path: str, catalog: Catalog) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, plugin in enumerate(plugins.enabled):
        where = join(path, index)
        if plugin.name in seen:
            yield FieldError(where, f"plugin {plugin.name} is enabled twice at {section}")
        seen.add(plugin.name)
        yield from _check_plugin(section, plugin, where, catalog)


def _check_plugin(section: str, plugin: ListedPlugin, path: str, catalog: Catalog) -> Iterator[FieldError]:
    if (plugin.weight or 0) < 0:
        yield FieldError(join(path, "weight"), f"must not be negative, not {plugin.weight}")
    known = catalog.get(plugin.name)
    if plugin.name in REMOVED:
        return
    if known is None and plugin.name in catalog.upstream:
        yield FieldError(path, f"plugin {plugin.name} is not part of the selected Kubernetes release")
    elif known is not None and section != MULTI_POINT and not catalog.may_list(plugin.name, section):
        able = ", ".join(sorted(known.points)) or "no point"
        yield FieldError(path, f"plugin {plugin.name} does not implement {section}; it implements {able}")


def _check_percentage(path: str, value: int | None) -> Iterator[FieldError]:
    if value is not None and not 0 <= value <= 100:
        yield FieldError(path, f"must be within 0 and 100, not {value}")


def _check_profile_names(profiles: Sequence[ProfileStanza]) -> Iterator[FieldError]:
    owners: dict[str, int] = {}
    for index, profile in enumerate(profiles):
        path = join("profiles", index, "schedulerName")
        name = profile.scheduler_name or ""
        if not name:
            yield FieldError(path, "is required")
        elif name in owners:
            yield FieldError(path, f"{name} duplicates profiles[{owners[name]}].schedulerName")
        owners.setdefault(name, index)


def _check_leader_election(election: LeaderElectionConfiguration) -> Iterator[FieldError]:
    if not election.leader_elect:
        return
    zero = timedelta(0)
    periods = {
        "leaseDuration": election.lease_duration,
        "renewDeadline": election.renew_deadline,
        "retryPeriod": election.retry_period,
    }
    for name, value in periods.items():
        if value <= zero:
            yield FieldError(f"leaderElection.{name}", "must be greater than 0")
    if election.lease_duration <= election.renew_deadline:
        yield FieldError("leaderElection.leaseDuration", "must be greater than renewDeadline")
    if election.resource_lock != "leases":
        yield FieldError("leaderElection.resourceLock", f"must be leases, not {election.resource_lock!r}")


def _check_extenders(extenders: Sequence[ExtenderStanza]) -> Iterator[FieldError]:
    managed: set[str] = set()
    for index, extender in enumerate(extenders):
        path = join("extenders", index)
        if extender.prioritize_verb and extender.weight <= 0:
            yield FieldError(join(path, "weight"), "must be greater than 0, as prioritizeVerb is set")
        tls = extender.tls_config
        if tls and tls.insecure and (tls.ca_file or tls.ca_data):
            text = "must not be true together with caFile or caData: certificates are checked or they are not"
            yield FieldError(join(path, "tlsConfig", "insecure"), text)
        for position, resource in enumerate(extender.managed_resources):
            where = join(path, "managedResources", position, "name")
            yield from _check_extended_resource(where, resource.name)
            if resource.name in managed:
                yield FieldError(where, f"{resource.name} is managed twice")
            managed.add(resource.name)
    binders = sum(1 for extender in extenders if extender.bind_verb)
    if binders > 1:
        yield FieldError("extenders", f"only one extender may have a bindVerb, found {binders}")


def _check_extended_resource(path: str, name: str) -> Iterator[FieldError]:
    if not is_qualified_name(name):
        yield FieldError(path, f"{name!r} is not a qualified name; write it like example.com/device")
    elif not is_extended_resource(name):
        yield FieldError(path, f"{name!r} is not an extended resource (example.com/gpu)")
