"""``mooring scheduler``: the second scheduler, over a live cluster."""

from __future__ import annotations

import argparse
import logging
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from mooring import config
from mooring.cli.assembly import configuration_of, registry_of
from mooring.cli.bridge import source_state
from mooring.cli.election import election_of
from mooring.cli.extenders import extenders_of
from mooring.cli.flags import (
    Commands,
    Flags,
    above_zero,
    add_deciding,
    add_logging_format,
    add_self_check,
    seconds,
)
from mooring.cli.kube_scheduler_flags import add_kube_scheduler_flags, flag_values, warn_of_ignored_flags
from mooring.cli.options import Option
from mooring.cli.output import EXIT_FAILED, EXIT_OK
from mooring.cli.scheduler_flags import Connection, backoff_times, lease_times, with_flags
from mooring.cli.scheduler_metrics import SchedulerMetrics
from mooring.cli.secure_serving import endpoint
from mooring.cli.signals import stop_signal
from mooring.cli.sources import readers_of
from mooring.cli.start_log import log_configuration, log_flags, version_of
from mooring.cluster.binding import KubernetesBinder
from mooring.cluster.cluster_api import KubernetesApi
from mooring.cluster.sources import KubernetesSource, Source
from mooring.cluster.state import State
from mooring.config.show import dump, plain
from mooring.framework import Gates, KubeVersion, Leadership
from mooring.framework.handle import Unchallenged
from mooring.framework.resources import ResourceRules
from mooring.runtime.assembly import build_engine
from mooring.runtime.binding_cycle import BindingCycle
from mooring.runtime.clock import SystemClock
from mooring.runtime.placing import Committer
from mooring.scheduler.assembly import Surroundings, build_scheduler
from mooring.scheduler.leadership import LeaderElection
from mooring.scheduler.scheduler import Scheduler
from mooring.service.metrics import Metrics
from mooring.service.observer import MetricsObserver, measure_reservations, measure_state
from mooring.service.probes import Probes
from mooring.service.source_metrics import SourceCollector
from mooring.service.telemetry import TelemetryListener

log = logging.getLogger("mooring.start")

FRESHNESS_SECONDS = 0.1
"""Between two looks whether the state is young enough: finding out costs more than a pod should."""

LOOK_SECONDS = 0.05
"""Between two looks whether something that takes its time has happened."""


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "schedule the pods of a live cluster"
    parser = commands.add_parser("scheduler", help=text, description=text, allow_abbrev=False)
    flags = Flags(parser)
    add_deciding(flags)
    flags.add("source", "SOURCE", "kubernetes", "the cluster: kubernetes[:KUBECONFIG]")
    add_logging_format(flags)
    add_kube_scheduler_flags(flags)
    flags.switch("replace-default", "allow the lease kube-scheduler: this takes kube-scheduler's place")
    flags.add("max-staleness", "TIME", "8s", "commit nothing on a state older than this", above_zero)
    add_self_check(flags)
    flags.add("stop-grace", "TIME", "15s", "how long open bindings may take at the end", seconds)
    parser.set_defaults(run=run, parser=parser)


def run(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    """Schedule until SIGTERM or SIGINT, or until the lease is lost."""
    args.kube_version = args.emulated_version or args.kube_version
    if args.version not in (None, "false"):
        print(version_of(args.kube_version))
        return EXIT_OK
    log_flags(flag_values(args), args.kube_version)
    warn_of_ignored_flags(args)
    if args.write_config_to:
        _write_configuration(args, options)
        return EXIT_OK
    metrics = Metrics()
    stop = stop_signal()
    parts = _assemble(args, options, metrics, stop)
    parts.cycle.engine.self_check.every = args.self_check_every
    with ExitStack() as running:
        telemetry = _telemetry(args, parts, metrics)
        if telemetry is not None:
            telemetry.start()
            running.callback(telemetry.stop)
            log.info("Serving securely on %s", telemetry.address)
        parts.source.start()
        running.callback(parts.source.stop)
        log_configuration(parts.configuration, configured=bool(args.config), scheduling=True)
        if not _came_true(lambda: parts.source.synced, stop):
            return EXIT_OK
        if parts.election is not None:
            parts.election.start()
            running.callback(parts.election.stop)
        print(_ready_line(telemetry), flush=True)
        scheduling = threading.Thread(
            target=_schedule, args=(parts.scheduler, stop, parts.failed), name="scheduler"
        )
        scheduling.start()
        stop.wait()
        parts.scheduler.stop()
        scheduling.join()
        parts.scheduler.finish()
        _settle(parts.cycle, args.stop_grace)
    return EXIT_FAILED if parts.failed.is_set() else EXIT_OK


def _write_configuration(args: argparse.Namespace, options: tuple[Option, ...]) -> None:
    """What ``--write-config-to`` asks for."""
    registry = registry_of(args, options)
    document = with_flags(args, configuration_of(args, registry, scheduling=True)).document
    Path(args.write_config_to).write_text(dump(plain(document)), encoding="utf-8")
    log.info("Wrote the configuration to %s", args.write_config_to)


@dataclass(frozen=True, slots=True)
class _Parts:
    """The scheduler and what it stands on."""

    configuration: config.Configuration
    connection: Connection
    source: Source
    max_staleness: float
    cycle: BindingCycle
    scheduler: Scheduler
    election: LeaderElection | None
    failed: threading.Event

    def not_ready(self) -> str:
        """Why nothing can be scheduled; "" when it can, here or by the replica that leads."""
        if not self.source.synced:
            return "the state is not complete yet"
        staleness = self.source.staleness
        return (
            "" if staleness <= self.max_staleness else f"nothing heard of the cluster for {staleness:.0f} s"
        )


def _assemble(
    args: argparse.Namespace, options: tuple[Option, ...], metrics: Metrics, stop: threading.Event
) -> _Parts:
    registry = registry_of(args, options)
    configuration = with_flags(args, configuration_of(args, registry, scheduling=True))
    connection = Connection.of(args, configuration)
    server = connection.server()
    gates = Gates(KubeVersion.parse(args.kube_version), args.feature_gates)
    failed = threading.Event()
    election = _election(configuration, connection, failed, stop)
    cluster = KubernetesApi(server, election)
    engine = build_engine(
        configuration,
        registry,
        state := State(rules=ResourceRules.of(gates)),
        KubernetesBinder(server, election),
        kube_version=args.kube_version,
        feature_gates=args.feature_gates,
        observer=MetricsObserver(metrics),
        cluster=cluster,
    )
    extenders, originals = extenders_of(configuration.document.extenders, engine.profiles)
    engine.extend(extenders)
    source = KubernetesSource(state, server, readers_of(engine.profiles.values()), originals=originals)
    leadership = Fresh(election or Unchallenged(), source, args.max_staleness)
    cycle = BindingCycle(engine, leadership=leadership, api=cluster)
    observer = SchedulerMetrics(metrics)
    around = Surroundings(
        engine=engine,
        committer=Committer(cycle),
        cluster=cluster,
        # With requests per second of its own, as kube-scheduler's Events have.
        events=KubernetesApi(connection.server()),
        leadership=leadership,
        gates=gates,
        observer=observer,
        clock=SystemClock(),
    )
    scheduler = _scheduler(around, args, configuration)
    observer.measure_queue(scheduler.queue)
    return _Parts(configuration, connection, source, args.max_staleness, cycle, scheduler, election, failed)


def _scheduler(
    around: Surroundings, args: argparse.Namespace, configuration: config.Configuration
) -> Scheduler:
    return build_scheduler(
        around,
        backoff_times(configuration),
        longest_wait=args.pod_max_in_unschedulable_pods_duration,
        binders=configuration.document.parallelism or 1,
    )


class Fresh:
    """Leadership that counts only while the state is what the cluster has; that is looked at now and then.

    Args:
        leadership: Whether this process leads.
        source: Where the state comes from.
        max_staleness: How many seconds it may be behind.
    """

    def __init__(self, leadership: Leadership, source: Source, max_staleness: float) -> None:
        self._leadership = leadership
        self._source = source
        self._max_staleness = max_staleness
        self._fresh = False
        self._look_at = 0.0

    def is_leader(self) -> bool:
        """Whether this process leads, by a state that is young enough to decide upon."""
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + FRESHNESS_SECONDS
            self._fresh = self._source.staleness <= self._max_staleness
        return self._fresh and self._leadership.is_leader()

    def leader(self) -> str:
        """Who leads."""
        return self._leadership.leader()


def _election(
    configuration: config.Configuration,
    connection: Connection,
    failed: threading.Event,
    stop: threading.Event,
) -> LeaderElection | None:
    """The election that the configuration asks for, on a connection of its own; None without one."""
    asked = configuration.document.leader_election
    if not asked.leader_elect:
        return None

    def give_up() -> None:
        failed.set()
        stop.set()

    times = lease_times(asked)
    # Requests of the scheduler must never keep a renewal waiting.
    server = connection.server(qps=0.0, timeout_seconds=times.renew_deadline / 2)
    return election_of(asked, server, give_up)


def _telemetry(args: argparse.Namespace, parts: _Parts, metrics: Metrics) -> TelemetryListener | None:
    """Probes and metrics, listening; None when no port is wanted.

    Raises:
        ListenError: The address is taken.
        InvalidArgumentError: The certificate can't be used.
    """
    if args.secure_port == 0:
        return None
    measure_state(metrics, parts.cycle.engine.state)
    measure_reservations(metrics, parts.cycle.reservations)
    metrics.registry.register(SourceCollector(lambda: [*map(source_state, parts.source.describe())]))
    probes = Probes(fault=str, ready=parts.not_ready)
    document = plain(parts.configuration.document)
    return endpoint(args, parts.connection, probes, metrics, document)


def _ready_line(telemetry: TelemetryListener | None) -> str:
    return f"mooring ready: telemetry={telemetry.address if telemetry else 'none'}"


def _came_true(condition: Callable[[], bool], stop: threading.Event) -> bool:
    """Whether the condition held before it was time to stop."""
    while not stop.is_set():
        if condition():
            return True
        stop.wait(LOOK_SECONDS)
    return False


def _schedule(scheduler: Scheduler, stop: threading.Event, failed: threading.Event) -> None:
    """Schedule until it is stopped; when that fails, the process ends and is started again."""
    try:
        scheduler.run()
    except BaseException:
        log.exception("the scheduler failed")
        failed.set()
        stop.set()


def _settle(cycle: BindingCycle, seconds: float) -> None:
    """Find out what became of open bindings, for so long."""
    end = time.monotonic() + seconds
    while len(cycle.reservations) and time.monotonic() < end:
        time.sleep(LOOK_SECONDS)
    cycle.stop()
