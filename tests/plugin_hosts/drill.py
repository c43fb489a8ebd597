"""A server under load whose host is killed, hangs, is started again, is upgraded, and lies.

Batches go to a profile that has the host's plugin alone, and every other one needs a new answer. Single pods
go to another profile. Each chosen node is compared with that of the rule in this process.
"""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
import yaml

from mooring.testing import node_manifest, pod_manifest
from mooring_client.v1 import nodes_pb2 as nodes
from mooring_client.v1 import scheduling_service_pb2 as scheduling
from mooring_client.v1.objects_pb2 import KubernetesObject, PodSource
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.cli.commands import serving_process
from tests.plugin_hosts.child import LIAR, passes, rated
from tests.process import until

NODES = tuple(f"n{number}" for number in range(20))
BATCH, PAUSE_SECONDS = 100, 0.02
"""The pods of a call, and the pause after it."""

KNOWN = 10
"""How many different batches need no new answer."""

CALLERS = 2
"""Threads that send batches."""

BY_RULE = "plugin 'Mixed' failed at Evaluate: its host "
"""The failures that a failed host may cause."""


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


def best(version: str, wanted: str) -> set[str]:
    """Return the nodes that a version of the rule prefers for a pod."""
    rates = {name: rated(version, wanted, name) for name in NODES if passes(version, wanted, name)}
    return {name for name, rate in rates.items() if rate == max(rates.values())}


class Load:
    """Decisions all the time: about pods of the profile with the host, and about others.

    Args:
        channel: To the server.
        version: That of the host.
        deadline: Seconds of a call about a pod that does not need the host.

    Attributes:
        versions: Those of the host that were started, the newest last.
        placed: Decisions that the host took part in.
        failed: Those that failed because the host did.
        wrong: Nodes that no version of then would choose, and failures of another kind.
        answered: When the last call ended that needed a new answer, and when that call began.
        others: The seconds of the calls that do not need the host.
        late: How many of these had no answer within the deadline.
    """

    def __init__(self, channel: grpc.Channel, version: str, deadline: float) -> None:
        self.versions = [version]
        self.placed = self.failed = self.late = 0
        self.wrong: list[str] = []
        self.answered = (0.0, 0.0)
        self.others: list[float] = []
        self._schedule, self._deadline = SchedulingServiceStub(channel).Schedule, deadline
        self._numbers = itertools.count()
        self._newest = 0
        self._stopping = threading.Event()

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Decide meanwhile."""
        with ThreadPoolExecutor(CALLERS + 1) as threads:
            running = [threads.submit(self._repeat, self._ask) for _ in range(CALLERS)]
            running.append(threads.submit(self._repeat, self._ask_other))
            try:
                yield
            finally:
                self._stopping.set()
            for each in running:
                each.result()

    def _repeat(self, call: Callable[[], None]) -> None:
        while not self._stopping.wait(PAUSE_SECONDS):
            call()

    def _ask(self) -> None:
        number, oldest, began = next(self._numbers), self._newest, time.monotonic()
        new = bool(number % 2)
        wanted = str(number) if new else f"known-{number % KNOWN}"
        try:
            answer = self._schedule(_request("hosted", wanted, BATCH), timeout=60)
        except grpc.RpcError as error:
            self._fail(str(error), BATCH)
            return
        for name, verdict in zip(answer.nodes.names.names, answer.pod_verdicts, strict=True):
            if name:
                self._judge(name, wanted, oldest)
            else:
                self._fail(str(answer.verdicts[verdict]), 1)
        if new and all(answer.nodes.names.names):
            self.answered = time.monotonic(), began

    def _judge(self, name: str, wanted: str, oldest: int) -> None:
        there = range(oldest, len(self.versions))
        by = [at for at in there if name in best(self.versions[at], wanted)]
        self.placed += 1
        if not by:
            self.wrong.append(f"{name} for {wanted} by {[self.versions[at] for at in there]}")
        else:
            # No call that begins from now on may have an answer of an older version.
            self._newest = max(self._newest, by[0])

    def _fail(self, text: str, count: int) -> None:
        self.failed += count
        if BY_RULE not in text:
            self.wrong.append(text)

    def _ask_other(self) -> None:
        began = time.monotonic()
        try:
            self._schedule(_request("other", "", 1), timeout=self._deadline)
        except grpc.RpcError:
            self.late += 1
        self.others.append(time.monotonic() - began)


def _request(profile: str, wanted: str, count: int) -> scheduling.ScheduleRequest:
    pod = pod_manifest("web", labels={"wanted": wanted}, spec={"schedulerName": profile})
    return scheduling.ScheduleRequest(
        templates=[
            scheduling.PodTemplate(pod=PodSource(object=KubernetesObject(json=json.dumps(pod).encode())))
        ],
        pods=scheduling.PodColumns(
            template_indices=[0] * count, names=["web"], uids=[f"{wanted}-{at}" for at in range(count)]
        ),
        nodes=nodes.NodeSelection(all=nodes.AllNodes(), answer_form=nodes.NODE_FORM_NAMES),
    )


class Drill:
    """Does to the host of a server under load what may happen to it.

    Args:
        host: The host.
        load: The load.
    """

    def __init__(self, host: Child, load: Load) -> None:
        self.host, self.load = host, load

    def killed(self) -> None:
        """It ends, and is there again once decisions have failed."""
        self.host.end()
        self._fails()
        self._start("v1")

    def hung(self) -> None:
        """It stands still, and goes on once decisions have failed."""
        self.host.signal(signal.SIGSTOP)
        self._fails()
        self.host.signal(signal.SIGCONT)

    def restarted(self) -> None:
        """Another start takes its socket, and then it ends."""
        self._start("v1")

    def upgraded(self) -> None:
        """The same with another version."""
        self._start("v1" if self.load.versions[-1] == "v2" else "v2")

    def lying(self) -> None:
        """A version whose scores are out of range answers until decisions have failed."""
        self._start(LIAR)
        self._fails()
        self._start("v1")

    def play(self, event: str) -> float:
        """Have one of ``EVENTS`` happen; return the seconds from its end until decisions succeed."""
        self._all_are_known()
        getattr(self, event)()
        ended = time.monotonic()
        until(lambda: self.load.answered[1] >= ended)
        back = self.load.answered[0] - ended
        self._all_are_known()
        return back

    def _all_are_known(self) -> None:
        """Wait until each batch that needs no new answer has been decided."""
        before = self.load.placed
        until(lambda: self.load.placed >= before + 4 * KNOWN * BATCH)

    def _start(self, version: str) -> None:
        self.load.versions.append(version)
        self.host.start(version)

    def _fails(self) -> None:
        """Wait until some batches have failed."""
        before = self.load.failed
        until(lambda: self.load.failed >= before + 5 * BATCH)


EVENTS = ("killed", "hung", "restarted", "upgraded", "lying")


@contextmanager
def drilled(folder: Path, deadline: float = 60) -> Iterator[Drill]:
    """Yield a drill of a server whose calls that do not need the host have this deadline in seconds.

    Raises:
        RuntimeError: The server does not start.
    """
    with child(folder, "v1") as host:
        alone = {"enabled": [{"name": each} for each in ("PrioritySort", "DefaultBinder", "Mixed")]}
        profiles = [
            {"schedulerName": "other"},
            {"schedulerName": "hosted", "plugins": {"multiPoint": {"disabled": [{"name": "*"}], **alone}}},
        ]
        configuration = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "pluginHosts": [{"address": host.address, "evaluateTimeout": "500ms"}],
            "profiles": profiles,
        }
        (folder / "config.yaml").write_text(yaml.safe_dump(configuration))
        (folder / "nodes.yaml").write_text(yaml.safe_dump_all(map(node_manifest, NODES)))
        flags = ("--source", f"files:{folder}/nodes.yaml", "--config", folder / "config.yaml")
        with (
            serving_process(folder, *flags) as ready,
            grpc.insecure_channel(ready.address("grpc")) as channel,
        ):
            load = Load(channel, "v1", deadline)
            with load.going_on():
                until(lambda: load.placed)
                yield Drill(host, load)
