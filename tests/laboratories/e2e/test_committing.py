"""Reserve and Bind over a live source at the real API server: what was bound is read from its audit log."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from mooring_client.v1 import objects_pb2, verdicts_pb2
from mooring_client.v1 import scheduling_service_pb2 as scheduling
from mooring_client.v1.cluster_service_pb2 import GetClusterInfoRequest
from tests.process import wait_until

from . import objects
from .api import Manifest
from .control_plane import ControlPlane
from .mooring_client import MooringClient, reference
from .processes import MooringServer

pytestmark = pytest.mark.e2e

IP = "example.com/ip"
NODES = 8


def node(name: str, addresses: int = 110) -> Manifest:
    made = objects.node(name)
    for amounts in (made["status"]["capacity"], made["status"]["allocatable"]):
        amounts[IP] = str(addresses)
    return made


def pod(name: str, **spec: object) -> Manifest:
    made = objects.pod(name, **spec)
    made["spec"]["containers"][0]["resources"] = {"limits": {IP: "1"}, "requests": {IP: "1"}}
    return made


class World:
    """A server that follows the control plane and may bind there."""

    def __init__(self, control_plane: ControlPlane, client: MooringClient) -> None:
        self.control_plane, self.api, self.client = control_plane, control_plane.api, client
        self.accepted_before = len(control_plane.bindings())

    def create(self, *manifests: Manifest) -> list[Manifest]:
        """Make objects and wait until the server has heard of the last one."""
        made = [self.api.create(manifest) for manifest in manifests]
        wait_until(lambda: self.knows(made[-1]), "the server to know the last pod")
        return made

    def knows(self, item: Manifest) -> bool:
        if item["kind"] == "Node":
            info = self.client.cluster.GetClusterInfo(GetClusterInfoRequest())
            return bool(info.node_count == len(self.api.nodes()))
        try:
            self.client.schedule(item)
        except grpc.RpcError as error:
            # UNAVAILABLE: it doesn't know everything else yet.
            return error.code() not in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.UNAVAILABLE)
        return True

    def bind(self, item: Manifest, node_name: str) -> str:
        """Return how it ended: the outcome, or the reason of the error."""
        try:
            outcome = self.client.bind(item, node_name)
            return scheduling.CommitOutcome.Name(outcome).removeprefix("COMMIT_OUTCOME_")
        except grpc.RpcError as error:
            details = {item.key: item.value for item in error.trailing_metadata()}["grpc-status-details-bin"]
            assert isinstance(details, bytes)
            known = ("POD_BOUND_ELSEWHERE", "POD_DELETING", "POD_RECREATED", "POD_NOT_FOUND", "STATE_STALE")
            found = [reason for reason in known if reason.encode() in details]
            return found[0] if found else str(error.code().name)

    def accepted(self) -> Counter[str]:
        """Return how many bindings of each pod the API server accepted in this test."""
        return Counter(name for _, name in self.control_plane.bindings()[self.accepted_before :])


@pytest.fixture
def world(control_plane: ControlPlane, tmp_path: Path) -> Iterator[World]:
    source = f"kubernetes:{control_plane.kubeconfig('mooring')}"
    with (
        MooringServer(tmp_path, source=source) as server,
        MooringClient(server.address) as client,
    ):
        made = World(control_plane, client)
        made.create(*(node(f"n{at}") for at in range(NODES)))
        yield made


def test_bind_happy_status_and_409_same_node(world: World) -> None:
    """A1, A5: each pod is bound once, however often that is requested."""
    pods = world.create(*(pod(f"p{at}") for at in range(40)))
    with ThreadPoolExecutor(8) as callers:
        ended = list(callers.map(lambda at: world.bind(pods[at % 40], f"n{at % 40 % NODES}"), range(120)))
    assert Counter(ended) == {"BOUND": 40, "ALREADY_BOUND": 80}
    assert world.accepted() == {f"p{at}": 1 for at in range(40)}
    assert [world.api.node_of(f"p{at}") for at in range(40)] == [f"n{at % NODES}" for at in range(40)]


def test_bind_409_other_node(world: World) -> None:
    """A4: another client binds, and our binding follows at once."""
    for at in range(10):
        (made,) = world.create(pod(f"p{at}"))
        target = {"apiVersion": "v1", "kind": "Node", "name": "n1"}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": f"p{at}"}, "target": target}
        world.api.call("POST", f"/api/v1/namespaces/default/pods/p{at}/binding", binding)
        assert world.bind(made, "n0") == "POD_BOUND_ELSEWHERE"
        assert world.api.node_of(f"p{at}") == "n1"


def test_bind_uid_mismatch(world: World) -> None:
    """A6: the pod is deleted and created again while it is being bound; the new one is never touched."""
    for at in range(15):
        (old,) = world.create(pod(f"p{at}"))

        def recreate(name: str = f"p{at}") -> None:
            world.api.call("DELETE", f"/api/v1/namespaces/default/pods/{name}?gracePeriodSeconds=0")
            world.api.create(pod(name))

        racing = threading.Thread(target=recreate)
        racing.start()
        ended = world.bind(old, "n0")
        racing.join()
        assert ended in ("BOUND", "POD_RECREATED", "POD_NOT_FOUND", "POD_DELETING"), ended
        assert world.api.pod(f"p{at}")["metadata"]["uid"] != old["metadata"]["uid"]
        assert world.api.node_of(f"p{at}") is None


def test_bind_deleting_pod(world: World) -> None:
    """A7: a pod that a finalizer holds is rejected, before and after the server hears of it."""
    for at in range(5):
        made = pod(f"p{at}")
        made["metadata"]["finalizers"] = ["example.com/held"]
        (held,) = world.create(made)
        world.api.call("DELETE", f"/api/v1/namespaces/default/pods/p{at}")
        assert world.bind(held, "n0") == "POD_DELETING"
        assert world.bind(held, "n0") == "POD_DELETING"
        assert world.api.node_of(f"p{at}") is None
        held = world.api.pod(f"p{at}")
        held["metadata"]["finalizers"] = []
        world.api.call("PUT", f"/api/v1/namespaces/default/pods/p{at}", held)
    assert world.accepted() == {}


def test_bind_concurrent_same_pod(world: World) -> None:
    """A11: many callers, several nodes, one pod; exactly one binding is accepted."""
    for at in range(6):
        (made,) = world.create(pod(f"p{at}"))
        with ThreadPoolExecutor(32) as callers:
            ended = list(callers.map(lambda at, made=made: world.bind(made, f"n{at % NODES}"), range(32)))
        assert Counter(ended) == {"BOUND": 1, "ALREADY_BOUND": 3, "POD_BOUND_ELSEWHERE": 28}
    assert set(world.accepted().values()) == {1}


def test_last_ip_race(world: World) -> None:
    """D1: more pods than addresses, from 8 clients; as many win as there are addresses."""
    for at in range(NODES):
        world.api.call("DELETE", f"/api/v1/nodes/n{at}")
    world.create(*(node(f"m{at}", addresses=1) for at in range(NODES)))
    pods = world.create(*(pod(f"p{at}") for at in range(40)))

    def schedule(item: Manifest) -> bool:
        answer = world.client.schedule(item, scheduling.COMMIT_MODE_BIND)
        return answer.verdicts[answer.pod_verdicts[0]].code == verdicts_pb2.VERDICT_CODE_SUCCESS

    with ThreadPoolExecutor(8) as clients:
        won = list(clients.map(schedule, pods))
    assert sum(won) == NODES
    taken = Counter(item["spec"].get("nodeName") for item in world.api.pods())
    expected: dict[str | None, int] = {None: 40 - NODES} | {f"m{at}": 1 for at in range(NODES)}
    assert taken == expected


def test_a_reservation_ends_with_its_pod(world: World) -> None:
    for at in range(1, NODES):
        world.api.call("DELETE", f"/api/v1/nodes/n{at}")
    world.api.call("DELETE", "/api/v1/nodes/n0")
    world.create(node("last", addresses=1))
    first, second = world.create(pod("first"), pod("second"))

    def reserve(item: Manifest) -> bool:
        source = objects_pb2.PodSource(reference=reference(item))
        request = scheduling.ReserveRequest(pod=source, node="last")
        answer = world.client.scheduling.Reserve(request, timeout=10)
        return bool(answer.verdict.code == verdicts_pb2.VERDICT_CODE_SUCCESS)

    assert reserve(first)
    assert not reserve(second)
    world.api.call("DELETE", "/api/v1/namespaces/default/pods/first?gracePeriodSeconds=0")
    wait_until(lambda: reserve(second), "the place to be free")


def test_bindings_around_a_restart_of_the_api_server(world: World, control_plane: ControlPlane) -> None:
    """Callers repeat UNAVAILABLE calls; at the end each pod is bound once, on its requested node."""
    pods = world.create(*(pod(f"p{at}") for at in range(60)))
    restart = threading.Thread(target=control_plane.restart_api_server)

    def bind(at: int) -> None:
        if at == 10:
            restart.start()

        def bound() -> bool:
            ended = world.bind(pods[at], f"n{at % NODES}")
            assert ended in ("BOUND", "ALREADY_BOUND", "UNAVAILABLE", "STATE_STALE", "DEADLINE_EXCEEDED"), (
                ended
            )
            return ended in ("BOUND", "ALREADY_BOUND")

        wait_until(bound, f"pod p{at} to be bound")

    with ThreadPoolExecutor(4) as callers:
        list(callers.map(bind, range(60)))
    restart.join()
    assert [world.api.node_of(f"p{at}") for at in range(60)] == [f"n{at % NODES}" for at in range(60)]
    assert set(world.accepted().values()) == {1}
