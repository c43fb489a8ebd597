"""``mooring web``: the page, about running processes, or about a cluster that it has read itself."""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from mooring.app.embedding import Option
from mooring.cli import remote
from mooring.cli.children import StartError, start
from mooring.cli.clusters import SOURCES, is_read
from mooring.cli.console import status_line
from mooring.cli.flags import CLUSTER, SERVER, Commands, Flags, add_command, add_deciding, add_manifests
from mooring.cli.output import Exit, complain
from mooring.cli.serving_flags import add_logging_format, certificate_files
from mooring.framework.errors import InvalidArgumentError
from mooring.serving.certificates import TlsFiles

if TYPE_CHECKING:
    from mooring.web.processes import Address

_EXAMPLES = """examples:
  mooring web                                            the server at its default address
  mooring web --server live=127.0.0.1:50051 --server test=127.0.0.1:60051
  kubectl get nodes,pods -A -o json > c.json; mooring web --manifests c.json
  mooring web --cluster kubernetes:config                a live cluster, which is only read"""


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "serve the page: decisions and why, the queue, nodes and pods, what if"
    parser = add_command(commands, "web", text, _EXAMPLES)
    flags = Flags(parser)
    cluster = flags.group(CLUSTER)
    cluster.add("cluster", "SOURCE", "", f"{SOURCES}; a server of its own reads all but the first")
    add_manifests(cluster)
    server = flags.group(SERVER)
    text = f"show this process: HOST:PORT or unix:PATH; default {remote.DEFAULT_SERVER}"
    server.many("server", "[NAME=]ADDRESS", text)
    remote.add_server_certificates(server)
    serving = flags.group("Serving flags")
    serving.add("listen", "ADDRESS", "127.0.0.1:50054", "HOST:PORT of the page")
    serving.add("health-listen", "ADDRESS", "", "HOST:PORT or unix:PATH of gRPC health; default: none")
    serving.add("tls-cert-file", "FILE", "", "certificate of the page, PEM")
    serving.add("tls-private-key-file", "FILE", "", "its private key, PEM")
    text = "show the page only to clients with a certificate of these CAs, PEM"
    serving.add("tls-client-ca-file", "FILE", "", text)
    serving.switch("insecure-listen", "allow plain text on addresses that other machines can reach")
    text = (
        "call servers on behalf of each client, so that its rights count; needs the role impersonator there"
    )
    serving.switch("impersonate", text)
    serving.add("path-prefix", "PATH", "", "serve the page under this path too, such as /mooring")
    serving.many("allow-host", "NAME", "an accepted host name of the page, besides localhost")
    add_deciding(flags)
    add_logging_format(flags)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, _options: tuple[Option, ...]) -> int:
    """Serve until SIGTERM or SIGINT."""
    from mooring.web.server import WebOptions, serve

    with ExitStack() as running:
        try:
            addresses = _addresses(args, running)
        except StartError as error:
            complain(error)
            return Exit.INVALID
        options = WebOptions(
            listen=args.listen,
            addresses=addresses,
            trusted=_trusted(args),
            certificate=certificate_files(
                args, "tls-cert-file", "tls-private-key-file", "tls-client-ca-file"
            ),
            insecure_listen=args.insecure_listen,
            path_prefix=args.path_prefix,
            hosts=frozenset(args.allow_host),
            health_listen=args.health_listen,
            impersonate=args.impersonate,
        )
        serve(options, lambda url: print(f"mooring-web ready: {url}/", flush=True))
    return Exit.OK


def _addresses(args: argparse.Namespace, running: ExitStack) -> list[Address]:
    """Return the processes to show; if none is named, one that reads the cluster is started.

    Raises:
        InvalidArgumentError: The flags don't go together.
        StartError: The process did not start.
    """
    from mooring.web.processes import Address

    source = f"files:{','.join(args.manifests)}" if args.manifests else args.cluster
    kind, _, rest = source.partition(":")
    if sum(map(bool, (args.server, args.manifests, args.cluster))) > 1:
        raise InvalidArgumentError.at("--server", "give either this, or --cluster, or --manifests")
    if kind == "server" and rest:
        return [Address(*_named(rest))]
    if source and not is_read(source):
        raise InvalidArgumentError.at("--cluster", f"{source!r} is not one of {SOURCES}")
    if source:
        return [Address(source, _start_server(args, source, running), source)]
    named = [_named(text) for text in args.server or [remote.DEFAULT_SERVER]]
    twice = {name for name, _ in named if sum(name == other for other, _ in named) > 1}
    if twice:
        raise InvalidArgumentError.at("--server", f"two processes have the name {', '.join(sorted(twice))}")
    return [Address(name, target) for name, target in named]


def _named(text: str) -> tuple[str, str]:
    """Return name and address of [NAME=]ADDRESS."""
    name, equals, address = text.partition("=")
    return (name, address) if equals else (text, text)


def _start_server(args: argparse.Namespace, source: str, running: ExitStack) -> str:
    """Start ``mooring serve`` over the source; returns its address. Raises StartError if it did not start."""
    folder = running.enter_context(tempfile.TemporaryDirectory(prefix="mooring-web-"))
    listeners = {name: f"unix:{folder}/{name}" for name in ("listen", "health-listen")}
    command = [sys.executable, "-m", "mooring", "serve", "--source", source, "--drain-delay", "0"]
    for name, value in {**listeners, "metrics-listen": "127.0.0.1:0", "config": args.config}.items():
        command += [f"--{name}", value]
    for plugin in args.plugin:
        command += ["--plugin", plugin]
    for host in args.plugin_host:
        command += ["--plugin-host", host]
    gates = ",".join(f"{name}={str(on).lower()}" for name, on in (args.feature_gates or {}).items())
    command += ["--kube-version", args.kube_version, "--feature-gates", gates, "--v", str(args.v)]
    with status_line("reading the cluster"):
        start(running, "mooring", command, threading.Event())
    return listeners["listen"]


def _trusted(args: argparse.Namespace) -> TlsFiles | None:
    """Return the TLS credentials for calls to the processes; None = plain text."""
    names = (args.server_cert_file, args.server_key_file, args.server_ca_file)
    if not any(names):
        return None
    return TlsFiles(*(Path(name) if name else None for name in names))
