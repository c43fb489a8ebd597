"""Pods chosen by namespace and labels, as with kubectl: `explain`, `schedule` and `why-pending`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.testing.builders import node_manifest, pod_manifest
from tests.cli.commands import call, serving, write_manifests

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "big", "uid": "r", "controller": True}
CREATED = "2026-11-25T10:00:00Z"


def big(name: str) -> dict[str, Any]:
    metadata = {"ownerReferences": [OWNER], "creationTimestamp": CREATED}
    return pod_manifest(
        name, namespace="prod", labels={"app": "big"}, requests={"cpu": "64"}, metadata=metadata
    )


CLUSTER = [
    node_manifest("n1", allocatable={"cpu": "4", "pods": "10"}),
    pod_manifest("web", namespace="prod", labels={"app": "web"}),
    big("big-1"),
    big("big-2"),
    pod_manifest("gated", spec={"schedulingGates": [{"name": "quota"}]}),
    pod_manifest("foreign", spec={"schedulerName": "other"}),
    pod_manifest("there", namespace="prod", labels={"app": "web"}, node="n1"),
]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_manifests(tmp_path_factory.mktemp("selection") / "cluster.yaml", *CLUSTER)


@pytest.fixture(scope="module")
def server(file: Path) -> Iterator[str]:
    with serving("--source", f"files:{file}") as started:
        yield started.address("grpc")


@pytest.mark.parametrize(
    ("flags", "pods"),
    [
        pytest.param(["-n", "prod"], ["prod/web", "prod/big-1", "prod/big-2"], id="namespace"),
        pytest.param(["-n", "prod", "-l", "app=web"], ["prod/web"], id="namespace and label"),
        pytest.param(["-A", "-l", "app in (big, db)"], ["prod/big-1", "prod/big-2"], id="label everywhere"),
        pytest.param(["-l", "app=web"], [], id="label in the default namespace"),
    ],
)
@pytest.mark.parametrize("asked", ["files", "server"])
def test_all_selected_pods_without_a_node_are_explained(
    file: Path,
    server: str,
    asked: str,
    flags: list[str],
    pods: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    where = ("--server", server) if asked == "server" else ("--manifests", file)
    found = call(capsys, "explain", *flags, *where, "-o", "json")
    assert [each["pod"] for each in found.document] == pods
    assert found.code == (3 if any("big" in pod for pod in pods) else 0)


def test_a_row_for_each_pod_unless_more_is_asked_for(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = call(capsys, "explain", "-n", "prod", "--manifests", file).out
    assert [line.split()[:2] for line in table.splitlines()[:-1]] == [
        ["POD", "NODE"],
        ["prod/web", "n1"],
        ["prod/big-1", "-"],
        ["prod/big-2", "-"],
    ]
    whole = call(capsys, "explain", "-n", "prod", "--manifests", file, "-o", "wide").out
    assert whole.count("profile default-scheduler") == 3
    assert "no pod without a node" in call(capsys, "explain", "-n", "none", "--manifests", file).out


def test_selected_pods_are_placed_and_others_stay(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = call(capsys, "schedule", "--cluster", f"files:{file}", "-l", "app=web", "-o", "json")
    assert [(each["pod"], each["node"]) for each in found.document] == [("prod/web", "n1")]


def test_pods_of_a_cluster_that_others_schedule_are_asked_about(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = call(capsys, "why-pending", "--manifests", file, "-o", "json")
    seen = [(each["controller"], each["reason"], each["nodes"], each["examples"]) for each in found.document]
    assert seen == [
        ("ReplicaSet/big", "Insufficient cpu", 1, ["prod/big-1", "prod/big-2"]),
        (None, "fits now: its scheduler has not placed it", 1, ["prod/web"]),
        (None, "waiting for scheduling gates: [quota]", 0, ["default/gated"]),
        (
            None,
            "its scheduler is 'other', which is not one of the profiles: default-scheduler",
            0,
            ["default/foreign"],
        ),
    ]
    assert (found.code, found.document[0]["oldest"]) == (3, CREATED)
    table = call(capsys, "why-pending", "big-1", "-n", "prod", "--manifests", file)
    assert table.out.splitlines()[2].split()[:3] == ["1", "prod", "ReplicaSet/big"]
    nothing = call(capsys, "why-pending", "-l", "app=db", "--manifests", file)
    assert (nothing.code, nothing.out) == (0, "no pod is known to wait for a node\n")


def test_a_server_that_has_decided_nothing_decides_now(
    server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = call(capsys, "why-pending", "-l", "app=web", "--server", server)
    assert (found.code, found.err) == (3, "")
    _, row, said = found.out.splitlines()
    assert "  prod              fits now: its scheduler has not placed it      1 " in row
    assert said == "1 pod was evaluated now: the server remembers no decision"
    one = call(capsys, "why-pending", "web", "-n", "prod", "--server", server)
    assert (one.code, one.out.splitlines()) == (
        3,
        [
            "pod prod/web: fits now: its scheduler has not placed it (n1)",
            "evaluated now: the server remembers no decision; mooring explain prod/web shows all nodes",
        ],
    )


def test_a_server_and_manifests_give_the_same_reasons(
    server: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = ("namespace", "controller", "plugin", "reason", "nodes", "pods")
    answers = [
        call(capsys, "why-pending", *where, "-o", "json").document
        for where in (("--server", server), ("--manifests", file))
    ]
    served, offline = ([{key: each[key] or "" for key in keys} for each in answer] for answer in answers)
    assert sorted(served, key=str) == sorted(offline, key=str)


@pytest.mark.parametrize("asked", ["files", "server"])
@pytest.mark.parametrize(
    ("pod", "meant"),
    [
        pytest.param("web", "no pod default/web", id="the namespace is forgotten"),
        pytest.param("prod/wbe", "no pod prod/wbe", id="mistyped"),
    ],
)
def test_what_was_meant(
    file: Path, server: str, asked: str, pod: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ("--server", server) if asked == "server" else ("--manifests", file)
    found = call(capsys, "explain", pod, *where)
    assert found.code == 1
    assert meant in found.err
    assert "; did you mean prod/web?" in found.err


def test_all_namespaces_win_over_one(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    everywhere = call(capsys, "schedule", "-A", "--manifests", file)
    assert call(capsys, "schedule", "-A", "-n", "prod", "--manifests", file) == everywhere
    assert call(capsys, "schedule", "-n", "prod", "--manifests", file) != everywhere
