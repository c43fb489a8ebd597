"""The extender adapter inside ``mooring serve``: the same callable that ``mooring-extender`` runs."""

from __future__ import annotations

from mooring.app.local_client import LocalClient
from mooring.app.options import ExtenderOptions
from mooring.service.offer import Servicers
from mooring.serving.addresses import ListenError
from mooring.serving.certificates import TlsFiles
from mooring.serving.http.server import HttpServer
from mooring.serving.http.tls import server_context, warn_of_strangers
from mooring.serving.listeners.listen import is_local, split
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
    answering = Options(
        profile=options.profile,
        path_prefix=options.path_prefix,
        http_timeout=options.http_timeout,
        binders=_binders(options, files),
    )
    keep_freed_memory()
    try:
        app = ExtenderApp(lambda: LocalClient(servicers), answering, tracer)
        return HttpServer(app, host, port, server_context(files) if files else None)
    except OSError as error:
        raise ListenError(str(error)) from None


def _binders(options: ExtenderOptions, files: TlsFiles | None) -> frozenset[str] | None:
    """Return the clients that may call bind; None = all that can connect."""
    named = options.allow_clients and files is not None and files.authority is not None
    return None if is_local(options.listen) and not named else options.allow_clients
