"""``mooring serve``: the gRPC server, and the extender adapter in the same process where asked for."""

from __future__ import annotations

import argparse
import logging
import signal
import threading
from contextlib import ExitStack

from mooring.cli.assembly import assemble
from mooring.cli.flags import Flags, add_deciding, positive, seconds
from mooring.cli.options import Option
from mooring.cli.output import EXIT_INVALID, EXIT_OK, complain
from mooring.service.listen import ListenError, split
from mooring.service.metrics import Metrics
from mooring.service.observer import MetricsObserver
from mooring.service.offer import Servicers
from mooring.service.server import Options, Server, build
from mooring.service.slots import Slots
from mooring.service.tls import TlsFiles

log = logging.getLogger(__name__)


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    text = "run the gRPC server"
    parser = commands.add_parser("serve", help=text, description=text, allow_abbrev=False)
    flags = Flags(parser)
    add_deciding(flags)
    flags.add("source", "SOURCE", "sample", "where the cluster comes from: sample, files:PATH,... or push")
    flags.add("kubeconfig", "FILE", "", "bind through this API server; without it binds stay local")
    flags.add("listen", "ADDRESS", "127.0.0.1:50051", "HOST:PORT or unix:PATH of the service")
    flags.add("health-listen", "ADDRESS", "127.0.0.1:50052", "HOST:PORT or unix:PATH of gRPC health")
    flags.add("metrics-listen", "ADDRESS", "127.0.0.1:50053", "HOST:PORT of /healthz, /readyz, /metrics")
    flags.add("extender-listen", "HOST:PORT", "", "answer extender calls there, in this process")
    flags.add("extender-http-timeout", "SECONDS", "2", "the extender stanza's httpTimeout", seconds)
    flags.add("tls-cert-file", "FILE", "", "certificate of the service, PEM")
    flags.add("tls-private-key-file", "FILE", "", "its private key, PEM")
    flags.switch("insecure-listen", "allow plain text on addresses that other machines can reach")
    flags.switch("reflection", "offer gRPC server reflection")
    flags.add("plugin-slots", "COUNT", "8", "threads that run plugins", positive)
    flags.add("max-abandoned-workers", "COUNT", "32", "stuck plugin threads before a restart", positive)
    flags.add("max-concurrent-calls", "COUNT", "128", "calls worked on at once", positive)
    flags.add("body-timeout", "SECONDS", "2", "how long a request may take to arrive", seconds)
    flags.add("drain-delay", "SECONDS", "5", "from the end of readiness to the end of listening", seconds)
    flags.add("stop-grace", "SECONDS", "15", "how long running calls may go on then", seconds)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    """Serve until SIGTERM or SIGINT."""
    metrics = Metrics()
    slots = Slots(args.plugin_slots, args.max_abandoned_workers, metrics.abandoned_workers)
    assembly = assemble(args, options, MetricsObserver(metrics))
    servicers = Servicers.of(assembly.backend(slots))
    try:
        server = build(
            servicers.services(), _options(args), metrics=metrics, slots=slots, ready=assembly.not_ready
        )
    except ListenError as error:
        complain(error)
        return EXIT_INVALID
    stop = _stop_signal()
    with ExitStack() as running:
        assembly.start(running)
        server.start()
        running.callback(server.drain)
        extender = _start_extender(args, servicers, running)
        log.info("%s", assembly.describe())
        print(_ready_line(server, extender), flush=True)
        stop.wait()
    return EXIT_OK


def _start_extender(args: argparse.Namespace, servicers: Servicers, running: ExitStack) -> str:
    """Answer extender calls in this process, where asked for; the URL, else ""."""
    if not args.extender_listen:
        return ""
    from mooring.cli.local_client import LocalClient
    from mooring_extender.app import ExtenderApp
    from mooring_extender.app import Options as ExtenderOptions
    from mooring_extender.server import ExtenderServer

    host, port = split(args.extender_listen)
    options = ExtenderOptions(http_timeout=args.extender_http_timeout)
    adapter = ExtenderServer(ExtenderApp(lambda: LocalClient(servicers), options), host, port)
    adapter.start()
    running.callback(adapter.stop)
    return adapter.url


def _options(args: argparse.Namespace) -> Options:
    tls = None
    if args.tls_cert_file or args.tls_private_key_file:
        tls = TlsFiles(args.tls_cert_file, args.tls_private_key_file)
    return Options(
        listen=args.listen,
        health_listen=args.health_listen,
        metrics_listen=args.metrics_listen,
        tls=tls,
        insecure_listen=args.insecure_listen,
        reflection=args.reflection,
        max_concurrent_calls=args.max_concurrent_calls,
        body_timeout=args.body_timeout,
        drain_delay=args.drain_delay,
        stop_grace=args.stop_grace,
    )


def _ready_line(server: Server, extender: str) -> str:
    parts = [f"grpc={server.address}"]
    if extender:
        parts.append(f"extender={extender}")
    parts += [f"health={server.health_address}", f"metrics={server.metrics_address}"]
    return f"mooring ready: {' '.join(parts)}"


def _stop_signal() -> threading.Event:
    """Set by SIGTERM or SIGINT."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop
