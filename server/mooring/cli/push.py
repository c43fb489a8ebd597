"""``mooring push``: one watcher of a cluster for many servers."""

from __future__ import annotations

import argparse
from functools import partial

from mooring.app.embedding import Option
from mooring.app.options import PushOptions
from mooring.app.signals import stop_signal
from mooring.cli.flags import CLUSTER, SERVER, Commands, Flags, add_command, add_verbosity
from mooring.cli.output import Exit, UsageError, print_ready
from mooring.cli.remote import add_server_files, channel_at
from mooring.cli.serving_flags import add_logging_format
from mooring.cli.values import host_and_port

_EXAMPLES = """examples:
  mooring push --replica mooring-replicas:50051          in a pod: each address of the Service is a replica
  mooring push --source files:cluster.yaml --replica 127.0.0.1:50051"""


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "follow a cluster for many servers: those of mooring serve --source push"
    parser = add_command(commands, "push", text, _EXAMPLES)
    flags = Flags(parser)
    cluster, replicas = flags.group(CLUSTER), flags.group("Replica flags")
    text = "the cluster to follow: kubernetes[:KUBECONFIG], files:PATH,... or sample; in a pod kubernetes"
    cluster.add("source", "SOURCE", "", text, alias="cluster")
    cluster.add("kubeconfig", "FILE", "", "the API server of the source kubernetes")
    text = "HOST:PORT or unix:PATH of a server; a host name is looked up again, each address is a replica"
    replicas.many("replica", "ADDRESS", text)
    replicas.add("source-name", "NAME", "cluster", "name of the source at the replicas; one for all watchers")
    add_server_files(replicas)
    text = "HOST:PORT of /healthz, /readyz, /metrics"
    flags.group(SERVER).add("metrics-listen", "ADDRESS", "127.0.0.1:50053", text, host_and_port)
    add_verbosity(flags)
    add_logging_format(flags)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, _options: tuple[Option, ...]) -> int:
    """Push until SIGTERM or SIGINT."""
    from mooring.app.push import push
    from mooring.app.sources import NO_SOURCE, default_source

    source = args.source or ("kubernetes" if args.kubeconfig else default_source())
    if not source:
        raise UsageError(NO_SOURCE)
    if not args.replica:
        raise UsageError("--replica: name the servers to push to, such as replicas:50051")
    options = PushOptions(source, args.replica, args.kubeconfig, args.source_name, args.metrics_listen)
    push(options, partial(channel_at, args), stop_signal(), print_ready)
    return Exit.OK
