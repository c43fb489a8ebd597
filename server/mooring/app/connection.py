"""The API server of ``mooring scheduler``, named by flags and by the configuration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mooring.app.options import ConnectionOptions
from mooring.cluster.api import ApiServer
from mooring.cluster.api.client import ClientOptions
from mooring.cluster.api.configuration import at
from mooring.config import Configuration
from mooring.framework.errors import InvalidArgumentError
from mooring.telemetry.process_metrics import RequestMetrics


def with_pace(configuration: Configuration, options: ConnectionOptions) -> Configuration:
    """Return the configuration with the options' requests per second, if no file set them."""
    document = configuration.document
    given = document.client_connection
    connection = replace(given, qps=options.qps or given.qps, burst=options.burst or given.burst)
    return replace(configuration, document=replace(document, client_connection=connection))


@dataclass(frozen=True, slots=True)
class ApiServerConnection:
    """Which API server, for everything; ``source`` wins over the file, and the file over ``kubeconfig``.

    Attributes:
        kubeconfig: A kubeconfig file; "" = the cluster that this process runs in.
        master: The server's address, which overrides the kubeconfig's.
    """

    kubeconfig: str
    master: str
    options: ClientOptions

    @classmethod
    def of(
        cls, options: ConnectionOptions, configuration: Configuration, requests: RequestMetrics
    ) -> ApiServerConnection:
        """Return the connection that options and file name; its requests are counted. Raises
        InvalidArgumentError if the source isn't a live cluster.
        """
        kind, _, file = options.source.partition(":")
        if kind != "kubernetes":
            raise InvalidArgumentError.at("--source", f"{options.source!r} is not kubernetes[:KUBECONFIG]")
        connection = configuration.document.client_connection
        pace = ClientOptions(qps=max(connection.qps, 0.0), burst=connection.burst, ended=requests.ended)
        return cls(file or connection.kubeconfig or options.kubeconfig, options.master, pace)

    def server(self, **changes: Any) -> ApiServer:
        """Return a client, with ``changes`` to the options. Raises InvalidArgumentError if the kubeconfig, or
        the service account, can't be used.
        """
        options = replace(self.options, **changes)
        if self.kubeconfig:
            return ApiServer.from_kubeconfig(self.kubeconfig, options, server=self.master)
        if self.master:
            return ApiServer(at(self.master), options)
        return ApiServer.in_cluster(options)
