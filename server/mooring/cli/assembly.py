"""Puts the parts together: plugins, configuration, state, sources, engine."""

from __future__ import annotations

import argparse
import json
import logging
import secrets
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mooring import __version__, config
from mooring.cli.bridge import Decoder, PushBridge, source_state
from mooring.cli.election import election_of
from mooring.cli.options import Option
from mooring.cli.plugin_entries import plugin_entries
from mooring.cli.sources import api_server_of, source_of
from mooring.cluster.api import ApiServer
from mooring.cluster.binding import KubernetesBinder, LocalBinder
from mooring.cluster.cluster_api import KubernetesApi
from mooring.cluster.sources import KubernetesSource, PushSource, Source
from mooring.cluster.state import State
from mooring.config.show import plain
from mooring.framework import ClusterApi, Gates, KubeVersion, Pod
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.resources import ResourceRules
from mooring.runtime.assembly import build_engine
from mooring.runtime.binding_cycle import BindingCycle
from mooring.runtime.engine import Engine
from mooring.runtime.placing import Committer
from mooring.runtime.progress import Observer
from mooring.runtime.registry import Registry, installed_registry
from mooring.scheduler.leadership import LeaderElection
from mooring.service.backend import Backend, Limits, SourceState
from mooring.service.metrics import Metrics
from mooring.service.slots import Slots
from mooring.service.source_metrics import SourceCollector

log = logging.getLogger(__name__)


def registry_of(args: argparse.Namespace, options: tuple[Option, ...]) -> Registry:
    """In-tree plugins, installed packages, ``--plugin`` and the embedding program's own.

    Raises:
        RegistryError: Two have the same name, or one can't be loaded.
    """
    registry = installed_registry()
    for reference in args.plugin:
        registry.register_reference(reference)
    for option in options:
        option(registry)
    return registry


def read_text(file: str) -> str:
    """What stands in a file.

    Raises:
        InvalidArgumentError: It can't be read, or is no text.
    """
    try:
        return Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidArgumentError.at(file, f"can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidArgumentError.at(file, "is no text in UTF-8") from None


def configuration_of(
    args: argparse.Namespace, registry: Registry, *, scheduling: bool = False
) -> config.Configuration:
    """The file that ``--config`` names, or the defaults; warnings go to the log.

    ``mooring scheduler`` acts on fields that nothing else acts on (``scheduling``).

    Raises:
        ConfigError: It has faults; all of them are named.
    """
    chosen: dict[str, Any] = {"kube_version": args.kube_version, "feature_gates": args.feature_gates}
    if args.config:
        loaded = config.load(read_text(args.config), registry.catalog(), scheduling=scheduling, **chosen)
    else:
        loaded = config.default(registry.catalog(), **chosen)
    for warning in loaded.warnings:
        log.warning("%s: %s", args.config or "configuration", warning)
    return loaded


SERVE_LEASE = "mooring-serve"
"""The lease of ``mooring serve`` unless the configuration names one."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """A server's parts, put together."""

    registry: Registry
    configuration: config.Configuration
    state: State
    source: Source
    max_staleness: float
    engine: Engine
    cycle: BindingCycle
    election: LeaderElection | None
    kube_version: str
    feature_gates: dict[str, bool]
    api: ClusterApi | None
    max_concurrent_calls: int

    def backend(self, slots: Slots, commit_slots: Slots, metrics: Metrics) -> Backend:
        """What the servicers answer from."""
        metrics.registry.register(SourceCollector(self.sources))
        return Backend(
            engine=self.engine,
            committer=Committer(self.cycle),
            slots=slots,
            commit_slots=commit_slots,
            decoder=Decoder(),
            configuration_hash=self.configuration.hash,
            kube_version=self.kube_version,
            server_version=__version__,
            start_time=datetime.now(UTC),
            sources=self.sources,
            synced=lambda: self.source.synced,
            stale=self.stale,
            plugins=tuple(plugin_entries(self.registry)),
            profile_documents=profile_documents(self.configuration),
            pushes=PushBridge(self.source) if isinstance(self.source, PushSource) else None,
            api_server_connected=self.api is not None,
            read_pod=self._read_pod(),
            feature_gates=self.feature_gates,
            limits=Limits(max_concurrent_calls=self.max_concurrent_calls),
            metrics=metrics,
        )

    def _read_pod(self) -> Callable[[str, str], Pod | None] | None:
        """How to ask for a pod that the state doesn't know; what a live source doesn't know is gone."""
        live = isinstance(self.source, KubernetesSource)
        return None if live or self.api is None else self.api.read_pod

    def sources(self) -> list[SourceState]:
        """The sources as they are now."""
        return [source_state(status) for status in self.source.describe()]

    def start(self, running: ExitStack) -> None:
        """Load and follow the source until ``running`` ends."""
        self.source.start()
        running.callback(self.source.stop)
        if self.election is not None:
            self.election.start()
            running.callback(self.election.stop)
        running.callback(self.cycle.stop)

    def not_ready(self) -> str:
        """Why no decisions can be made yet; "" once they can."""
        return self.stale() if self.source.synced else "the state is not complete yet"

    def stale(self) -> str:
        """Why the state may be behind the cluster; "" while it is not."""
        staleness = self.source.staleness
        if staleness <= self.max_staleness:
            return ""
        return f"nothing was heard of the cluster for {staleness:.0f} s"

    def describe(self) -> str:
        """Source, counts, epoch and configuration, for the start-up log."""
        tables = self.state.snapshot
        sources = ", ".join(status.name for status in self.source.describe()) or "push"
        return (
            f"source={sources} synced={self.source.synced} nodes={len(tables.nodes)} pods={len(tables.pods)} "
            f"node_epoch={tables.nodes.epoch} configuration={self.configuration.hash} "
            f"kube_version={self.kube_version} profiles={','.join(self.engine.profiles)}"
        )


def profile_documents(configuration: config.Configuration) -> dict[str, str]:
    """By profile, its configuration with every default, as JSON."""
    profiles = plain(configuration.document)["profiles"]
    return {profile["schedulerName"]: json.dumps(profile) for profile in profiles}


def _with_election(args: argparse.Namespace, configuration: config.Configuration) -> config.Configuration:
    """The configuration with the election that ``--leader-elect`` asks for in the place of the file's."""
    document = configuration.document
    election = replace(
        document.leader_election,
        leader_elect=args.leader_elect,
        resource_name=configuration.lease_name or SERVE_LEASE,
    )
    return replace(configuration, document=replace(document, leader_election=election))


def _election(
    asked: config.LeaderElection, server: ApiServer | None, lost: Callable[[], None]
) -> LeaderElection | None:
    """The election that is asked for; None without one.

    Raises:
        InvalidArgumentError: There is no API server to hold it at.
    """
    if not asked.leader_elect:
        return None
    if server is None:
        raise InvalidArgumentError.at(
            "--leader-elect", "needs an API server: give --kubeconfig or --in-cluster"
        )
    return election_of(asked, server, lost)


def assemble(
    args: argparse.Namespace,
    options: tuple[Option, ...],
    observer: Observer,
    lost: Callable[[], None],
) -> Assembly:
    """The parts that ``args`` ask for; ``lost`` is called when this process led and leads no more.

    Raises:
        ConfigError, RegistryError, InvalidArgumentError: One of them can't be had.
    """
    registry = registry_of(args, options)
    configuration = _with_election(args, configuration_of(args, registry))
    rules = ResourceRules.of(Gates(KubeVersion.parse(args.kube_version), args.feature_gates))
    state = State(first_epoch=_first_epoch(), rules=rules)
    server = api_server_of(args)
    election = _election(configuration.document.leader_election, server, lost)
    api = KubernetesApi(server, election) if server else None
    engine = build_engine(
        configuration,
        registry,
        state,
        KubernetesBinder(server, election) if server else LocalBinder(state),
        kube_version=args.kube_version,
        feature_gates=args.feature_gates,
        observer=observer,
        cluster=api,
    )
    engine.self_check.every = args.self_check_every
    return Assembly(
        registry=registry,
        configuration=configuration,
        state=state,
        source=source_of(args.source, state, server, engine.profiles.values()),
        max_staleness=args.max_staleness,
        engine=engine,
        cycle=BindingCycle(engine, api=api, leadership=election),
        election=election,
        api=api,
        kube_version=args.kube_version,
        feature_gates=dict(args.feature_gates or {}),
        max_concurrent_calls=args.max_concurrent_calls,
    )


def _first_epoch() -> int:
    """Where node epochs begin: those of another start or replica must never validate indices of this one.

    A time would not do: replicas start together, and every node of a start takes an epoch. Four million of
    them lie between two beginnings, and all stay below 2**62.
    """
    return secrets.randbits(40) << 22
