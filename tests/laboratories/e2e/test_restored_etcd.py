"""etcd is restored from an older copy: mooring notices, lists everything again, and goes on."""

import threading
import time
import urllib.error
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from mooring_client.v1 import cluster_service_pb2 as cluster
from mooring_client.v1 import scheduling_service_pb2 as scheduling
from tests.process import until, wait_until

from . import objects
from .control_plane import ControlPlane, page
from .mooring_client import MooringClient
from .processes import MooringScheduler, MooringServer
from .test_scheduler import ALONE, MINE, PROFILE, bound, make_nodes, make_pods

pytestmark = pytest.mark.e2e

THEIRS = "default-scheduler"

GOES_ON_WITHIN = 10.0
"""Seconds from the moment at which the API server is ready again. Twice as many if no version is older: then
the counts differ, which are compared twice.
"""

PODS, LOST_PODS = 20, 60


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    """Yield one of the test's own: what goes back in it goes back for all of its clients."""
    (tmp_path / "plane").mkdir()
    with ControlPlane(tmp_path / "plane") as running:
        make_nodes(running.api, 20)
        yield running


class Readiness:
    """The answers of /readyz, polled."""

    def __init__(self, url: str) -> None:
        self.answers: list[str] = []
        self._url = url
        self._over = threading.Event()

    @contextmanager
    def watched(self) -> Iterator[list[str]]:
        asking = threading.Thread(target=self._ask, daemon=True)
        asking.start()
        try:
            yield self.answers
        finally:
            self._over.set()
            asking.join()

    def _ask(self) -> None:
        while not self._over.wait(0.05):
            try:
                self.answers.append(page(self._url))
            except urllib.error.HTTPError as error:
                with error:
                    self.answers.append(error.read().decode())
            except OSError as error:
                self.answers.append(f"no answer: {error}")


def make_all(plane: ControlPlane, prefix: str, count: int, *schedulers: str) -> None:
    for scheduler in schedulers:
        make_pods(plane.api, [f"{prefix}-{scheduler}-{at:03}" for at in range(count)], scheduler)


def bound_by(plane: ControlPlane, scheduler: str) -> list[str]:
    return [name for name, node in bound(plane.api).items() if scheduler in name and node]


def lose(plane: ControlPlane, *schedulers: str) -> None:
    """Have pods bound that the copy doesn't have, and those bound that it has."""
    make_all(plane, "lost", LOST_PODS, *schedulers)
    until(lambda: all(bound(plane.api).values()), "all pods to be bound")


@pytest.mark.parametrize(
    "standby", [False, True], ids=["without a lease", "the standby of a leader that ends"]
)
def test_a_scheduler_binds_again_within_seconds(
    plane: ControlPlane, tmp_path: Path, *, standby: bool
) -> None:
    make_all(plane, "kept", PODS, MINE, THEIRS)
    copy = plane.back_up()
    kubeconfig = plane.kubeconfig("mooring")
    with ExitStack() as stack:
        stack.enter_context(plane.scheduler({}))
        if standby:
            (tmp_path / "leader").mkdir()
            leader = stack.enter_context(MooringScheduler(tmp_path / "leader", kubeconfig, PROFILE))
            until(lambda: bound_by(plane, MINE), "the leader to lead")
        running = stack.enter_context(MooringScheduler(tmp_path, kubeconfig, PROFILE if standby else ALONE))
        lose(plane, MINE, THEIRS)
        answers = stack.enter_context(Readiness(f"{running.telemetry}/readyz").watched())
        if standby:
            leader.kill()
        plane.restore(copy)
        began = time.monotonic()
        make_all(plane, "new", PODS, MINE, THEIRS)
        wait_until(lambda: len(bound_by(plane, MINE)) == 2 * PODS or None, "mooring's pods to be bound")
        seconds = time.monotonic() - began
        print(f"mooring: {2 * PODS} in {seconds:.1f} s; kube-scheduler: {len(bound_by(plane, THEIRS))}")
        assert seconds < GOES_ON_WITHIN
        until(lambda: answers[-1] == "ok\n", "readiness")
        assert any("older than the observed" in answer for answer in answers)
        assert running.output().count("etcd went back") == 1
        assert "mooring_source_rollbacks_total" in page(f"{running.telemetry}/metrics")


@pytest.mark.parametrize("overtaken", [False, True], ids=["behind", "overtaken at once"])
def test_a_server_answers_by_what_there_is(plane: ControlPlane, tmp_path: Path, *, overtaken: bool) -> None:
    make_all(plane, "kept", 1, THEIRS)
    copy = plane.back_up()
    source = f"kubernetes:{plane.kubeconfig('mooring')}"
    with (
        MooringServer(tmp_path, source=source) as server,
        MooringClient(server.address) as client,
    ):
        make_all(plane, "lost", 5 if overtaken else LOST_PODS, THEIRS)
        plane.api.create(objects.node("lost"))
        url = f"http://{server.metrics_address}/readyz"
        with Readiness(url).watched() as answers:
            plane.restore(copy)
            began = time.monotonic()
            make_all(plane, "new", LOST_PODS if overtaken else 1, THEIRS)
            until(lambda: answers[-1] == "ok\n" and knows(client, plane), "the server to know what there is")
            seconds = time.monotonic() - began
            pod = plane.api.pod(f"new-{THEIRS}-000")
            answer = client.schedule(pod, scheduling.COMMIT_MODE_BIND)
        print(f"mooring serve: {seconds:.1f} s")
        assert list(answer.outcomes) == [scheduling.COMMIT_OUTCOME_BOUND]
        assert seconds < GOES_ON_WITHIN * (2 if overtaken else 1)


def knows(client: MooringClient, plane: ControlPlane) -> bool:
    """Return whether the server has the nodes, by their number, and the pods that there are; none has a
    node.
    """
    info = client.cluster.GetClusterInfo(cluster.GetClusterInfoRequest())
    pending = client.cluster.ListPendingPods(cluster.ListPendingPodsRequest()).pods
    there = {item["metadata"]["name"] for item in plane.api.pods()}
    return info.node_count == len(plane.api.nodes()) and {each.pod.name for each in pending} == there
