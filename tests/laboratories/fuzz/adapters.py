"""The calls of the expander and the estimator, by their doors: the method, a line feed, the request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from random import Random
from typing import Any, Final

import grpc

from mooring.testing.builders import make_node
from mooring_estimator.wire import estimator_service_pb2 as estimator_pb
from mooring_expander.wire import expander_service_pb2 as expander_pb
from tests.estimator import asking as estimating
from tests.expander import asking as expanding
from tests.laboratories.fuzz.judging import Judge, Target, check, check_text
from tests.laboratories.fuzz.mutating import changed_bytes

ESTIMATOR: Final = "/github.com.karmada_io.karmada.pkg.estimator.service.Estimator/"
EXPANDER: Final = "/grpcplugin.Expander/BestOptions"
NODE: Final = make_node("a", allocatable={"cpu": "4", "pods": 3})
REJECTIONS: Final = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.NOT_FOUND,
}
PATIENCE: Final = 60.0


@cache
def seeds() -> tuple[bytes, ...]:
    """Return each call as Karmada and Cluster Autoscaler make it."""
    needs = estimator_pb.ReplicaRequirements(resource_request_bytes=estimating.quantities({"cpu": "1"}))
    sets = [estimating.component(2, "1"), estimating.component(1, "500m", "d")]
    workload = estimator_pb.ObjectReference(kind="Deployment", namespace="default", name="web")
    option = expander_pb.Option(node_group_id="g", node_count=2, pod_bytes=[b"\n\x03\n\x01p", b""])
    requests = {
        ESTIMATOR + "MaxAvailableReplicas": estimator_pb.MaxAvailableReplicasRequest(
            cluster="c", replica_requirements=needs
        ),
        ESTIMATOR + "MaxAvailableComponentSets": estimator_pb.MaxAvailableComponentSetsRequest(
            components=sets
        ),
        ESTIMATOR + "GetUnschedulableReplicas": estimator_pb.UnschedulableReplicasRequest(resource=workload),
        EXPANDER: expander_pb.BestOptionsRequest(options=[option], node_bytes_map={"g": b"\n\x03\n\x01n"}),
    }
    return tuple(
        method.encode() + b"\n" + request.SerializeToString() for method, request in requests.items()
    )


def change(dice: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """The request changes; the method stays."""
    head, _, body = data.partition(b"\n")
    return head + b"\n" + changed_bytes(dice, body, [other.partition(b"\n")[2] for other in others])


@contextmanager
def judging() -> Iterator[Judge]:
    """Yield both adapters over a node."""
    with ExitStack() as open_:
        addresses = [open_.enter_context(module.listener(NODE)) for module in (estimating, expanding)]
        channels = [open_.enter_context(grpc.insecure_channel(address)) for address in addresses]

        def judge(data: bytes) -> bool:
            head, _, body = data.partition(b"\n")
            method: Any = channels[head == EXPANDER.encode()].unary_unary(head.decode(errors="replace"))
            try:
                method(body, timeout=PATIENCE)
            except grpc.RpcError as error:
                failed: Any = error
                check(failed.code() in REJECTIONS, f"{failed.code()}: {failed.details()}")
                check_text(failed.details())
                return False
            return True

        yield judge


TARGET = Target("adapters", "the calls of expander and estimator", seeds, change, judging)
