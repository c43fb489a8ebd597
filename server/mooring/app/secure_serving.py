"""The HTTPS endpoint of ``mooring scheduler``: its pages, and the right to read them.

Mirrors ``newEndpointsHandler`` and ``buildHandlerChain`` of ``cmd/kube-scheduler/app/server.go``.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

from prometheus_client import CollectorRegistry

from mooring import __version__
from mooring.app.connection import ApiServerConnection
from mooring.app.engine import read_text
from mooring.app.https import followed_context
from mooring.app.options import SecureServingOptions
from mooring.cluster.api import ApiServer, ClientOptions
from mooring.cluster.reviews import REVIEW_SECONDS, Lifetimes, Reviews, client_authorities
from mooring.documents import read_document
from mooring.framework.errors import InvalidArgumentError, MooringError
from mooring.serving.access.clients import ANONYMOUS, AUTHENTICATED, User
from mooring.serving.listeners.page_listener import PageListener
from mooring.serving.listeners.pages import Page, PageAnswer, PageRequest, configz, flagz, rejection, statusz
from mooring.serving.listeners.probes import Probes
from mooring.telemetry.metrics import Metrics
from mooring.telemetry.shown_metrics import ShownMetrics, allowed_values, entries_of, metric_name

log = logging.getLogger(__name__)

COMPONENT: Final = "mooring-scheduler"

REVIEWS_PER_SECOND: Final = 20.0
"""The most concurrent reviews at the API server, whatever strangers send."""

LOOK_UP_SECONDS: Final = 5.0
"""How long after a change in the cluster the authorities of client certificates may be the earlier ones."""


def endpoint(
    options: SecureServingOptions,
    connection: ApiServerConnection,
    probes: Probes,
    metrics: Metrics,
    document: Callable[[], Mapping[str, Any]],
    kube_version: str,
) -> PageListener:
    """Return the endpoint, listening. The scheduler's ``connection`` authorizes users unless the options name
    other servers.

    Raises:
        ListenError: The address is taken.
        InvalidArgumentError: A file can't be used, or a metric's label is named wrongly.
    """
    pace = ClientOptions(
        timeout_seconds=REVIEW_SECONDS, qps=REVIEWS_PER_SECOND, burst=int(REVIEWS_PER_SECOND)
    )
    tokens = _server(options.authentication_kubeconfig, connection, pace)
    access = _server(options.authorization_kubeconfig, connection, pace)
    lifetimes = Lifetimes(options.token_seconds, options.allowed_seconds, options.denied_seconds)
    host = f"[{options.address}]" if ":" in options.address else options.address
    return PageListener(
        f"{host}:{options.port}",
        probes,
        _shown(options, metrics.registry),
        followed_context(options.https, options.client_ca_file, _authorities(options, tokens)),
        broken=metrics.broken_connections.inc,
        pages=_pages(options, document, kube_version),
        gatekeeper=Delegated(Reviews(tokens, access, lifetimes), options.always_allowed),
        share_port=options.share_port,
    )


def _server(kubeconfig: str, connection: ApiServerConnection, pace: ClientOptions) -> ApiServer:
    if kubeconfig:
        return ApiServer.from_kubeconfig(kubeconfig, pace)
    return connection.server(timeout_seconds=pace.timeout_seconds, qps=pace.qps, burst=pace.burst)


def _authorities(options: SecureServingOptions, server: ApiServer) -> Callable[[], str]:
    """Return a reader of the cluster's client CA, PEM; it returns "" if the CA is not looked up."""
    if options.client_ca_file or options.skip_lookup:
        return lambda: ""
    found = _LookedUp(server)
    try:
        found.look_up()
    except MooringError as error:
        if not options.tolerate_lookup_failure:
            raise InvalidArgumentError.at("--authentication-tolerate-lookup-failure", str(error)) from None
        log.warning("client certificates are not taken, only tokens, until this is mended: %s", error)
    threading.Thread(target=found.follow, name="client-authorities", daemon=True).start()
    return lambda: found.authorities


class _LookedUp:
    """The authorities of client certificates in a ConfigMap of the cluster. Thread-safe.

    ``authorities`` are PEM; "" = none were found.
    """

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self.authorities = ""

    def look_up(self) -> None:
        """Find them. Raises MooringError when they can't be read."""
        self.authorities = client_authorities(self._server)

    def follow(self) -> None:
        """Read them again and again; the last ones stay valid while they can't be read."""
        while True:
            time.sleep(LOOK_UP_SECONDS)
            with suppress(MooringError):
                self.look_up()


def _pages(
    options: SecureServingOptions, document: Callable[[], Mapping[str, Any]], kube_version: str
) -> dict[str, Page]:
    paths = ("/configz", "/flagz", "/healthz", "/livez", "/metrics", "/readyz")
    return {
        "/configz": configz(document),
        "/flagz": flagz(COMPONENT, options.flags),
        "/statusz": statusz(COMPONENT, __version__, kube_version, paths),
    }


def _shown(options: SecureServingOptions, registry: CollectorRegistry) -> ShownMetrics:
    """Return the metrics that ``--disabled-metrics`` and ``--allow-metric-labels`` leave."""
    entries: dict[str, str] = {}
    try:
        if file := options.metric_labels_file:
            entries |= read_document(read_text(file))["allowListMapping"]
        for flag in options.metric_labels:
            entries |= entries_of(flag)
        allowed = allowed_values(entries)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InvalidArgumentError.at("--allow-metric-labels", f"can't be used: {error}") from None
    disabled = map(metric_name, options.disabled_metrics)
    return ShownMetrics(registry, disabled, allowed, options.metrics_prefix)


class Delegated:
    """Admits the requests that the API server authorizes; a ``Gatekeeper``. If it can't be reached, none is.
    The paths in ``always_allowed`` need no authorization; ``*`` at the end stands for whatever follows.
    """

    def __init__(self, reviews: Reviews, always_allowed: Sequence[str]) -> None:
        self._reviews = reviews
        names = [f"/{path.lstrip('/')}" for path in always_allowed]
        self._paths = frozenset(names)
        self._prefixes = tuple(name.removesuffix("*") for name in names if name.endswith("*"))
        self._last_fault = ""

    def __call__(self, asked: PageRequest) -> PageAnswer | None:
        if asked.path in self._paths or asked.path.startswith(self._prefixes):
            return None
        try:
            user = self._user(asked)
            allowed = user is not None and self._reviews.may_access(user, asked.verb, asked.path)
        except MooringError as error:
            return self._unknown(error)
        if user is None:
            return rejection(HTTPStatus.UNAUTHORIZED, "Unauthorized")
        if allowed:
            return None
        message = f'forbidden: User "{user.name}" cannot {asked.verb} path "{asked.path}"'
        return rejection(HTTPStatus.FORBIDDEN, message)

    def _user(self, asked: PageRequest) -> User | None:
        """Who asks, by certificate or else by token; None for a token that isn't valid."""
        subject = [pair for part in asked.certificate.get("subject", ()) for pair in part]
        if name := next((value for key, value in subject if key == "commonName"), ""):
            groups = tuple(value for key, value in subject if key == "organizationName")
            return User(name, (*groups, AUTHENTICATED))
        scheme, _, token = asked.authorization.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return ANONYMOUS
        return self._reviews.user_of(token.strip())

    def _unknown(self, error: MooringError) -> PageAnswer:
        fault = str(error)
        if fault != self._last_fault:
            self._last_fault = fault
            log.warning(
                "cannot authorize requests for /metrics: %s; mooring needs the rights of the ClusterRole "
                "system:auth-delegator",
                fault,
            )
        return rejection(HTTPStatus.SERVICE_UNAVAILABLE, "the API server could not authorize this request")
