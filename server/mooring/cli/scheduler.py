"""``mooring scheduler``: the second scheduler, over a live cluster."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mooring.app.embedding import Option
from mooring.app.options import SchedulerOptions
from mooring.app.signals import stop_signal
from mooring.cli.flags import CLUSTER, CONFIGURATION, Commands, Flags, add_command, add_deciding
from mooring.cli.kube_scheduler_flags import (
    LEADER_ELECTION,
    add_kube_scheduler_flags,
    connection_options,
    election_options,
    flag_values,
    serving_options,
    warn_of_ignored_flags,
)
from mooring.cli.output import Exit, print_ready
from mooring.cli.serving_flags import add_process, certificate_files, process_options
from mooring.cli.values import seconds
from mooring.scheduler.budget import ATTEMPT_SECONDS

if TYPE_CHECKING:
    from mooring.service.server import Options


_EXAMPLES = """examples:
  mooring scheduler --config mine.yaml --grpc-listen 127.0.0.1:50051
  mooring scheduler --kubeconfig ~/.kube/config --leader-elect=false"""


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "schedule the pods of a live cluster"
    parser = add_command(commands, "scheduler", text, _EXAMPLES)
    flags = Flags(parser)
    add_deciding(flags)
    cluster = flags.group(CLUSTER)
    cluster.add("source", "SOURCE", "kubernetes", "the cluster: kubernetes[:KUBECONFIG]", alias="cluster")
    add_kube_scheduler_flags(flags)
    text = "allow the lease kube-scheduler: this takes kube-scheduler's place"
    flags.group(LEADER_ELECTION).switch("replace-default", text)
    text = "the processor time that one attempt to schedule a pod may take; 0 = without limit"
    flags.group(CONFIGURATION).add(
        "pod-max-scheduling-duration", "TIME", f"{ATTEMPT_SECONDS:g}s", text, seconds
    )
    text = "add what would help to the Events of pods that no node takes"
    flags.group(CONFIGURATION).switch("event-advice", text)
    add_process(flags)
    _add_service(flags.group("gRPC serving flags"))
    cluster.add("stop-grace", "TIME", "15s", "how long open bindings may take at the end", seconds)
    parser.set_defaults(run=run, parser=parser)


def _add_service(flags: Flags) -> None:
    """Declare the gRPC listener's flags; those of the HTTPS listener have kube-scheduler's names."""
    text = "HOST:PORT or unix:PATH of the gRPC service, which answers what changes nothing; default: none"
    flags.add("grpc-listen", "ADDRESS", "", text)
    flags.add("grpc-health-listen", "ADDRESS", "", "HOST:PORT or unix:PATH of gRPC health; default: none")
    flags.add("grpc-tls-cert-file", "FILE", "", "certificate of the gRPC service, PEM")
    flags.add("grpc-tls-private-key-file", "FILE", "", "its private key, PEM")
    text = "accept only clients of the gRPC service with a certificate of these CAs, PEM"
    flags.add("grpc-client-ca-file", "FILE", "", text)
    flags.switch("grpc-insecure-listen", "allow plain text on addresses that other machines can reach")


def _service_options(args: argparse.Namespace) -> Options | None:
    from mooring.service.server import Options

    if not args.grpc_listen:
        return None
    files = certificate_files(args, "grpc-tls-cert-file", "grpc-tls-private-key-file", "grpc-client-ca-file")
    return Options(
        listen=args.grpc_listen,
        health_listen=args.grpc_health_listen,
        metrics_listen="",
        tls=files,
        insecure_listen=args.grpc_insecure_listen,
        insecure_flag="--grpc-insecure-listen",
        authority_flag="--grpc-client-ca-file",
    )


def run(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    """Schedule until SIGTERM or SIGINT, or until the lease is lost."""
    from mooring.app.scheduler import run_scheduler, write_configuration
    from mooring.app.start_log import log_flags, version_of
    from mooring.serving.allocator import return_freed_memory, share_freed_memory

    args.kube_version = args.emulated_version or args.kube_version
    if args.version not in (None, "false"):
        print(version_of(args.kube_version))
        return Exit.OK
    log_flags(flag_values(args), args.kube_version)
    warn_of_ignored_flags(args)
    scheduler = _scheduler_options(args, options)
    if args.write_config_to:
        write_configuration(scheduler, args.write_config_to)
        return Exit.OK
    share_freed_memory()
    return_freed_memory()
    ended_well = run_scheduler(scheduler, stop_signal(), print_ready)
    return Exit.OK if ended_well else Exit.FAILED


def _scheduler_options(args: argparse.Namespace, options: tuple[Option, ...]) -> SchedulerOptions:
    serves = args.secure_port and not args.write_config_to
    return SchedulerOptions(
        process=process_options(args, options),
        connection=connection_options(args),
        election=election_options(args),
        replace_default=args.replace_default,
        longest_wait=args.pod_max_in_unschedulable_pods_duration,
        attempt_seconds=args.pod_max_scheduling_duration,
        stop_grace=args.stop_grace,
        service=_service_options(args),
        event_advice=args.event_advice,
        serving=serving_options(args, flag_values(args)) if serves else None,
    )
