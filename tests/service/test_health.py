"""Probes over gRPC and HTTP: liveness, readiness, and answers while everything else is busy."""

import logging
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc  # type: ignore[import-untyped]

from mooring.framework.errors import DeadlineExceededError
from mooring.service.health import LIVENESS
from mooring.service.probes import Probes
from mooring.service.slots import Slots
from tests.service.harness import LONG, SERVICE, Running, blocked, running, until

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
        mooring.metrics.schedule_attempts("scheduled", "gold").inc()
        status, text = get(mooring, "/metrics")
    assert status == 200
    assert 'mooring_schedule_attempts_total{profile="gold",result="scheduled"} 1.0' in text
    assert "mooring_abandoned_workers 0.0" in text
    assert 'grpc_server_started_total{grpc_method="GetClusterInfo"' in text


def test_an_unknown_path_says_which_there_are() -> None:
    with running() as mooring:
        assert get(mooring, "/nothing") == (404, "try /healthz, /livez, /metrics, /readyz\n")
