"""`mooring scheduler` as a process, over an API server of our own."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.app.scheduler import backoff_times
from mooring.cluster.api import client
from mooring.cluster.api.client import TokenBucket
from mooring.config import load
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.scheduler.queue import BackoffTimes
from mooring.testing.builders import node_manifest, pod_manifest
from tests.cli.commands import BIN, call, environment, write_config
from tests.cli.schedulers import (
    MINE,
    QUICK,
    ended,
    lease,
    node_of,
    pending,
    probe,
    scheduler,
    scheduling,
    take_lease,
)
from tests.fake_api_server import Answer, FakeApiServer, Hang
from tests.process import free_port, until
from tests.scheduler.extenders import http_extender


@pytest.fixture
def fake() -> Iterator[FakeApiServer]:
    with FakeApiServer() as running:
        running.add(node_manifest("a"), node_manifest("b"))
        yield running


def test_pods_are_bound_and_sigterm_ends_it_in_order(fake: FakeApiServer, tmp_path: Path) -> None:
    fake.add(*(pending(f"p-{number}") for number in range(30)), pod_manifest("foreign"))
    fake.add(pending("nowhere", nodeSelector={"absent": "label"}))
    with scheduler(fake, tmp_path, "--v=2") as started:
        until(lambda: all(node_of(fake, f"p-{number}") for number in range(30)), "30 bindings")
        until(lambda: len(fake.all("Event")) == 31, "an event for each of its pods")
        assert lease(fake)["holderIdentity"]
        started.process.send_signal(signal.SIGTERM)
        assert ended(started) == 0
    assert lease(fake)["holderIdentity"] == ""
    assert len(list(fake.history.accepted_bindings())) == 30
    assert node_of(fake, "foreign") == ""
    nowhere = fake.get("Pod", "nowhere")
    assert nowhere is not None
    assert nowhere["status"]["conditions"][0]["reason"] == "Unschedulable"
    assert '"Successfully bound pod to node" pod="default/p-0" node="' in started.log.read_text()
    text = started.log.read_text()
    assert '"resourceName":"mooring"' in text, "the configuration in force is shown"
    said = r" scheduling\n(.*\n)*.* draining: .*\n(.*\n)*.* ended\n$"
    assert re.search(said, text)


@pytest.mark.slow
def test_sigterm_gives_back_what_waits_to_be_bound(fake: FakeApiServer, tmp_path: Path) -> None:
    """Deciding is faster than 20 requests a second: most pods wait for their turn when the end comes."""
    fake.add(*(pending(f"p-{number}") for number in range(200)))
    with scheduler(fake, tmp_path, qps=20, burst=10) as started:
        until(fake.history.bindings, "the first binding")
        started.process.send_signal(signal.SIGTERM)
        assert ended(started) == 0
    assert len(fake.history.bindings()) < 100
    assert {event["reason"] for event in fake.all("Event")} <= {"Scheduled"}
    assert lease(fake)["holderIdentity"] == ""


@pytest.mark.slow
def test_two_leaders(fake: FakeApiServer, tmp_path: Path) -> None:
    """C1: a leader that is stopped while another one takes the lease sends no more bindings, and ends."""
    with scheduler(fake, tmp_path, *QUICK) as started:
        fake.add(pending("before"))
        until(lambda: node_of(fake, "before"), "the first binding")
        started.process.send_signal(signal.SIGSTOP)
        time.sleep(1.2)
        sent = len(fake.history.bindings())
        fake.add(pending("meanwhile"))
        take_lease(fake, "another")
        started.process.send_signal(signal.SIGCONT)
        assert ended(started) == 1
    assert len(fake.history.bindings()) == sent
    assert "leaderelection lost" in started.log.read_text()
    assert lease(fake)["holderIdentity"] == "another"


def test_nothing_is_bound_on_a_state_that_is_too_old(fake: FakeApiServer, tmp_path: Path) -> None:
    """Nodes are no longer followed, while pods are: no pod is bound until the state is young again."""
    port = free_port()
    with scheduling(fake, tmp_path, f"--secure-port={port}", "--leader-elect=false", "--max-staleness=1s"):
        fake.add(pending("before"))
        until(lambda: node_of(fake, "before"), "the first binding")
        fake.faults.on("WATCH", "/nodes$", Answer(500))
        fake.cut()
        until(lambda: "nodes have not been watched for" in probe(port, "readyz")[1], "too old a state")
        fake.add(pending("meanwhile"))
        time.sleep(1.0)
        assert node_of(fake, "meanwhile") == ""
        assert len(fake.history.bindings()) == 1
        fake.faults.clear()
        until(lambda: node_of(fake, "meanwhile"), "the second binding")
        assert probe(port, "readyz") == (200, "ok\n")


@pytest.mark.slow
def test_sigterm_ends_it_before_it_knows_the_cluster(fake: FakeApiServer, tmp_path: Path) -> None:
    fake.faults.on("GET", "/pods$", Hang())
    kubeconfig = fake.kubeconfig(tmp_path / "kubeconfig")
    command = [BIN / "mooring", "scheduler", "--source", f"kubernetes:{kubeconfig}", "--secure-port=0"]
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, env=environment())
    try:
        until(lambda: fake.faults.met, "the list that hangs")
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, said) == (0, b"")
    assert fake.all("Lease") == [], "it took the lease that it had no use for"


def test_second_scheduler_race(fake: FakeApiServer, tmp_path: Path) -> None:
    """C5: a rival binds the same pods and fills the same nodes."""
    fake.add(node_manifest("small", allocatable={"pods": 40}))
    names = [f"p-{number}" for number in range(120)]
    api = fake.client()
    with scheduling(fake, tmp_path, "--leader-elect=false"):
        for number, name in enumerate(names):
            fake.add(pending(name))
            if number % 3 == 0:
                body = {"metadata": {"name": name}, "target": {"kind": "Node", "name": "b"}}
                api.request("POST", f"/api/v1/namespaces/default/pods/{name}/binding", body=body)
        until(lambda: all(node_of(fake, name) for name in names), "all bindings")
    bound = [uid for uid, _, _ in fake.history.accepted_bindings()]
    assert len(bound) == len(set(bound)) == len(names)
    own = [node for _, node, agent in fake.history.accepted_bindings() if agent.startswith("mooring")]
    assert own.count("small") <= 40


def test_extenders_are_called(fake: FakeApiServer, tmp_path: Path) -> None:
    fake.add(pending("rejected"), pending("fits"))

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        if request["Pod"]["metadata"]["name"] == "rejected":
            return {"FailedNodes": {"a": "no", "b": "no"}}
        return {
            "Nodes": {
                "items": [node for node in request["Nodes"]["items"] if node["metadata"]["name"] == "b"]
            }
        }

    with http_extender({"filter": answer}) as running:
        extender = {"urlPrefix": running.url, "filterVerb": "filter"}
        with scheduling(fake, tmp_path, "--leader-elect=false", extenders=[extender]):
            until(lambda: node_of(fake, "fits"), "the pod that the extender lets pass")
            until(lambda: told(fake).keys() == {"fits", "rejected"}, "an event for each pod")
    assert node_of(fake, "fits") == "b"
    assert told(fake)["rejected"].startswith("0/2 nodes are available: 2 no. ")


def told(fake: FakeApiServer) -> dict[str, str]:
    """By pod, the note of an Event about it."""
    return {event["regarding"]["name"]: event["note"] for event in fake.all("Event")}


@pytest.mark.parametrize(
    ("fields", "flags", "said"),
    [
        pytest.param(
            {"leaderElection": {"resourceName": "kube-scheduler"}},
            [],
            "leaderElection.resourceName: 'kube-scheduler' is kube-scheduler's own lease",
            id="the lease of kube-scheduler",
        ),
        pytest.param(
            {},
            ["--leader-elect-resource-name=kube-scheduler"],
            "leaderElection.resourceName: 'kube-scheduler' is kube-scheduler's own lease",
            id="the same by flag",
        ),
        pytest.param(
            {},
            ["--leader-elect-lease-duration=5s"],
            "leaderElection: leaseDuration must be above renewDeadline",
            id="a lease that ends before it must be renewed",
        ),
        pytest.param({}, ["--source=sample"], "--source: 'sample' is not kubernetes", id="no live cluster"),
    ],
)
def test_rejections(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, fields: dict[str, Any], flags: list[str], said: str
) -> None:
    config = write_config(tmp_path / "config.yaml", MINE, **fields)
    result = call(capsys, "scheduler", "--config", config, "--source=kubernetes:none", *flags)
    assert result.code == 1
    assert said in result.err


def test_the_client_connection_is_the_files(
    fake: FakeApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its kubeconfig, unless another is named, and its rate: 200 requests a second after the first 70."""
    paces = []

    def bucket(qps: float, burst: int) -> TokenBucket:
        paces.append((qps, burst))
        return TokenBucket(qps, burst)

    monkeypatch.setattr(client, "TokenBucket", bucket)
    connection = {"kubeconfig": str(fake.kubeconfig(tmp_path / "named")), "qps": 200, "burst": 70}
    fake.add(pending("p"))
    with scheduling(fake, tmp_path, "--source=kubernetes", "--leader-elect=false", **connection):
        until(lambda: node_of(fake, "p"), "the binding")
    assert set(paces) == {(200, 70)}


def test_backoffs_are_the_files(tmp_path: Path) -> None:
    fields = {"podInitialBackoffSeconds": 3, "podMaxBackoffSeconds": 7}
    text = write_config(tmp_path / "config.yaml", MINE, **fields).read_text()
    assert backoff_times(load(text, new_in_tree_registry().catalog())) == BackoffTimes(3.0, 7.0)


def test_master_names_the_server(fake: FakeApiServer, tmp_path: Path) -> None:
    fake.add(pending("p"))
    with scheduling(fake, tmp_path, "--source=kubernetes", f"--master={fake.url}", "--leader-elect=false"):
        until(lambda: node_of(fake, "p"), "the binding")


@pytest.mark.slow
def test_it_says_at_its_start_what_kube_scheduler_does(fake: FakeApiServer, tmp_path: Path) -> None:
    port = free_port()
    with scheduler(fake, tmp_path, f"--secure-port={port}", "--leader-elect=false", "--v=2") as started:
        until(lambda: started.log.read_text().count("Added node to NodeTree") == 2, "both nodes")
        fake.client().request("DELETE", "/api/v1/nodes/b")
        until(lambda: '"Removed node from NodeTree" node="b"' in started.log.read_text(), "its end")
        text = started.log.read_text()
    for line in (
        f'FLAG: --secure-port="{port}"',
        'FLAG: --leader-elect="false"',
        f"Serving securely on 127.0.0.1:{port}",
        '"Added node to NodeTree" node="a"',
    ):
        assert line in text
    assert re.search(r"^\d{4}-\d\d-\d\dT[\d:.]+Z INFO mooring.start: Starting mooring ", text, re.MULTILINE)


@pytest.mark.slow
def test_probes_and_metrics(fake: FakeApiServer, tmp_path: Path) -> None:
    """Over HTTPS, as kube-scheduler."""
    port = free_port()
    flags = ("--leader-elect=false", "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics")
    with scheduler(fake, tmp_path, f"--secure-port={port}", "--v=10", *flags) as started:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as plain:
            plain.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
            plain.recv(1024)
        until(lambda: "a request of 127.0.0.1 was dropped: " in started.log.read_text(), "its line")
        assert started.address("telemetry") == f"127.0.0.1:{port}"
        answers = {path: probe(port, path)[1] for path in ("healthz", "livez", "readyz", "metrics")}
    metrics = answers.pop("metrics")
    log = started.log.read_text()
    assert "Traceback" not in log
    assert "acted on by mooring scheduler alone" not in log
    assert "mooring_telemetry_broken_connections_total 1.0" in metrics
    assert answers == dict.fromkeys(("healthz", "livez", "readyz"), "ok\n")
    for queue in ("active", "backoff", "unschedulable", "gated"):
        assert f'mooring_pending_pods{{queue="{queue}"}} 0.0' in metrics
    for kind in ("Node", "Pod"):
        assert re.search(
            rf'^mooring_source_last_event_age_seconds{{kind="{kind}",.*}} [0-9.e-]+$', metrics, re.MULTILINE
        )
    assert "mooring_source_staleness_seconds" in metrics
    for stage in ("reserved", "binding", "unknown"):
        assert f'mooring_reservations{{stage="{stage}"}} 0.0' in metrics
