"""Two replicas behind kube-scheduler are replaced one after the other under load, and no pod notices."""

import itertools
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.process import wait_until

from . import configurations, objects
from .balancer import Balancer
from .control_plane import ControlPlane
from .processes import Adapter, MooringServer

pytestmark = pytest.mark.e2e

RACKS = {"a1": "a", "a2": "a", "b1": "b", "b2": "b"}
MAX_PODS = 420
PAUSE_SECONDS = 0.05
DRAIN = "2s"


@dataclass(frozen=True)
class Replica:
    """A server and the adapter in front of it, as in one pod."""

    server: MooringServer
    adapter: Adapter

    def restart(self) -> None:
        """End the adapter, then the server, as a pod's end does, and start both again."""
        self.adapter.stop()
        self.server.stop()
        self.server.start()
        self.adapter.start()


@pytest.fixture
def replicas(control_plane: ControlPlane, tmp_path: Path) -> Iterator[list[Replica]]:
    for name, rack in RACKS.items():
        control_plane.api.create(objects.node(name, {objects.RACK: rack}))
    source = f"kubernetes:{control_plane.kubeconfig('mooring')}"
    config = configurations.mooring_node_affinity()
    with ExitStack() as running:
        started = []
        for number in range(2):
            folder = tmp_path / str(number)
            folder.mkdir()
            server = running.enter_context(MooringServer(folder, config, source=source))
            adapter = running.enter_context(Adapter(folder, server.address, "--drain-delay", DRAIN))
            started.append(Replica(server, adapter))
        yield started


def test_no_pod_fails_because_of_a_rolling_restart(
    control_plane: ControlPlane, replicas: list[Replica]
) -> None:
    api = control_plane.api
    with Balancer([replica.adapter.url for replica in replicas]) as balancer:
        stanza = configurations.extender(balancer.url)
        with control_plane.scheduler(configurations.kube_scheduler_without_node_affinity(stanza)):
            with load(control_plane):
                for replica in (*replicas, *replicas):
                    replica.restart()
                    wait_until(partial(balancer.is_ready, replica.adapter.url), "the replica to be ready")
            wait_until(lambda: all(pod["spec"].get("nodeName") for pod in api.pods()), "all pods to be bound")
    events = api.items("/api/v1/namespaces/default/events")
    assert [event["message"] for event in events if event["reason"] == "FailedScheduling"] == []
    pods = api.pods()
    assert len(pods) > 50
    for pod in pods:
        assert RACKS[pod["spec"]["nodeName"]] == pod["metadata"]["name"][0]


@contextmanager
def load(control_plane: ControlPlane) -> Iterator[None]:
    """Pods come steadily during the block, by turns for the one rack and the other."""
    enough = threading.Event()

    def make() -> None:
        for number in itertools.count():
            rack = "ab"[number % 2]
            affinity = objects.node_affinity({objects.RACK: rack})
            control_plane.api.create(objects.pod(f"{rack}-{number}", affinity=affinity, containers=SMALL))
            if enough.wait(PAUSE_SECONDS) or number == MAX_PODS:
                return

    maker = threading.Thread(target=make)
    maker.start()
    try:
        yield
    finally:
        enough.set()
        maker.join()


SMALL = [{"name": "main", "image": "registry.example/app:1"}]
