"""The way of a unary call: bodies, errors, deadlines, load, metrics."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from mooring.framework.args import FieldError
from mooring.framework.errors import (
    MAX_VIOLATIONS,
    AbortedError,
    InvalidArgumentError,
    NotFoundError,
    PluginFailureError,
    PluginUnavailableError,
)
from mooring.service.calls.slots import SlotProgress, Slots
from mooring.serving.calls import layers
from mooring.serving.calls.layers import time_limit
from mooring.telemetry.metrics import camel_case
from mooring_client.v1 import cluster_service_pb2 as pb
from mooring_client.v1.errors_pb2 import ErrorReason
from tests.process import until
from tests.service.frames import connect, open_streams
from tests.service.harness import LONG, SERVICE, Running, blocked, failed, given_up, running

METHOD = f"/{SERVICE.full_name}/GetClusterInfo"


def raw(mooring: Running, method: str, body: bytes) -> bytes:
    """Return a unary call with bytes of the test's own."""
    with grpc.insecure_channel(mooring.server.address) as channel:
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(method, bytes, bytes)
        return call(body, timeout=LONG)


def raises(error: Exception) -> Any:
    def answer(_: grpc.ServicerContext) -> pb.GetClusterInfoResponse:
        raise error

    return answer


@pytest.mark.parametrize(
    "body", [pytest.param(b"", id="headers only"), pytest.param(b"\0\0\0\1\0ab", id="half a body")]
)
def test_a_request_that_does_not_arrive_ends_its_call(body: bytes) -> None:
    with running(body_timeout=0.2) as mooring, connect(mooring.server.address) as connection:
        open_streams(connection, METHOD, 16, body)
        until(lambda: mooring.value("mooring_body_timeouts_total") == 16)
        until(
            lambda: mooring.value("grpc_server_handled_total", **labels(), grpc_code="DeadlineExceeded") == 16
        )
        assert mooring.value("grpc_server_started_total", **labels()) == 16
        assert mooring.value("mooring_inflight_calls") == 0


def labels(method: str = "GetClusterInfo") -> dict[str, str]:
    return {"grpc_type": "unary", "grpc_service": SERVICE.full_name, "grpc_method": method}


def test_a_defect_is_named_by_incident_and_told_to_nobody(caplog: pytest.LogCaptureFixture) -> None:
    with running(raises(ZeroDivisionError("secret"))) as mooring, caplog.at_level(logging.ERROR):
        failure = mooring.fails()
    assert failure.code is grpc.StatusCode.INTERNAL
    assert failure.info.reason == "INTERNAL"
    incident = failure.info.metadata["incident"]
    assert incident in failure.text
    assert "secret" not in failure.text
    assert incident in caplog.text
    assert "ZeroDivisionError: secret" in caplog.text


@pytest.mark.parametrize(
    ("error", "code", "metadata"),
    [
        pytest.param(
            NotFoundError("no profile gold", reason="PROFILE_NOT_FOUND", known="a,b"),
            grpc.StatusCode.NOT_FOUND,
            {"known": "a,b"},
            id="not found",
        ),
        pytest.param(
            AbortedError("pod ns/a was recreated", reason="POD_RECREATED", uid="u2"),
            grpc.StatusCode.ABORTED,
            {"uid": "u2"},
            id="aborted",
        ),
        pytest.param(
            PluginFailureError("plugin Rack raised", plugin="Rack", extension_point="Score"),
            grpc.StatusCode.INTERNAL,
            {"plugin": "Rack", "extension_point": "Score"},
            id="plugin failure",
        ),
        pytest.param(
            PluginUnavailableError("no answer", plugin="Rack", extension_point="Filter"),
            grpc.StatusCode.UNAVAILABLE,
            {"plugin": "Rack", "extension_point": "Filter"},
            id="plugin unavailable",
        ),
    ],
)
def test_an_error_reaches_the_client_with_its_details(
    error: Any, code: grpc.StatusCode, metadata: dict[str, str]
) -> None:
    with running(raises(error)) as mooring:
        failure = mooring.fails()
        assert mooring.value("grpc_server_handled_total", **labels(), grpc_code=camel_case(code)) == 1
    assert failure.code is code
    assert failure.text == str(error)
    assert (failure.info.domain, failure.info.reason) == ("mooring.dev", error.reason)
    assert ErrorReason.Name(failure.told.reason) == f"ERROR_REASON_{error.reason}"
    assert dict(failure.told.metadata) == metadata


def test_every_violation_reaches_the_client() -> None:
    found = [FieldError("pod.object", "is not JSON"), FieldError("nodes.names[3]", "is empty")]
    with running(raises(InvalidArgumentError(found))) as mooring:
        failure = mooring.fails()
    assert failure.code is grpc.StatusCode.INVALID_ARGUMENT
    assert failure.violations == [("pod.object", "is not JSON"), ("nodes.names[3]", "is empty")]


@pytest.mark.parametrize(
    "letter", [pytest.param("x", id="ascii"), pytest.param("\N{KISS MARK}", id="four bytes")]
)
def test_details_too_long_for_trailers_are_cut_and_say_so(letter: str) -> None:
    found = [FieldError(f"pods[{i}]", letter * 5000) for i in range(MAX_VIOLATIONS)]
    with running(raises(InvalidArgumentError(found, **{f"k{i}": letter * 99 for i in range(3)}))) as mooring:
        failure = mooring.fails()
    assert failure.code is grpc.StatusCode.INVALID_ARGUMENT
    assert failure.text.startswith("pods[0]: ")
    assert failure.violations[0][0] == "pods[0]"
    count = len(failure.violations) - 1
    assert failure.violations[-1] == ("", f"and {MAX_VIOLATIONS - count} more violations")


def test_malformed_bytes_are_the_callers_fault() -> None:
    with running() as mooring:
        failure = failed(lambda: raw(mooring, METHOD, b"\xff\xff"))
    assert failure.code is grpc.StatusCode.INVALID_ARGUMENT
    assert "the request is not a message of this method" in failure.violations[0][1]


def test_a_call_that_ends_without_a_message_is_the_callers_fault() -> None:
    with running() as mooring, grpc.insecure_channel(mooring.server.address) as channel:
        failure = failed(lambda: channel.stream_unary(METHOD)(iter(()), timeout=LONG))
    assert failure.code is grpc.StatusCode.INVALID_ARGUMENT
    assert "without a request" in failure.violations[0][1]


@pytest.mark.parametrize(
    "method",
    [
        pytest.param("/mooring.v1.Nothing/Here", id="no such service"),
        pytest.param("/mooring.v1.ClusterService/GetClusterinfo", id="one letter off"),
    ],
)
def test_an_unknown_method_is_told_like_other_errors(method: str) -> None:
    with running() as mooring:
        failure = failed(lambda: raw(mooring, method, b""))
        with grpc.insecure_channel(mooring.server.address) as channel:
            stream: Any = channel.unary_stream(method)
            streamed = failed(lambda: list(stream(b"", timeout=LONG)))
    for each in failure, streamed:
        assert each.code is grpc.StatusCode.UNIMPLEMENTED
        assert (each.told.reason, dict(each.told.metadata)) == (
            ErrorReason.ERROR_REASON_NOT_IMPLEMENTED,
            {"method": method},
        )


def test_a_method_that_is_not_written_yet_is_unimplemented() -> None:
    with running() as mooring:
        failure = failed(lambda: mooring.stub.PushObjects(pb.PushObjectsRequest(), timeout=LONG))
    assert failure.code is grpc.StatusCode.UNIMPLEMENTED
    assert failure.told.reason == ErrorReason.ERROR_REASON_NOT_IMPLEMENTED
    assert failure.told.metadata["method"] == "/mooring.v1.ClusterService/PushObjects"


def test_a_deadline_names_the_plugin_and_the_others_are_served() -> None:
    release = threading.Event()
    slots = Slots(2)

    def slow(progress: SlotProgress) -> pb.GetClusterInfoResponse:
        progress.plugin, progress.extension_point = "SlowRack", "Filter"
        release.wait(LONG)
        return pb.GetClusterInfoResponse()

    def answer(context: grpc.ServicerContext) -> pb.GetClusterInfoResponse:
        return slots.run(slow, time_limit(context), context.add_callback)

    with running(answer, slots=slots) as mooring:
        failure = given_up(mooring.ask)
        assert failure.code is grpc.StatusCode.DEADLINE_EXCEEDED
        assert dict(failure.info.metadata) == {"plugin": "SlowRack", "extension_point": "Filter"}
        assert mooring.stub.ListNodes(pb.ListNodesRequest(), timeout=LONG) is not None
        release.set()
        assert mooring.ask() is not None


def test_more_calls_than_allowed_are_rejected_and_the_others_answered() -> None:
    with (
        blocked() as (answer, release),
        running(answer, max_concurrent_calls=2) as mooring,
        ThreadPoolExecutor(2) as threads,
    ):
        busy = [threads.submit(mooring.ask) for _ in range(2)]
        until(lambda: mooring.value("mooring_inflight_calls") == 2)
        failure = mooring.fails()
        assert failure.code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert failure.info.reason == "OVERLOADED"
        assert mooring.value("mooring_shed_calls_total") == 1
        release.set()
        assert all(call.result() is not None for call in busy)
        assert mooring.ask() is not None
        until(lambda: mooring.value("mooring_inflight_calls") == 0)


def test_a_method_has_series_from_its_first_call_on() -> None:
    with running() as mooring:
        assert mooring.value("grpc_server_started_total", **labels()) is None
        mooring.ask()
        assert mooring.value("grpc_server_started_total", **labels("ListNodes")) is None
        assert mooring.value("grpc_server_handled_total", **labels(), grpc_code="Internal") is None
        for name in ("started", "msg_received", "msg_sent"):
            assert mooring.value(f"grpc_server_{name}_total", **labels()) == 1
        until(lambda: mooring.value("grpc_server_handled_total", **labels(), grpc_code="OK") == 1)
        assert mooring.value("grpc_server_handling_seconds_count", **labels()) == 1


def test_a_client_that_goes_away_is_counted_as_cancelled() -> None:
    def answer(context: grpc.ServicerContext) -> pb.GetClusterInfoResponse:
        gone = threading.Event()
        context.add_callback(gone.set)
        gone.wait(LONG)
        return pb.GetClusterInfoResponse()

    with running(answer) as mooring:
        call = mooring.stub.GetClusterInfo.future(pb.GetClusterInfoRequest(), timeout=LONG)
        until(lambda: mooring.value("mooring_inflight_calls") == 1)
        call.cancel()
        until(lambda: mooring.value("grpc_server_handled_total", **labels(), grpc_code="Canceled") == 1)
        assert mooring.value("mooring_inflight_calls") == 0


@pytest.mark.parametrize(
    ("remaining", "limit"),
    [
        pytest.param(10.0, 9.9, id="a deadline"),
        pytest.param(0.5, 0.475, id="a short one"),
        pytest.param(1_000_000.0, 59.9, id="none, or nearly"),
    ],
)
def test_time_is_kept_for_the_answer(remaining: float, limit: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    context: Any = SimpleNamespace(time_remaining=lambda: remaining)
    assert time_limit(context) == pytest.approx(1000.0 + limit)
