"""The extender adapter inside ``mooring serve``: the same callable that ``mooring-extender`` runs."""

from __future__ import annotations

from mooring.app.local_client import LocalClient
from mooring.app.options import ExtenderOptions
from mooring.service.services import Servicers
from mooring.serving.access import Access
from mooring.serving.addresses import ListenError, is_local, split
from mooring.serving.http.server import HttpServer
from mooring.serving.http.tls import own_hosts, server_context, warn_of_strangers
from mooring.tracing.spans import Tracer
from mooring_extender.allocator import keep_freed_memory
from mooring_extender.app import ExtenderApp, Options


def extender_server(options: ExtenderOptions, servicers: Servicers, tracer: Tracer | None) -> HttpServer:
    """Return the adapter for this process, bound to its port; ``tracer`` decides which calls are traced.

    Raises:
        ListenError: The address is in use, can be reached by others and no flag allows that, or a file of its
            certificate can't be used.
    """
    files, address = options.certificate, options.listen
    host, port = split(address)
    if not (options.insecure_listen or files or is_local(address)):
        raise ListenError(
            f"{address} can be reached from other machines: give --extender-tls-cert-file and "
            "--extender-tls-private-key-file, or allow plain HTTP with --insecure-listen"
        )
    if not is_local(address):
        warn_of_strangers(address, files, "--extender-client-ca-file")
    keep_freed_memory()
    try:
        tls = server_context(files) if files else None
        answering = Options(
            profile=options.profile,
            path_prefix=options.path_prefix,
            http_timeout=options.http_timeout,
            access=_access(options),
            hosts=own_hosts(host, options.hosts, files, "--extender-allow-host"),
        )
        app = ExtenderApp(lambda: LocalClient(servicers), answering, tracer)
        return HttpServer(app, host, port, tls)
    except OSError as error:
        raise ListenError(str(error)) from None


def _access(options: ExtenderOptions) -> Access:
    """Return the clients that may call bind; none if no authority vouches for names."""
    files = options.certificate
    names = options.allow_clients if files is not None and files.authority is not None else ()
    return Access.at(options.listen, names, insecure_binding=options.insecure_binding)
