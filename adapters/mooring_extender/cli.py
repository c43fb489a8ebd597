"""The command `mooring-extender`."""

from __future__ import annotations

import argparse
import logging
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from mooring.serving.addresses import ListenError, is_loopback
from mooring.serving.certificates import TlsFiles
from mooring_extender.allocator import keep_freed_memory
from mooring_extender.app import ExtenderApp, Options
from mooring_extender.client import GrpcClient
from mooring_extender.grammar import SWITCH, SwitchParser, boolean, logging_format
from mooring_extender.logs import FORMATS, formatter
from mooring_extender.server import ExtenderServer
from mooring_extender.tls import channel_credentials, server_context, warn_of_strangers

ENVIRONMENT_PREFIX: Final = "MOORING_ADAPTER_"
"""Not MOORING_EXTENDER_, with which the twins of ``mooring serve --extender-...`` begin."""

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1

_Converter = Callable[[str], object]
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PIECE: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the adapter until SIGTERM or SIGINT.

    Returns 0 then, 1 if it cannot start; wrong usage exits with 2.
    """
    parser = _parser(os.environ)
    args = parser.parse_args(sys.argv[1:] if argv is None else argv)
    _configure_logging(args.v, args.logging_format)
    host, port = args.listen
    if not (args.insecure_listen or args.tls_cert_file or is_loopback(host)):
        parser.error(
            f"--listen {host}:{port} is not a loopback address: give --tls-cert-file and"
            " --tls-private-key-file, or say --insecure-listen"
        )
    if not args.tls_cert_file and (args.tls_private_key_file or args.client_ca_file):
        parser.error(
            "--tls-private-key-file and --client-ca-file need --tls-cert-file: without it all is plain"
        )
    if args.allow_client and not args.client_ca_file:
        parser.error("--allow-client needs --client-ca-file: without it no client has a name")
    try:
        server = _server(args, host, port)
    except (ListenError, OSError) as error:
        print(f"mooring-extender: {error}", file=sys.stderr)
        return EXIT_FAILED
    keep_freed_memory()
    server.run(lambda url: print(f"mooring-extender ready: {url}", flush=True))
    return EXIT_OK


def _server(args: argparse.Namespace, host: str, port: int) -> ExtenderServer:
    """Return the adapter, its port taken. Raises ListenError, or OSError for a file that can't be used."""
    options = Options(
        profile=args.profile,
        path_prefix=args.path_prefix,
        http_timeout=args.http_timeout,
        max_body_bytes=args.max_body_bytes,
        binders=args.allow_client if args.allow_client or not is_loopback(host) else None,
    )
    shown = _files(args.tls_cert_file, args.tls_private_key_file, args.client_ca_file)
    trusted = _files(args.server_cert_file, args.server_key_file, args.server_ca_file)
    if trusted:
        # Faults are told now, not when the first call comes.
        channel_credentials(trusted)
    app = ExtenderApp(partial(GrpcClient, args.server, trusted), options)
    tls = server_context(shown) if shown else None
    if not is_loopback(host):
        warn_of_strangers(f"{host}:{port}", shown, "--client-ca-file")
    return ExtenderServer(app, host, port, tls, args.drain_delay)


def _parser(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    about = "Answers kube-scheduler's extender calls with the decisions of a mooring server."
    twins = f"Each flag has a twin in the environment: --http-timeout is {ENVIRONMENT_PREFIX}HTTP_TIMEOUT."
    parser = SwitchParser(prog="mooring-extender", description=about, epilog=twins, allow_abbrev=False)

    def flag(name: str, metavar: str, default: str, text: str, kind: _Converter = str) -> None:
        # argparse converts string defaults, so a bad value in the environment is a usage error too.
        twin = ENVIRONMENT_PREFIX + name.upper().replace("-", "_")
        shown = f" (default: {default})" if default else ""
        value = environment.get(twin, default)
        spellings = ["-v", "--v"] if name == "v" else [f"--{name}"]
        parser.add_argument(*spellings, type=kind, default=value, metavar=metavar, help=text + shown)

    flag("listen", "HOST:PORT", "127.0.0.1:8888", "where to listen; port 0 takes a free one", _host_and_port)
    flag("server", "ADDRESS", "127.0.0.1:50051", "mooring's HOST:PORT or unix:PATH", _server_address)
    flag("profile", "NAME", "", "profile of calls whose path names none; if not given, mooring's first")
    flag("path-prefix", "PATH", "", "serve the verbs under this path too, such as /api/scheduler")
    flag("http-timeout", "DURATION", "2s", "the stanza's httpTimeout; mooring gets 75%% of it", _duration)
    flag(
        "drain-delay",
        "DURATION",
        "5s",
        "from SIGTERM to the end of listening; meanwhile each answer ends its connection",
        _delay,
    )
    flag("max-body-bytes", "BYTES", str(64 * 2**20), "the largest request body", _positive)
    flag("tls-cert-file", "PATH", "", "serve HTTPS with this certificate, PEM")
    flag("tls-private-key-file", "PATH", "", "the certificate's private key, PEM")
    flag("client-ca-file", "PATH", "", "accept only clients with a certificate of these CAs, PEM")
    flag("allow-client", "NAMES", "", "who may call bind: certificates' names, as cn:x,dns:y", _names)
    flag("server-ca-file", "PATH", "", "speak TLS to mooring, and trust these authorities, PEM")
    flag("server-cert-file", "PATH", "", "the certificate to show to mooring, PEM")
    flag("server-key-file", "PATH", "", "that certificate's private key, PEM")
    flag("insecure-listen", SWITCH, "false", "allow plain HTTP on an address that is not loopback", boolean)
    flag("v", "LEVEL", "0", "log verbosity, 0 to 10", _verbosity)
    flag("logging-format", "FORMAT", "text", f"of the log: {' or '.join(FORMATS)}", logging_format)
    return parser


def _host_and_port(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not (colon and host and port.isdecimal() and int(port) < 2**16):
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host.strip("[]"), int(port)


def _duration(text: str) -> float:
    """Read a duration as Kubernetes writes it, such as 2s, 500ms or 1m30s."""
    pieces = _PIECE.findall(text)
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in pieces)
    if "".join(map("".join, pieces)) != text or seconds <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration above zero, such as 2s or 500ms")
    return seconds


def _delay(text: str) -> float:
    """Read a duration, or 0."""
    return 0.0 if text in {"0", "0s"} else _duration(text)


def _server_address(text: str) -> str:
    if not text.startswith("unix:"):
        _host_and_port(text)
    return text


def _positive(text: str) -> int:
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


def _verbosity(text: str) -> int:
    if not (text.isdecimal() and int(text) <= 10):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 10")
    return int(text)


def _names(text: str) -> frozenset[str]:
    return frozenset(filter(None, text.split(",")))


def _files(certificate: str, key: str, authority: str) -> TlsFiles | None:
    """Return the files that are given; None when there is none."""
    paths = [Path(text) if text else None for text in (certificate, key, authority)]
    return TlsFiles(*paths) if any(paths) else None


def _configure_logging(verbosity: int, format_name: str) -> None:
    level = logging.WARNING if verbosity < 2 else logging.INFO if verbosity < 4 else logging.DEBUG
    handler = logging.StreamHandler()
    handler.setFormatter(formatter(format_name))
    logging.basicConfig(level=level, handlers=[handler])
