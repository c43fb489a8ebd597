"""The extender adapter inside ``mooring serve``: the same callable that ``mooring-extender`` runs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mooring.cli.flags import Flags, above_zero, certificate_files
from mooring.service.listen import ListenError, is_local, split
from mooring.service.offer import Servicers

if TYPE_CHECKING:
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
        InvalidArgumentError: The certificate or its key is missing.
        ListenError: The address is taken, can be reached by others and nobody said so, or a file of its
            certificate can't be used.
    """
    from mooring.cli.local_client import LocalClient
    from mooring_extender.allocator import keep_freed_memory
    from mooring_extender.app import ExtenderApp, Options
    from mooring_extender.server import ExtenderServer
    from mooring_extender.server import ListenError as TakenError
    from mooring_extender.tls import TlsFiles, server_context

    files = certificate_files(
        args, "extender-tls-cert-file", "extender-tls-private-key-file", "extender-client-ca-file"
    )
    address = args.extender_listen
    host, port = split(address)
    if not (args.insecure_listen or files or is_local(address)):
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
    keep_freed_memory()
    try:
        app = ExtenderApp(lambda: LocalClient(servicers), options)
        return ExtenderServer(app, host, port, server_context(TlsFiles(*files)) if files else None)
    except (TakenError, OSError) as error:
        raise ListenError(str(error)) from None


def _binders(args: argparse.Namespace) -> frozenset[str] | None:
    """Who may call bind; None = everybody who can connect."""
    allowed = frozenset(args.allow_client)
    if is_local(args.extender_listen) and not (allowed and args.extender_client_ca_file):
        return None
    return allowed
