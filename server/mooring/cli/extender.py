"""The extender adapter inside ``mooring serve``: the same callable that ``mooring-extender`` runs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mooring.cli.flags import Flags, above_zero
from mooring.service.listen import ListenError, is_local, split
from mooring.service.offer import Servicers

if TYPE_CHECKING:
    import ssl

    from mooring_extender.server import ExtenderServer


def add_extender(flags: Flags) -> None:
    """Where and how extender calls are answered."""
    flags.add("extender-listen", "HOST:PORT", "", "answer extender calls there, in this process")
    flags.add("extender-profile", "NAME", "", "profile of extender calls whose path names none")
    flags.add("extender-path-prefix", "PATH", "", "serve the extender's verbs under this path too")
    flags.add("extender-http-timeout", "TIME", "2s", "the extender stanza's httpTimeout", above_zero)
    flags.add("extender-tls-cert-file", "FILE", "", "certificate of the extender's listener, PEM")
    flags.add("extender-tls-private-key-file", "FILE", "", "its private key, PEM")
    flags.add("extender-client-ca-file", "FILE", "", "let in only clients of these authorities there")


def extender_server(args: argparse.Namespace, servicers: Servicers) -> ExtenderServer:
    """The adapter in this process, its port taken.

    Raises:
        ListenError: The address is taken, can be reached by others and nobody said so, or a file of its
            certificate can't be used.
    """
    from mooring.cli.local_client import LocalClient
    from mooring_extender.app import ExtenderApp, Options
    from mooring_extender.server import ExtenderServer
    from mooring_extender.server import ListenError as TakenError

    address = args.extender_listen
    host, port = split(address)
    if not (args.insecure_listen or args.extender_tls_cert_file or is_local(address)):
        raise ListenError(
            f"{address} can be reached from other machines: give --extender-tls-cert-file and "
            "--extender-tls-private-key-file, or allow plain HTTP with --insecure-listen"
        )
    options = Options(
        profile=args.extender_profile,
        path_prefix=args.extender_path_prefix,
        http_timeout=args.extender_http_timeout,
        binders=_binders(args),
    )
    try:
        app = ExtenderApp(lambda: LocalClient(servicers), options)
        return ExtenderServer(app, host, port, _tls(args))
    except (TakenError, OSError) as error:
        raise ListenError(str(error)) from None


def _binders(args: argparse.Namespace) -> frozenset[str] | None:
    """Who may call bind; None = everybody who can connect."""
    allowed = frozenset(args.allow_client)
    if is_local(args.extender_listen) and not (allowed and args.extender_client_ca_file):
        return None
    return allowed


def _tls(args: argparse.Namespace) -> ssl.SSLContext | None:
    from mooring_extender.tls import TlsFiles, server_context

    if not args.extender_tls_cert_file:
        return None
    names = ("extender_tls_cert_file", "extender_tls_private_key_file", "extender_client_ca_file")
    certificate, key, authority = (Path(path) if (path := getattr(args, name)) else None for name in names)
    return server_context(TlsFiles(certificate, key, authority))
