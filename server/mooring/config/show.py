"""A configuration as kube-scheduler writes it with ``--write-config-to``.

Mirrors the encoding of ``k8s.io/kube-scheduler/config/v1``: every default explicit, keys sorted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mooring.config.advice import INERT_FIELDS, SCHEDULER_FIELDS
from mooring.config.configuration import Configuration
from mooring.config.durations import format_duration
from mooring.config.fields import encode, is_record, names
from mooring.config.types import (
    API_VERSION,
    ClientConnection,
    ExtenderStanza,
    KubeSchedulerConfiguration,
    LeaderElectionConfiguration,
    ListedPlugin,
    PluginConfig,
    PluginSet,
    ProfileStanza,
)
from mooring.documents import write_documents
from mooring.framework.args import HIDDEN


def show(configuration: Configuration) -> str:
    """Return the effective configuration as YAML.

    Comments at the head name what mooring accepts without supporting it, and the configuration's warnings;
    the document itself is kube-scheduler's, field for field. Secrets are hidden.
    """
    head = [f"# configuration hash: {configuration.hash}"]
    head += [
        f"# unsupported in profile {profile.scheduler_name}: {', '.join(profile.unsupported)}"
        for profile in configuration.profiles
        if profile.unsupported
    ]
    head += [f"# warning: {warning}" for warning in configuration.warnings]
    head += [f"# a default that differs from kube-scheduler: {text}" for text in configuration.differences]
    return "\n".join(head) + "\n" + dump(plain(configuration.document, hide=True))


def resolved(configuration: Configuration) -> str:
    """Return, as YAML, the plugins of each profile by extension point in the order in which they run.

    At points that score, each has its weight. Points without plugins are left out.
    """
    return dump(
        {
            profile.scheduler_name: {
                point: [
                    {"name": plugin.name, "weight": plugin.weight} if plugin.weight else plugin.name
                    for plugin in plugins
                ]
                for point, plugins in profile.plugins.items()
                if plugins
            }
            for profile in configuration.profiles
        }
    )


def in_force(configuration: Configuration, *, scheduling: bool) -> dict[str, Any]:
    """Return what of the effective configuration a running mooring acts on, as plain values; secrets are
    hidden. The configuration's ``leader_election`` is that of the process, by whatever flags. ``scheduling``
    says whether it is ``mooring scheduler``, which acts on fields that nothing else acts on.
    """
    document = plain(configuration.document, hide=True)
    for path in (*INERT_FIELDS, *(() if scheduling else SCHEDULER_FIELDS)):
        section, _, name = path.rpartition(".")
        (document.get(section, {}) if section else document).pop(name, None)
    if not configuration.document.leader_election.leader_elect:
        document["leaderElection"] = {"leaderElect": False}
    if any(profile.percentage_of_nodes_to_score is None for profile in configuration.profiles):
        document["percentageOfNodesToScore"] = 100
    return document


def dump(document: object) -> str:
    """YAML with sorted keys."""
    return write_documents(document, sort_keys=True)


def without_secrets(url: str) -> str:
    """Return a URL without the user and the password that it may hold."""
    return _USERINFO.sub(f"{HIDDEN}@", url)


_USERINFO = re.compile(r"(?<=//)[^/?#]*@")


def plain(document: KubeSchedulerConfiguration, *, hide: bool = False) -> dict[str, Any]:
    """Return a document with its defaults, as plain values; ``hide`` puts HIDDEN in the place of secrets."""
    qps = document.client_connection.qps
    result: dict[str, Any] = {
        "apiVersion": document.api_version,
        "kind": document.kind,
        "parallelism": document.parallelism,
        "percentageOfNodesToScore": document.percentage_of_nodes_to_score,
        "podInitialBackoffSeconds": document.pod_initial_backoff_seconds,
        "podMaxBackoffSeconds": document.pod_max_backoff_seconds,
        "enableProfiling": document.enable_profiling,
        "enableContentionProfiling": document.enable_contention_profiling,
        "clientConnection": _in_full(document.client_connection)
        | ({"qps": int(qps)} if qps.is_integer() else {}),
        "leaderElection": _in_full(document.leader_election),
        "profiles": [_profile(profile, hide=hide) for profile in document.profiles],
    }
    if document.extenders:
        result["extenders"] = [_extender(extender, hide=hide) for extender in document.extenders]
    if document.plugin_hosts:
        result["pluginHosts"] = [encode(host) for host in document.plugin_hosts]
    if document.delay_cache_until_active:
        result["delayCacheUntilActive"] = True
    return result


def _in_full(section: ClientConnection | LeaderElectionConfiguration) -> dict[str, Any]:
    """Return a section with its empty fields, which Go doesn't omit either."""
    return {alias: encode(getattr(section, name)) for name, alias in names(type(section))}


def _profile(profile: ProfileStanza, *, hide: bool) -> dict[str, Any]:
    result: dict[str, Any] = {
        "schedulerName": profile.scheduler_name,
        "plugins": {name: _plugin_set(plugins) for name, plugins in profile.plugins.items()},
    }
    if profile.plugin_config:
        result["pluginConfig"] = [_plugin_config(entry, hide=hide) for entry in profile.plugin_config]
    if profile.percentage_of_nodes_to_score is not None:
        result["percentageOfNodesToScore"] = profile.percentage_of_nodes_to_score
    return result


def _plugin_set(plugins: PluginSet) -> dict[str, Any]:
    lists = {"enabled": plugins.enabled, "disabled": plugins.disabled}
    return {key: [_plugin(plugin) for plugin in listed] for key, listed in lists.items() if listed}


def _plugin(plugin: ListedPlugin) -> dict[str, Any]:
    return {"name": plugin.name, "weight": plugin.weight or 0}


def _plugin_config(entry: PluginConfig, *, hide: bool) -> dict[str, Any]:
    args = encode(entry.args, hide=hide)
    if is_record(entry.args):
        args = {"apiVersion": API_VERSION, "kind": f"{entry.name}Args", **args}
    return {"name": entry.name, "args": args}


def _extender(extender: ExtenderStanza, *, hide: bool) -> dict[str, Any]:
    """Verbs, flags and numbers are left out where they are zero; the timeout never is."""
    written: Mapping[str, Any] = encode(extender, hide=hide)
    kept = {key: value for key, value in written.items() if value or key == "tlsConfig"}
    url = without_secrets(extender.url_prefix) if hide else extender.url_prefix
    kept |= {"urlPrefix": url, "httpTimeout": format_duration(extender.http_timeout)}
    if extender.tls_config is not None:
        kept["tlsConfig"] = {key: value for key, value in written["tlsConfig"].items() if value}
    if extender.managed_resources:
        kept["managedResources"] = [
            {key: value for key, value in resource.items() if value or key == "name"}
            for resource in written["managedResources"]
        ]
    return kept
