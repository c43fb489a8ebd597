"""Two replicas through restarts, kills, partitions and an older etcd: no pod is lost, none is bound twice."""

import itertools
import json
import shutil
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import pytest

from mooring_client import CallFailedError, Client, Pods
from mooring_client.v1.scheduling_service_pb2 import COMMIT_MODE_BIND
from tests.process import Process, until, wait_until

from . import configurations, objects
from .api import Manifest
from .balancer import Balancer
from .control_plane import ControlPlane, page
from .lines import Line
from .processes import Adapter, MooringProcess, MooringScheduler, MooringServer

pytestmark = pytest.mark.e2e

NODES, PODS_BEFORE = 8, 10
SMALL = [{"name": "main", "image": "registry.example/app:1"}]
PAUSE_SECONDS = 0.25
ELECTION = {"leaderElect": True, "leaseDuration": "6s", "renewDeadline": "4s", "retryPeriod": "1s"}
CALLERS = "callers"
"""The scheduler's name of pods that clients have placed over gRPC; no process has that name."""


class Replicas(ABC):
    """Two replicas, each with a line of its own to the API server.

    Attributes:
        scheduler: The ``schedulerName`` of the pods that they place.
        lines: To the API server.
        between: Other lines, over which callers or parts of a replica reach one; none if there are none.
        down: The numbers of those that are not started again when they end.
    """

    scheduler = "default-scheduler"

    def __init__(self, plane: ControlPlane, folder: Path, stack: ExitStack) -> None:
        self.plane = plane
        self.stack = stack
        port = int(plane.address.rpartition(":")[2])
        self.lines = [stack.enter_context(Line(port)) for _ in range(2)]
        self.between: list[Line] = []
        self.down: set[int] = set()
        self.processes: list[list[MooringProcess]] = []
        for number, line in enumerate(self.lines):
            own = folder / str(number)
            own.mkdir()
            text = plane.kubeconfig("mooring").read_text()
            kubeconfig = own / "kubeconfig"
            kubeconfig.write_text(text.replace(f":{port}", f":{line.port}"))
            self.processes.append([stack.enter_context(one) for one in self.replica(own, kubeconfig)])

    @abstractmethod
    def replica(self, folder: Path, kubeconfig: Path) -> Iterator[MooringProcess]:
        """Yield the processes of one; each is started before the next is made."""

    @abstractmethod
    def probe(self, number: int) -> str:
        """The address at which a replica says that it is ready."""

    def at_work(self) -> int:
        """Return the number of the one that holds the lease, or answers calls."""
        path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/replicas"
        holder = self.plane.api.call("GET", path)["spec"]["holderIdentity"]
        return next(number for number in range(2) if holder in self.output(number))

    def output(self, number: int) -> str:
        """Return the log of a replica."""
        return "".join(log.read_text() for log in self.logs(number))

    def logs(self, number: int) -> list[Path]:
        return [one.process.log for one in self.processes[number]]

    def place(self, pod: Manifest) -> None:  # noqa: B027  # a scheduler needs none
        """Have a pod placed; a scheduler finds it by itself."""

    def restored(self) -> None:  # noqa: B027  # most need nothing
        """Do what others than mooring need after etcd went back."""

    def end(self, number: int, how: str) -> None:
        """End a replica, the part that was started last first."""
        self.down.add(number)
        for one in reversed(self.processes[number]):
            getattr(one, how)()

    def start(self, number: int) -> None:
        """Start what has ended of a replica."""
        for one in self.processes[number]:
            if not is_alive(one):
                one.start()
        self.down.discard(number)
        wait_until(lambda: is_ready(self.probe(number)) or None, f"replica {number} to be ready")

    def keep(self) -> bool:
        """Start what has ended by itself, as Kubernetes does; true."""
        for number in {0, 1} - self.down:
            if not all(map(is_alive, self.processes[number])):
                self.start(number)
        return True


def is_alive(one: MooringProcess) -> bool:
    """Whether a process runs, and goes on; one that has ended by itself may be started again."""
    try:
        if "leaderelection lost" in one.output():
            one.process.wait_end()
        one.process.check_alive()
    except AssertionError:
        return False
    except RuntimeError:
        one.kill()
        return False
    return True


def is_ready(url: str) -> bool:
    try:
        page(url)
    except OSError:
        return False
    return True


class Schedulers(Replicas):
    """``mooring scheduler``."""

    scheduler = "mooring"

    def replica(self, folder: Path, kubeconfig: Path) -> Iterator[MooringProcess]:
        config = {"profiles": [{"schedulerName": "mooring"}], "leaderElection": LEASE}
        yield MooringScheduler(folder, kubeconfig, config)

    def probe(self, number: int) -> str:
        (one,) = self.processes[number]
        assert isinstance(one, MooringScheduler)
        return f"{one.telemetry}/readyz"


class Servers(Replicas):
    """``mooring serve --leader-elect`` behind one address; clients go from there to the leader's."""

    scheduler = CALLERS

    def __init__(self, plane: ControlPlane, folder: Path, stack: ExitStack) -> None:
        self.servers: list[MooringServer] = []
        super().__init__(plane, folder, stack)
        backends = {f"http://{one.address}": f"http://{one.metrics_address}" for one in self.servers}
        balancer = stack.enter_context(Balancer(list(backends), backends))
        address = balancer.url.removeprefix("http://")
        self.client = stack.enter_context(Client(address, timeout=5.0))

    def replica(self, folder: Path, kubeconfig: Path) -> Iterator[MooringProcess]:
        line = self.stack.enter_context(Line())
        flags = ("--leader-elect", "--advertise-address", f"127.0.0.1:{line.port}")
        server = MooringServer(folder, SERVE, *flags, source=f"kubernetes:{kubeconfig}")
        line.target = int(server.address.rpartition(":")[2])
        self.between.append(line)
        self.servers.append(server)
        yield server

    def probe(self, number: int) -> str:
        return f"http://{self.servers[number].metrics_address}/readyz"

    def place(self, pod: Manifest) -> None:
        one = Pods(json.dumps(pod).encode(), [pod["metadata"]["uid"]])
        self.client.schedule([one], commit_mode=COMMIT_MODE_BIND)


class Extenders(Replicas):
    """Two pairs of server and adapter behind one Service; kube-scheduler asks and binds."""

    def __init__(self, plane: ControlPlane, folder: Path, stack: ExitStack) -> None:
        self.adapters: list[Adapter] = []
        super().__init__(plane, folder, stack)
        self.balancer = stack.enter_context(Balancer([one.url for one in self.adapters]))
        self.kube_scheduler = self._start()

    def _start(self) -> Process:
        stanza = configurations.extender(self.balancer.url)
        whole = configurations.kube_scheduler_without_node_affinity(stanza)
        return self.stack.enter_context(self.plane.scheduler(whole))

    def replica(self, folder: Path, kubeconfig: Path) -> Iterator[MooringProcess]:
        config = configurations.mooring_node_affinity()
        server = MooringServer(folder, config, source=f"kubernetes:{kubeconfig}")
        yield server
        line = self.stack.enter_context(Line(int(server.address.rpartition(":")[2])))
        self.between.append(line)
        adapter = Adapter(folder, f"127.0.0.1:{line.port}", "--drain-delay", "2s")
        self.adapters.append(adapter)
        yield adapter

    def probe(self, number: int) -> str:
        return f"{self.adapters[number].url}/readyz"

    def at_work(self) -> int:
        return [one.url for one in self.adapters].index(self.balancer.chosen)

    def restored(self) -> None:
        """kube-scheduler does not notice it by itself."""
        self.kube_scheduler.stop()
        self.kube_scheduler = self._start()


LEASE = {**ELECTION, "resourceName": "replicas", "resourceNamespace": "kube-system"}
SERVE = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "leaderElection": LEASE,
    "profiles": [{"schedulerName": CALLERS}],
}


@contextmanager
def rolling_restart(replicas: Replicas) -> Iterator[None]:
    """Each is replaced, one after the other, the one at work first."""
    first = replicas.at_work()
    for number in (first, 1 - first):
        replicas.end(number, "stop")
        replicas.start(number)
    yield


@contextmanager
def killed(replicas: Replicas) -> Iterator[None]:
    number = replicas.at_work()
    replicas.end(number, "kill")
    yield
    replicas.start(number)


@contextmanager
def cut(line: Line) -> Iterator[None]:
    line.cut()
    yield
    line.mend()


@contextmanager
def without_api_server(replicas: Replicas) -> Iterator[None]:
    """The one at work reaches the API server no more."""
    number = replicas.at_work()
    replicas.down.add(number)
    with cut(replicas.lines[number]):
        yield
    replicas.start(number)


@contextmanager
def without_each_other(replicas: Replicas) -> Iterator[None]:
    """Callers, or its adapter, reach the one at work no more."""
    with cut(replicas.between[replicas.at_work()]):
        yield


@contextmanager
def older_backup(replicas: Replicas) -> Iterator[None]:
    copy = replicas.plane.directory / "etcd-backup"
    replicas.plane.restore(copy)
    replicas.restored()
    yield


Fault = Callable[[Replicas], Any]
CASES = [
    pytest.param(kind, fault, id=f"{kind.__name__.lower()}: {fault.__name__.replace('_', ' ')}")
    for kind in (Schedulers, Servers, Extenders)
    for fault in (rolling_restart, killed, without_api_server, without_each_other, older_backup)
    # Schedulers exchange nothing but the lease.
    if (kind, fault) != (Schedulers, without_each_other)
]


class Load:
    """Pods come steadily; those without a node are placed again and again."""

    def __init__(self, replicas: Replicas) -> None:
        self.made = 0
        self._replicas = replicas
        self._api = replicas.plane.api
        self._pods = True
        self._over = threading.Event()
        self._pool = ThreadPoolExecutor(8)
        self._busy: set[str] = set()
        self._threads = [threading.Thread(target=run) for run in (self._make, self._place)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        self._pool.shutdown()

    def no_more(self) -> None:
        """Let no new pods come."""
        self._pods = False

    def nodes(self) -> dict[str, str]:
        """Return the node of each pod, "" if it waits; nothing while the API server is away."""
        try:
            return {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in self._api.pods()}
        except OSError:
            return {}

    def _make(self) -> None:
        for number in itertools.count():
            while self._pods and not self._over.is_set():
                try:
                    self._api.create(
                        objects.pod(
                            f"p-{number:04}", schedulerName=self._replicas.scheduler, containers=SMALL
                        )
                    )
                    self.made = number + 1
                    break
                except (OSError, RuntimeError):
                    time.sleep(PAUSE_SECONDS)
            if self._over.wait(PAUSE_SECONDS) or not self._pods:
                return

    def _place(self) -> None:
        while not self._over.wait(PAUSE_SECONDS):
            with suppress(OSError, RuntimeError):
                for pod in self._api.pods():
                    uid = pod["metadata"]["uid"]
                    if not pod["spec"].get("nodeName") and uid not in self._busy:
                        self._busy.add(uid)
                        self._pool.submit(self._once, pod)

    def _once(self, pod: Manifest) -> None:
        with suppress(CallFailedError):
            self._replicas.place(pod)
        self._busy.discard(pod["metadata"]["uid"])


@pytest.fixture(scope="module")
def shared_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """One of this module's own: it goes back to a backup."""
    with ControlPlane(tmp_path_factory.mktemp("plane")) as running:
        yield running


@pytest.fixture
def plane(shared_plane: ControlPlane) -> ControlPlane:
    shared_plane.api.clear()
    for number in range(NODES):
        shared_plane.api.create(objects.node(f"n{number}"))
    return shared_plane


@pytest.mark.parametrize(("kind", "fault"), CASES)
def test_no_pod_is_lost_or_bound_twice(
    plane: ControlPlane, tmp_path: Path, kind: type[Replicas], fault: Fault
) -> None:
    if fault is older_backup:
        shutil.rmtree(plane.directory / "etcd-backup", ignore_errors=True)
        plane.back_up()
    with ExitStack() as stack:
        replicas = kind(plane, tmp_path, stack)
        load = stack.enter_context(Load(replicas))
        until(lambda: sum(map(bool, load.nodes().values())) >= PODS_BEFORE, "pods to be bound")
        before, began = len(plane.bindings()), time.monotonic()
        with fault(replicas):
            first = load.made
            until(
                lambda: (
                    replicas.keep()
                    and any(node for name, node in load.nodes().items() if int(name[2:]) >= first)
                ),
                "another",
                180,
            )
            seconds = time.monotonic() - began
        load.no_more()
        until(
            lambda: replicas.keep() and (found := load.nodes()) and all(found.values()),
            "all pods to be bound",
            180,
        )
        bound = load.nodes()
    accepted = Counter(name for _, name in plane.bindings()[before:])
    assert [name for name, times in accepted.items() if times > 1] == []
    assert bound
    print(f"\n{kind.__name__}: {fault.__name__}: {len(bound)} pods, goes on after {seconds:.1f} s")
