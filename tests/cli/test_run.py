"""`mooring run`: three processes, a first decision by both, and an end in order."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import grpc
import pytest

from mooring.cli.run import _await_ready
from mooring_client.v1 import decision_service_pb2 as pb
from mooring_client.v1.cluster_service_pb2 import GetObjectRequest
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from mooring_client.v1.decision_service_pb2_grpc import DecisionServiceStub
from tests.cli.commands import BIN, Started, environment, fetch, program
from tests.process import until

PORTS = {
    f"MOORING_{name}": "127.0.0.1:0"
    for name in ("LISTEN", "HEALTH_LISTEN", "METRICS_LISTEN", "EXTENDER_LISTEN", "WEB_LISTEN")
}


@contextmanager
def running(folder: Path, **ports: str) -> Iterator[Started]:
    with program(folder, BIN / "mooring", "run", twins=PORTS | ports) as started:
        yield started


def children(process: int) -> dict[str, int]:
    """By module and first word, the processes that a process started."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            words = (folder / "cmdline").read_text().split("\0")
            if parent == process and "-m" in words:
                named = words.index("-m") + 1
                found[" ".join(words[named : named + 2])] = int(folder.name)
    return found


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def assert_first_decision(shown: str) -> None:
    """Both say which node it is, and why not another one."""
    assert re.search(r"^→ worker-a1 .* 638$", shown, re.MULTILINE)
    assert re.search(r"^control-plane-1 .*control-plane:NoSchedule is not tolerated", shown, re.MULTILINE)
    assert re.search(r"^control-plane-1 .*node\(s\) had untolerated taint\(s\)", shown, re.MULTILINE)
    assert re.search(r"^worker-a1 +passed +\d+ *$", shown, re.MULTILINE)


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)], ids=["SIGTERM", "Ctrl-C"]
)
def test_ready_then_ended_in_order(number: signal.Signals, tmp_path: Path) -> None:
    with running(tmp_path) as run:
        assert re.fullmatch(
            r"mooring ready: grpc=\S+ extender=http://\S+ page=http://\S+ health=\S+ metrics=\S+", run.ready
        )
        assert_first_decision("\n".join(run.shown))
        assert fetch(f"{run.address('extender')}/readyz")[0] == 200
        assert b"<mooring-page>" in fetch(run.address("page"))[1]
        assert fetch(f"http://{run.address('metrics')}/readyz")[0] == 200
        parts = children(run.process.pid)
        assert sorted(parts) == ["mooring serve", "mooring web", "mooring_extender --listen"]
        run.process.send_signal(number)
        assert run.process.wait(60) == 0
        assert [name for name, pid in parts.items() if alive(pid)] == []
        assert "Traceback" not in run.log.read_text()


def is_unknown(known: ClusterServiceStub, request: GetObjectRequest) -> bool:
    try:
        known.GetObject(request)
    except grpc.RpcError as error:
        return bool(error.code() is grpc.StatusCode.NOT_FOUND)
    return False


@pytest.mark.slow
def test_the_sample_cluster_lives(tmp_path: Path) -> None:
    """The server decides about pending pods, one waits for a stated reason, and a pod comes and goes."""
    with running(tmp_path) as run, grpc.insecure_channel(run.address("grpc")) as channel:
        stub = DecisionServiceStub(channel)

        def decided() -> dict[str, pb.Decision]:
            found = stub.ListDecisions(pb.ListDecisionsRequest(limit=1_000)).decisions
            return {each.pod.name: each for each in found}

        pending = {"web-3", "training-2", "report", "render-0", "render-1", "render-2"}
        until(lambda: {*decided()} >= {*pending, "visitor-0", "visitor-1"})
        assert decided()["visitor-1"].node
        assert decided()["report"].dominant.reason == "Insufficient memory"
        groups = stub.SummarizeReasons(pb.SummarizeReasonsRequest(ask_now=True)).groups
        assert {pod.name for group in groups for pod in group.examples} >= pending
        render = next(group for group in groups if group.controller_name == "render")
        assert (render.pod_count, render.reason.reason) == (3, "Insufficient example.com/gpu")
        known = ClusterServiceStub(channel)
        gone = GetObjectRequest(kind="Pod", namespace="default", name="visitor-0")
        assert known.GetObject(gone).object.json
        until(lambda: is_unknown(known, gone), "visitor-0 to go")
    assert "This is a sample cluster; on yours: mooring web --cluster kubernetes:" in "\n".join(run.shown)


def test_a_first_decision_waits_until_the_adapter_reaches_the_server() -> None:
    """The adapter listens before it reaches the server; a decision in between would be an error."""
    answers = [HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.OK]

    class Adapter(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(answers.pop(0))
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Adapter) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        _await_ready(f"http://127.0.0.1:{server.server_port}", threading.Event())
        server.shutdown()
        thread.join()
    assert answers == []


@pytest.mark.slow
def test_a_process_that_dies_ends_the_other_one(tmp_path: Path) -> None:
    with running(tmp_path) as run:
        parts = children(run.process.pid)
        os.kill(parts["mooring_extender --listen"], signal.SIGKILL)
        assert run.process.wait(60) == 1
        assert [part for part, pid in parts.items() if alive(pid)] == []
        assert "mooring: mooring-extender ended with exit code -9" in run.log.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["LISTEN", "EXTENDER_LISTEN"])
def test_a_taken_port(name: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with running(tmp_path, **{f"MOORING_{name}": address}) as run:
            assert run.ready == ""
            assert run.process.wait(60) == 1
            assert f"cannot listen on {address}" in run.log.read_text()
            assert "Traceback" not in run.log.read_text()


@pytest.mark.slow
def test_ctrl_c_before_everything_is_ready() -> None:
    command: list[str | Path] = [BIN / "mooring", "run"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(PORTS), text=True) as process:
        while not (parts := children(process.pid)):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        shown, _ = process.communicate()
    assert (process.returncode, shown) == (0, "")
    assert [part for part, pid in parts.items() if alive(pid)] == []
