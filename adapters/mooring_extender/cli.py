"""The command ``mooring-extender``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from mooring.serving.access.access import Access
from mooring.serving.addresses import ListenError, is_loopback
from mooring.serving.allocator import keep_freed_memory, share_freed_memory
from mooring.serving.commands import (
    EXIT_FAILED,
    EXIT_OK,
    AdapterParser,
    configure_logging,
    duration,
    shown_files,
    trusted_files,
)
from mooring.serving.grammar import SWITCH, boolean
from mooring.serving.http.server import HttpServer
from mooring.serving.http.tls import channel_credentials, own_hosts, server_context, warn_of_strangers
from mooring.tracing.configuration import tracer_of
from mooring.tracing.spans import Tracer
from mooring_extender.app import ExtenderApp, Options
from mooring_extender.client import GrpcClient

ENVIRONMENT_PREFIX: Final = "MOORING_ADAPTER_"
"""Not MOORING_EXTENDER_, with which the twins of ``mooring serve --extender-...`` begin."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the adapter until SIGTERM or SIGINT.

    Returns 0 then, 1 if it cannot start; wrong usage exits with 2.
    """
    parser = _parser(os.environ)
    args = parser.parse_args(sys.argv[1:] if argv is None else argv)
    configure_logging(args.v, args.logging_format)
    host, port = args.listen
    parser.check_ends(args)
    if args.allow_client and not args.client_ca_file:
        parser.error("--allow-client needs --client-ca-file: without it no client has a name")
    try:
        tracer = tracer_of(args.tracing_config_file, "mooring-extender")
        server = _server(args, host, port, tracer)
    except (ListenError, OSError, ValueError) as error:
        print(f"mooring-extender: {error}", file=sys.stderr)
        return EXIT_FAILED
    share_freed_memory()
    keep_freed_memory()
    server.run(lambda url: print(f"mooring-extender ready: {url}", flush=True))
    if tracer is not None:
        tracer.close()
    return EXIT_OK


def _server(args: argparse.Namespace, host: str, port: int, tracer: Tracer | None) -> HttpServer:
    """Return the adapter, its port taken. Raises ListenError, or OSError for a file that can't be used."""
    shown, trusted = shown_files(args), trusted_files(args)
    tls = server_context(shown) if shown else None
    options = Options(
        profile=args.profile,
        path_prefix=args.path_prefix,
        http_timeout=args.http_timeout,
        max_body_bytes=args.max_body_bytes,
        access=Access.at(f"{host}:{port}", args.allow_client, insecure_binding=args.insecure_binding),
        hosts=own_hosts(host, args.allow_host, shown, "--allow-host"),
    )
    if trusted:
        # Faults are reported now, not at the first call.
        channel_credentials(trusted)
    app = ExtenderApp(
        partial(GrpcClient, args.server, trusted, impersonate=args.impersonate), options, tracer
    )
    if not is_loopback(host):
        warn_of_strangers(f"{host}:{port}", shown, "--client-ca-file")
    return HttpServer(app, host, port, tls, args.drain_delay)


def _parser(environment: Mapping[str, str]) -> AdapterParser:
    about = "Answers kube-scheduler's extender calls with the decisions of a mooring server."
    parser = AdapterParser("mooring-extender", about, ENVIRONMENT_PREFIX, environment)
    flag = parser.flag
    parser.add_ends("127.0.0.1:8888", "HTTPS")
    flag("profile", "NAME", "", "profile of calls whose path names none; if not given, mooring's first")
    flag("path-prefix", "PATH", "", "serve the verbs under this path too, such as /api/scheduler")
    flag("http-timeout", "DURATION", "2s", "the stanza's httpTimeout; mooring gets 75%% of it", duration)
    flag(
        "drain-delay",
        "DURATION",
        "5s",
        "from SIGTERM to the end of listening; meanwhile each answer ends its connection",
        _delay,
    )
    flag("max-body-bytes", "BYTES", str(64 * 2**20), "the largest request body", _positive)
    _add_clients(flag)
    flag("tracing-config-file", "FILE", "", "TracingConfiguration: what is traced, and the OTLP collector")
    parser.add_log()
    return parser


def _add_clients(flag: Callable[..., None]) -> None:
    """Declare what clients may do."""
    flag(
        "allow-client",
        "NAMES",
        "",
        "clients that may call bind, by names in their certificates, such as cn:x,dns:y",
        _names,
    )
    flag(
        "insecure-binding",
        SWITCH,
        "false",
        "let every client that reaches a loopback port call bind",
        boolean,
    )
    flag(
        "impersonate",
        SWITCH,
        "false",
        "call mooring on behalf of each client, so that its rights count; needs the role impersonator there",
        boolean,
    )
    flag(
        "allow-host",
        "NAMES",
        "",
        "accepted hosts of urlPrefix besides those in the certificate, such as x,y",
        _names,
    )


def _delay(text: str) -> float:
    """Read a duration, or 0."""
    return 0.0 if text in {"0", "0s"} else duration(text)


def _positive(text: str) -> int:
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


def _names(text: str) -> frozenset[str]:
    return frozenset(filter(None, text.split(",")))
