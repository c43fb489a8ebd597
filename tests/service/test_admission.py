"""Pools of calls: what waits in one ends nothing in another, and clients share each."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import grpc
import pytest

from mooring.framework import SUCCESS, CycleState, FilterPlugin, NodeInfo, Pod, PreBindPlugin, Status
from mooring.framework.errors import ResourceExhaustedError
from mooring.serving.calls.pools import CallPool
from mooring.testing.builders import make_node, make_pod
from mooring_client.v1 import cluster_service_pb2 as cluster_pb
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from mooring_client.v1.objects_pb2 import PodReference
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.process import until
from tests.service.backends import Stubs, listening, named, rejected, world
from tests.service.harness import LONG


def pool(places: int) -> CallPool:
    return CallPool("questions", places, lambda: None)


def soon() -> float:
    return time.monotonic() + 0.05


def late() -> float:
    return time.monotonic() + LONG


def enter(places: CallPool, clients: str, deadline: Callable[[], float] = soon) -> str:
    """Return which of the clients, a letter each, got a place."""
    got = ""
    for client in clients:
        try:
            places.enter(client, deadline())
        except ResourceExhaustedError:
            continue
        got += client
    return got


@pytest.mark.parametrize(
    ("places", "clients", "got"),
    [
        pytest.param(1, "ab", "a", id="one place"),
        pytest.param(3, "aaaa", "aaa", id="too few to keep any for others"),
        pytest.param(4, "aaaaba", "aaab", id="three quarters for one client"),
        pytest.param(8, "aaaaaaaabbb", "aaaaaabb", id="the rest for the other"),
    ],
)
def test_a_client_has_its_share(places: int, clients: str, got: str) -> None:
    assert enter(pool(places), clients) == got


def test_places_come_back() -> None:
    places = pool(4)
    for _ in range(3):
        assert enter(places, "aaab") == "aaab"
        assert places.inflight == 4
        for client in "aaab":
            places.leave(client)
    assert places.inflight == 0


def test_a_call_that_waits_gets_the_place_of_one_that_ends() -> None:
    places = pool(2)
    enter(places, "ab")
    with ThreadPoolExecutor(1) as callers:
        waits = callers.submit(enter, places, "c", late)
        until(lambda: len(places._turns) == 1)
        places.leave("a")
        assert waits.result() == "c"
    assert (places.inflight, places._turns) == (2, [])


def test_the_client_with_the_fewest_places_is_next() -> None:
    places = pool(8)
    enter(places, "aaaaaabb")
    with ThreadPoolExecutor(3) as callers:
        waits = {}
        for number, client in enumerate("bc", 1):
            waits[client] = callers.submit(enter, places, client, late)
            until(lambda number=number: len(places._turns) == number)  # type: ignore[misc]
        places.leave("a")
        assert waits["c"].result() == "c"
        assert not waits["b"].done()
        places.leave("a")
        assert waits["b"].result() == "b"


def test_a_client_that_fills_the_queue_makes_room_for_another() -> None:
    places = pool(4)
    enter(places, "aaab")
    with ThreadPoolExecutor(4) as callers:
        flood = [callers.submit(enter, places, "a", late) for _ in range(2)]
        until(lambda: len(places._turns) == 2)
        assert enter(places, "a", late) == ""
        other = callers.submit(enter, places, "c", late)
        until(lambda: sum(each.done() for each in flood) == 1)
        places.leave("a")
        assert other.result() == "c"
        places.leave("a")
        assert sorted(each.result() for each in flood) == ["", "a"]


class HangingBind(PreBindPlugin[None]):
    name = "HangingBind"
    event = threading.Event()

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        self.event.wait(LONG)
        return SUCCESS


class HangingFilter(FilterPlugin[None]):
    name = "HangingFilter"
    event = threading.Event()

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        self.event.wait(LONG)
        return SUCCESS


def bind(stubs: Stubs, name: str) -> object:
    reference = PodReference(namespace="default", name=name, uid=f"pod/default/{name}")
    return stubs.scheduling.Bind(pb.BindRequest(pod=reference, node="a"), timeout=LONG)


def ask(stubs: Stubs, name: str) -> object:
    return stubs.scheduling.Filter(pb.FilterRequest(pod=named(name)), timeout=LONG)


def look(stubs: Stubs, _: str) -> object:
    return stubs.cluster.GetClusterInfo(cluster_pb.GetClusterInfoRequest(), timeout=LONG)


def unreserve(stubs: Stubs, name: str) -> object:
    reference = PodReference(namespace="default", name=name, uid=f"pod/default/{name}")
    return stubs.scheduling.Unreserve(pb.UnreserveRequest(pod=reference), timeout=LONG)


def push(stubs: Stubs, _: str) -> object:
    failure = rejected(lambda: stubs.cluster.PushObjects(cluster_pb.PushObjectsRequest(), timeout=LONG))
    assert failure.info.reason == "PUSH_DISABLED"
    return failure


@pytest.mark.parametrize(
    ("plugin", "call", "places", "others"),
    [
        pytest.param(HangingBind, bind, 6, (ask, look, unreserve, push), id="binds"),
        pytest.param(HangingFilter, ask, 6, (look, unreserve, push), id="questions"),
    ],
)
def test_calls_of_a_client_that_hang_end_nothing_else(
    plugin: Any,
    call: Callable[[Stubs, str], object],
    places: int,
    others: Sequence[Callable[[Stubs, str], object]],
) -> None:
    plugin.event.clear()
    pods = [make_pod("free"), *(make_pod(f"p{at}") for at in range(16))]
    with (
        world(make_node("a"), *pods, plugins=[plugin]) as w,
        listening(w.backend, max_concurrent_calls=8) as address,
        client(address) as theirs,
        client(address) as ours,
        ThreadPoolExecutor(16) as callers,
    ):
        try:
            calls = [callers.submit(call, theirs, f"p{at}") for at in range(16)]
            read = w.backend.metrics.registry.get_sample_value
            until(lambda: (read("mooring_inflight_calls") or 0) >= places)
            until(lambda: (read("mooring_shed_calls_total") or 0) > 0)
            for _ in range(10):
                for other in others:
                    other(ours, "free")
        finally:
            plugin.event.set()
        failures = [each.exception() for each in calls]
        assert sum(failure is None for failure in failures) >= places


def test_the_question_of_another_client_waits_for_few_of_those_before_it() -> None:
    ends = threading.Semaphore(0)
    begun: list[str] = []

    class Noting(FilterPlugin[None]):
        name = "Noting"

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
            begun.append(pod.metadata.name)
            ends.acquire(timeout=LONG)
            return SUCCESS

    theirs_first = [f"p{at}" for at in range(16)]
    pods = [make_pod(name) for name in (*theirs_first, "ours")]
    with (
        world(make_node("a"), *pods, plugins=[Noting]) as w,
        listening(w.backend) as address,
        client(address) as theirs,
        client(address) as ours,
        ThreadPoolExecutor(17) as callers,
    ):
        queued = w.slots._turns._levels

        def waiting() -> list[int]:
            """Return the number of jobs of each client that wait for a slot, the longest wait first."""
            return [len(jobs) for clients in tuple(queued.values()) for jobs in tuple(clients.values())]

        def has_begun(count: int) -> bool:
            return len(begun) > count

        try:
            calls = [callers.submit(ask, theirs, name) for name in theirs_first]
            until(lambda: waiting() == [len(theirs_first) - w.slots._count])
            calls.append(callers.submit(ask, ours, "ours"))
            until(lambda: waiting() == [len(theirs_first) - w.slots._count, 1])
            for count in range(w.slots._count, len(calls)):
                ends.release()
                until(partial(has_begun, count))
        finally:
            ends.release(len(pods))
        for call in calls:
            call.result()
    assert begun.index("ours") < len(theirs_first) / 2, begun


@contextmanager
def client(address: str) -> Iterator[Stubs]:
    """Yield a client with a connection of its own."""
    with grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
        yield Stubs(SchedulingServiceStub(channel), ClusterServiceStub(channel), None, None, None)
