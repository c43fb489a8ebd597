"""``mooring serve``: the gRPC server, and the extender adapter in the same process on request."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from mooring.app.embedding import Option
from mooring.app.options import IN_FLIGHT, SOURCES, ElectionOptions, ExtenderOptions, ServerOptions
from mooring.app.signals import stop_signal
from mooring.cli.flags import (
    CLUSTER,
    CONFIGURATION,
    Commands,
    Flags,
    add_command,
    add_deciding,
    search_working_directory,
)
from mooring.cli.output import Exit, UsageError, print_ready
from mooring.cli.serving_flags import add_metrics_prefix, add_process, certificate_files, process_options
from mooring.cli.values import above_zero, host_and_port, one_of, positive, seconds
from mooring.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from mooring.service.server import Options


_EXAMPLES = """examples:
  mooring serve --source sample                          six made-up nodes
  mooring serve --source files:cluster.yaml --config mine.yaml
  mooring serve --source kubernetes --extender-listen 127.0.0.1:8888"""


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "run the gRPC server"
    parser = add_command(commands, "serve", text, _EXAMPLES)
    flags = Flags(parser)
    add_deciding(flags)
    text = f"source of the cluster's state: {SOURCES}; default in a pod: kubernetes"
    cluster = flags.group(CLUSTER)
    cluster.add("source", "SOURCE", "", text, alias="cluster")
    cluster.add("kubeconfig", "FILE", "", "the API server for bindings; without one bindings stay local")
    cluster.switch("in-cluster", "bind through the API server of this process's cluster")
    text = "commit only while holding the lease, timed by the configuration's leaderElection"
    cluster.switch("leader-elect", text)
    text = "HOST:PORT of this replica, which others name to clients while it holds the lease"
    cluster.add("advertise-address", "ADDRESS", "", text, host_and_port)
    text = "for development ONLY: import the plugins in force again when their files change"
    flags.group(CONFIGURATION).switch("reload", text)
    add_process(flags)
    _add_serving(flags.group("Serving flags"))
    _add_extender(flags.group("Extender flags"))
    _add_limits(flags.group("Limits and shutdown flags"))
    parser.set_defaults(run=run, parser=parser)


def _add_serving(flags: Flags) -> None:
    """Declare where and how calls are answered."""
    flags.add("listen", "ADDRESS", "127.0.0.1:50051", "HOST:PORT or unix:PATH of the service")
    flags.add("health-listen", "ADDRESS", "127.0.0.1:50052", "HOST:PORT or unix:PATH of gRPC health")
    flags.add("metrics-listen", "ADDRESS", "127.0.0.1:50053", "HOST:PORT of /healthz, /readyz, /metrics")
    add_metrics_prefix(flags)
    flags.add("tls-cert-file", "FILE", "", "certificate of the service, PEM")
    flags.add("tls-private-key-file", "FILE", "", "its private key, PEM")
    flags.add("tls-client-ca-file", "FILE", "", "accept only clients with a certificate of these CAs, PEM")
    flags.many(
        "allow-client",
        "NAME",
        "a client that may bind, reserve and push: a name in its certificate, such as cn:x",
    )
    flags.switch("insecure-listen", "allow plain text on addresses that other machines can reach")
    flags.switch(
        "insecure-binding", "let every client that reaches a loopback port bind pods, without a certificate"
    )
    flags.switch("reflection", "offer gRPC server reflection on other addresses than loopback, too")


def _add_limits(flags: Flags) -> None:
    """Declare limits of concurrency, and how the process ends."""
    flags.add("plugin-slots", "COUNT", "4", "threads that run plugins", positive)
    flags.add(
        "max-abandoned-workers",
        "COUNT",
        "32",
        "liveness fails at this many plugin threads stuck past their deadline",
        positive,
    )
    flags.add(
        "max-concurrent-calls",
        "COUNT",
        "128",
        "most concurrent questions, and most concurrent commits",
        positive,
    )
    flags.add("body-timeout", "TIME", "2s", "how long a request may take to arrive", above_zero)
    flags.add("drain-delay", "TIME", "5s", "time from the end of readiness to the end of listening", seconds)
    flags.add("stop-grace", "TIME", "15s", "how long running calls may then take to end", seconds)


def _add_extender(flags: Flags) -> None:
    """Declare where and how extender calls are answered."""
    flags.add("extender-listen", "HOST:PORT", "", "answer extender calls at this address, in this process")
    flags.add("extender-profile", "NAME", "", "profile of extender calls without a profile in their path")
    flags.add("extender-path-prefix", "PATH", "", "serve the extender's verbs under this path too")
    flags.add("extender-http-timeout", "TIME", "2s", "the extender stanza's httpTimeout", above_zero)
    text = (
        "if a rule reads pods, the pods that kube-scheduler may be binding: wait for them, count them, or off"
    )
    flags.add("pods-in-flight", "MODE", "wait", text, one_of(*IN_FLIGHT))
    flags.add("extender-tls-cert-file", "FILE", "", "certificate of the extender's listener, PEM")
    flags.add("extender-tls-private-key-file", "FILE", "", "its private key, PEM")
    flags.add(
        "extender-client-ca-file",
        "FILE",
        "",
        "the extender's listener accepts only clients with a certificate of these CAs, PEM",
    )
    flags.many(
        "extender-allow-host", "NAME", "an accepted host of a urlPrefix, besides those in the certificate"
    )


def run(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    """Serve until SIGTERM or SIGINT, or until the lease is lost."""
    from mooring.app.server import serve
    from mooring.app.sources import NO_SOURCE, default_source
    from mooring.app.start_log import log_flags
    from mooring.serving.allocator import return_freed_memory, share_freed_memory

    args.source = args.source or default_source()
    if not args.source:
        raise UsageError(NO_SOURCE)
    if args.reload:
        if not args.config:
            raise UsageError("--reload needs --config: the default profile has no plugin of yours")
        search_working_directory()
        # Two edits within a second may leave a file as long as it was, and Python would take the older code.
        sys.dont_write_bytecode = True
    log_flags(args.parser.values(args), args.kube_version)
    share_freed_memory()
    return_freed_memory()
    ended_well = serve(_server_options(args, options), stop_signal(), print_ready)
    return Exit.OK if ended_well else Exit.FAILED


def _server_options(args: argparse.Namespace, options: tuple[Option, ...]) -> ServerOptions:
    return ServerOptions(
        process=process_options(args, options),
        service=_service_options(args),
        source=args.source,
        kubeconfig=args.kubeconfig,
        in_cluster=args.in_cluster,
        election=ElectionOptions(leader_elect=args.leader_elect, advertise_address=args.advertise_address),
        plugin_slots=args.plugin_slots,
        max_abandoned_workers=args.max_abandoned_workers,
        extender=_extender_options(args) if args.extender_listen else None,
        pods_in_flight=args.pods_in_flight,
        reload=args.reload,
    )


def _service_options(args: argparse.Namespace) -> Options:
    from mooring.service.server import Options

    files = certificate_files(args, "tls-cert-file", "tls-private-key-file", "tls-client-ca-file")
    return Options(
        listen=args.listen,
        health_listen=args.health_listen,
        metrics_listen=args.metrics_listen,
        metrics_prefix=args.metrics_prefix,
        tls=files,
        insecure_listen=args.insecure_listen,
        allow_clients=_allowed(args),
        insecure_binding=args.insecure_binding,
        reflection=args.reflection,
        max_concurrent_calls=args.max_concurrent_calls,
        body_timeout=args.body_timeout,
        drain_delay=args.drain_delay,
        stop_grace=args.stop_grace,
    )


def _extender_options(args: argparse.Namespace) -> ExtenderOptions:
    return ExtenderOptions(
        listen=args.extender_listen,
        profile=args.extender_profile,
        path_prefix=args.extender_path_prefix,
        http_timeout=args.extender_http_timeout,
        certificate=certificate_files(
            args, "extender-tls-cert-file", "extender-tls-private-key-file", "extender-client-ca-file"
        ),
        allow_clients=frozenset(args.allow_client),
        insecure_binding=args.insecure_binding,
        insecure_listen=args.insecure_listen,
        hosts=frozenset(args.extender_allow_host),
    )


def _allowed(args: argparse.Namespace) -> frozenset[str]:
    """Return the names of clients that may commit or push over gRPC. Raises InvalidArgumentError if no
    listener can learn the name of a client.
    """
    if args.allow_client and not (args.tls_client_ca_file or args.extender_client_ca_file):
        raise InvalidArgumentError.at(
            "--allow-client", "needs --tls-client-ca-file: without it no client has a name"
        )
    return frozenset(args.allow_client) if args.tls_client_ca_file else frozenset()
