"""KubeSchedulerConfiguration, v1: the whole file, typed.

Mirrors ``k8s.io/kube-scheduler/config/v1``. Every field is optional here; ``defaults`` fills in what a file
leaves out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from mooring.config.catalog import MULTI_POINT, POINTS
from mooring.config.fields import ALIAS
from mooring.framework import SECRET

GROUP = "kubescheduler.config.k8s.io"
API_VERSION = f"{GROUP}/v1"
KIND = "KubeSchedulerConfiguration"

CONFIGURATION_KINDS = (KIND, "Policy")
"""The kinds of a file's configuration; Policy is that of 2017."""

Int32 = Annotated[int, Field(ge=-(2**31), lt=2**31)]
Int64 = Annotated[int, Field(ge=-(2**63), lt=2**63)]


def _section(name: str) -> str:
    if name != MULTI_POINT and name not in POINTS:
        raise ValueError("unknown field")
    return name


Section = Annotated[str, AfterValidator(_section)]
"""The name of a section of ``plugins``: one extension point, or ``multiPoint``."""


@dataclass(frozen=True, slots=True)
class ListedPlugin:
    """A plugin named in a list. ``weight`` counts for scoring; None or 0 means 1."""

    name: str
    weight: Int32 | None = None


@dataclass(frozen=True, slots=True)
class PluginSet:
    """The plugins that a section enables, in order, and disables; ``*`` there means every default."""

    enabled: tuple[ListedPlugin, ...] = ()
    disabled: tuple[ListedPlugin, ...] = ()


@dataclass(frozen=True, slots=True)
class PluginConfig:
    """Arguments of one plugin: plain as written or, once loaded, an instance of its Args class."""

    name: str
    args: Any = None


@dataclass(frozen=True, slots=True)
class ProfileStanza:
    """One scheduler name and the plugins that decide for it."""

    scheduler_name: str | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: Mapping[Section, PluginSet] = field(default_factory=dict)
    plugin_config: tuple[PluginConfig, ...] = ()


@dataclass(frozen=True, slots=True)
class LeaderElectionConfiguration:
    """The lease of a second scheduler. Durations of 0 and empty strings mean the default."""

    leader_elect: bool | None = None
    lease_duration: timedelta = timedelta(0)
    renew_deadline: timedelta = timedelta(0)
    retry_period: timedelta = timedelta(0)
    resource_lock: str = ""
    resource_name: str = ""
    resource_namespace: str = ""


@dataclass(frozen=True, slots=True)
class ClientConnection:
    """How to reach the API server. ``qps`` and ``burst`` of 0 mean the default."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = ""
    qps: float = 0.0
    burst: Int32 = 0


@dataclass(frozen=True, slots=True)
class ExtenderTLS:
    """TLS towards an extender; ``*_data`` is base64 and takes precedence over the file of the same name."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: str = ""
    key_data: str = field(default="", metadata=SECRET)
    ca_data: str = ""


@dataclass(frozen=True, slots=True)
class ManagedResource:
    """An extended resource that an extender manages."""

    name: str
    ignored_by_scheduler: bool = False


@dataclass(frozen=True, slots=True)
class ExtenderStanza:
    """One scheduler extender; an empty verb means that it does not take part there."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = field(default=False, metadata={ALIAS: "enableHTTPS"})
    tls_config: ExtenderTLS | None = None
    http_timeout: timedelta = timedelta(0)
    node_cache_capable: bool = False
    managed_resources: tuple[ManagedResource, ...] = ()
    ignorable: bool = False


@dataclass(frozen=True, slots=True)
class PluginHostStanza:
    """A process or a WebAssembly module with plugins, which mooring alone has.

    Attributes:
        address: ``unix:PATH``, HOST:PORT of a loopback address, or ``wasm:PATH``.
        evaluate_timeout: How long it may take to evaluate a pod.
        act_timeout: How long Reserve, Permit, PreBind and PostBind may take.
        ignorable: Whether plugins that only score are left out while it does not answer.
    """

    address: str
    evaluate_timeout: timedelta = timedelta(milliseconds=100)
    act_timeout: timedelta = timedelta(seconds=5)
    ignorable: bool = False


@dataclass(frozen=True, slots=True)
class KubeSchedulerConfiguration:
    """The file. None, an empty string and, where 0 is not a valid value, 0 mean the default."""

    api_version: str = API_VERSION
    kind: str = KIND
    parallelism: Int32 | None = None
    leader_election: LeaderElectionConfiguration = LeaderElectionConfiguration()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool | None = None
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    pod_initial_backoff_seconds: Int64 | None = None
    pod_max_backoff_seconds: Int64 | None = None
    profiles: tuple[ProfileStanza, ...] = ()
    extenders: tuple[ExtenderStanza, ...] = ()
    plugin_hosts: tuple[PluginHostStanza, ...] = ()
    delay_cache_until_active: bool = False
