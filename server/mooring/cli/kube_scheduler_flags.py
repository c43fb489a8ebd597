"""kube-scheduler's flags in ``mooring scheduler``. Mirrors ``cmd/kube-scheduler/app/options``."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from mooring.app.https import TLS_VERSIONS
from mooring.app.options import (
    PROBES,
    ConnectionOptions,
    ElectionOptions,
    HttpsOptions,
    SecureServingOptions,
)
from mooring.cli.flags import CLUSTER, Flags, twin
from mooring.cli.serving_flags import add_metrics_prefix
from mooring.cli.values import Kind, above_zero, kube_version, one_of, port, seconds, words
from mooring.serving.grammar import boolean

log = logging.getLogger(__name__)

ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - as kube-scheduler
"""The default address of probes, metrics and debugging pages."""

LEADER_ELECTION: Final = "Leader election flags"

_NO_HTTP2: Final = "the endpoint speaks HTTP/1.1"
_NO_PROFILING: Final = "there is no /debug/pprof: the process is Python's, not Go's"
_NO_PROXY: Final = "no front proxy is trusted; users authenticate with a token or a certificate"
_UNBUFFERED: Final = "each line is written to standard error at once"


@dataclass(frozen=True, slots=True)
class Ignored:
    """A flag that is accepted, so that kube-scheduler's command lines work, and ignored.

    Attributes:
        why: Why it is not needed here.
        default: The value on /flagz when it isn't given, the same as kube-scheduler's.
        harmless: Values that mooring follows anyway.
    """

    why: str
    default: str = ""
    harmless: tuple[str, ...] = ()


IGNORED: Final[Mapping[str, Ignored]] = {
    "contention-profiling": Ignored(_NO_PROFILING, "true", ("false",)),
    "disable-http2-serving": Ignored(_NO_HTTP2, "false", ("true",)),
    "http2-max-streams-per-connection": Ignored(_NO_HTTP2, "0"),
    "kube-api-content-type": Ignored(
        "requests are written in JSON", "application/vnd.kubernetes.protobuf", ("application/json",)
    ),
    "log-flush-frequency": Ignored(_UNBUFFERED, "5s"),
    "log-json-info-buffer-size": Ignored(_UNBUFFERED, "0"),
    "log-json-split-stream": Ignored(_UNBUFFERED, "false", ("false",)),
    "log-text-info-buffer-size": Ignored(_UNBUFFERED, "0"),
    "log-text-split-stream": Ignored(_UNBUFFERED, "false", ("false",)),
    "min-compatibility-version": Ignored("only --emulated-version is used", "[]"),
    "permit-address-sharing": Ignored("SO_REUSEADDR is always set", "false", ("true",)),
    "profiling": Ignored(_NO_PROFILING, "true", ("false",)),
    "requestheader-allowed-names": Ignored(_NO_PROXY, "[]"),
    "requestheader-client-ca-file": Ignored(_NO_PROXY),
    "requestheader-extra-headers-prefix": Ignored(_NO_PROXY, "[x-remote-extra-]"),
    "requestheader-group-headers": Ignored(_NO_PROXY, "[x-remote-group]"),
    "requestheader-uid-headers": Ignored(_NO_PROXY, "[]"),
    "requestheader-username-headers": Ignored(_NO_PROXY, "[x-remote-user]"),
    "show-hidden-metrics-for-version": Ignored("no metric is hidden"),
    "tls-curve-preferences": Ignored("OpenSSL's own order is used", "[]"),
    "tls-sni-cert-key": Ignored("the only certificate is that of --tls-cert-file", "[]"),
    "vmodule": Ignored("--v sets the verbosity everywhere"),
}
"""By name, without the dashes."""

OVERRIDES: Final[Mapping[str, str]] = {
    "kube-api-burst": "100",
    "kube-api-qps": "50",
    "leader-elect": "true",
    "leader-elect-lease-duration": "15s",
    "leader-elect-renew-deadline": "10s",
    "leader-elect-resource-lock": "leases",
    "leader-elect-resource-name": "mooring",
    "leader-elect-resource-namespace": "kube-system",
    "leader-elect-retry-period": "2s",
}
"""The defaults of flags that, if given, override the configuration file."""


def add_kube_scheduler_flags(flags: Flags) -> None:
    """Declare all of them, in the groups of kube-scheduler's help.

    ``--config``, ``--feature-gates`` and ``--v``, which every command has, are declared elsewhere.
    """
    _add_api_server(flags.group(CLUSTER))
    _add_leader_election(flags.group(LEADER_ELECTION))
    _add_serving(flags.group("Secure serving flags"))
    _add_authentication(flags.group("Authentication flags"))
    _add_authorization(flags.group("Authorization flags"))
    _add_metrics(flags.group("Metrics flags"))
    _add_misc(flags.group("Misc flags"))
    ignored_flags = flags.group("Flags of kube-scheduler that are accepted and ignored")
    for name, ignored in IGNORED.items():
        ignored_flags.optional(name, "VALUE", ignored.why, bare="true")


def _add_metrics(flags: Flags) -> None:
    text = "values of a label that are exposed; all others become unexpected"
    _listed(flags, "allow-metric-labels", "METRIC,LABEL=VALUES", text, lambda text: [text])
    flags.add("allow-metric-labels-manifest", "FILE", "", "the same from a file, under allowListMapping")
    _listed(flags, "disabled-metrics", "NAMES", "metrics that are not exposed")
    add_metrics_prefix(flags)


def _add_misc(flags: Flags) -> None:
    flags.optional(
        "emulated-version", "VERSION", "alternative to --kube-version, such as kube=1.35", _emulated
    )
    flags.add(
        "pod-max-in-unschedulable-pods-duration",
        "TIME",
        "5m0s",
        "retry an unschedulable pod after this time even without an event",
        above_zero,
    )
    flags.optional("version", "BOOL", "print the version and exit", bare="true")
    flags.add("write-config-to", "FILE", "", "write the configuration in force there and exit")
    text = "blueking-ip-scheduler's flag; use ipsPerNode of the plugin UnderlayIP"
    flags.optional("ip-resource", "COUNT", text, _ips_per_node)


def _add_api_server(flags: Flags) -> None:
    flags.optional("master", "ADDRESS", "the API server's address, overrides the kubeconfig's")
    flags.optional("kubeconfig", "FILE", "the API server to use when the configuration names no kubeconfig")
    _overriding(flags, "kube-api-qps", "NUMBER", "requests a second, without --config", float)
    _overriding(flags, "kube-api-burst", "COUNT", "requests at once, without --config", int)


def _add_leader_election(flags: Flags) -> None:
    _overriding(flags, "leader-elect", "BOOL", "take the lease before scheduling", boolean)
    for name, text in (
        ("lease-duration", "how long others wait after the leader's last renewal"),
        ("renew-deadline", "how long the leader leads after its last renewal"),
        ("retry-period", "the pause between two attempts"),
    ):
        _overriding(flags, f"leader-elect-{name}", "TIME", text, above_zero)
    _overriding(flags, "leader-elect-resource-lock", "KIND", "the only supported kind", _leases)
    _overriding(flags, "leader-elect-resource-name", "NAME", "the lease")
    _overriding(flags, "leader-elect-resource-namespace", "NAMESPACE", "its namespace")


def _add_serving(flags: Flags) -> None:
    flags.add(
        "bind-address", "ADDRESS", ANY_ADDRESS, "address of /healthz, /livez, /readyz, /metrics and more"
    )
    flags.add("secure-port", "PORT", "10259", "their port; 0 = none", port)
    flags.switch("permit-port-sharing", "let other processes listen on the same port (SO_REUSEPORT)")
    flags.add(
        "cert-dir", "DIRECTORY", "", "directory for the generated kube-scheduler.crt and kube-scheduler.key"
    )
    flags.add("tls-cert-file", "FILE", "", "the endpoint's certificate, PEM; generated if not given")
    flags.add("tls-private-key-file", "FILE", "", "its private key, PEM")
    _listed(flags, "tls-cipher-suites", "NAMES", "allowed suites up to TLS 1.2, by Go's names")
    versions = f"one of {', '.join(TLS_VERSIONS)}"
    flags.add("tls-min-version", "VERSION", "", versions, one_of("", *TLS_VERSIONS))


def _add_authentication(flags: Flags) -> None:
    flags.add("client-ca-file", "FILE", "", "the CAs whose client certificates authenticate users, PEM")
    text = "API server for TokenReviews; default: the scheduler's"
    flags.add("authentication-kubeconfig", "FILE", "", text)
    flags.switch("authentication-skip-lookup", "don't look up the client CA in the cluster")
    flags.add(
        "authentication-tolerate-lookup-failure",
        "BOOL",
        "true",
        "go on if looking up the client CA fails",
        boolean,
    )
    flags.add(
        "authentication-token-webhook-cache-ttl", "TIME", "10s", "how long a TokenReview is cached", seconds
    )


def _add_authorization(flags: Flags) -> None:
    flags.add(
        "authorization-kubeconfig",
        "FILE",
        "",
        "API server for SubjectAccessReviews; default: the scheduler's",
    )
    text = f"paths without authorization; a trailing * matches all paths below (default: {','.join(PROBES)})"
    _listed(flags, "authorization-always-allow-paths", "PATHS", text)
    flags.add(
        "authorization-webhook-cache-authorized-ttl",
        "TIME",
        "10s",
        "how long an allowing review is cached",
        seconds,
    )
    flags.add(
        "authorization-webhook-cache-unauthorized-ttl",
        "TIME",
        "10s",
        "how long a denying review is cached",
        seconds,
    )


def _overriding(flags: Flags, name: str, metavar: str, text: str, kind: Kind = str) -> None:
    flags.optional(name, metavar, f"{text} (default: {OVERRIDES[name]})", kind)


def _listed(
    flags: Flags, name: str, metavar: str, text: str, kind: Callable[[str], list[str]] = words
) -> None:
    """Add a flag of many values, None unless it is given; given again, it adds to them."""
    default = kind(twin(name)) if twin(name) else None
    flags.parser.add_argument(
        f"--{name}", action="extend", type=kind, default=default, metavar=metavar, help=text
    )


def flag_values(args: argparse.Namespace) -> dict[str, str]:
    """Return the flags of ``mooring scheduler`` with their values for /flagz, by name without dashes."""
    defaults = {name: ignored.default for name, ignored in IGNORED.items()}
    defaults |= {
        **OVERRIDES,
        "version": "false",
        "authorization-always-allow-paths": f"[{','.join(PROBES)}]",
    }
    return {name: value or defaults.get(name, "") for name, value in args.parser.values(args).items()}


def connection_options(args: argparse.Namespace) -> ConnectionOptions:
    """Return the API server that the flags name."""
    return ConnectionOptions(
        source=args.source,
        kubeconfig=args.kubeconfig or "",
        master=args.master or "",
        qps=args.kube_api_qps,
        burst=args.kube_api_burst,
    )


def election_options(args: argparse.Namespace) -> ElectionOptions:
    """Return the options of the lease."""
    return ElectionOptions(
        leader_elect=args.leader_elect,
        lease_duration=args.leader_elect_lease_duration,
        renew_deadline=args.leader_elect_renew_deadline,
        retry_period=args.leader_elect_retry_period,
        resource_name=args.leader_elect_resource_name,
        resource_namespace=args.leader_elect_resource_namespace,
    )


def https_options(args: argparse.Namespace) -> HttpsOptions:
    """Return the options of the endpoint's HTTPS."""
    return HttpsOptions(
        certificate=args.tls_cert_file,
        key=args.tls_private_key_file,
        directory=args.cert_dir,
        suites=args.tls_cipher_suites or (),
        min_version=args.tls_min_version,
    )


def serving_options(args: argparse.Namespace, values: Mapping[str, str]) -> SecureServingOptions:
    """Return the options of the endpoint; ``values`` come from ``flag_values``."""
    return SecureServingOptions(
        address=args.bind_address,
        port=args.secure_port,
        https=https_options(args),
        share_port=args.permit_port_sharing,
        client_ca_file=args.client_ca_file,
        skip_lookup=args.authentication_skip_lookup,
        tolerate_lookup_failure=args.authentication_tolerate_lookup_failure,
        authentication_kubeconfig=args.authentication_kubeconfig,
        authorization_kubeconfig=args.authorization_kubeconfig,
        token_seconds=args.authentication_token_webhook_cache_ttl,
        allowed_seconds=args.authorization_webhook_cache_authorized_ttl,
        denied_seconds=args.authorization_webhook_cache_unauthorized_ttl,
        always_allowed=args.authorization_always_allow_paths or PROBES,
        disabled_metrics=args.disabled_metrics or (),
        metrics_prefix=args.metrics_prefix,
        metric_labels=args.allow_metric_labels or (),
        metric_labels_file=args.allow_metric_labels_manifest,
        flags=values,
    )


def warn_of_ignored_flags(args: argparse.Namespace) -> None:
    """Name, in one warning, the given flags that change nothing, each with the reason."""
    given = {
        name: ignored.why
        for name, ignored in IGNORED.items()
        if (value := getattr(args, name.replace("-", "_"))) is not None and value not in ignored.harmless
    }
    if args.config:
        given |= {
            name: "--config sets it in clientConnection"
            for name in ("kube-api-qps", "kube-api-burst")
            if getattr(args, name.replace("-", "_")) is not None
        }
    if given:
        log.warning("ignored: %s", "; ".join(f"--{name} ({why})" for name, why in given.items()))


def _leases(text: str) -> str:
    if text != "leases":
        raise argparse.ArgumentTypeError(f"{text!r} is not leases, the only supported lock")
    return text


def _ips_per_node(text: str) -> str:
    raise argparse.ArgumentTypeError(
        f"is blueking-ip-scheduler's flag; set ipsPerNode: {text} in the args of UnderlayIP with --config"
    )


def _emulated(text: str) -> str:
    component, equals, version = text.rpartition("=")
    if equals and component != "kube":
        raise argparse.ArgumentTypeError(f"{component!r} is not kube, the only supported component")
    return kube_version(version)
