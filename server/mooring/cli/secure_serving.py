"""The HTTPS endpoint of ``mooring scheduler``: its pages, and who may read them.

Mirrors ``newEndpointsHandler`` and ``buildHandlerChain`` of ``cmd/kube-scheduler/app/server.go``.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import yaml
from prometheus_client import CollectorRegistry

from mooring import __version__
from mooring.cli.assembly import read_text
from mooring.cli.https import server_context
from mooring.cli.kube_scheduler_flags import ALWAYS_ALLOWED, flag_values
from mooring.cli.scheduler_flags import Connection
from mooring.cluster.api import ApiServer, ClientOptions
from mooring.cluster.reviews import ANONYMOUS, REVIEW_SECONDS, Lifetimes, Reviews, User, client_authorities
from mooring.framework.errors import InvalidArgumentError, MooringError
from mooring.service.metrics import Metrics
from mooring.service.pages import Answer, Asked, Page, configz, flagz, refusal, statusz
from mooring.service.probes import Probes
from mooring.service.shown_metrics import ShownMetrics, allowed_values, entries_of, metric_name
from mooring.service.telemetry import TelemetryListener

log = logging.getLogger(__name__)

COMPONENT: Final = "mooring-scheduler"

REVIEWS_PER_SECOND: Final = 20.0
"""Reviews that the API server is asked for at most, whatever strangers send."""


def endpoint(
    args: argparse.Namespace,
    connection: Connection,
    probes: Probes,
    metrics: Metrics,
    document: Mapping[str, Any],
) -> TelemetryListener:
    """The endpoint, listening.

    Args:
        args: The flags.
        connection: The scheduler's API server, which is asked who may read what unless flags name another.
        probes: What /healthz, /livez and /readyz say.
        metrics: The metrics.
        document: The configuration in force.

    Raises:
        ListenError: The address is taken.
        InvalidArgumentError: A file can't be used, or a metric's label is named wrongly.
    """
    options = ClientOptions(
        timeout_seconds=REVIEW_SECONDS, qps=REVIEWS_PER_SECOND, burst=int(REVIEWS_PER_SECOND)
    )
    tokens = _server(args.authentication_kubeconfig, connection, options)
    access = _server(args.authorization_kubeconfig, connection, options)
    lifetimes = Lifetimes(
        args.authentication_token_webhook_cache_ttl,
        args.authorization_webhook_cache_authorized_ttl,
        args.authorization_webhook_cache_unauthorized_ttl,
    )
    host = f"[{args.bind_address}]" if ":" in args.bind_address else args.bind_address
    return TelemetryListener(
        f"{host}:{args.secure_port}",
        probes,
        _shown(args, metrics.registry),
        server_context(args, _authorities(args, tokens)),
        broken=metrics.broken_connections.inc,
        pages=_pages(args, document),
        gatekeeper=Delegated(
            Reviews(tokens, access, lifetimes), args.authorization_always_allow_paths or ALWAYS_ALLOWED
        ),
        share_port=args.permit_port_sharing,
    )


def _server(kubeconfig: str, connection: Connection, options: ClientOptions) -> ApiServer:
    if kubeconfig:
        return ApiServer.from_kubeconfig(kubeconfig, options)
    return connection.server(timeout_seconds=options.timeout_seconds, qps=options.qps, burst=options.burst)


def _authorities(args: argparse.Namespace, server: ApiServer) -> str:
    """Whose client certificates are taken, PEM; looked up in the cluster unless a file is given."""
    if args.client_ca_file:
        return read_text(args.client_ca_file)
    if args.authentication_skip_lookup:
        return ""
    try:
        return client_authorities(server)
    except MooringError as error:
        if not args.authentication_tolerate_lookup_failure:
            raise InvalidArgumentError.at("--authentication-tolerate-lookup-failure", str(error)) from None
        log.warning("client certificates are not taken, only tokens: %s", error)
        return ""


def _pages(args: argparse.Namespace, document: Mapping[str, Any]) -> dict[str, Page]:
    paths = ("/configz", "/flagz", "/healthz", "/livez", "/metrics", "/readyz")
    return {
        "/configz": configz(document),
        "/flagz": flagz(COMPONENT, flag_values(args)),
        "/statusz": statusz(COMPONENT, __version__, args.kube_version, paths),
    }


def _shown(args: argparse.Namespace, registry: CollectorRegistry) -> ShownMetrics:
    """The metrics that ``--disabled-metrics`` and ``--allow-metric-labels`` leave."""
    entries: dict[str, str] = {}
    try:
        if file := args.allow_metric_labels_manifest:
            entries |= yaml.safe_load(read_text(file))["allowListMapping"]
        for flag in args.allow_metric_labels or ():
            entries |= entries_of(flag)
        allowed = allowed_values(entries)
    except (ValueError, TypeError, KeyError, AttributeError, yaml.YAMLError) as error:
        raise InvalidArgumentError.at("--allow-metric-labels", f"can't be used: {error}") from None
    return ShownMetrics(registry, map(metric_name, args.disabled_metrics or ()), allowed)


class Delegated:
    """Admits the requests that the API server authorizes; a ``Gatekeeper``. If it can't be asked, none is.

    Args:
        reviews: Asks the API server.
        always_allowed: Paths that everybody may read; ``*`` at the end stands for whatever follows.
    """

    def __init__(self, reviews: Reviews, always_allowed: Sequence[str]) -> None:
        self._reviews = reviews
        names = [f"/{path.lstrip('/')}" for path in always_allowed]
        self._paths = frozenset(names)
        self._prefixes = tuple(name.removesuffix("*") for name in names if name.endswith("*"))
        self._last_fault = ""

    def __call__(self, asked: Asked) -> Answer | None:
        if asked.path in self._paths or asked.path.startswith(self._prefixes):
            return None
        try:
            user = self._user(asked)
            allowed = user is not None and self._reviews.may(user, asked.verb, asked.path)
        except MooringError as error:
            return self._unknown(error)
        if user is None:
            return refusal(HTTPStatus.UNAUTHORIZED, "Unauthorized")
        if allowed:
            return None
        message = f'forbidden: User "{user.name}" cannot {asked.verb} path "{asked.path}"'
        return refusal(HTTPStatus.FORBIDDEN, message)

    def _user(self, asked: Asked) -> User | None:
        """Who asks, by certificate or else by token; None for a token that isn't valid."""
        subject = [pair for part in asked.certificate.get("subject", ()) for pair in part]
        if name := next((value for key, value in subject if key == "commonName"), ""):
            groups = tuple(value for key, value in subject if key == "organizationName")
            return User(name, (*groups, "system:authenticated"))
        scheme, _, token = asked.authorization.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return ANONYMOUS
        return self._reviews.user_of(token.strip())

    def _unknown(self, error: MooringError) -> Answer:
        fault = str(error)
        if fault != self._last_fault:
            self._last_fault = fault
            log.warning(
                "who may read /metrics can't be found out: %s; mooring needs the rights of the ClusterRole "
                "system:auth-delegator",
                fault,
            )
        return refusal(HTTPStatus.SERVICE_UNAVAILABLE, "the API server does not say who may read this")
