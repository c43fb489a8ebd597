"""The second scheduler of ``mooring scheduler``: its parts put together, its start and its end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mooring import config
from mooring.app.access import AccessFiles
from mooring.app.audit import audit_of, audited_run, policy_recorder, reload_recorder
from mooring.app.connection import ApiServerConnection, with_pace
from mooring.app.decisions import DecisionMemory, advice_from
from mooring.app.election import binding_seconds, election_of, end_election, lease_times, with_election
from mooring.app.engine import Core, build_core, configuration_of, parse_configuration, registry_of
from mooring.app.extenders import extenders_of
from mooring.app.freshness import FreshLeadership, Freshness
from mooring.app.options import SchedulerOptions
from mooring.app.recording import start_recording
from mooring.app.reload import TOOK, followed, own_pod
from mooring.app.scheduler_service import DecidingParts, scheduler_service
from mooring.app.secure_serving import endpoint
from mooring.app.signals import wait_for_signal
from mooring.app.sources import check_read_kinds, readers_of
from mooring.app.start_log import log_configuration
from mooring.app.tracing import tracer_for
from mooring.app.warm_up import warm_up
from mooring.audit.trail import AuditTrail
from mooring.cluster.binding import KubernetesBinder
from mooring.cluster.cluster_api import KubernetesApi
from mooring.cluster.raw_objects import RawObjects
from mooring.cluster.sources import KubernetesSource
from mooring.config.defaults import KUBE_SCHEDULER_LEASE
from mooring.config.show import dump, plain
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.handle import AlwaysLeader
from mooring.plugin_hosts.metrics import host_metrics
from mooring.runtime.commit.binding_cycle import BindingCycle
from mooring.runtime.commit.clock import SystemClock
from mooring.runtime.commit.committer import Committer
from mooring.runtime.profiles.registry import Registry
from mooring.scheduler.assembly import Collaborators, build_scheduler
from mooring.scheduler.extender import HttpExtender
from mooring.scheduler.leadership import LeaderElection
from mooring.scheduler.queue import GROUPS_GATE, BackoffTimes
from mooring.scheduler.scheduler import Scheduler
from mooring.serving.listeners.page_listener import PageListener
from mooring.serving.listeners.probes import Probes
from mooring.telemetry.decision_metrics import (
    MetricsObserver,
    measure_cache,
    measure_reservations,
    measure_state,
)
from mooring.telemetry.metrics import Metrics
from mooring.telemetry.process_metrics import RequestMetrics
from mooring.telemetry.scheduler_metrics import SchedulerMetrics
from mooring.telemetry.scraped_metrics import certificate_metrics, measurement_metrics, source_metrics

log = logging.getLogger("mooring.start")

LEASE = "mooring"
"""The lease unless a flag or the configuration names one."""

BINDINGS_PER_WORKER = 4
"""Bindings under way at most, by ``parallelism``; kube-scheduler sets no limit. A pod takes both sides less
processor time with 64 than with 16, since a thread that wakes finds more to do."""

LOOK_SECONDS = 0.05
"""Between two looks whether open bindings are settled."""


def run_scheduler(
    options: SchedulerOptions, stop: threading.Event, on_ready: Callable[[Mapping[str, str]], None]
) -> bool:
    """Schedule the pods of a live cluster until ``stop`` is set, which a lost lease and a failure do, too.
    ``on_ready`` is called once the state is complete, with the addresses by listener: telemetry, and grpc and
    health if they are wanted; "" = none.

    Returns:
        Whether it ended on request; False when the lease was lost, or the scheduler failed.

    Raises:
        ConfigError, RegistryError, InvalidArgumentError, ListenError: Something can't be had.
    """
    metrics, failed = Metrics(), threading.Event()

    def give_up() -> None:
        failed.set()
        stop.set()

    parts = _assemble(options, metrics, give_up)
    with ExitStack() as running:
        running.enter_context(audited_run(parts.audit, lambda: parts.core.configuration.hash))
        parts.end_tracing(running)
        pages = _pages(options, parts, metrics)
        if pages is not None:
            pages.start()
            running.callback(pages.stop)
            log.info("Serving securely on %s", pages.address)
        listeners = {"telemetry": pages.address if pages else ""}
        listeners |= _start_service(options, parts, metrics, running)
        parts.follow_cluster(running)
        parts.start_recording(options, metrics, running)
        log_configuration(
            parts.core.configuration, configured=bool(options.process.engine.config), scheduling=True
        )
        if not warm_up(parts.source, parts.core.state, stop):
            return True
        parts.core.measuring.start()
        if parts.election is not None:
            parts.election.start()
            running.callback(end_election, parts.election, parts.cycle)
        on_ready(listeners)
        scheduling = threading.Thread(target=_schedule, args=(parts.scheduler, give_up), name="scheduler")
        scheduling.start()
        parts.follow_configuration(options, metrics, running)
        wait_for_signal(stop)
        _drain(parts, scheduling, options.stop_grace)
    log.info("ended")
    return not failed.is_set()


def _start_service(
    options: SchedulerOptions, parts: _SchedulerParts, metrics: Metrics, running: ExitStack
) -> dict[str, str]:
    """Start the gRPC listener that the options ask for, until ``running`` ends; return its addresses."""
    access = AccessFiles.of(options.process.access, parts.connection.server)
    running.enter_context(access.following(policy_recorder(parts.audit)))
    service = scheduler_service(options, parts.decides, metrics, access)
    if service is None:
        return {}
    service.start()
    running.callback(service.stop)
    return {"grpc": service.address, "health": service.health_address}


def write_configuration(options: SchedulerOptions, file: str) -> None:
    """Write the configuration in force, with every default, to ``file``. Raises ConfigError, RegistryError or
    InvalidArgumentError if there is none.
    """
    document = _configuration(options, registry_of(options.process.engine)).document
    Path(file).write_text(dump(plain(document)), encoding="utf-8")
    log.info("Wrote the configuration to %s", file)


def _configuration(options: SchedulerOptions, registry: Registry) -> config.Configuration:
    """Return the configuration in force, flags included."""
    configuration = configuration_of(options.process.engine, registry, scheduling=True)
    if not options.process.engine.config:
        configuration = with_pace(configuration, options.connection)
    configuration = with_election(configuration, options.election, LEASE)
    election = configuration.document.leader_election
    name = election.resource_name
    if election.leader_elect and name == KUBE_SCHEDULER_LEASE and not options.replace_default:
        raise InvalidArgumentError.at(
            "leaderElection.resourceName",
            f"{KUBE_SCHEDULER_LEASE!r} is kube-scheduler's own lease: one of the two would never schedule; "
            "name another one, or replace kube-scheduler with --replace-default",
        )
    if not election.lease_duration > election.renew_deadline > election.retry_period:
        raise InvalidArgumentError.at(
            "leaderElection", "leaseDuration must be above renewDeadline, and that above retryPeriod"
        )
    return configuration


@dataclass(frozen=True, slots=True)
class _SchedulerParts:
    """The scheduler and what it stands on."""

    core: Core
    connection: ApiServerConnection
    source: KubernetesSource
    cycle: BindingCycle
    scheduler: Scheduler
    election: LeaderElection | None
    decides: DecidingParts

    @property
    def audit(self) -> AuditTrail:
        """Takes the events about pods that are bound and evicted."""
        return self.decides.leadership.audit

    def end_tracing(self, running: ExitStack) -> None:
        """Send the last traces when ``running`` ends."""
        if self.decides.tracer is not None:
            running.callback(self.decides.tracer.close)

    def follow_cluster(self, running: ExitStack) -> None:
        """Keep the state up to date, and watch its lock, until ``running`` ends."""
        running.enter_context(self.core.lock_watch)
        running.callback(self.core.measuring.stop)
        self.source.history.went_back = partial(self.tell, "ClusterWentBack", action="List")
        self.source.start()
        running.callback(self.source.stop)

    def follow_configuration(self, options: SchedulerOptions, metrics: Metrics, running: ExitStack) -> None:
        """Reload the configuration file when it changes, until ``running`` ends."""

        def read(text: str) -> config.Configuration:
            found = parse_configuration(text, options.process.engine, self.core.registry, scheduling=True)
            return with_election(found, options.election, LEASE)

        file, in_force = options.process.engine.config, self.core.configuration
        recorded = reload_recorder(self.audit, lambda: self.core.configuration.hash)

        def tell(reason: str, note: str) -> None:
            recorded(reason, note)
            self.tell(reason, note, "Reload")

        running.enter_context(followed(file, in_force, read, self._reconfigure, metrics, tell=tell))

    def start_recording(self, options: SchedulerOptions, metrics: Metrics, running: ExitStack) -> None:
        """Record what happens until ``running`` ends, if the options ask for it."""
        memory, source = self.decides.memory, self.source
        start_recording(options.process, self.core, memory, metrics, lambda: source.synced, running)

    def _reconfigure(self, configuration: config.Configuration) -> None:
        """Decide by another configuration from now on, unless it needs what only a start provides."""
        profiles = self.core.builder.build(configuration)
        check_read_kinds(profiles.values(), self.source)
        self.scheduler.check_profiles(profiles)
        self.core.reconfigure(configuration, profiles)
        self.scheduler.reconfigure(profiles)

    def tell(self, reason: str, note: str, action: str) -> None:
        """Have an Event written about this process's pod, if it runs in one."""
        pod = own_pod(self.core.state)
        if pod is not None:
            kind = "Normal" if reason == TOOK else "Warning"
            self.scheduler.record_own_event(pod, kind, reason, action, note)


def _assemble(options: SchedulerOptions, metrics: Metrics, give_up: Callable[[], None]) -> _SchedulerParts:
    registry = registry_of(options.process.engine)
    configuration = _configuration(options, registry)
    connection = ApiServerConnection.of(options.connection, configuration, RequestMetrics(metrics))
    server = connection.server()
    election = _election(configuration, connection, metrics, give_up)
    cluster = KubernetesApi(server, election)
    extenders, raw_objects = _extenders(configuration)
    core = build_core(
        options.process.engine,
        registry,
        configuration,
        lambda _: KubernetesBinder(server, election, binding_seconds(configuration.document.leader_election)),
        cluster=cluster,
        observer=MetricsObserver(metrics),
        extenders=extenders,
        exclusive=True,
    )
    source = KubernetesSource(core.state, server, _readers(options, core), raw_objects=raw_objects)
    memory = DecisionMemory.of(options.process, core, metrics)
    leads = _leadership(options, source, election, audit_of(options.process.audit, metrics, memory.decisions))
    cycle = BindingCycle(core.engine, leadership=leads, api=cluster, gate=leads.audit.require_writable)
    observer, tracer = SchedulerMetrics(metrics), tracer_for(options.process.tracing, "mooring-scheduler")
    collaborators = Collaborators(
        engine=core.engine,
        committer=Committer(cycle),
        cluster=cluster,
        events=KubernetesApi(connection.server()),
        leadership=leads,
        gates=options.process.engine.gates,
        observer=observer,
        clock=SystemClock(),
        decisions=memory.decisions,
        audit=leads.audit,
        tracer=tracer,
        sender=server,
    )
    scheduler = _scheduler(collaborators, options, configuration, memory)
    observer.measure_queue(scheduler.queue)
    decides = DecidingParts(core, memory, source, leads, collaborators.committer, scheduler, tracer)
    return _SchedulerParts(core, connection, source, cycle, scheduler, election, decides)


def _leadership(
    options: SchedulerOptions, source: KubernetesSource, election: LeaderElection | None, audit: AuditTrail
) -> FreshLeadership:
    return FreshLeadership(
        election or AlwaysLeader(), Freshness(source, options.process.max_staleness), audit
    )


def _extenders(configuration: config.Configuration) -> tuple[list[HttpExtender], RawObjects]:
    """Return the extenders of all profiles, and where they find what they are sent."""
    names = [profile.scheduler_name for profile in configuration.profiles]
    return extenders_of(configuration.document.extenders, names)


def _readers(options: SchedulerOptions, core: Core) -> dict[str, list[str]]:
    """Who reads which kinds of objects."""
    readers = readers_of(core.engine.profiles.values())
    if options.process.engine.gates.enabled(GROUPS_GATE):
        readers.setdefault("PodGroup", [f"the feature gate {GROUPS_GATE}"])
    return readers


def _scheduler(
    collaborators: Collaborators,
    options: SchedulerOptions,
    configuration: config.Configuration,
    memory: DecisionMemory,
) -> Scheduler:
    return build_scheduler(
        collaborators,
        backoff_times(configuration),
        longest_wait=options.longest_wait,
        attempt_seconds=options.attempt_seconds,
        binders=BINDINGS_PER_WORKER * (configuration.document.parallelism or 1),
        advice=advice_from(memory.live) if options.event_advice else None,
    )


def backoff_times(configuration: config.Configuration) -> BackoffTimes:
    """How long pods back off."""
    document = configuration.document
    return BackoffTimes(
        float(document.pod_initial_backoff_seconds or 0), float(document.pod_max_backoff_seconds or 0)
    )


def _election(
    configuration: config.Configuration,
    connection: ApiServerConnection,
    metrics: Metrics,
    lost: Callable[[], None],
) -> LeaderElection | None:
    """Return the election that the configuration asks for, on its own connection; None without one."""
    asked = configuration.document.leader_election
    if not asked.leader_elect:
        return None
    # Requests of the scheduler must never keep a renewal waiting.
    server = connection.server(qps=0.0, timeout_seconds=lease_times(asked).renew_deadline / 2)
    return election_of(asked, server, metrics, lost)


def _pages(options: SchedulerOptions, parts: _SchedulerParts, metrics: Metrics) -> PageListener | None:
    """Return the listener of probes, metrics and pages; None when none is wanted."""
    if options.serving is None:
        return None
    measure_state(metrics, parts.cycle.engine.state)
    measure_cache(metrics, parts.cycle.engine)
    measure_reservations(metrics, parts.cycle.reservations)
    metrics.scrape(lambda: source_metrics(parts.source.describe()))
    metrics.scrape(lambda: measurement_metrics(parts.core.measuring.describe()))
    metrics.scrape(host_metrics)
    if (certificate := options.serving.https.certificate) != "":
        metrics.scrape(partial(certificate_metrics, [Path(certificate)]))
    probes = Probes(fault=parts.decides.fault, ready=parts.decides.leadership.freshness.not_ready)

    def document() -> dict[str, Any]:
        found: dict[str, Any] = plain(parts.core.configuration.document, hide=True)
        return found

    return endpoint(
        options.serving, parts.connection, probes, metrics, document, options.process.engine.kube_version
    )


def _drain(parts: _SchedulerParts, scheduling: threading.Thread, seconds: float) -> None:
    """End deciding, and let open bindings end, for up to ``seconds``."""
    log.info("draining: no more attempts, then up to %g s for open bindings", seconds)
    parts.scheduler.stop()
    scheduling.join()
    parts.scheduler.finish_bindings()
    _settle(parts.cycle, seconds)


def _schedule(scheduler: Scheduler, give_up: Callable[[], None]) -> None:
    """Schedule until it is stopped; when that fails, the process ends and is started again."""
    log.info("scheduling")
    try:
        scheduler.schedule_until_stopped()
    except BaseException:
        log.exception("the scheduler failed")
        give_up()


def _settle(cycle: BindingCycle, seconds: float) -> None:
    """Find out what became of open bindings, for up to ``seconds``."""
    end = time.monotonic() + seconds
    while len(cycle.reservations) and time.monotonic() < end:
        time.sleep(LOOK_SECONDS)
    cycle.stop()
