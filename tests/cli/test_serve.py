"""`mooring serve`: ready, not ready, stopped; its log and metrics; taken ports."""

from __future__ import annotations

import re
import signal
import socket
from pathlib import Path

import grpc
import pytest

from mooring.testing.builders import node_manifest
from mooring_client.v1 import cluster_service_pb2 as pb
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from tests.cli.commands import (
    ANY_PORT,
    BIN,
    LISTENERS,
    call,
    fetch,
    program,
    scoring,
    serving,
    serving_process,
    write_config,
    write_manifests,
)
from tests.process import wait_until


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)], ids=["SIGTERM", "SIGINT"]
)
def test_ready_whatever_hangs_up_then_drained(number: signal.Signals, tmp_path: Path) -> None:
    with serving_process(tmp_path, "--extender-listen", "127.0.0.1:0") as server:
        assert re.fullmatch(
            r"mooring ready: grpc=\S+:\d+ extender=http://\S+:\d+ health=\S+:\d+ metrics=\S+:\d+",
            server.ready,
        )
        for path in ("livez", "readyz", "healthz"):
            assert fetch(f"http://{server.address('metrics')}/{path}")[0] == 200
        assert fetch(f"{server.address('extender')}/readyz")[0] == 200
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "SIGHUP changes nothing" in server.log.read_text(), "what a hangup does")
        assert fetch(f"http://{server.address('metrics')}/readyz")[0] == 200
        server.process.send_signal(number)
        assert server.process.wait(30) == 0
        assert re.search(r"draining: .*\n(.*\n)*.* ended\n$", server.log.read_text())


def test_not_ready_before_the_first_snapshot_is_complete() -> None:
    begin = pb.PushEvent(snapshot_begin=pb.SnapshotBegin())
    end = pb.PushEvent(snapshot_end=pb.SnapshotEnd())
    with serving("--source", "push", "--extender-listen", "127.0.0.1:0") as server:
        probe = f"http://{server.address('metrics')}"
        status, why = fetch(f"{probe}/readyz")
        assert (status, b"the state is not complete yet" in why) == (503, True)
        assert fetch(f"{probe}/livez")[0] == 200
        assert fetch(f"{server.address('extender')}/readyz")[0] == 503
        with grpc.insecure_channel(server.address("grpc")) as channel:
            request = pb.PushObjectsRequest(source="test", session="1", first_sequence=1, events=[begin, end])
            ClusterServiceStub(channel).PushObjects(request, timeout=10)
        assert fetch(f"{probe}/readyz")[0] == 200
        # The adapter asks once a second at most.
        wait_until(lambda: fetch(f"{server.address('extender')}/readyz")[0] == 200, "a ready adapter")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "said", "unsaid"),
    [
        pytest.param(
            ["-v=2"],
            [
                '"percentageOfNodesToScore":100',
                '"leaderElection":{"leaderElect":false}',
                "profile default-scheduler: score: ",
                "NodeAffinity=2",
            ],
            ['"parallelism":', '"clientConnection":', '"enableProfiling":'],
            id="level 2",
        ),
        pytest.param(
            ["--config", "c.yaml"],
            ["acted on by mooring scheduler alone: parallelism", '"leaderElection":{"leaderElect":false}'],
            ["profile x: score: ", '"parallelism":'],
            id="own file",
        ),
    ],
)
def test_what_it_says_of_itself(
    flags: list[str], said: list[str], unsaid: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_config(tmp_path / "c.yaml", scoring(("ImageLocality", 7), name="x"), parallelism=3)
    file = write_manifests(tmp_path / "n.yaml", node_manifest("n1"), node_manifest("n2"))
    monkeypatch.chdir(tmp_path)
    with serving_process(tmp_path, "--source", f"files:{file}", *flags) as server:
        text = server.log.read_text()
    assert re.search(
        rf"source=files:{file} synced=True nodes=2 pods=0 node_epoch=\d+ configuration=\w+", text
    )
    assert [part for part in said if part not in text] == []
    assert [part for part in unsaid if part in text] == []


def test_in_a_pod_the_source_is_its_cluster(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    result = call(capsys, "serve")
    assert (result.code, "in-cluster: no service account" in result.err) == (1, True)


@pytest.mark.parametrize("name", ["listen", "health-listen", "metrics-listen", "extender-listen"])
def test_a_taken_port(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """That a process with such a port ends is shown for `mooring run`."""
    others = [word for each in LISTENERS if each != name for word in (f"--{each}", ANY_PORT)]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        result = call(capsys, "serve", "--source", "sample", *others, f"--{name}", address)
    assert (result.code, result.out) == (1, "")
    (complaint,) = [line for line in result.complaints if line.startswith("mooring: ")]
    assert complaint.startswith(f"mooring: cannot listen on {address}: ")


@pytest.mark.slow
def test_ports_by_environment(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    twins = {f"MOORING_{name}_LISTEN": "127.0.0.1:0" for name in ("HEALTH", "METRICS", "EXTENDER")}
    with program(
        tmp_path,
        BIN / "mooring",
        "serve",
        twins={"MOORING_LISTEN": address, "MOORING_SOURCE": "sample", **twins},
    ) as server:
        assert server.address("grpc") == address
        assert server.address("extender").startswith("http://127.0.0.1:")
        server.process.kill()
