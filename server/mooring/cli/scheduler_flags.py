"""What kube-scheduler's flags come to together with the configuration file, in ``mooring scheduler``."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from mooring.cli.kube_scheduler_flags import OVERRIDES
from mooring.cluster.api import ApiServer
from mooring.cluster.api.client import ClientOptions
from mooring.cluster.api.configuration import at
from mooring.config import Configuration
from mooring.config.defaults import KUBE_SCHEDULER_LEASE
from mooring.config.types import LeaderElection
from mooring.framework.errors import InvalidArgumentError
from mooring.scheduler.leadership import LeaseTimes
from mooring.scheduler.queue import BackoffTimes


def with_flags(args: argparse.Namespace, configuration: Configuration) -> Configuration:
    """The configuration that is in force once the flags are counted in.

    Raises:
        InvalidArgumentError: It can't be used here.
    """
    document = configuration.document
    connection = document.client_connection
    if not args.config:
        connection = replace(
            connection,
            qps=args.kube_api_qps or connection.qps,
            burst=args.kube_api_burst or connection.burst,
        )
    election = _election(args, configuration)
    return replace(
        configuration,
        document=replace(document, client_connection=connection, leader_election=election),
    )


def _election(args: argparse.Namespace, configuration: Configuration) -> LeaderElection:
    given = configuration.document.leader_election
    name = (
        args.leader_elect_resource_name or configuration.lease_name or OVERRIDES["leader-elect-resource-name"]
    )
    election = replace(
        given,
        leader_elect=given.leader_elect if args.leader_elect is None else args.leader_elect,
        lease_duration=_time(args.leader_elect_lease_duration, given.lease_duration),
        renew_deadline=_time(args.leader_elect_renew_deadline, given.renew_deadline),
        retry_period=_time(args.leader_elect_retry_period, given.retry_period),
        resource_name=name,
        resource_namespace=args.leader_elect_resource_namespace or given.resource_namespace,
    )
    if election.leader_elect and name == KUBE_SCHEDULER_LEASE and not args.replace_default:
        raise InvalidArgumentError.at(
            "leaderElection.resourceName",
            f"{KUBE_SCHEDULER_LEASE!r} is kube-scheduler's own lease: one of the two would never schedule; "
            "name another one, or replace kube-scheduler with --replace-default",
        )
    if not election.lease_duration > election.renew_deadline > election.retry_period:
        raise InvalidArgumentError.at(
            "leaderElection", "leaseDuration must be above renewDeadline, and that above retryPeriod"
        )
    return election


def _time(flag: float | None, given: timedelta) -> timedelta:
    return given if flag is None else timedelta(seconds=flag)


@dataclass(frozen=True, slots=True)
class Connection:
    """Which API server, for everything; ``source`` wins over the file, and the file over ``kubeconfig``.

    Attributes:
        kubeconfig: A kubeconfig file; "" = the cluster that this process runs in.
        master: The server's address in place of the one in there.
        options: How to talk to it.
    """

    kubeconfig: str
    master: str
    options: ClientOptions

    @classmethod
    def of(cls, args: argparse.Namespace, configuration: Configuration) -> Connection:
        """The one that flags and file name.

        Raises:
            InvalidArgumentError: ``--source`` isn't a live cluster.
        """
        kind, _, file = args.source.partition(":")
        if kind != "kubernetes":
            raise InvalidArgumentError.at("--source", f"{args.source!r} is not kubernetes[:KUBECONFIG]")
        connection = configuration.document.client_connection
        options = ClientOptions(qps=max(connection.qps, 0.0), burst=connection.burst)
        kubeconfig = file or connection.kubeconfig or args.kubeconfig or ""
        return cls(kubeconfig, args.master or "", options)

    def server(self, **changes: Any) -> ApiServer:
        """A client, with ``changes`` to the options.

        Raises:
            InvalidArgumentError: The kubeconfig, or the service account, can't be used.
        """
        options = replace(self.options, **changes)
        if self.kubeconfig:
            return ApiServer.from_kubeconfig(self.kubeconfig, options, server=self.master)
        if self.master:
            return ApiServer(at(self.master), options)
        return ApiServer.in_cluster(options)


def lease_times(election: LeaderElection) -> LeaseTimes:
    """The election's pace in seconds."""
    return LeaseTimes(
        election.lease_duration.total_seconds(),
        election.renew_deadline.total_seconds(),
        election.retry_period.total_seconds(),
    )


def backoff_times(configuration: Configuration) -> BackoffTimes:
    """How long pods back off."""
    document = configuration.document
    return BackoffTimes(
        float(document.pod_initial_backoff_seconds or 0), float(document.pod_max_backoff_seconds or 0)
    )
