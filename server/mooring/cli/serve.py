"""``mooring serve``: the gRPC server, and the extender adapter in the same process where asked for."""

from __future__ import annotations

import argparse
import threading
from contextlib import ExitStack

from mooring.cli.assembly import assemble
from mooring.cli.extender import add_extender, extender_server
from mooring.cli.flags import (
    Commands,
    Flags,
    above_zero,
    add_deciding,
    add_logging_format,
    add_self_check,
    certificate_files,
    positive,
    seconds,
)
from mooring.cli.options import Option
from mooring.cli.output import EXIT_FAILED, EXIT_OK
from mooring.cli.signals import stop_signal
from mooring.cli.sources import KINDS, source_of_the_pod
from mooring.cli.start_log import log_flags, log_start
from mooring.framework.errors import InvalidArgumentError
from mooring.service.metrics import Metrics
from mooring.service.observer import MetricsObserver
from mooring.service.offer import Servicers
from mooring.service.server import Options, Server, build
from mooring.service.slots import Slots
from mooring.service.tls import TlsFiles

COMMIT_SLOTS = 32
"""Commits worked on at once; most of the time they wait for the API server."""

MOST_OPEN_COMMITS = 256
"""Commits whose callers have gone, while the API server is silent, before further ones are refused."""


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "run the gRPC server"
    parser = commands.add_parser("serve", help=text, description=text, allow_abbrev=False)
    flags = Flags(parser)
    add_deciding(flags)
    add_logging_format(flags)
    flags.add("source", "SOURCE", "", f"where the cluster comes from: {KINDS}; in a pod: kubernetes")
    flags.add("kubeconfig", "FILE", "", "the API server to bind through; without one binds stay local")
    flags.switch("in-cluster", "bind through the API server of the cluster that this runs in")
    flags.add("max-staleness", "TIME", "8s", "commit nothing on a state older than this", above_zero)
    add_self_check(flags)
    flags.switch("leader-elect", "commit only with the lease, at the pace of the file's leaderElection")
    flags.add("listen", "ADDRESS", "127.0.0.1:50051", "HOST:PORT or unix:PATH of the service")
    flags.add("health-listen", "ADDRESS", "127.0.0.1:50052", "HOST:PORT or unix:PATH of gRPC health")
    flags.add("metrics-listen", "ADDRESS", "127.0.0.1:50053", "HOST:PORT of /healthz, /readyz, /metrics")
    add_extender(flags)
    flags.add("tls-cert-file", "FILE", "", "certificate of the service, PEM")
    flags.add("tls-private-key-file", "FILE", "", "its private key, PEM")
    flags.add("tls-client-ca-file", "FILE", "", "let in only clients with a certificate of these authorities")
    flags.many("allow-client", "NAME", "a client certificate's name that may bind, reserve and push objects")
    flags.switch("insecure-listen", "allow plain text on addresses that other machines can reach")
    flags.switch("reflection", "offer gRPC server reflection")
    flags.add("plugin-slots", "COUNT", "4", "threads that run plugins", positive)
    flags.add("max-abandoned-workers", "COUNT", "32", "stuck plugin threads before a restart", positive)
    flags.add("max-concurrent-calls", "COUNT", "128", "calls worked on at once", positive)
    flags.add("body-timeout", "TIME", "2s", "how long a request may take to arrive", above_zero)
    flags.add("drain-delay", "TIME", "5s", "from the end of readiness to the end of listening", seconds)
    flags.add("stop-grace", "TIME", "15s", "how long running calls may go on then", seconds)
    parser.set_defaults(run=run, parser=parser)


def run(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    """Serve until SIGTERM or SIGINT, or until the lease is lost."""
    args.source = args.source or source_of_the_pod()
    log_flags(args.parser.values(args), args.kube_version)
    metrics = Metrics()
    slots = Slots(args.plugin_slots, args.max_abandoned_workers, metrics.abandoned_workers)
    stop, deposed = stop_signal(), threading.Event()

    def give_up() -> None:
        deposed.set()
        stop.set()

    assembly = assemble(args, options, MetricsObserver(metrics), give_up)
    commit_slots = Slots(COMMIT_SLOTS, MOST_OPEN_COMMITS)
    servicers = Servicers.of(assembly.backend(slots, commit_slots, metrics))
    # All ports are taken before anything starts, so a taken one ends the command at once.
    extender = extender_server(args, servicers) if args.extender_listen else None
    server = build(
        servicers.services(), _options(args), metrics=metrics, slots=slots, ready=assembly.not_ready
    )
    with ExitStack() as running:
        running.callback(commit_slots.stop)
        assembly.start(running)
        server.start()
        running.callback(server.drain)
        if extender:
            extender.start()
            running.callback(extender.stop)
        running.callback(server.withdraw)
        if extender:
            running.callback(extender.withdraw)
        log_start(assembly, configured=bool(args.config))
        print(_ready_line(server, extender.url if extender else ""), flush=True)
        stop.wait()
    return EXIT_FAILED if deposed.is_set() else EXIT_OK


def _options(args: argparse.Namespace) -> Options:
    files = certificate_files(args, "tls-cert-file", "tls-private-key-file", "tls-client-ca-file")
    return Options(
        listen=args.listen,
        health_listen=args.health_listen,
        metrics_listen=args.metrics_listen,
        tls=TlsFiles(*files) if files else None,
        insecure_listen=args.insecure_listen,
        allow_clients=_allowed(args),
        reflection=args.reflection,
        max_concurrent_calls=args.max_concurrent_calls,
        body_timeout=args.body_timeout,
        drain_delay=args.drain_delay,
        stop_grace=args.stop_grace,
    )


def _allowed(args: argparse.Namespace) -> frozenset[str]:
    """The names that may change something over gRPC.

    Raises:
        InvalidArgumentError: No listener could tell the name of a client.
    """
    if args.allow_client and not (args.tls_client_ca_file or args.extender_client_ca_file):
        raise InvalidArgumentError.at(
            "--allow-client", "needs --tls-client-ca-file: without it no client has a name"
        )
    return frozenset(args.allow_client) if args.tls_client_ca_file else frozenset()


def _ready_line(server: Server, extender: str) -> str:
    parts = [f"grpc={server.address}"]
    if extender:
        parts.append(f"extender={extender}")
    parts += [f"health={server.health_address}", f"metrics={server.metrics_address}"]
    return f"mooring ready: {' '.join(parts)}"
