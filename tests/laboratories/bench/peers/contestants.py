"""Who binds the pods: kube-scheduler alone and with each extender, and mooring's own scheduler.

Every kube-scheduler has its default profile; the extenders filter and prioritize by node names. mooring as an
extender runs the default profile once more and follows the cluster meanwhile (`--source kubernetes`). The
echo knows no cluster; the one that follows keeps nodes and pods, in Go, and reads none.
"""

from __future__ import annotations

import json
import ssl
import sys
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.laboratories.bench.peers.needs import ECHO
from tests.laboratories.bench.processes import LOOPBACK, serve_arguments
from tests.laboratories.e2e.configurations import extender
from tests.laboratories.e2e.control_plane import ControlPlane
from tests.laboratories.e2e.processes import HTTP_TIMEOUT, MooringScheduler
from tests.process import Process, free_port

RATE = 5000
"""Requests per second that a scheduler may send, so that it is the scheduler that is measured."""

IN_FLIGHT = "PodsInFlight/"
"""mooring in one process, with a rule that counts pods and rejects none: what --pods-in-flight costs."""

MODES = ("off", "wait", "count")

EVERY_NODE = {"percentageOfNodesToScore": 100}


@dataclass(frozen=True, slots=True)
class Running:
    """A scheduler at work.

    Attributes:
        metrics_url: Its metrics page.
        scheduler: Its process.
        extender: The process that answers its calls; None = no extender.
        adapter: The process that passes the calls on to the extender; None = no adapter.
    """

    metrics_url: str
    scheduler: Process
    extender: Process | None = None
    adapter: Process | None = None

    def processes(self) -> dict[str, list[Process]]:
        """Return all by role."""
        roles = {"scheduler": self.scheduler, "extender": self.extender, "adapter": self.adapter}
        return {role: [process] if process is not None else [] for role, process in roles.items()}

    def metrics(self) -> str:
        """Return the metrics page as it is now."""
        # Its certificate is made at each start.
        context = ssl._create_unverified_context()
        direct = urllib.request.ProxyHandler({})
        opener = urllib.request.build_opener(direct, urllib.request.HTTPSHandler(context=context))
        with opener.open(self.metrics_url, timeout=30) as response:
            text: str = response.read().decode()
        return text


Start = Callable[[ExitStack, ControlPlane], Running]
"""Starts a contestant that ends with the stack; its scheduler binds what is pending from then on."""


def contestants() -> Mapping[str, Start]:
    """Return all by name, in the order of the report."""
    return {
        "KubeScheduler": partial(_kube_scheduler, {}, None),
        "KubeSchedulerEveryNode": partial(_kube_scheduler, EVERY_NODE, None),
        "Echo": partial(_kube_scheduler, {}, _echo),
        "EchoFollowing": partial(_kube_scheduler, {}, _following_echo),
        "MooringInServerFollowing": partial(_kube_scheduler, {}, _in_server),
        "MooringAdapterFollowing": partial(_kube_scheduler, {}, _adapter),
        "MooringScheduler": _mooring_scheduler,
        **{f"{IN_FLIGHT}{mode}": partial(_kube_scheduler, {}, partial(_counting, mode)) for mode in MODES},
    }


Behind = tuple[Process | None, Process | None]
"""An extender, and the adapter before it."""

Extender = Callable[[ExitStack, ControlPlane], tuple[str, Behind]]
"""Starts an extender; its URL and processes."""


def _kube_scheduler(
    more: dict[str, Any], start: Extender | None, running: ExitStack, plane: ControlPlane
) -> Running:
    connection = {"kubeconfig": str(plane.kubeconfig("kube-scheduler")), "qps": RATE, "burst": RATE}
    config = {"clientConnection": connection, **more}
    behind: Behind = (None, None)
    if start is not None:
        url, behind = start(running, plane)
        config["extenders"] = [extender(url)]
    port = free_port()
    scheduler = running.enter_context(plane.scheduler(config, port=port))
    return Running(f"https://127.0.0.1:{port}/metrics", scheduler, *behind)


def _mooring_scheduler(running: ExitStack, plane: ControlPlane) -> Running:
    config = {
        "clientConnection": {"qps": RATE, "burst": RATE},
        "profiles": [{"schedulerName": "default-scheduler"}],
        "leaderElection": {"leaderElect": False},
    }
    kubeconfig = plane.kubeconfig("mooring")
    scheduler = running.enter_context(MooringScheduler(plane.directory, kubeconfig, config, "--v=0"))
    return Running(f"{scheduler.telemetry}/metrics", scheduler.process)


def _echo(running: ExitStack, plane: ControlPlane, *flags: str) -> tuple[str, Behind]:
    echo = _start(running, plane, "echo", str(ECHO), *flags)
    return echo.wait_line(r"^echo ready: (\S+)")[1], (echo, None)


def _following_echo(running: ExitStack, plane: ControlPlane) -> tuple[str, Behind]:
    return _echo(running, plane, f"-follow={plane.kubeconfig('mooring')}")


def _in_server(running: ExitStack, plane: ControlPlane) -> tuple[str, Behind]:
    server, line = _server(running, plane, LOOPBACK)
    return _address(line, "extender"), (server, None)


def _adapter(running: ExitStack, plane: ControlPlane) -> tuple[str, Behind]:
    server, line = _server(running, plane, f"unix:{plane.directory / 'mooring.sock'}")
    command = [sys.executable, "-m", "mooring_extender", "--listen", LOOPBACK, "--drain-delay", "0"]
    adapter = _start(running, plane, "adapter", *command, "--server", _address(line, "grpc"))
    return adapter.wait_line(r"^mooring-extender ready: (\S+)")[1], (server, adapter)


def _counting(mode: str, running: ExitStack, plane: ControlPlane) -> tuple[str, Behind]:
    rule = {"ipsPerNode": 1_000, "consumers": {"schedulerName": "default-scheduler"}}
    profile = {
        "schedulerName": "default-scheduler",
        "plugins": {"multiPoint": {"enabled": [{"name": "UnderlayIP"}]}},
        "pluginConfig": [{"name": "UnderlayIP", "args": rule}],
    }
    file = plane.directory / "mooring.json"
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    file.write_text(json.dumps({**kind, "profiles": [profile]}))
    # Others' turns pass while a call waits.
    flags = ("--config", str(file), "--pods-in-flight", mode, "--extender-http-timeout", HTTP_TIMEOUT)
    server, line = _server(running, plane, LOOPBACK, *flags)
    return _address(line, "extender"), (server, None)


def _server(running: ExitStack, plane: ControlPlane, listen: str, *flags: str) -> tuple[Process, str]:
    arguments = [*serve_arguments(f"kubernetes:{plane.kubeconfig('mooring')}", listen), *flags]
    server = _start(running, plane, "mooring", sys.executable, "-m", "mooring", *arguments)
    ready = server.wait_line(r"^mooring ready: (.*)$")[1]
    # Its scheduler waits for that, too, and no start is counted.
    server.wait_line(r".* warmed up for ")
    return server, ready


def _address(line: str, name: str) -> str:
    return dict(word.split("=", 1) for word in line.split())[name]


def _start(running: ExitStack, plane: ControlPlane, name: str, *command: str) -> Process:
    log = plane.directory / f"{name}.log"
    # An earlier one's line of readiness would be taken for this one's.
    Path(log).unlink(missing_ok=True)
    return running.enter_context(Process(name, list(command), log))
