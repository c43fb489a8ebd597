"""Which of several replicas commits: the election of ``mooring serve`` and of ``mooring scheduler``."""

from __future__ import annotations

from collections.abc import Callable

from mooring.cli.scheduler_flags import lease_times
from mooring.cluster.api import ApiServer
from mooring.cluster.leases import Lease
from mooring.config.types import LeaderElection as Asked
from mooring.runtime.clock import SystemClock
from mooring.scheduler.leadership import LeaderElection, new_identity


def election_of(asked: Asked, server: ApiServer, lost: Callable[[], None]) -> LeaderElection:
    """Takes part in the election for the lease, at the pace, that is ``asked`` for.

    ``lost`` is called when this process led and leads no more.
    """
    times = lease_times(asked)
    lease = Lease(server, asked.resource_namespace, asked.resource_name, times.renew_deadline / 2)
    return LeaderElection(lease, new_identity(), times, SystemClock(), lost)
