"""Calls over gRPC, by a Python client on loopback TCP; dry runs, so that the cluster stays as it is."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache, partial

import grpc

from mooring.v1 import cluster_service_pb2 as cluster
from mooring.v1 import nodes_pb2 as nodes
from mooring.v1 import scheduling_service_pb2 as scheduling
from mooring.v1.cluster_service_pb2_grpc import ClusterServiceStub
from mooring.v1.objects_pb2 import KubernetesObject, PodSource
from mooring.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.bench.cluster import node_name, pending_json
from tests.bench.processes import start_server
from tests.bench.workload import (
    Repeat,
    Sample,
    Size,
    Workload,
    calls_per_second,
    percentile,
    timed,
    timed_for,
)

IN_FLIGHT = 8
BATCH = 100
UNLIMITED = [("grpc.max_receive_message_length", -1)]


def workloads(size: Size) -> list[Workload]:
    """Unary calls beside a null RPC, batches, and Filter in each way to name nodes."""
    cluster_size = f"{size.nodes}Nodes"
    forms: dict[str, Callable[[int], nodes.NodeSelection]] = {
        "Names": _by_names,
        "JoinedNames": _by_joined_names,
        "Indices": _by_indices,
    }
    return [
        Workload(
            f"grpc/Schedule/{cluster_size}/Unary",
            partial(_prepare_unary, size),
            {"rps": "6k / 10k", "p50 µs": "300 / 180", "p99 µs": "800 / 400", "times null": "- / 1.3"},
        ),
        Workload(
            f"grpc/Schedule/{cluster_size}/{BATCH}Pods",
            partial(_prepare_batch, size),
            {"pods/s": "40k / 150k"},
        ),
        Workload(f"grpc/Schedule/{cluster_size}/{BATCH}PodsReserved", partial(_prepare_reserved, size)),
        *(
            Workload(f"grpc/Filter/{cluster_size}/{form}", partial(_prepare_filter, size, select))
            for form, select in forms.items()
        ),
    ]


def _channel(running: ExitStack, size: Size) -> grpc.Channel:
    address = start_server(running, size.nodes)["grpc"]
    return running.enter_context(grpc.insecure_channel(address, UNLIMITED))


def _prepare_unary(size: Size, running: ExitStack) -> Repeat:
    channel = _channel(running, size)
    get_info, schedule = ClusterServiceStub(channel).GetClusterInfo, SchedulingServiceStub(channel).Schedule
    nothing = cluster.GetClusterInfoRequest()
    request = schedule_request(1, 0)

    def null() -> object:
        return get_info(nothing)

    def decide() -> object:
        return schedule(request)

    _check(schedule(request), 1)
    timed_for(size.seconds / 4, decide)
    return lambda: _repeat_unary(size, null, decide)


def _repeat_unary(size: Size, null: Callable[[], object], decide: Callable[[], object]) -> Sample:
    nulls, decisions = timed_for(size.seconds, null), timed_for(size.seconds, decide)
    return {
        "p50 µs": percentile(decisions, 50) * 1e6,
        "p99 µs": percentile(decisions, 99) * 1e6,
        "rps": calls_per_second(size.seconds, decide, IN_FLIGHT),
        "null p50 µs": percentile(nulls, 50) * 1e6,
        "null p99 µs": percentile(nulls, 99) * 1e6,
        "null rps": calls_per_second(size.seconds, null, IN_FLIGHT),
        "times null": percentile(decisions, 50) / percentile(nulls, 50),
    }


def _prepare_batch(size: Size, running: ExitStack) -> Repeat:
    schedule = SchedulingServiceStub(_channel(running, size)).Schedule
    numbers = itertools.count(step=BATCH)
    _check(schedule(schedule_request(BATCH, 0)), BATCH)

    def decide() -> object:
        return schedule(schedule_request(BATCH, next(numbers)))

    def repeat() -> Sample:
        took = timed_for(size.seconds, decide)
        return {
            "pods/s": BATCH * calls_per_second(size.seconds, decide, IN_FLIGHT),
            "pods/s one call at a time": BATCH * len(took) / sum(took),
            "p50 ms": percentile(took, 50) * 1e3,
        }

    return repeat


def _prepare_reserved(size: Size, running: ExitStack) -> Repeat:
    """Few batches, as each fills the cluster a little more."""
    schedule = SchedulingServiceStub(_channel(running, size)).Schedule
    numbers = itertools.count(step=BATCH)
    calls = max(1, size.decisions // BATCH)

    def reserve() -> scheduling.ScheduleResponse:
        request = schedule_request(BATCH, next(numbers))
        request.commit_mode = scheduling.COMMIT_MODE_RESERVE
        return schedule(request)

    _check(reserve(), BATCH)

    def repeat() -> Sample:
        took = [timed(reserve) for _ in range(calls)]
        return {"pods/s one call at a time": BATCH * calls / sum(took), "p50 ms": percentile(took, 50) * 1e3}

    return repeat


def schedule_request(count: int, first: int) -> scheduling.ScheduleRequest:
    names = [f"pod-{first + number}" for number in range(count)]
    return scheduling.ScheduleRequest(
        templates=[scheduling.PodTemplate(pod=_pod())],
        pods=scheduling.PodColumns(
            template_indices=[0] * count, names=names, uids=[f"uid-{name}" for name in names]
        ),
        nodes=nodes.NodeSelection(all=nodes.AllNodes(), answer_form=nodes.NODE_FORM_INDICES),
        commit_mode=scheduling.COMMIT_MODE_DRY_RUN,
    )


def _check(response: scheduling.ScheduleResponse, count: int) -> None:
    if len(response.pod_statuses) != count or any(response.pod_statuses):
        raise RuntimeError(f"not every pod found a node: {list(response.statuses)}")


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


def _prepare_filter(size: Size, select: Callable[[int], nodes.NodeSelection], running: ExitStack) -> Repeat:
    channel = _channel(running, size)
    selection = select(size.nodes)
    if selection.HasField("indices"):
        info = ClusterServiceStub(channel).GetClusterInfo(cluster.GetClusterInfoRequest())
        selection.indices.node_epoch = info.provenance.node_epoch
    request = scheduling.FilterRequest(pod=_pod(), nodes=selection)
    call = SchedulingServiceStub(channel).Filter
    feasible = call(request).feasible_count
    if feasible != size.nodes:
        raise RuntimeError(f"{feasible} of {size.nodes} nodes passed")

    def repeat() -> Sample:
        took = timed_for(size.seconds, lambda: call(request))
        return {"p50 ms": percentile(took, 50) * 1e3, "p99 ms": percentile(took, 99) * 1e3}

    return repeat
