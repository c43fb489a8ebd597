"""``mooring push`` with servers, and the addresses that it pushes to."""

from __future__ import annotations

import json
import socket
import threading
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from mooring.app.options import PushOptions
from mooring.app.push import push
from mooring.pushing.replicas import Replicas, addresses_of
from mooring_client.v1.cluster_service_pb2 import GetClusterInfoRequest, GetClusterInfoResponse
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from tests.cli.commands import call, in_this_process, serving
from tests.process import until, wait_until
from tests.pushing.servers import Watcher


def written(file: Path, *nodes: str) -> Path:
    """Write manifests of nodes, at once."""
    items = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}} for name in nodes]
    new = file.with_suffix(".new")
    new.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    new.replace(file)
    return file


@contextmanager
def pushing(source: str, *replicas: str) -> Iterator[str]:
    """Push in this process; the address of the metrics."""

    def run(stop: threading.Event, on_ready: Callable[[Mapping[str, str]], None]) -> bool:
        push(PushOptions(source, replicas), lambda address, _: grpc.insecure_channel(address), stop, on_ready)
        return True

    with in_this_process(run) as ready:
        yield ready.address("metrics")


def told(address: str) -> GetClusterInfoResponse:
    with grpc.insecure_channel(address) as channel:
        return ClusterServiceStub(channel).GetClusterInfo(GetClusterInfoRequest(), timeout=20)


def page(address: str, path: str) -> str:
    with urllib.request.urlopen(f"http://{address}/{path}", timeout=10) as answer:
        return str(answer.read().decode())


def test_servers_follow_a_watcher(tmp_path: Path) -> None:
    file = written(tmp_path / "cluster.json", "a", "b")
    source = ("--source", "push", "--drain-delay", "0")
    with serving(*source) as first, serving(*source) as second:
        addresses = [each.address("grpc") for each in (first, second)]
        assert [told(address).synced for address in addresses] == [False, False]
        with pushing(f"files:{file}", *addresses) as metrics:
            until(lambda: [told(address).node_count for address in addresses] == [2, 2])
            written(file, "a", "b", "c")
            until(lambda: [told(address).node_count for address in addresses] == [3, 3])
            (kept,) = told(addresses[0]).sources
            assert (kept.name, kept.synced, kept.error) == ("push:cluster", True, "")
            shown = page(metrics, "metrics")
            assert page(metrics, "readyz") == "ok\n"
        for address in addresses:
            assert f'mooring_push_kept{{replica="{address}"}} 1.0' in shown
            assert f'mooring_push_full_loads_total{{replica="{address}"}} 1.0' in shown
            assert f'mooring_push_lag_seconds{{replica="{address}"}}' in shown
        until(lambda: told(addresses[0]).sources[0].silence_seconds > 0)


@pytest.mark.parametrize(
    ("target", "found", "addresses"),
    [
        pytest.param("unix:/run/m.sock", [], ["unix:/run/m.sock"], id="a socket"),
        pytest.param(
            "replicas:50051", ["10.0.0.2", "10.0.0.1"], ["10.0.0.1:50051", "10.0.0.2:50051"], id="a name"
        ),
        pytest.param("replicas:50051", ["fd00::1", "10.0.0.1"], ["10.0.0.1:50051"], id="both families"),
        pytest.param(
            "replicas:50051", ["fd00::1", "fd00::1"], ["[fd00::1]:50051"], id="the new family alone"
        ),
    ],
)
def test_addresses(
    monkeypatch: pytest.MonkeyPatch, target: str, found: list[str], addresses: list[str]
) -> None:
    families = [socket.AF_INET6 if ":" in each else socket.AF_INET for each in found]
    answers = [
        (family, socket.SOCK_STREAM, 6, "", (each, 50051))
        for family, each in zip(families, found, strict=True)
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers)
    assert addresses_of(target) == addresses


def test_names_are_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[list[str] | OSError] = [
        ["10.0.0.1", "10.0.0.2"],
        OSError(2, "no answer"),
        ["10.0.0.2", "10.0.0.3"],
    ]
    connected: list[tuple[str, str]] = []

    def look_up(*_: object, **__: object) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 50051)) for each in answer]

    def connect(address: str, name: str) -> grpc.Channel:
        connected.append((address, name))
        return grpc.insecure_channel("unix:/nowhere")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    replicas = Replicas(["replicas:50051"], Watcher().watched, connect)
    shown = []
    for _ in range(3):
        replicas.look_up()
        (kept, _, _) = replicas.metrics()
        shown.append(sorted(sample.labels["replica"] for sample in kept.samples))
    both, later = ["10.0.0.1:50051", "10.0.0.2:50051"], ["10.0.0.2:50051", "10.0.0.3:50051"]
    wait_until(lambda: len(set(connected)) == 3, "all to be connected to")
    replicas.stop()
    assert shown == [both, both, later]
    assert set(connected) == {(f"10.0.0.{number}:50051", "replicas") for number in (1, 2, 3)}


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        pytest.param((), "--source: say where the cluster comes from", id="no source"),
        pytest.param(("--source", "sample"), "--replica: name the servers to push to", id="no replica"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], flags: tuple[str, ...], complaint: str) -> None:
    result = call(capsys, "push", *flags)
    assert result.code == 2
    assert complaint in result.err


def test_a_source_that_delivers_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    result = call(capsys, "push", "--source", "push", "--replica", "127.0.0.1:1")
    assert result.code == 1
    assert "--source: push delivers nothing by itself" in result.err
