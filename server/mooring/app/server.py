"""The gRPC server of ``mooring serve``: its parts put together, its start and its end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mooring import __version__, config
from mooring.app.access import AccessFiles
from mooring.app.audit import audit_of, audited_run, denial_recorder, policy_recorder, reload_recorder
from mooring.app.bridge import Decoder, PushBridge, configuration_periods, plugin_entries, read_changes
from mooring.app.decisions import DecisionMemory
from mooring.app.election import binding_seconds, election_of, end_election, with_election
from mooring.app.engine import Core, build_core, configuration_of, parse_configuration, registry_of
from mooring.app.freshness import Freshness
from mooring.app.options import ServerOptions
from mooring.app.plugin_files import PluginFiles
from mooring.app.recording import start_recording
from mooring.app.reload import followed
from mooring.app.signals import wait_for_signal
from mooring.app.sources import api_server_of, check_read_kinds, source_of
from mooring.app.start_log import log_configuration
from mooring.app.tracing import tracer_for
from mooring.app.warm_up import warm_up
from mooring.audit.trail import AuditTrail, LoggedTrail
from mooring.cluster.api import ApiServer
from mooring.cluster.binding import KubernetesBinder, LocalBinder
from mooring.cluster.cluster_api import KubernetesApi
from mooring.cluster.sources import KubernetesSource, PushSource, Source
from mooring.framework import Plugin, Pod
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.handle import AlwaysLeader
from mooring.plugin_hosts.metrics import host_metrics
from mooring.runtime.commit.binding_cycle import BindingCycle
from mooring.runtime.commit.committer import Committer
from mooring.scheduler.leadership import LeaderElection
from mooring.service.backend import Backend, Limits
from mooring.service.calls.audit import ListenerAudit
from mooring.service.calls.slots import Slots
from mooring.service.in_flight import PodsInFlight
from mooring.service.server import Options, access_of, build
from mooring.service.services import Servicers
from mooring.serving.access.access import Access
from mooring.sessions.sessions import Sessions
from mooring.telemetry.decision_metrics import MetricsObserver
from mooring.telemetry.metrics import Metrics
from mooring.telemetry.process_metrics import RequestMetrics
from mooring.telemetry.scraped_metrics import certificate_metrics, measurement_metrics, source_metrics
from mooring.tracing.spans import Tracer

if TYPE_CHECKING:
    from mooring.serving.http.server import HttpServer

log = logging.getLogger("mooring.start")

RELOADS = (
    "--reload is for development ONLY: a person who can write to a plugin's file runs code in this process, "
    "and decisions during an edit may be by either version"
)

LEASE = "mooring-serve"
"""The lease unless the configuration names one."""

COMMIT_SLOTS = 32
"""Commits worked on at once; most of the time they wait for the API server."""

WORK_TREES = 2
"""Copies of the state for sessions; each call that uses one is processor-bound."""

MAX_OPEN_COMMITS = 256
"""Commits whose callers left, while the API server is silent, before further ones are rejected."""


def serve(
    options: ServerOptions, stop: threading.Event, on_ready: Callable[[Mapping[str, str]], None]
) -> bool:
    """Serve until ``stop`` is set, which a lost lease does, too. ``on_ready`` is called with the addresses by
    listener (grpc, extender, health, metrics) once all are answered on.

    Returns:
        Whether it ended on request; False when the lease was lost.

    Raises:
        ConfigError, RegistryError, InvalidArgumentError, ListenError: Something can't be had.
    """
    metrics, deposed = Metrics(), threading.Event()

    def give_up() -> None:
        deposed.set()
        stop.set()

    metrics.scrape(partial(certificate_metrics, _certificates(options)))
    slots = _AllSlots.of(options, metrics)
    decisions = _decisions(options, metrics, give_up)
    servicers = Servicers.of(decisions.backend(slots, metrics))
    access = AccessFiles.of(options.process.access, partial(_api_server, options, metrics))
    # All ports are taken before anything starts, so a taken one ends the command at once.
    extender = _extender(options, servicers, decisions, access)
    server = build(
        servicers.services(),
        replace(decisions.guarded(options.service, access), shares=servicers.shares),
        metrics=metrics,
        slots=slots.plugins,
        session_slots=slots.sessions,
        fault=decisions.core.lock_watch.fault,
        ready=decisions.freshness.not_ready,
        tracer=decisions.tracer,
    )
    with access.following(policy_recorder(decisions.audit)), ExitStack() as running:
        running.callback(slots.stop)
        decisions.start(metrics, running)
        server.start()
        running.callback(server.drain)
        if extender:
            extender.start()
            running.callback(extender.stop)
        running.callback(server.withdraw)
        if extender:
            running.callback(extender.withdraw)
        decisions.log_start()
        listeners = {"grpc": server.address} | ({"extender": extender.url} if extender else {})
        on_ready({**listeners, "health": server.health_address, "metrics": server.metrics_address})
        running.enter_context(decisions.warming_up(stop))
        wait_for_signal(stop)
    return not deposed.is_set()


def _extender(
    options: ServerOptions, servicers: Servicers, decisions: _Decisions, access: AccessFiles
) -> HttpServer | None:
    if options.extender is None:
        return None
    from mooring.app.extender import extender_server

    def audited(standing: Access) -> Access:
        return replace(access.over(standing), denied=denial_recorder(decisions.audit))

    return extender_server(options.extender, servicers, decisions.tracer, audited)


@dataclass(frozen=True, slots=True)
class _AllSlots:
    """The threads for long calls: plugins' code, commits, and calls about sessions."""

    plugins: Slots
    commits: Slots
    sessions: Slots

    @classmethod
    def of(cls, options: ServerOptions, metrics: Metrics) -> _AllSlots:
        """As many as the options say."""
        most = options.max_abandoned_workers
        return cls(
            Slots(options.plugin_slots, most, metrics.abandoned_workers),
            Slots(COMMIT_SLOTS, MAX_OPEN_COMMITS),
            Slots(WORK_TREES, most),
        )

    def stop(self) -> None:
        """Stop the threads that the server doesn't stop itself."""
        self.sessions.stop()
        self.commits.stop()


def _certificates(options: ServerOptions) -> list[Path]:
    """Return the files of the certificates that the listeners show."""
    of_extender = options.extender.certificate if options.extender is not None else None
    files = (options.service.tls, of_extender)
    return [each.certificate for each in files if each is not None and each.certificate is not None]


@dataclass(frozen=True, slots=True)
class _Decisions:
    """The parts behind the answers: the engine over its source, and the committer."""

    options: ServerOptions
    core: Core
    source: Source
    freshness: Freshness
    cycle: BindingCycle
    election: LeaderElection | None
    api: KubernetesApi | None
    memory: DecisionMemory
    tracer: Tracer | None
    audit: AuditTrail

    def guarded(self, service: Options, access: AccessFiles) -> Options:
        """Return the options of the service with the rule and the audit log of its listener."""
        return replace(
            service,
            access=access.over(access_of(service)),
            audit=ListenerAudit(self.audit, self.options.process.audit.reads),
            decode=Decoder().pod,
            binds=self.api is not None,
        )

    def backend(self, slots: _AllSlots, metrics: Metrics) -> Backend:
        """Return what the servicers answer from."""
        metrics.scrape(lambda: source_metrics(self.source.describe()))
        metrics.scrape(lambda: measurement_metrics(self.core.measuring.describe()))
        metrics.scrape(host_metrics)
        core, options = self.core, self.options
        return Backend(
            engine=core.engine,
            committer=Committer(self.cycle),
            slots=slots.plugins,
            commit_slots=slots.commits,
            sessions=Sessions(self.memory.live, most_trees=WORK_TREES),
            session_slots=slots.sessions,
            decoder=Decoder(),
            read_changes=read_changes,
            kube_version=options.process.engine.kube_version,
            server_version=__version__,
            start_time=datetime.now(UTC),
            sources=self.source.describe,
            synced=lambda: self.source.synced,
            stale=self.freshness.stale,
            plugins=tuple(plugin_entries(core.registry)),
            configurations=lambda: configuration_periods(core),
            leadership=self.election or AlwaysLeader(),
            pushes=PushBridge(self.source) if isinstance(self.source, PushSource) else None,
            api_server_connected=self.api is not None,
            read_pod=self._read_pod(),
            feature_gates=dict(options.process.engine.feature_gates),
            limits=Limits(max_concurrent_calls=options.service.max_concurrent_calls),
            metrics=metrics,
            decisions=self.memory.decisions,
            repeater=self.memory.repeater,
            in_flight=self._in_flight(metrics),
            audit=self.audit,
        )

    def _in_flight(self, metrics: Metrics) -> PodsInFlight | None:
        """Track the pods in flight, if a live source reports what becomes of them."""
        mode = self.options.pods_in_flight
        if mode == "off" or not isinstance(self.source, KubernetesSource):
            return None
        return PodsInFlight(self.core.engine, metrics, wait=mode == "wait")

    def _read_pod(self) -> Callable[[str, str], Pod | None] | None:
        """How to ask for a pod that the state doesn't know; what a live source doesn't know is gone."""
        live = isinstance(self.source, KubernetesSource)
        return None if live or self.api is None else self.api.read_pod

    def start(self, metrics: Metrics, running: ExitStack) -> None:
        """Follow the source and the configuration, and record what happens, until ``running`` ends."""
        options = self.options
        running.enter_context(audited_run(self.audit, lambda: self.core.configuration.hash))
        if self.tracer is not None:
            running.callback(self.tracer.close)
        running.enter_context(self.core.lock_watch)
        running.callback(self.core.measuring.stop)
        self.source.start()
        running.callback(self.source.stop)
        start_recording(options.process, self.core, self.memory, metrics, lambda: self.source.synced, running)
        if self.election is not None:
            self.election.start()
            running.callback(end_election, self.election, self.cycle)
        running.callback(self.cycle.stop)
        self._follow_configuration(metrics, running)

    def _follow_configuration(self, metrics: Metrics, running: ExitStack) -> None:
        """Reload the configuration file, and on request plugins, when it changes, until ``running`` ends."""
        plugins = PluginFiles(self._plugins_in_force) if self.options.reload else None
        if plugins:
            log.warning("%s", RELOADS)

        def read(text: str) -> config.Configuration:
            if plugins:
                self.core.register(registry_of(self.options.process.engine))
            found = parse_configuration(text, self.options.process.engine, self.core.registry)
            return with_election(found, self.options.election, LEASE)

        file, in_force = self.options.process.engine.config, self.core.configuration
        tell = reload_recorder(self.audit, lambda: self.core.configuration.hash)
        running.enter_context(
            followed(file, in_force, read, self._reconfigure, metrics, tell=tell, plugins=plugins)
        )

    def _plugins_in_force(self) -> list[type[Plugin[Any]]]:
        profiles = self.core.engine.profiles.values()
        return [type(rule) for profile in profiles for rule in profile.as_written.plugins.values()]

    def _reconfigure(self, configuration: config.Configuration) -> None:
        """Decide by another configuration from now on, unless it needs what only a start provides."""
        profiles = self.core.builder.build(configuration)
        check_read_kinds(profiles.values(), self.source)
        self.core.reconfigure(configuration, profiles)

    @contextmanager
    def warming_up(self, stop: threading.Event) -> Iterator[None]:
        """Warm up while calls are answered: they fill the state of a push source. In the end set ``stop``."""

        def work() -> None:
            if warm_up(self.source, self.core.state, stop):
                self.core.measuring.start()

        thread = threading.Thread(target=work, name="warm-up", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def log_start(self) -> None:
        """Log what the answers stand on."""
        log.info("%s", self._description())
        configured = bool(self.options.process.engine.config)
        log_configuration(self.core.configuration, configured=configured, scheduling=False)

    def _description(self) -> str:
        """Source, counts, epoch and configuration."""
        tables, version = self.core.state.snapshot, self.options.process.engine.kube_version
        sources = ", ".join(status.name for status in self.source.describe()) or "push"
        return (
            f"source={sources} synced={self.source.synced} nodes={len(tables.nodes)} pods={len(tables.pods)} "
            f"node_epoch={tables.nodes.epoch} configuration={self.core.configuration.hash} "
            f"kube_version={version} profiles={','.join(self.core.engine.profiles)}"
        )


def _decisions(options: ServerOptions, metrics: Metrics, lost: Callable[[], None]) -> _Decisions:
    registry = registry_of(options.process.engine)
    configuration = with_election(configuration_of(options.process.engine, registry), options.election, LEASE)
    server = _api_server(options, metrics)
    election = _election(configuration, server, metrics, lost, options.election.advertise_address)
    api = KubernetesApi(server, election) if server else None
    longest = binding_seconds(configuration.document.leader_election)
    core = build_core(
        options.process.engine,
        registry,
        configuration,
        lambda state: KubernetesBinder(server, election, longest) if server else LocalBinder(state),
        cluster=api,
        observer=MetricsObserver(metrics),
    )
    gates = options.process.engine.gates
    source = source_of(options.source, core.state, server, core.engine.profiles.values(), gates)
    memory = DecisionMemory.of(options.process, core, metrics)
    audit = audit_of(options.process.audit, metrics, memory.decisions, LoggedTrail())
    return _Decisions(
        options,
        core,
        source,
        Freshness(source, options.process.max_staleness),
        BindingCycle(core.engine, api=api, leadership=election, gate=audit.require_writable),
        election,
        api,
        memory,
        tracer_for(options.process.tracing, "mooring"),
        audit,
    )


def _api_server(options: ServerOptions, metrics: Metrics) -> ApiServer | None:
    counted = RequestMetrics(metrics)
    return api_server_of(options.source, options.kubeconfig, counted, in_cluster=options.in_cluster)


def _election(
    configuration: config.Configuration,
    server: ApiServer | None,
    metrics: Metrics,
    lost: Callable[[], None],
    address: str,
) -> LeaderElection | None:
    """Return the election that the options ask for; None without one."""
    asked = configuration.document.leader_election
    if not asked.leader_elect:
        return None
    if server is None:
        raise InvalidArgumentError.at(
            "--leader-elect", "needs an API server: give --kubeconfig or --in-cluster"
        )
    return election_of(asked, server, metrics, lost, address)
