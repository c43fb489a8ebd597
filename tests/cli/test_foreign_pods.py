"""Pods that no profile schedules: another scheduler's, and those that are being deleted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.testing.builders import node_manifest, pod_manifest
from tests.cli.commands import Ready, call, serving, write_config, write_manifests

CLUSTER: list[dict[str, Any]] = [
    node_manifest("n1"),
    pod_manifest("job", requests={"cpu": "1"}, spec={"schedulerName": "volcano"}),
    pod_manifest("leaving", metadata={"deletionTimestamp": "2026-11-28T19:00:00Z"}),
    pod_manifest("own"),
]
FOREIGN = "its scheduler is 'volcano', which is not one of the profiles: "


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_manifests(tmp_path_factory.mktemp("foreign") / "cluster.yaml", *CLUSTER)


@pytest.fixture(scope="module")
def server(cluster: Path) -> Iterator[Ready]:
    with serving("--source", f"files:{cluster}") as started:
        yield started


@pytest.mark.parametrize(
    ("flags", "node", "message"),
    [
        pytest.param([], None, f"{FOREIGN}default-scheduler", id="pod-of-another-scheduler"),
        pytest.param(["--profile", "default-scheduler"], "n1", "", id="a profile is named"),
    ],
)
def test_a_pod_of_another_scheduler_is_not_placed_unless_a_profile_is_named(
    flags: list[str], node: str | None, message: str, cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = call(capsys, "schedule", "--manifests", cluster, "-o", "json", *flags)
    rows = {row["pod"]: (row["node"], row["message"]) for row in result.document}
    assert rows == {"default/job": (node, message), "default/own": ("n1", "")}
    assert result.code == (0 if node else 3)


def test_the_only_profile_is_not_every_scheduler(
    cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path / "c.yaml", {"schedulerName": "batch"})
    rows = call(capsys, "schedule", "--manifests", cluster, "--config", config, "-o", "json").document
    assert [row["node"] for row in rows] == [None, None]
    assert rows[0]["message"] == f"{FOREIGN}batch"


def test_why_it_waits_is_said_and_a_pod_that_is_being_deleted_does_not_wait(
    cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    groups = call(capsys, "why-pending", "--manifests", cluster, "-o", "json").document
    assert {group["examples"][0]: group["reason"] for group in groups} == {
        "default/job": f"{FOREIGN}default-scheduler",
        "default/own": "fits now: its scheduler has not placed it",
    }


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        pytest.param(
            "job",
            "the pod's scheduler is 'volcano'; this is what profile 'default-scheduler' would do",
            id="pod-of-another-scheduler",
        ),
        pytest.param("leaving", "the pod is being deleted: no scheduler gives it a node", id="leaving"),
    ],
)
def test_who_asks_all_the_same_is_told(
    pod: str, said: str, cluster: Path, server: Ready, capsys: pytest.CaptureFixture[str]
) -> None:
    for source in (["--manifests", cluster], ["--server", server.address("grpc")]):
        document = call(capsys, "explain", pod, *source, "-o", "json").document
        assert (document["selected"], document["warnings"]) == ("n1", [said])


def test_what_if_tells_it_too(
    cluster: Path, server: Ready, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "the pod's scheduler is 'volcano'; this is what profile 'default-scheduler' would do"
    shapes = write_manifests(tmp_path / "shapes.yaml", *CLUSTER[1:3])
    for source in (["--manifests", cluster], ["--server", server.address("grpc")]):
        assert f"warning: {said}" in call(capsys, "what-if", "change", "job", *source).out
        capacity = call(capsys, "what-if", "capacity", "--shape", shapes, *source)
        assert capacity.code == 0, "a pod that is being deleted is no shape"
        assert said in capacity.err


def test_a_server_lists_no_pod_that_is_being_deleted(
    server: Ready, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = call(capsys, "explain", "-A", "--server", server.address("grpc"), "-o", "json").document
    assert [each["pod"] for each in documents] == ["default/job", "default/own"]
