"""Room that nominated pods reserve: the amounts include it, and the answer names the pods."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.testing.builders import node_manifest, pod_manifest
from tests.cli.commands import Ready, call, serving, write_manifests

GPU = "example.com/gpu"


def nominated(name: str, node: str, priority: int, requests: dict[str, str]) -> dict[str, Any]:
    status = {"phase": "Pending", "nominatedNodeName": node}
    return pod_manifest(name, requests=requests, spec={"priority": priority}, status=status)


CLUSTER: list[dict[str, Any]] = [
    node_manifest("n1", allocatable={"cpu": "4", "memory": "8Gi", "pods": "110", GPU: "2"}),
    pod_manifest("p0", node="n1", requests={"cpu": "2"}, spec={"priority": 0}),
    nominated("p1", "n1", 100, {"cpu": "3"}),
    nominated("p3", "n1", 7, {"cpu": "500m", GPU: "2"}),
    nominated("elsewhere", "gone", 100, {"cpu": "3"}),
    pod_manifest("small", requests={"cpu": "1"}, spec={"priority": 5}),
    pod_manifest("device", requests={GPU: "1"}, spec={"priority": 5}),
    pod_manifest("above", requests={"cpu": "1"}, spec={"priority": 50}),
    pod_manifest("top", requests={"cpu": "1500m"}, spec={"priority": 1000}),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_manifests(tmp_path_factory.mktemp("kept") / "cluster.yaml", *CLUSTER)


@pytest.fixture(scope="module")
def server(cluster: Path) -> Iterator[Ready]:
    with serving("--source", f"files:{cluster}") as started:
        yield started


@pytest.mark.parametrize(
    ("pod", "resource", "free", "kept", "keepers"),
    [
        pytest.param("small", "cpu", -1500, 3500, ["p1", "p3"], id="nominated-room, of two pods"),
        pytest.param("above", "cpu", -1000, 3000, ["p1"], id="nominated-room, of a more important pod"),
        pytest.param("device", GPU, 0, 2, ["p1", "p3"], id="an extended resource"),
        pytest.param("top", "cpu", 2000, 0, [], id="none from a more important one"),
        pytest.param("p1", "cpu", 2000, 0, [], id="none from itself"),
    ],
)
def test_what_is_kept_is_not_free(
    pod: str,
    resource: str,
    free: int,
    kept: int,
    keepers: list[str],
    cluster: Path,
    server: Ready,
    capsys: pytest.CaptureFixture[str],
) -> None:
    sources = (["--manifests", cluster], ["--server", server.address("grpc")])
    offline, remote = (call(capsys, "explain", pod, *source, "-o", "json").document for source in sources)
    assert remote == offline
    amounts = offline["resources"][resource]
    assert (amounts["free"], amounts["kept"]) == ({"n1": free}, {"n1": kept} if kept else {})
    assert [each["pod"] for each in offline["nominated"].get("n1", [])] == [
        f"default/{one}" for one in keepers
    ]
    fits = offline["nodes"]["n1"]["status"]["code"] == "Success"
    assert fits is (free >= amounts["requested"])


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        pytest.param([], "needs 1 cpu; 2 of 4 free, 3 kept for nominated pods (n1)", id="closest"),
        pytest.param([], "n1 keeps room for default/p1 (nominated, priority 100)", id="who"),
        pytest.param(
            ["--node", "n1"],
            "3 kept for nominated pods; taken by default/p1 (nominated, priority 100), default/p0 (2)",
            id="one node",
        ),
    ],
)
def test_tables_name_who_keeps_it(
    flags: list[str], said: str, cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in call(capsys, "explain", "above", "--manifests", cluster, *flags).out


def test_why_pending_names_them_too(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = " ".join(call(capsys, "why-pending", "small", "--manifests", cluster).out.split())
    assert "Insufficient cpu (room is kept for the nominated default/p1, default/p3)" in out


def test_a_nominated_pod_that_has_a_port_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def with_port(name: str, **fields: Any) -> dict[str, Any]:
        pod = pod_manifest(name, **fields)
        pod["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
        return pod

    status = {"nominatedNodeName": "n1"}
    objects = [node_manifest("n1"), with_port("first", status=status, spec={"priority": 9}), with_port("web")]
    file = write_manifests(tmp_path / "m.yaml", *objects)
    out = call(capsys, "explain", "web", "--manifests", file, "--node", "n1").out
    assert "n1 keeps room for default/first (nominated, priority 9)" in out
