"""Calls whose request does not come: they cost the others nothing, and have an end."""

import gc
import logging
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import grpc
import pytest
from grpc_reflection.v1alpha import reflection_pb2  # type: ignore[import-untyped]  # ships no types

from mooring.framework.errors import DeadlineExceededError
from mooring.serving.access.access import Access
from mooring.serving.calls import incoming_calls
from mooring.serving.calls.incoming_calls import Arrivals
from mooring.serving.calls.layers import admitted
from mooring.serving.calls.memory import MemoryBudget
from mooring.serving.calls.pipeline import EndedByCallers, Pipeline
from mooring.serving.calls.pools import CallPool
from mooring.serving.calls.threads import Threads
from mooring.telemetry.metrics import Metrics
from mooring_client.v1 import cluster_service_pb2 as pb
from tests.good_client import good_client
from tests.process import until
from tests.service.frames import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    RST_STREAM,
    Insistent,
    connect,
    frame,
    headers,
    open_streams,
)
from tests.service.harness import LONG, SERVICE, Running, answering, running, service

METHOD = f"/{SERVICE.full_name}/GetClusterInfo"
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
GOOD_CALLS = 100
CANCELLED = b"\0\0\0\x08"
LABELS = {"grpc_type": "unary", "grpc_service": SERVICE.full_name, "grpc_method": "GetClusterInfo"}


def handled(mooring: Running, code: str) -> float | None:
    return mooring.value("grpc_server_handled_total", **LABELS, grpc_code=code)


def message(request: bytes) -> bytes:
    return b"\0" + len(request).to_bytes(4) + request


@pytest.mark.parametrize(
    ("method", "streams", "body", "body_timeout"),
    [
        pytest.param(METHOD, 100, b"", LONG, id="headers only"),
        pytest.param(METHOD, 100, b"\0\0\0\1\0ab", LONG, id="half a body", marks=pytest.mark.slow),
        pytest.param(METHOD, 100, b"", 0.2, id="headers only, again and again", marks=pytest.mark.slow),
        pytest.param(REFLECTION, 30, b"", LONG, id="reflection that asks nothing", marks=pytest.mark.slow),
        pytest.param(
            REFLECTION,
            30,
            message(reflection_pb2.ServerReflectionRequest(list_services="*").SerializeToString()),
            LONG,
            id="reflection that asks no more",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_streams_that_wait_keep_no_good_call_from_its_answer(
    method: str, streams: int, body: bytes, body_timeout: float
) -> None:
    with (
        running(reflection=True, body_timeout=body_timeout) as mooring,
        good_client(mooring.server.address) as client,
        Insistent(mooring.server.address, method, 10, streams, body),
    ):
        beside = client.calls(GOOD_CALLS)
    assert beside.failed == []


def test_a_call_without_a_request_takes_no_thread() -> None:
    with running(transport_threads=1, body_timeout=LONG) as mooring, connect(mooring.server.address) as other:
        open_streams(other, METHOD, 16)
        until(lambda: mooring.value("grpc_server_started_total", **LABELS) == 16)
        assert mooring.ask().synced


def test_while_the_process_stands_still_no_request_becomes_late(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []

    def later() -> float:
        looks.append(time.monotonic() + 1000 * LONG)
        return looks[-1]

    with running(body_timeout=4) as mooring, connect(mooring.server.address) as other:
        open_streams(other, METHOD, 1)
        until(lambda: mooring.value("grpc_server_started_total", **LABELS) == 1)
        monkeypatch.setattr(
            incoming_calls, "time", SimpleNamespace(monotonic=later, perf_counter=time.perf_counter)
        )
        until(lambda: len(looks) > 1)
        other.sendall(frame(DATA, END_STREAM, 1, message(b"")))
        until(lambda: handled(mooring, "OK") == 1)


def test_callers_who_leave_before_the_request_are_counted() -> None:
    with running(body_timeout=LONG) as mooring, connect(mooring.server.address) as other:
        open_streams(other, METHOD, 16)
        for stream in range(1, 32, 2):
            other.sendall(frame(RST_STREAM, 0, stream, CANCELLED))
        # A reset that follows at once looks as if the caller had ended without a request.
        until(lambda: sum(handled(mooring, code) or 0 for code in ("Canceled", "InvalidArgument")) == 16)
        assert mooring.ask().synced


def test_the_call_that_waited_longest_ends_first_where_too_many_wait() -> None:
    metrics = Metrics()
    ended: list[int] = []
    with Threads(1, "waiting") as threads:
        waiting = Arrivals(threads, metrics, LONG, most=3)
        pool = CallPool("calls", 1, metrics.shed_calls.inc)
        pipeline = Pipeline(
            metrics, MemoryBudget(0), lambda behavior, _: admitted(behavior, lambda _: pool), Access()
        )
        server = grpc.server(waiting, interceptors=[pipeline])  # type: ignore[arg-type]  # any executor will do
        service(answering).add(server)
        address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()
        with connect(address) as other, other.makefile("rb") as stream:
            open_streams(other, METHOD, 5)
            while len(ended) < 2:
                head = stream.read(9)
                stream.read(int.from_bytes(head[:3]))
                if head[3] == RST_STREAM:
                    ended.append(int.from_bytes(head[5:]))
        server.stop(None).wait()
    assert ended == [1, 3]
    assert metrics.registry.get_sample_value("mooring_body_timeouts_total") == 2


def test_many_calls_in_flight_on_one_connection_are_all_answered() -> None:
    """A connection's limit counts calls whose answer the client has, until the server forgets them.

    It does so at once: they are in no cycle that the garbage collector would have to find.
    """
    gc.disable()
    try:
        with running() as mooring:
            for _ in range(20):
                calls = [
                    mooring.stub.GetClusterInfo.future(pb.GetClusterInfoRequest(), timeout=LONG)
                    for _ in range(150)
                ]
                assert {call.code() for call in calls} == {grpc.StatusCode.OK}
    finally:
        gc.enable()


def leave_before_the_request(mooring: Running) -> None:
    with connect(mooring.server.address) as other:
        open_streams(other, METHOD, 16)
        until(lambda: handled(mooring, "DeadlineExceeded") == 16)


def cancel(mooring: Running) -> None:
    calls = [mooring.stub.GetClusterInfo.future(pb.GetClusterInfoRequest()) for _ in range(16)]
    until(lambda: mooring.value("mooring_inflight_calls") == 16)
    for call in calls:
        call.cancel()
    until(lambda: handled(mooring, "Canceled") == 16)


def let_the_deadline_pass(mooring: Running) -> None:
    calls = [mooring.stub.GetClusterInfo.future(pb.GetClusterInfoRequest(), timeout=0.5) for _ in range(16)]
    # The client's clock may be ahead of the server's.
    until(lambda: sum(handled(mooring, code) or 0 for code in ("Canceled", "DeadlineExceeded")) == 16)
    assert all(call.code() is grpc.StatusCode.DEADLINE_EXCEEDED for call in calls)


@pytest.mark.parametrize("end", [leave_before_the_request, cancel, let_the_deadline_pass])
def test_what_callers_end_themselves_is_one_line_without_a_traceback(
    end: Callable[[Running], None], caplog: pytest.LogCaptureFixture
) -> None:
    def slow(context: grpc.ServicerContext) -> pb.GetClusterInfoResponse:
        gone = threading.Event()
        if context.add_callback(gone.set):
            gone.wait(LONG)
        raise DeadlineExceededError("nobody waits for this")

    with caplog.at_level(logging.INFO - 4), running(slow, body_timeout=0.2) as mooring:
        end(mooring)
    lines = [record for record in caplog.records if record.name.startswith(("mooring", "grpc"))]
    lines = [line for line in lines if METHOD in line.getMessage() or line.exc_info]
    assert [line.exc_info for line in lines] in ([None], [None, None])
    levels = {line.getMessage().split()[4]: line.levelno - logging.INFO for line in lines}
    assert levels.items() <= {"CANCELLED": -4, "DEADLINE_EXCEEDED": 0}.items()


def test_a_head_that_is_not_utf_8_leaves_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    with running(answering) as mooring, connect(mooring.server.address) as connection:
        head = headers("/none", seen="\udc89")
        connection.sendall(frame(HEADERS, END_HEADERS | END_STREAM, 1, head))
        # A trailer of its answer: grpcio has read the head by then.
        until(lambda: b"grpc-status" in connection.recv(65536))
        mooring.stub.GetClusterInfo(pb.GetClusterInfoRequest(), timeout=LONG)
    assert [record for record in caplog.records if record.exc_info] == []


def test_the_next_line_counts_the_calls_since_the_last(caplog: pytest.LogCaptureFixture) -> None:
    callers = EndedByCallers(every=0.05)
    with caplog.at_level(logging.INFO):
        callers.ended(METHOD, grpc.StatusCode.CANCELLED, 1.5)
        for _ in range(3):
            callers.ended(METHOD, grpc.StatusCode.DEADLINE_EXCEEDED, 1.5)
        while len(caplog.records) < 2:
            callers.ended(METHOD, grpc.StatusCode.DEADLINE_EXCEEDED, 1.5)
    first, second = (record.getMessage() for record in caplog.records)
    assert first.startswith("1 calls ended with DEADLINE_EXCEEDED")
    assert int(second.split()[0]) >= 3
    assert f"{METHOD} after 1.500 s" in second
