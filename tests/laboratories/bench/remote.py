"""Calls over gRPC, by a Python client on loopback TCP.

Each call is about new pods, on a cluster with a row that changed since the call before: a pod was reserved
there, outside the time. ``Repeated`` repeats the question for a cluster that never changes.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Generic, TypeVar

import grpc

from mooring_client.v1 import cluster_service_pb2 as cluster
from mooring_client.v1 import nodes_pb2 as nodes
from mooring_client.v1 import scheduling_service_pb2 as scheduling
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from mooring_client.v1.objects_pb2 import KubernetesObject, PodSource
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.laboratories.bench.cluster import PODS_A_NODE, node_name, pending_json
from tests.laboratories.bench.processes import start_server
from tests.laboratories.bench.workload import (
    Repeat,
    Sample,
    Size,
    Workload,
    calls_per_second,
    percentile,
    timed,
    timed_for,
    timed_together,
)

IN_FLIGHT = 8
AT_LEAST = 5
"""Calls of a repeat, however long they take."""

CHANGE_SECONDS = 0.001
"""Between two changes while several calls are in flight."""

BATCH = 100
NEW_PODS = "a new pod a call; a row has changed since the call before"
BATCHES = f"pods/s with {IN_FLIGHT} calls in flight; requests are made before"
REPEATED = "one request again and again; the cluster stays as it is"
UNLIMITED = [("grpc.max_receive_message_length", -1)]


def workloads(size: Size) -> list[Workload]:
    """Return unary calls next to a null RPC, batches, and Filter in each way to name nodes."""
    cluster_size = f"{size.nodes}Nodes"
    forms: dict[str, Callable[[int], nodes.NodeSelection]] = {
        "Names": _by_names,
        "JoinedNames": _by_joined_names,
        "Indices": _by_indices,
    }
    return [
        Workload(
            f"grpc/Schedule/{cluster_size}/Unary",
            partial(_prepare_unary, size, repeated=False),
            {"rps": "6k / 10k", "p50 µs": "300 / 180", "p99 µs": "800 / 400", "times null": "- / 1.3"},
            note=f"{NEW_PODS}; rps with up to {1 / CHANGE_SECONDS:.0f} changes a second",
        ),
        Workload(
            f"grpc/Schedule/{cluster_size}/UnarySameRequestRepeated",
            partial(_prepare_unary, size, repeated=True),
            note=REPEATED,
        ),
        Workload(
            f"grpc/Schedule/{cluster_size}/{BATCH}PodsReserved",
            partial(_prepare_batches, size, scheduling.COMMIT_MODE_RESERVE),
            {"pods/s": "60k / 120k"},
            note=f"each call changes the cluster for the next one; {BATCHES}",
        ),
        Workload(
            f"grpc/Schedule/{cluster_size}/{BATCH}PodsDryRunRepeated",
            partial(_prepare_batches, size, scheduling.COMMIT_MODE_DRY_RUN),
            {"pods/s": "40k / 150k"},
            note=f"new pods, but one question again and again: the cluster stays as it is; {BATCHES}",
        ),
        *(
            Workload(
                f"grpc/Filter/{cluster_size}/{form}{'SameRequestRepeated' if repeated else ''}",
                partial(_prepare_filter, size, select, repeated=repeated),
                note=REPEATED if repeated else NEW_PODS,
            )
            for repeated in (False, True)
            for form, select in forms.items()
        ),
    ]


class Changes:
    """Changes a server's state one row at a time: reserves a pod where the default profile wants it."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._schedule = SchedulingServiceStub(channel).Schedule
        self._numbers = itertools.count()

    def next(self) -> None:
        """One row more."""
        request = schedule_request(1, next(self._numbers), prefix="changing")
        request.commit_mode = scheduling.COMMIT_MODE_RESERVE
        _check(self._schedule(request), 1)

    @contextmanager
    def going_on(self, pause: float = CHANGE_SECONDS) -> Iterator[None]:
        """Meanwhile another one after every ``pause`` in seconds, or as fast as the server takes them."""
        end = threading.Event()

        def change() -> None:
            while not end.wait(pause):
                self.next()

        thread = threading.Thread(target=change)
        thread.start()
        try:
            yield
        finally:
            end.set()
            thread.join()


Request = TypeVar("Request")


@dataclass(frozen=True, slots=True)
class Asking(Generic[Request]):
    """Calls about one pod after the other.

    Attributes:
        call: The call that is timed.
        request: Makes the next one; not in the time of a single call.
        changes: Changes the cluster between calls; None = it stays as it is.
    """

    call: Callable[[Request], object]
    request: Callable[[], Request]
    changes: Changes | None

    def timed_for(self, seconds: float) -> list[float]:
        """Return the seconds that each call took, one at a time."""
        took: list[float] = []
        ends = time.perf_counter() + seconds
        while len(took) < AT_LEAST or time.perf_counter() < ends:
            if self.changes is not None:
                self.changes.next()
            took.append(timed(partial(self.call, self.request())))
        return took

    def per_second(self, seconds: float) -> float:
        """Calls a second with several in flight."""
        with self.changes.going_on() if self.changes is not None else nullcontext():
            return calls_per_second(seconds, lambda: self.call(self.request()), IN_FLIGHT)


def _channel(running: ExitStack, size: Size) -> grpc.Channel:
    address = start_server(running, size.nodes)["grpc"]
    return running.enter_context(grpc.insecure_channel(address, UNLIMITED))


def _prepare_unary(size: Size, running: ExitStack, *, repeated: bool) -> Repeat:
    channel = _channel(running, size)
    get_info, schedule = ClusterServiceStub(channel).GetClusterInfo, SchedulingServiceStub(channel).Schedule
    nothing = cluster.GetClusterInfoRequest()
    numbers, first = itertools.count(1), schedule_request(1, 0)

    def null() -> object:
        return get_info(nothing)

    def request() -> scheduling.ScheduleRequest:
        return first if repeated else schedule_request(1, next(numbers))

    _check(schedule(first), 1)
    asking = Asking(schedule, request, None if repeated else Changes(channel))
    asking.timed_for(size.seconds / 4)
    return lambda: _repeat_unary(size, null, asking)


def _repeat_unary(size: Size, null: Callable[[], object], asking: Asking[Any]) -> Sample:
    nulls, decisions = timed_for(size.seconds, null), asking.timed_for(size.seconds)
    return {
        "p50 µs": percentile(decisions, 50) * 1e6,
        "p99 µs": percentile(decisions, 99) * 1e6,
        "rps": asking.per_second(size.seconds),
        "null p50 µs": percentile(nulls, 50) * 1e6,
        "null p99 µs": percentile(nulls, 99) * 1e6,
        "null rps": calls_per_second(size.seconds, null, IN_FLIGHT),
        "times null": percentile(decisions, 50) / percentile(nulls, 50),
    }


def _prepare_batches(size: Size, mode: scheduling.CommitMode.ValueType, running: ExitStack) -> Repeat:
    """Batches one at a time, then in flight together; all repeats that reserve fill half of the cluster."""
    schedule = SchedulingServiceStub(_channel(running, size)).Schedule
    numbers = itertools.count(step=BATCH)
    calls = max(1, size.nodes * PODS_A_NODE // (2 * BATCH * size.repeats * (1 + IN_FLIGHT)))

    def request() -> scheduling.ScheduleRequest:
        asked = schedule_request(BATCH, next(numbers))
        asked.commit_mode = mode
        return asked

    def place(asked: scheduling.ScheduleRequest) -> None:
        _check(schedule(asked), BATCH)

    # A server answers at once, and loads its compiled loops meanwhile: `start` measures that.
    timed_for(size.seconds, partial(schedule, schedule_request(BATCH, 0)))

    def repeat() -> Sample:
        place(request())
        alone = [partial(place, request()) for _ in range(calls)]
        together = [partial(place, request()) for _ in range(IN_FLIGHT * calls)]
        took = [timed(call) for call in alone]
        return {
            "pods/s": BATCH * len(together) / timed_together(together, IN_FLIGHT),
            "pods/s one call at a time": BATCH * calls / sum(took),
            "p50 ms": percentile(took, 50) * 1e3,
        }

    return repeat


def schedule_request(count: int, first: int, *, prefix: str = "pod") -> scheduling.ScheduleRequest:
    """Return a dry run for ``count`` like pods, numbered from ``first`` on."""
    names = [f"{prefix}-{first + number}" for number in range(count)]
    return scheduling.ScheduleRequest(
        templates=[scheduling.PodTemplate(pod=_pod())],
        pods=scheduling.PodColumns(
            template_indices=[0] * count, names=names, uids=[f"uid-{name}" for name in names]
        ),
        nodes=nodes.NodeSelection(all=nodes.AllNodes(), answer_form=nodes.NODE_FORM_INDICES),
        commit_mode=scheduling.COMMIT_MODE_DRY_RUN,
    )


def _check(response: scheduling.ScheduleResponse, count: int) -> None:
    if len(response.pod_verdicts) != count or any(response.pod_verdicts):
        raise RuntimeError(f"not every pod found a node: {list(response.verdicts)}")


@cache
def _pod() -> PodSource:
    return PodSource(object=KubernetesObject(json=pending_json(0)))


def _by_names(count: int) -> nodes.NodeSelection:
    names = nodes.NodeNames(names=map(node_name, range(count)))
    return nodes.NodeSelection(names=names, answer_form=nodes.NODE_FORM_NAMES)


def _by_joined_names(count: int) -> nodes.NodeSelection:
    joined = "\0".join(map(node_name, range(count))).encode()
    return nodes.NodeSelection(joined_names=joined, answer_form=nodes.NODE_FORM_JOINED_NAMES)


def _by_indices(count: int) -> nodes.NodeSelection:
    indices = nodes.NodeIndices(indices=range(count))
    return nodes.NodeSelection(indices=indices, answer_form=nodes.NODE_FORM_INDICES)


def _prepare_filter(
    size: Size, select: Callable[[int], nodes.NodeSelection], running: ExitStack, *, repeated: bool
) -> Repeat:
    channel = _channel(running, size)
    selection = select(size.nodes)
    if selection.HasField("indices"):
        info = ClusterServiceStub(channel).GetClusterInfo(cluster.GetClusterInfoRequest())
        selection.indices.node_epoch = info.provenance.node_epoch
    call = SchedulingServiceStub(channel).Filter
    numbers = itertools.repeat(0) if repeated else itertools.count()

    def request() -> scheduling.FilterRequest:
        pod = PodSource(object=KubernetesObject(json=pending_json(next(numbers))))
        return scheduling.FilterRequest(pod=pod, nodes=selection)

    feasible = call(request()).feasible_count
    if feasible != size.nodes:
        raise RuntimeError(f"{feasible} of {size.nodes} nodes passed")
    asking = Asking(call, request, None if repeated else Changes(channel))

    def repeat() -> Sample:
        took = asking.timed_for(size.seconds)
        return {"p50 ms": percentile(took, 50) * 1e3, "p99 ms": percentile(took, 99) * 1e3}

    return repeat
