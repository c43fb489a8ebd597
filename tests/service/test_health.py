"""Probes over gRPC and HTTP: liveness, readiness, and answers while everything else is busy."""

import logging
import socket
import struct
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc  # type: ignore[import-untyped]

from mooring.framework.errors import DeadlineExceededError
from mooring.service.calls.slots import Slots
from mooring.serving.listeners import health, page_listener
from mooring.serving.listeners.health import LIVENESS
from mooring.serving.listeners.probes import Probes
from tests.process import until
from tests.service.frames import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    RST_STREAM,
    SETTINGS,
    connect,
    frame,
    headers,
    open_streams,
)
from tests.service.harness import LONG, SERVICE, Running, blocked, failed, running

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


def check(mooring: Running, service: str = "") -> int:
    with grpc.insecure_channel(mooring.server.health_address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        status: int = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=LONG).status
        return status


def get(mooring: Running, path: str) -> tuple[int, str]:
    url = f"http://{mooring.server.metrics_address}{path}"
    try:
        with urllib.request.urlopen(url, timeout=LONG) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.parametrize(
    "service", [pytest.param("", id="overall"), pytest.param(SERVICE.full_name, id="by name")]
)
def test_ready_follows_the_state(service: str) -> None:
    why = ["cluster state is not complete"]
    with running(ready=lambda: why[0]) as mooring:
        assert check(mooring, service) == NOT_SERVING
        assert check(mooring, LIVENESS) == SERVING
        assert get(mooring, "/readyz") == (503, "cluster state is not complete\n")
        assert get(mooring, "/livez") == (200, "ok\n")
        assert not mooring.server.ready()
        why[0] = ""
        assert check(mooring, service) == SERVING
        assert get(mooring, "/readyz") == (200, "ok\n")
        assert mooring.server.ready()


def test_liveness_ends_with_too_many_abandoned_workers() -> None:
    slots, release = Slots(1, max_abandoned=0), threading.Event()
    with running(slots=slots) as mooring:
        while slots.alive():
            with pytest.raises(DeadlineExceededError):
                slots.run(lambda _: release.wait(LONG), time.monotonic() + 0.1)
        assert check(mooring, LIVENESS) == check(mooring) == NOT_SERVING
        for path in ("/livez", "/healthz", "/readyz"):
            assert get(mooring, path) == (503, "too many workers are stuck: 1 in mooring itself\n")
        release.set()
        until(lambda: check(mooring, LIVENESS) == SERVING)


def test_a_change_of_liveness_is_logged_once_with_where_the_workers_are(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fault = [""]
    probes = Probes(lambda: fault[0], str)
    with caplog.at_level(logging.INFO, "mooring"):
        for fault[0] in ("", "too many workers are stuck: 17 in plugin Slow at Filter", ""):
            for _ in range(3):
                assert probes.not_alive() == probes.not_ready() == fault[0]
    failed, back = caplog.messages
    assert failed.startswith(
        "liveness fails: too many workers are stuck: 17 in plugin Slow at Filter; restart"
    )
    assert back == "liveness is back"


def test_probes_answer_while_every_transport_thread_is_busy() -> None:
    with (
        blocked() as (answer, release),
        running(answer, transport_threads=2, max_concurrent_calls=2) as mooring,
        ThreadPoolExecutor(4) as threads,
    ):
        calls = [threads.submit(mooring.ask) for _ in range(4)]
        until(lambda: mooring.value("mooring_inflight_calls") == 2)
        assert check(mooring) == SERVING
        assert get(mooring, "/readyz")[0] == 200
        release.set()
        assert all(call.result() is not None for call in calls)


def test_a_watcher_learns_of_a_change() -> None:
    why = [""]
    with (
        running(ready=lambda: why[0]) as mooring,
        grpc.insecure_channel(mooring.server.health_address) as channel,
    ):
        watch: Any = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(), timeout=LONG)
        assert next(watch).status == SERVING
        why[0] = "lost the cluster"
        assert next(watch).status == NOT_SERVING
        watch.cancel()


METHOD = "/grpc.health.v1.Health/"


def watches_that_take_nothing(address: str) -> socket.socket:
    """Return as many Watches as a connection may have, for whose answers it never has room."""
    connection = connect(address)
    connection.sendall(frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, 0)))
    for stream in range(1, 33, 2):
        connection.sendall(frame(HEADERS, END_HEADERS, stream, headers(METHOD + "Watch")))
        connection.sendall(frame(DATA, END_STREAM, stream, bytes(5)))
    return connection


def streams_without_a_request(address: str) -> socket.socket:
    connection = connect(address)
    open_streams(connection, METHOD + "Check", 16)
    return connection


def silence(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)))


@pytest.mark.parametrize(
    ("attack", "count"),
    [
        pytest.param(watches_that_take_nothing, 1, id="a window of 0"),
        pytest.param(watches_that_take_nothing, 20, id="windows of 0 beyond the limit of watches"),
        pytest.param(streams_without_a_request, 1, id="headers only"),
        pytest.param(streams_without_a_request, 20, id="headers only on many connections"),
        pytest.param(silence, 100, id="silent connections"),
    ],
)
def test_no_client_of_health_ends_it_for_others(attack: Callable[[str], socket.socket], count: int) -> None:
    with running() as mooring, ExitStack() as attackers:
        for _ in range(count):
            attackers.enter_context(closing(attack(mooring.server.health_address)))
        with grpc.insecure_channel(mooring.server.health_address) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            for _ in range(100):
                assert stub.Check(health_pb2.HealthCheckRequest(), timeout=LONG / 4).status == SERVING
            listed = stub.List(health_pb2.HealthListRequest(), timeout=LONG / 4)
            assert listed.statuses[""].status == SERVING


def test_a_watch_may_end_while_its_answer_is_written(caplog: pytest.LogCaptureFixture) -> None:
    with running() as mooring:
        for _ in range(10):
            with closing(watches_that_take_nothing(mooring.server.health_address)) as connection:
                check(mooring)
                for stream in range(1, 33, 2):
                    connection.sendall(frame(RST_STREAM, 0, stream, b"\0\0\0\x08"))
                check(mooring)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


@pytest.mark.slow
def test_watches_can_be_given_up_by_the_thousand() -> None:
    with running() as mooring, grpc.insecure_channel(mooring.server.health_address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for number in range(2_000):
            watch: Any = stub.Watch(health_pb2.HealthCheckRequest(service=f"x{number}"), timeout=LONG)
            assert next(watch).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
            watch.cancel()
        assert check(mooring) == SERVING


def test_watches_have_a_limit_and_leave_it_when_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "MAX_WATCHES", 2)
    request = health_pb2.HealthCheckRequest()
    with running() as mooring, grpc.insecure_channel(mooring.server.health_address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        open_ones: list[Any] = [stub.Watch(request, timeout=LONG) for _ in range(2)]
        assert [next(watch).status for watch in open_ones] == [SERVING, SERVING]
        rejected = failed(lambda: next(stub.Watch(request, timeout=LONG)))
        assert (rejected.code, rejected.text) == (
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            "2 watches are open, which is the limit; use Check",
        )
        open_ones.pop().cancel()
        until(lambda: taken(lambda: next(stub.Watch(request, timeout=LONG))))


def taken(call: Callable[[], object]) -> bool:
    try:
        call()
    except grpc.RpcError:
        return False
    return True


def test_an_unknown_service_has_no_health() -> None:
    with running() as mooring:
        rejected = failed(lambda: check(mooring, "mooring.v1.Nothing"))
    assert (rejected.code, rejected.text) == (grpc.StatusCode.NOT_FOUND, "no service of that name; see List")


def test_all_services_can_be_listed() -> None:
    with running() as mooring, grpc.insecure_channel(mooring.server.health_address) as channel:
        listed = health_pb2_grpc.HealthStub(channel).List(health_pb2.HealthListRequest(), timeout=LONG)
    assert {name: answer.status for name, answer in listed.statuses.items()} == {
        "": SERVING,
        SERVICE.full_name: SERVING,
        LIVENESS: SERVING,
    }


def test_metrics_are_shown() -> None:
    with running() as mooring:
        mooring.metrics.schedule_attempts.labels("scheduled", "gold").inc()
        status, text = get(mooring, "/metrics")
    assert status == 200
    assert 'mooring_schedule_attempts_total{profile="gold",result="scheduled"} 1.0' in text
    assert "mooring_abandoned_workers 0.0" in text
    assert "grpc_server_started_total{" not in text


def trickle(address: str) -> socket.socket:
    """Return a request for a page that is never whole."""
    connection = silence(address)
    connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x")
    return connection


def test_probes_are_answered_beside_more_slow_connections_than_there_may_be() -> None:
    before = threading.active_count()
    with running() as mooring, ExitStack() as attackers:
        for at in range(300):
            attackers.enter_context(closing((silence, trickle)[at % 2](mooring.server.metrics_address)))
        for _ in range(10):
            assert get(mooring, "/readyz")[0] == 200
        until(lambda: threading.active_count() - before <= 2 * page_listener.MAX_CONNECTIONS)
        until(
            lambda: (
                (mooring.value("mooring_telemetry_broken_connections_total") or 0)
                >= 300 - page_listener.MAX_CONNECTIONS
            )
        )


@pytest.mark.parametrize(
    "pause", [pytest.param(LONG, id="silence"), pytest.param(0.05, id="a byte at a time")]
)
def test_a_connection_for_probes_ends_when_its_time_is_up(
    monkeypatch: pytest.MonkeyPatch, pause: float
) -> None:
    monkeypatch.setattr(page_listener, "REQUEST_SECONDS", 0.5)
    with running() as mooring, closing(trickle(mooring.server.metrics_address)) as connection:
        connection.settimeout(pause)
        until(lambda: ended(connection))
        assert get(mooring, "/readyz")[0] == 200


def ended(connection: socket.socket) -> bool:
    """Return whether the other side has closed; a byte more of the request where it has not."""
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        connection.sendall(b"x")
        return False
    except OSError:
        return True


def test_an_unknown_path_says_which_there_are() -> None:
    with running() as mooring:
        assert get(mooring, "/nothing") == (404, "try /healthz, /livez, /metrics, /readyz\n")
