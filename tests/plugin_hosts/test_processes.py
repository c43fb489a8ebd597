"""Hosts in processes of their own act and measure; they are killed, hang, are upgraded and lie under load."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.config.types import PluginHostStanza
from mooring.framework.errors import PluginUnavailableError
from mooring.plugin_hosts.connection import HostConnection
from mooring.plugin_hosts.hosts import close_connections
from mooring.plugin_hosts.rules import rule_class
from mooring.testing import make_node, node_manifest
from mooring_client import Client, Pods
from mooring_client.v1.scheduling_service_pb2 import COMMIT_MODE_BIND
from tests.cli.commands import serving
from tests.plugin_hosts.child import LIAR
from tests.process import until
from tests.runtime.pure.engines import Rules

pytestmark = pytest.mark.slow

NODES = ("v1-a", "v1-b", "v2-a", "v2-b")


class Child:
    """A host that may be started again, as another version."""

    def __init__(self, folder: Path) -> None:
        self.socket, self.log = folder / "host.sock", folder / "host.log"
        self.address = f"unix:{self.socket}"
        self.log.touch()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, version: str) -> None:
        """Start it; one that runs ends once its socket is replaced."""
        before, made = self._process, self._made
        command = (sys.executable, "-m", "tests.plugin_hosts.child", self.address, version, self.log)
        self._process = subprocess.Popen(command)
        until(lambda: self._made not in (0, made))
        if before is not None:
            before.kill()
            before.wait()

    @property
    def _made(self) -> int:
        """When the socket was made; 0 = there is none that only its user may write to."""
        found = self.socket.stat() if self.socket.exists() else None
        return found.st_ctime_ns if found is not None and not found.st_mode & 0o022 else 0

    def signal(self, number: int) -> None:
        """Send it a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def end(self) -> None:
        """End it, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def done(self) -> list[str]:
        """Return what it did, in order."""
        return self.log.read_text().splitlines()


@contextmanager
def child(folder: Path, version: str) -> Iterator[Child]:
    made = Child(folder)
    made.start(version)
    try:
        yield made
    finally:
        made.end()


class Stream:
    """Threads that decide all the time, each time about pods that need a new answer."""

    def __init__(self, rules: Rules, connection: HostConnection) -> None:
        self.placed = self.failed = 0
        self.wrong: list[str] = []
        self._rules, self._connection = rules, connection
        self._stopping = threading.Event()
        self._numbers = iter(range(1 << 30))
        self._threads = [threading.Thread(target=self._decide) for _ in range(2)]
        for thread in self._threads:
            thread.start()

    def _decide(self) -> None:
        while not self._stopping.wait(0.002):
            before = self._connection.described.host_version
            pod = self._rules.pod(labels={"wanted": str(next(self._numbers))})
            try:
                choice = self._rules.decide(pod, place=False)
            except PluginUnavailableError:
                self.failed += 1
                continue
            after = self._connection.described.host_version
            if choice.node_name is None or choice.node_name.partition("-")[0] not in (before, after):
                self.wrong.append(f"{choice.node_name} by {before} or {after}")
            self.placed += 1

    def goes_on(self) -> None:
        """Wait until a decision more succeeds."""
        before = self.placed
        until(lambda: self.placed > before + 1)

    def fails(self, times: int = 1) -> None:
        """Wait until ``times`` more have failed."""
        before = self.failed
        until(lambda: self.failed >= before + times)

    def stop(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[tuple[Child, HostConnection, Stream]]:
    with child(tmp_path, "v1") as host:
        connection = HostConnection(PluginHostStanza(host.address, evaluate_timeout=timedelta(seconds=1)))
        connection.open()
        (described,) = (each for each in connection.described.plugins if each.name == "Only")
        rules = Rules(rule_class(connection, described), [make_node(name) for name in NODES])
        decisions = Stream(rules, connection)
        try:
            decisions.goes_on()
            yield host, connection, decisions
        finally:
            decisions.stop()
            connection.close()
    assert decisions.wrong == []


def test_a_killed_host_fails_decisions_until_it_is_back(
    stream: tuple[Child, HostConnection, Stream],
) -> None:
    host, connection, decisions = stream
    for _ in range(3):
        host.end()
        decisions.fails()
        host.start("v1")
        decisions.goes_on()
    assert not connection.down


def test_an_upgraded_host_decides_from_its_start_on(stream: tuple[Child, HostConnection, Stream]) -> None:
    host, connection, decisions = stream
    host.start("v2")
    until(lambda: connection.described.host_version == "v2")
    decisions.goes_on()


def test_a_host_that_hangs_fails_decisions_until_it_goes_on(
    stream: tuple[Child, HostConnection, Stream],
) -> None:
    host, _, decisions = stream
    host.signal(signal.SIGSTOP)
    # One waits for the host; others fail at once meanwhile.
    decisions.fails(5)
    host.signal(signal.SIGCONT)
    decisions.goes_on()


def test_a_host_that_lies_decides_nothing(stream: tuple[Child, HostConnection, Stream]) -> None:
    host, connection, decisions = stream
    host.start(LIAR)
    until(lambda: connection.described.host_version == LIAR)
    placed = decisions.placed
    decisions.fails(5)
    # Decisions that began before.
    assert decisions.placed <= placed + 2
    host.start("v1")
    decisions.goes_on()


@contextmanager
def server(folder: Path, host: Child) -> Iterator[Client]:
    """A server that decides and binds with the host's plugins."""
    enabled = [{"name": "Only"}, {"name": "Quiet", "weight": 100}]
    configuration: Mapping[str, object] = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "pluginHosts": [{"address": host.address, "evaluateTimeout": "20s", "actTimeout": "20s"}],
        "profiles": [{"plugins": {"multiPoint": {"enabled": enabled}}}],
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(configuration))
    (folder / "nodes.yaml").write_text(yaml.safe_dump_all(map(node_manifest, NODES)))
    flags = ("--source", f"files:{folder}/nodes.yaml", "--config", folder / "config.yaml")
    try:
        with serving(*flags) as ready, Client(ready.address("grpc")) as client:
            # v1-b has the lower measured value, once both are measured.
            until(lambda: asked(client, "any")[0] == "v1-b")
            yield client
    finally:
        close_connections()


def asked(client: Client, name: str, **options: Any) -> tuple[str, list[str]]:
    """Have a pod decided; return its node and the reasons against it."""
    containers = [{"name": "web"}]
    pod = {"metadata": {"name": name, "namespace": "default"}, "spec": {"containers": containers}}
    (placed,) = client.schedule([Pods(json.dumps(pod).encode(), uids=[name])], **options)
    return placed.node, list(placed.verdict.reasons)


def bound(client: Client, name: str) -> tuple[str, list[str]]:
    """Bind a pod; return what ``asked`` does."""
    return asked(client, name, commit_mode=COMMIT_MODE_BIND)


def test_a_host_acts_at_each_point_and_measures(tmp_path: Path) -> None:
    with child(tmp_path, "v1") as host, server(tmp_path, host) as client:
        assert bound(client, "web") == ("v1-b", [])
        assert host.done() == [f"{point} web v1-b" for point in ("reserve", "permit", "preBind", "postBind")]


@pytest.mark.parametrize(
    ("pod", "reason", "points"),
    [
        pytest.param("unlicensed", "no licence left", ("reserve", "unreserve"), id="reserve"),
        pytest.param("forbidden", "not permitted", ("reserve", "permit", "unreserve"), id="permit"),
        pytest.param("homeless", "no volume", ("reserve", "permit", "preBind", "unreserve"), id="preBind"),
    ],
)
def test_a_rejection_by_the_host_gives_back_what_it_kept(
    pod: str, reason: str, points: tuple[str, ...], tmp_path: Path
) -> None:
    with child(tmp_path, "v1") as host, server(tmp_path, host) as client:
        assert reason in bound(client, pod)[1]
        assert host.done() == [f"{point} {pod} v1-b" for point in points]
