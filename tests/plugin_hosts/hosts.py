"""Hosts in the process of the tests, good and bad, and the connections to them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc

from mooring.config.types import PluginHostStanza
from mooring.plugin_hosts.connection import HostConnection
from mooring.plugin_hosts.rules import HostedRule, rule_class
from mooring_client.plugin_host.hosting import HostedPlugin, PluginHost
from mooring_client.plugin_host.v1 import plugin_host_service_pb2 as pb
from mooring_client.plugin_host.v1 import plugin_host_service_pb2_grpc as stubs

PATIENT = timedelta(seconds=20)
"""The time for steps that succeed, however busy the machine is."""

Spoil = Callable[[pb.EvaluateResponse], pb.EvaluateResponse | None]
"""Makes another answer of one; may raise, or wait."""


class SpoiledHost(PluginHost):
    """A host whose answers are spoiled while ``spoil`` is set.

    Attributes:
        asked: The number of evaluations.
        combinations: The number of evaluated combinations of values.
    """

    def __init__(self, plugins: Sequence[type[HostedPlugin]], version: str = "") -> None:
        super().__init__(plugins, version)
        self.spoil: Spoil | None = None
        self.asked = self.combinations = 0

    def Evaluate(self, request: pb.EvaluateRequest, context: grpc.ServicerContext) -> pb.EvaluateResponse:  # noqa: N802 - the name of the call
        self.asked += 1
        self.combinations += request.combinations
        answer = super().Evaluate(request, context)
        return answer if self.spoil is None else self.spoil(answer) or answer

    def start_again(self, *plugins: type[HostedPlugin]) -> None:
        """Be another start of the host, with other code if any is given."""
        self.__init__(plugins or tuple(self._kinds.values()), "next")  # type: ignore[misc] # all is new


@dataclass
class Hosted:
    """A host, and the connection to it."""

    address: str
    host: SpoiledHost
    connection: HostConnection
    stopping: threading.Event = field(default_factory=threading.Event)

    def rule(self, name: str) -> type[HostedRule]:
        """Return the class of a plugin."""
        (found,) = (each for each in self.connection.described.plugins if each.name == name)
        return rule_class(self.connection, found)

    def hang(self, _: pb.EvaluateResponse) -> None:
        """Never answer, as long as the test lasts."""
        self.stopping.wait()


@contextmanager
def serving(address: str, host: PluginHost) -> Iterator[grpc.Server]:
    """Serve ``host``."""
    server = grpc.server(ThreadPoolExecutor(8))
    stubs.add_PluginHostServiceServicer_to_server(host, server)
    server.add_insecure_port(address)
    server.start()
    try:
        yield server
    finally:
        server.stop(None).wait()


@contextmanager
def connected(address: str, host: SpoiledHost | None = None, **options: Any) -> Iterator[Hosted]:
    """Connect to the host that listens there."""
    options.setdefault("evaluate_timeout", PATIENT)
    connection = HostConnection(PluginHostStanza(address, **options))
    hosted = Hosted(address, host or SpoiledHost([]), connection)
    try:
        connection.open()
        yield hosted
    finally:
        hosted.stopping.set()
        connection.close()


@contextmanager
def hosting(folder: Path, *plugins: type[HostedPlugin], **options: Any) -> Iterator[Hosted]:
    """Serve ``plugins`` on a socket, and connect to it."""
    address, host = f"unix:{folder}/host.sock", SpoiledHost(plugins)
    with serving(address, host), connected(address, host, **options) as hosted:
        yield hosted
