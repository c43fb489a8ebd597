"""A server on real ports with a servicer of the tests' own."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import grpc
import pytest
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]

from mooring.service.calls.slots import Slots
from mooring.service.server import Options, Server, build
from mooring.serving.calls import layers
from mooring.serving.calls.listener import OfferedService
from mooring.telemetry.metrics import Metrics
from mooring_client.v1 import cluster_service_pb2 as pb
from mooring_client.v1 import cluster_service_pb2_grpc as pb_grpc
from mooring_client.v1.errors_pb2 import CallError, ErrorReason
from tests.process import until

Answer = Callable[[grpc.ServicerContext], pb.GetClusterInfoResponse]

QUIET = Options(
    listen="127.0.0.1:0",
    health_listen="127.0.0.1:0",
    metrics_listen="127.0.0.1:0",
    drain_delay=0.0,
    stop_grace=5.0,
)
SERVICE = pb.DESCRIPTOR.services_by_name["ClusterService"]
LONG = 20.0
"""Seconds; more than anything here takes, so that a hang fails instead of lasting."""


@dataclass
class Running:
    """A started server and everything that tests read of it."""

    server: Server
    stub: pb_grpc.ClusterServiceStub
    metrics: Metrics
    slots: Slots

    def ask(self, timeout: float = LONG) -> pb.GetClusterInfoResponse:
        return self.stub.GetClusterInfo(pb.GetClusterInfoRequest(), timeout=timeout)

    def fails(self, timeout: float = LONG) -> "Failed":
        return failed(lambda: self.ask(timeout))

    def value(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(name, labels)


@dataclass
class Failed:
    """A failed call as a client sees it. Both forms of its details say the same."""

    code: grpc.StatusCode
    text: str
    info: Any
    told: Any
    violations: list[tuple[str, str]]


def servicer(answer: Answer) -> pb_grpc.ClusterServiceServicer:
    class Servicer(pb_grpc.ClusterServiceServicer):
        def GetClusterInfo(self, request: Any, context: Any) -> Any:  # noqa: N802 - the name of the call
            return answer(context)

        def ListNodes(self, request: Any, context: Any) -> Any:  # noqa: N802 - the name of the call
            return pb.ListNodesResponse()

    return Servicer()  # type: ignore[abstract]  # PushObjects stays as it was generated


def service(answer: Answer) -> OfferedService:
    return OfferedService(
        SERVICE, lambda server: pb_grpc.add_ClusterServiceServicer_to_server(servicer(answer), server)
    )


def answering(_: grpc.ServicerContext) -> pb.GetClusterInfoResponse:
    return pb.GetClusterInfoResponse(synced=True)


@contextmanager
def running(
    answer: Answer = answering,
    options: Options = QUIET,
    slots: Slots | None = None,
    ready: Callable[[], str] = lambda: "",
    **changes: Any,
) -> Iterator[Running]:
    metrics = Metrics()
    slots = slots or Slots(2)
    try:
        server = build(
            [service(answer)], replace(options, **changes), metrics=metrics, slots=slots, ready=ready
        )
        server.start()
        with grpc.insecure_channel(server.address) as channel:
            try:
                yield Running(server, pb_grpc.ClusterServiceStub(channel), metrics, slots)
            finally:
                server.stop()
    finally:
        slots.stop()


def failed(call: Callable[[], object]) -> Failed:
    """Return the error of a call, with decoded details."""
    try:
        call()
    except grpc.RpcError as error:
        return decode(error)
    raise AssertionError("the call succeeded")


def decode(error: Any) -> Failed:
    trailers = dict(error.trailing_metadata() or ())
    status = Status.FromString(trailers.get("grpc-status-details-bin", b""))
    assert not trailers or status.code == error.code().value[0]
    bad, info, told = unpacked(status, BadRequest), unpacked(status, ErrorInfo), unpacked(status, CallError)
    violations = [(v.field, v.description) for v in bad.field_violations] if bad else []
    if told is not None:
        assert ErrorReason.Name(told.reason) == f"ERROR_REASON_{info.reason}"
        assert told.metadata == info.metadata
        assert [(v.field, v.description) for v in told.field_violations] == violations
    return Failed(error.code(), error.details(), info, told, violations)


def unpacked(status: Any, kind: Any) -> Any:
    for detail in status.details:
        assert isinstance(detail, AnyMessage)
        message = kind()
        if detail.Unpack(message):
            return message
    return None


@contextmanager
def giving_up_after(seconds: float) -> Iterator[None]:
    """Let servers give up calls so soon while their clients wait on.

    A server keeps a tenth of a second of a client's own deadline for its answer. After that the client no
    longer listens: on a machine that is busy the details of the error would be lost.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layers, "LONGEST_SECONDS", seconds)
        yield


def given_up(call: Callable[[], object]) -> Failed:
    """Return the error of a call that is abandoned while its plugin runs.

    A busy machine may give it up before it came so far, which leaves nothing behind, and it is tried again.
    """
    failures: list[Failed] = []

    def names_a_plugin() -> bool:
        with giving_up_after(0.2):
            failures.append(failed(call))
        return "plugin" in failures[-1].info.metadata

    until(names_a_plugin, "a deadline to pass in a plugin")
    return failures[-1]


@contextmanager
def blocked() -> Iterator[tuple[Answer, threading.Event]]:
    """Yield an answer that waits for the event, which is set at the end whatever happens."""
    release = threading.Event()

    def wait(_: grpc.ServicerContext) -> pb.GetClusterInfoResponse:
        release.wait(LONG)
        return pb.GetClusterInfoResponse()

    try:
        yield wait, release
    finally:
        release.set()
