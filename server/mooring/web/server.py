"""The page's process: what it asks, where it listens, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from mooring.serving.addresses import ListenError, is_local, split
from mooring.serving.certificates import TlsFiles
from mooring.serving.http.hosts import Hosts
from mooring.serving.http.server import HttpServer
from mooring.serving.http.tls import channel_credentials, server_context, warn_of_strangers
from mooring.serving.listeners.health import HealthListener
from mooring.serving.listeners.probes import Probes
from mooring.web.app import WebApp
from mooring.web.processes import Address


@dataclass(frozen=True, slots=True)
class WebOptions:
    """The processes that the page shows, and where it is served.

    Attributes:
        listen: HOST:PORT; port 0 takes a free one.
        addresses: The processes to ask, one or more; no two have one name.
        trusted: The TLS credentials for calls to them; None = plain text.
        certificate: The page's certificate, and the CA of the browsers that may see it; None = plain HTTP.
        insecure_listen: Whether plain HTTP may be served where other machines reach it.
        path_prefix: A path under which the page is served too; "" = none.
        hosts: Accepted host names, besides those of loopback.
        health_listen: HOST:PORT or unix:PATH of gRPC health; "" = none.
        impersonate: Whether calls are made on behalf of each client.
    """

    listen: str
    addresses: Sequence[Address]
    trusted: TlsFiles | None = None
    certificate: TlsFiles | None = None
    insecure_listen: bool = False
    path_prefix: str = ""
    hosts: frozenset[str] = frozenset()
    health_listen: str = ""
    impersonate: bool = False


def serve(options: WebOptions, on_ready: Callable[[str], None]) -> None:
    """Serve the page until SIGTERM or SIGINT; ``on_ready`` is called with its URL. Main thread only.

    Raises:
        ListenError: The address is in use, or can be reached by others and no flag allows that.
        OSError: A file of a certificate can't be used.
    """
    host, port = split(options.listen)
    local = is_local(options.listen)
    if not (options.insecure_listen or options.certificate or local):
        raise ListenError(
            f"{options.listen} can be reached from other machines: give --tls-cert-file and "
            "--tls-private-key-file, or allow plain HTTP with --insecure-listen"
        )
    if not local:
        warn_of_strangers(options.listen, options.certificate, "--tls-client-ca-file")
    # Off loopback an ingress may ask by any name; where names are given, only they count.
    hosts = Hosts(options.hosts if local or options.hosts else None)
    credentials = channel_credentials(options.trusted) if options.trusted else None
    app = WebApp(options.addresses, credentials, hosts, options.path_prefix, impersonate=options.impersonate)
    tls = server_context(options.certificate) if options.certificate else None
    server = HttpServer(app, host, port, tls)
    with ExitStack() as running:
        if options.health_listen:
            health = HealthListener(options.health_listen, Probes(app.stalled, lambda: ""), ())
            running.callback(health.stop)
            health.start()
        server.run(on_ready)
