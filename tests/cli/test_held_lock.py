"""Probes of the programs that follow a cluster, while a thread keeps the state's lock."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc  # type: ignore[import-untyped]  # ships no types

from mooring.serving.listeners.health import LIVENESS
from tests.cli.commands import fetch, program
from tests.cli.schedulers import probe
from tests.cluster.following import node, pod
from tests.fake_api_server import FakeApiServer
from tests.process import free_port, until

HOLDING = """
import sys, time
from mooring.app import lock_watch
from mooring.cli import main
from mooring.cluster.state import State

write_pod = State._write_pod

def write(self, record):
    if record.name == "held":
        time.sleep(3600)
    write_pod(self, record)

State._write_pod = write
lock_watch.LONGEST_SECONDS = 0.2
sys.exit(main())
"""
"""A program whose state takes an hour to write one pod."""

NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


@pytest.fixture
def fake() -> Iterator[FakeApiServer]:
    with FakeApiServer() as running:
        running.add(node("n"))
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("command", ["serve", "scheduler"])
def test_probes_name_what_holds_the_lock_and_what_waits(
    fake: FakeApiServer, tmp_path: Path, command: str
) -> None:
    script, port, health = tmp_path / "holding.py", free_port(), f"127.0.0.1:{free_port()}"
    script.write_text(HOLDING)
    source = f"kubernetes:{fake.kubeconfig(tmp_path / 'kubeconfig')}"
    flags = ["--source", source, "--max-staleness=1s"]
    if command == "serve":
        flags += ["--listen=127.0.0.1:0", f"--metrics-listen=127.0.0.1:{port}", f"--health-listen={health}"]
    else:
        flags += ["--bind-address=127.0.0.1", f"--secure-port={port}", "--leader-elect=false"]
        flags += ["--grpc-listen=127.0.0.1:0", f"--grpc-health-listen={health}"]

    def page(name: str) -> tuple[int, str]:
        if command == "scheduler":
            return probe(port, name)
        status, body = fetch(f"http://127.0.0.1:{port}/{name}")
        return status, body.decode()

    with program(tmp_path, sys.executable, script, command, *flags) as started:
        try:
            assert started.ready, started.log.read_text()
            until(lambda: page("readyz")[0] == HTTPStatus.OK, "readiness")
            fake.add(pod("held"))
            text = "an event of pods has been waiting to be written for"
            until(lambda: text in page("readyz")[1] or page("livez")[0] != HTTPStatus.OK, "the event's text")
            until(lambda: page("livez")[0] == HTTPStatus.SERVICE_UNAVAILABLE, "liveness to fail")
            assert "the state's lock has been held for" in page("livez")[1]
            assert "by thread watch-pods" in page("readyz")[1]
            with grpc.insecure_channel(health) as channel:
                check = health_pb2_grpc.HealthStub(channel).Check
                for service in (LIVENESS, ""):
                    assert check(health_pb2.HealthCheckRequest(service=service)).status == NOT_SERVING
        finally:
            started.process.kill()  # it would write the pod to the end
