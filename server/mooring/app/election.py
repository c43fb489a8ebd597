"""Which of several replicas commits: the election of ``mooring serve`` and of ``mooring scheduler``."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from mooring import config
from mooring.app.options import ElectionOptions
from mooring.cluster.api import ApiServer
from mooring.cluster.leases import Lease
from mooring.config.types import LeaderElectionConfiguration
from mooring.runtime.commit.binding_cycle import BindingCycle
from mooring.runtime.commit.clock import SystemClock
from mooring.scheduler.leadership import LeaderElection, LeaseTimes, new_identity
from mooring.telemetry.metrics import Metrics
from mooring.telemetry.process_metrics import measure_leadership

log = logging.getLogger(__name__)


def with_election(
    configuration: config.Configuration, options: ElectionOptions, default_lease: str
) -> config.Configuration:
    """Return the configuration with the options' leader election instead of the file's.

    ``default_lease`` is the lease's name where neither of them has one.
    """
    given = configuration.document.leader_election
    election = replace(
        given,
        leader_elect=given.leader_elect if options.leader_elect is None else options.leader_elect,
        lease_duration=_time(options.lease_duration, given.lease_duration),
        renew_deadline=_time(options.renew_deadline, given.renew_deadline),
        retry_period=_time(options.retry_period, given.retry_period),
        resource_name=options.resource_name or configuration.lease_name or default_lease,
        resource_namespace=options.resource_namespace or given.resource_namespace,
    )
    return replace(configuration, document=replace(configuration.document, leader_election=election))


def _time(seconds: float | None, given: timedelta) -> timedelta:
    return given if seconds is None else timedelta(seconds=seconds)


def election_of(
    asked: LeaderElectionConfiguration,
    server: ApiServer,
    metrics: Metrics,
    lost: Callable[[], None],
    address: str = "",
) -> LeaderElection:
    """Take part in the election for the lease of ``asked``, with its times.

    ``lost`` is called when this process led and leads no more. ``address`` is where clients reach it; "" = it
    is not stated.
    """
    times = lease_times(asked)
    lease = Lease(server, asked.resource_namespace, asked.resource_name, times.renew_deadline / 2)
    election = LeaderElection(lease, new_identity(address), times, SystemClock(), lost)
    measure_leadership(metrics, asked.resource_name, election.is_leader)
    return election


def end_election(election: LeaderElection, cycle: BindingCycle) -> None:
    """Take part no more. If a binding may still take effect, others have to wait for the lease's end."""
    may_bind = cycle.has_open_bindings()
    if may_bind:
        log.warning("the lease is kept to its end, since a binding may still take effect")
    election.stop(release=not may_bind)


def binding_seconds(election: LeaderElectionConfiguration) -> float:
    """Return the seconds that a binding may take at most: none takes effect under the next leader."""
    times = lease_times(election)
    return times.lease_duration - times.renew_deadline if election.leader_elect else math.inf


def lease_times(election: LeaderElectionConfiguration) -> LeaseTimes:
    """Return the election's times in seconds."""
    return LeaseTimes(
        election.lease_duration.total_seconds(),
        election.renew_deadline.total_seconds(),
        election.retry_period.total_seconds(),
    )
