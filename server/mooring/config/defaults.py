"""Defaults for fields that a file leaves out, the same as kube-scheduler's.

Mirrors ``pkg/scheduler/apis/config/v1/defaults.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar

from mooring.config.catalog import MULTI_POINT, Catalog
from mooring.config.expand import merge_sections
from mooring.config.types import (
    ClientConnection,
    KubeSchedulerConfiguration,
    LeaderElectionConfiguration,
    ListedPlugin,
    PluginSet,
    ProfileStanza,
    Section,
)
from mooring.framework.releases import Gates, KubeVersion

DEFAULT_SCHEDULER_NAME = "default-scheduler"
KUBE_SCHEDULER_LEASE = "kube-scheduler"
EXTENDER_TIMEOUT = timedelta(seconds=5)

ValueT = TypeVar("ValueT")


def default_plugins(catalog: Catalog, version: KubeVersion, gates: Gates) -> Mapping[Section, PluginSet]:
    """Return the sections of a profile that says nothing.

    Plugins are in multiPoint, in order, with the default weights; the release's other sections are empty.

    Mirrors ``pkg/scheduler/apis/config/v1/default_plugins.go``.
    """
    names = [
        name
        for name, declared in catalog.upstream.items()
        if name in catalog and (not declared.gate or gates.enabled(declared.gate))
    ]
    for name in tuple(names):
        before = catalog.upstream[name].before
        if before is not None and version >= before[1]:
            names.remove(name)
            names.insert(names.index(before[0]), name)
    listed = tuple(
        ListedPlugin(
            name, declared.weight if version >= declared.points_since.get("score", version) else None
        )
        for name in names
        for declared in [catalog.upstream[name]]
    )
    return {MULTI_POINT: PluginSet(enabled=listed), **dict.fromkeys(catalog.points, PluginSet())}


def with_defaults(
    document: KubeSchedulerConfiguration, plugins: Mapping[Section, PluginSet]
) -> KubeSchedulerConfiguration:
    """Return the document with every default explicit. ``plugins`` are the default sections of the wanted
    release.
    """
    profiles = document.profiles or (ProfileStanza(),)
    if len(profiles) == 1 and profiles[0].scheduler_name is None:
        profiles = (replace(profiles[0], scheduler_name=DEFAULT_SCHEDULER_NAME),)
    profiling = _or(document.enable_profiling, default=True)
    contention = document.enable_contention_profiling
    return replace(
        document,
        parallelism=_or(document.parallelism, default=16),
        leader_election=_leader_election(document.leader_election),
        client_connection=_client_connection(document.client_connection),
        enable_profiling=profiling,
        enable_contention_profiling=_or(contention, default=profiling),
        percentage_of_nodes_to_score=_or(document.percentage_of_nodes_to_score, default=0),
        pod_initial_backoff_seconds=_or(document.pod_initial_backoff_seconds, default=1),
        pod_max_backoff_seconds=_or(document.pod_max_backoff_seconds, default=10),
        extenders=tuple(
            replace(extender, http_timeout=extender.http_timeout or EXTENDER_TIMEOUT)
            for extender in document.extenders
        ),
        profiles=tuple(replace(p, plugins=merge_sections(plugins, p.plugins)) for p in profiles),
    )


def _or(value: ValueT | None, *, default: ValueT) -> ValueT:
    return default if value is None else value


def _leader_election(given: LeaderElectionConfiguration) -> LeaderElectionConfiguration:
    return LeaderElectionConfiguration(
        leader_elect=_or(given.leader_elect, default=True),
        lease_duration=given.lease_duration or timedelta(seconds=15),
        renew_deadline=given.renew_deadline or timedelta(seconds=10),
        retry_period=given.retry_period or timedelta(seconds=2),
        resource_lock=given.resource_lock or "leases",
        resource_name=given.resource_name or KUBE_SCHEDULER_LEASE,
        resource_namespace=given.resource_namespace or "kube-system",
    )


def _client_connection(given: ClientConnection) -> ClientConnection:
    return replace(
        given,
        content_type=given.content_type or "application/vnd.kubernetes.protobuf",
        qps=given.qps or 50.0,
        burst=given.burst or 100,
    )
