"""The gRPC listener of ``mooring scheduler``: questions about its decisions, its queue and its cluster.

It offers all services and answers what changes nothing. Whatever takes long gives way to the thread that
decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from mooring import __version__
from mooring.app.access import AccessFiles
from mooring.app.bridge import Decoder, configuration_periods, plugin_entries, read_changes
from mooring.app.decisions import DecisionMemory
from mooring.app.engine import Core
from mooring.app.freshness import FreshLeadership
from mooring.app.options import SchedulerOptions
from mooring.cluster.sources import KubernetesSource
from mooring.runtime.commit.committer import Committer
from mooring.scheduler.scheduler import Scheduler
from mooring.service.backend import Backend, Limits
from mooring.service.calls.audit import ListenerAudit
from mooring.service.calls.slots import Slots
from mooring.service.server import Options, Server, access_of, build
from mooring.service.services import Servicers
from mooring.sessions.sessions import Sessions
from mooring.telemetry.metrics import Metrics
from mooring.tracing.spans import Tracer

ANSWER_SLOTS = 2
"""Questions worked on at once."""

MAX_ABANDONED = 32
"""Questions that may be stuck in a plugin before further ones are rejected."""


@dataclass(frozen=True, slots=True)
class DecidingParts:
    """The parts behind the listener: the engine with its source, the scheduler, and the tracer."""

    core: Core
    memory: DecisionMemory
    source: KubernetesSource
    leadership: FreshLeadership
    committer: Committer
    scheduler: Scheduler
    tracer: Tracer | None

    def fault(self) -> str:
        """Return why only a restart helps; "" = it need not."""
        return self.scheduler.fault() or self.core.lock_watch.fault()

    def guarded(self, options: SchedulerOptions, service: Options, access: AccessFiles) -> Options:
        """Return the listener's settings with the rights and the audit of its calls, which change nothing."""
        return replace(
            service,
            access=access.over(access_of(service)),
            audit=ListenerAudit(self.leadership.audit, options.process.audit.reads),
            decode=Decoder().pod,
            read_only=True,
        )


def scheduler_service(
    options: SchedulerOptions, parts: DecidingParts, metrics: Metrics, access: AccessFiles
) -> Server | None:
    """Return the listener that the options ask for, its port taken; None without one. Raises ListenError if
    the address is taken, or must not be used without TLS.
    """
    if options.service is None:
        return None
    core, slots = parts.core, Slots(ANSWER_SLOTS, MAX_ABANDONED)
    slots.give_way_to(parts.scheduler.is_deciding)
    service = parts.guarded(options, options.service, access)
    backend = Backend(
        engine=core.engine,
        committer=parts.committer,
        slots=slots,
        commit_slots=slots,
        sessions=Sessions(parts.memory.live, most_trees=1),
        session_slots=slots,
        decoder=Decoder(),
        read_changes=read_changes,
        kube_version=options.process.engine.kube_version,
        server_version=__version__,
        start_time=datetime.now(UTC),
        sources=parts.source.describe,
        synced=lambda: parts.source.synced,
        stale=parts.leadership.freshness.stale,
        plugins=tuple(plugin_entries(core.registry)),
        configurations=lambda: configuration_periods(core),
        leadership=parts.leadership.election,
        api_server_connected=True,
        feature_gates=dict(options.process.engine.feature_gates),
        limits=Limits(max_concurrent_calls=service.max_concurrent_calls),
        metrics=metrics,
        decisions=parts.memory.decisions,
        repeater=parts.memory.repeater,
        queue=parts.scheduler.queue.list_pods,
        audit=parts.leadership.audit,
    )
    servicers = Servicers.of(backend, measured=options.serving is not None)
    ready, fault = parts.leadership.freshness.not_ready, parts.fault
    offered = servicers.services()
    service = replace(service, shares=servicers.shares)
    return build(
        offered, service, metrics=metrics, slots=slots, ready=ready, fault=fault, tracer=parts.tracer
    )
