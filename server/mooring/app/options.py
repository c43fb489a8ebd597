"""The parsed options from which a server, a scheduler and an offline engine are made.

The command line turns its arguments into these. Importing this module brings none of the parts that the
options are for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from mooring.framework.releases import DEFAULT_KUBE_VERSION, Gates, KubeVersion
from mooring.recordings.limits import RecordingLimits
from mooring.serving.certificates import TlsFiles

if TYPE_CHECKING:
    from mooring.app.embedding import Option
    from mooring.config.types import PluginHostStanza
    from mooring.service.server import Options

SOURCES: Final = "sample, files:PATH,..., recording:DIR[@TIME], push and kubernetes[:KUBECONFIG]"
"""The sources that ``ServerOptions.source`` can name."""

IN_FLIGHT: Final = ("wait", "count", "off")
"""The values of ``ServerOptions.pods_in_flight``."""

PROBES: Final = ("/healthz", "/readyz", "/livez")
"""The paths that need no authorization by default: kubelets send no credentials."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """The options of every engine.

    Attributes:
        config: The KubeSchedulerConfiguration's file; "" = the default profile.
        plugins: Plugin classes to register, as MODULE:CLASS.
        plugin_hosts: Processes whose plugins to register.
        embedded: The embedding program's additions to the registry.
        feature_gates: Gates that differ from the release's defaults.
        self_check_every: One cached answer in this many is compared with a full evaluation, 0 = none;
            None = the engine's own default.
        stubs: Skip unknown plugins of the configuration; for questions alone, as nothing may
            be committed then.
    """

    config: str = ""
    plugins: Sequence[str] = ()
    plugin_hosts: Sequence[PluginHostStanza] = ()
    embedded: Sequence[Option] = ()
    kube_version: str = DEFAULT_KUBE_VERSION
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    self_check_every: int | None = None
    stubs: bool = False

    @property
    def gates(self) -> Gates:
        """A Kubernetes release and its feature gates."""
        return Gates(KubeVersion.parse(self.kube_version), self.feature_gates)


@dataclass(frozen=True, slots=True)
class DecisionOptions:
    """Sizes of the journals and explanations of decisions in bytes; 0 disables one.

    Attributes:
        journal: For the decisions, with their pods. Without them nothing else is kept.
        explanations: For whole explanations of some.
        undo: For changes of the state, with which decisions are made again.
    """

    journal: int = 48 << 20
    explanations: int = 64 << 20
    undo: int = 48 << 20


@dataclass(frozen=True, slots=True)
class RecordingOptions:
    """Whether and how the process is recorded.

    Attributes:
        directory: The directory of the recording; "" = none is made.
        limits: When a file of it ends, and how many are kept.
    """

    directory: str = ""
    limits: RecordingLimits = field(default_factory=RecordingLimits)

    def __bool__(self) -> bool:
        """Whether anything is recorded."""
        return bool(self.directory)


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """Whether and how the process keeps an audit log.

    Attributes:
        file: The log's file; "" = none, "-" = the standard output.
        max_bytes: When a file of it is full.
        keep: How many full files are kept.
        fail_closed: Commit nothing while the log can't be written.
        reads: The calls that change nothing and are logged nevertheless, by name; ``*`` = all.
    """

    file: str = ""
    max_bytes: int = 100 << 20
    keep: int = 10
    fail_closed: bool = False
    reads: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ElectionOptions:
    """Overrides of the configuration's leaderElection; None = as configured. Times are in seconds.

    ``advertise_address`` is where clients reach this replica, HOST:PORT; "" = not stated.
    """

    leader_elect: bool | None = None
    lease_duration: float | None = None
    renew_deadline: float | None = None
    retry_period: float | None = None
    resource_name: str | None = None
    resource_namespace: str | None = None
    advertise_address: str = ""


@dataclass(frozen=True, slots=True)
class AccessOptions:
    """Who calls, and what they may; without any of it ``Access.at`` says so.

    Attributes:
        policy: The file of the access policy; "" = none.
        review: Whether the API server decides, by SubjectAccessReview.
        token_audiences: The audiences of accepted tokens; none = tokens mean nothing.
        revoked: The file of revoked clients; "" = none.
    """

    policy: str = ""
    review: bool = False
    token_audiences: Sequence[str] = ()
    revoked: str = ""


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """The options of every process that decides and serves.

    Attributes:
        engine: Its engine.
        max_staleness: Seconds; nothing is committed on a state that is older.
        decisions: The memory of decisions.
        recording: Whether all is recorded.
        tracing: The TracingConfiguration's file; "" = nothing is traced.
        access: Who calls, and what they may.
    """

    engine: EngineOptions
    max_staleness: float = 8.0
    decisions: DecisionOptions = field(default_factory=DecisionOptions)
    recording: RecordingOptions = field(default_factory=RecordingOptions)
    audit: AuditOptions = field(default_factory=AuditOptions)
    tracing: str = ""
    access: AccessOptions = field(default_factory=AccessOptions)


@dataclass(frozen=True, slots=True)
class ExtenderOptions:
    """The extender adapter inside a server: the flags ``--extender-...`` of ``mooring serve``.

    Attributes:
        profile: The profile of calls whose path names none; "" = the configuration's first.
        http_timeout: The extender stanza's httpTimeout in seconds.
        certificate: None = plain HTTP.
        allow_clients: Names in client certificates that may call bind.
    """

    listen: str
    profile: str = ""
    path_prefix: str = ""
    http_timeout: float = 2.0
    certificate: TlsFiles | None = None
    allow_clients: frozenset[str] = frozenset()
    insecure_binding: bool = False
    insecure_listen: bool = False
    hosts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """A gRPC server over a cluster: the flags of ``mooring serve``. Times are in seconds.

    Attributes:
        service: The listeners and their limits.
        source: One of SOURCES; "" = the cluster of the pod that this runs in.
        kubeconfig: The API server to bind through; "" = that of the source.
        extender: The extender adapter in the same process; None = none.
        pods_in_flight: One of ``IN_FLIGHT``.
    """

    process: ProcessOptions
    service: Options
    source: str = ""
    kubeconfig: str = ""
    in_cluster: bool = False
    election: ElectionOptions = field(default_factory=ElectionOptions)
    plugin_slots: int = 4
    max_abandoned_workers: int = 32
    extender: ExtenderOptions | None = None
    pods_in_flight: str = "wait"
    reload: bool = False


@dataclass(frozen=True, slots=True)
class PushOptions:
    """A watcher that pushes to replicas.

    Attributes:
        source: The source of its objects, one of SOURCES but ``push``.
        replicas: HOST:PORT or unix:PATH each; a host's addresses are a replica each.
        kubeconfig: The API server of the source ``kubernetes``; "" = that of the pod that this runs in.
        name: The name of the source at the replicas.
        metrics_listen: HOST:PORT of probes and metrics.
    """

    source: str
    replicas: Sequence[str]
    kubeconfig: str = ""
    name: str = "cluster"
    metrics_listen: str = "127.0.0.1:0"


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """The API server of ``mooring scheduler``.

    Attributes:
        source: ``kubernetes``, or ``kubernetes:KUBECONFIG``, which wins over the configuration's file.
        kubeconfig: The file when neither names one; "" = the cluster that this process runs in.
        master: The server's address, which overrides the kubeconfig's.
        qps: Requests a second without a configuration file; None = its default.
        burst: Requests at once, likewise.
    """

    source: str = "kubernetes"
    kubeconfig: str = ""
    master: str = ""
    qps: float | None = None
    burst: int | None = None


@dataclass(frozen=True, slots=True)
class HttpsOptions:
    """The TLS settings of ``mooring scheduler``: kube-scheduler's flags ``--tls-...`` and ``--cert-dir``.

    ``suites`` and ``min_version`` have Go's names; "" and none = not set.
    """

    certificate: str = ""
    key: str = ""
    directory: str = ""
    suites: Sequence[str] = ()
    min_version: str = ""


@dataclass(frozen=True, slots=True)
class SecureServingOptions:
    """The HTTPS endpoint of ``mooring scheduler``: kube-scheduler's flags. Times are in seconds.

    Attributes:
        client_ca_file: The CAs whose client certificates authenticate users; "" = looked up in the cluster.
        authentication_kubeconfig: The API server for TokenReviews; "" = the scheduler's.
        authorization_kubeconfig: The API server for SubjectAccessReviews; "" = the scheduler's.
        token_seconds: How long a TokenReview counts.
        allowed_seconds: How long an allowing review counts, and ``denied_seconds`` a denying one.
        always_allowed: Paths that need no authorization; ``*`` at the end stands for whatever follows.
        metric_labels: The only values of labels that are shown, each as METRIC,LABEL=VALUES.
        metric_labels_file: The same from a file, under allowListMapping.
        flags: The values on /flagz, by name without the dashes.
    """

    address: str
    port: int
    https: HttpsOptions
    share_port: bool = False
    client_ca_file: str = ""
    skip_lookup: bool = False
    tolerate_lookup_failure: bool = True
    authentication_kubeconfig: str = ""
    authorization_kubeconfig: str = ""
    token_seconds: float = 10.0
    allowed_seconds: float = 10.0
    denied_seconds: float = 10.0
    always_allowed: Sequence[str] = PROBES
    disabled_metrics: Sequence[str] = ()
    metrics_prefix: str = "mooring"
    metric_labels: Sequence[str] = ()
    metric_labels_file: str = ""
    flags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SchedulerOptions:
    """The second scheduler: the flags of ``mooring scheduler``. Times are in seconds.

    Attributes:
        longest_wait: A rejected pod that no event helped is tried again after this.
        attempt_seconds: The processor time of one attempt; 0 = without limit.
        stop_grace: How long open bindings may take at the end.
        serving: Probes, metrics and pages; None = none of them.
        service: The gRPC listener, which answers what changes nothing; None = none.
    """

    process: ProcessOptions
    connection: ConnectionOptions
    election: ElectionOptions
    replace_default: bool
    longest_wait: float
    attempt_seconds: float
    stop_grace: float
    serving: SecureServingOptions | None = None
    service: Options | None = None
    event_advice: bool = False
