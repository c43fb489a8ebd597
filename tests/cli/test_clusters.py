"""Which cluster a question is about: a server, manifests, a live cluster read once, or the default."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from mooring.cli import remote
from mooring.testing.builders import node_manifest, pod_manifest
from tests.cli.commands import call, serving, write_manifests
from tests.fake_api_server import Answer, FakeApiServer

OBJECTS = [node_manifest("a"), pod_manifest("web"), pod_manifest("old", node="a")]
ASK = ("explain", "web", "-o", "name")


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    return write_manifests(tmp_path / "m.yaml", *OBJECTS)


def test_manifests_by_either_flag(manifests: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for flags in (("--manifests", manifests), ("--cluster", f"files:{manifests}")):
        assert call(capsys, *ASK, *flags).out == "node/a\n"


def test_a_server_by_either_flag_or_where_one_answers_by_default(
    manifests: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving("--source", f"files:{manifests}") as started:
        address = started.address("grpc")
        monkeypatch.setattr(remote, "DEFAULT_SERVER", address)
        for flags in (("--server", address), ("--cluster", f"server:{address}"), ()):
            assert call(capsys, *ASK, *flags).out == "node/a\n"


def test_a_live_cluster_is_read_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with FakeApiServer() as fake:
        fake.add(*OBJECTS)
        file = fake.kubeconfig(tmp_path / "kubeconfig")
        for flags in (("--kubeconfig", file), ("--cluster", f"kubernetes:{file}")):
            result = call(capsys, *ASK, *flags)
            assert (result.out, result.code) == ("node/a\n", 0), result.err
        capacity = call(
            capsys, "what-if", "removal", "--kubeconfig", file, "--node", "a", "-o", "json"
        ).document
        assert capacity[0]["node"] == "a"


def test_a_kind_that_may_not_be_listed_is_left_out_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeApiServer() as fake:
        fake.add(*OBJECTS)
        fake.faults.on("GET", r"/api/v1/services", Answer(403))
        file = fake.kubeconfig(tmp_path / "kubeconfig")
        result = call(capsys, *ASK, "--kubeconfig", file)
        assert result.out == "node/a\n"
        assert "services are left out" in result.err


def test_nothing_answers_by_default(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setattr(remote, "DEFAULT_SERVER", f"127.0.0.1:{port}")
    result = call(capsys, *ASK)
    assert result.code == 2
    assert f"no mooring server answers at 127.0.0.1:{port}: give --manifests" in result.err


def test_a_kubeconfig_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = call(capsys, *ASK, "--kubeconfig", tmp_path / "nope")
    assert result.code == 1
    assert "nope: no such file" in result.err
