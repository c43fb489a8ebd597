"""`mooring schedule`: what is pending finds its place offline, in the order of the queue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mooring.testing.builders import node_manifest, pod_manifest
from tests.cli.commands import call, write_config, write_manifests


def one_slot(name: str) -> dict[str, Any]:
    return node_manifest(name, allocatable={"pods": 1})


def deployment(name: str, replicas: int) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize(
    ("objects", "placed", "code"),
    [
        pytest.param([one_slot("n1")], {}, 0, id="nothing pending"),
        pytest.param([one_slot("n1"), pod_manifest("a")], {"default/a": "n1"}, 0, id="one pod"),
        pytest.param(
            [one_slot("n1"), pod_manifest("a"), pod_manifest("b")],
            {"default/a": "n1", "default/b": None},
            3,
            id="each sees the one before",
        ),
        pytest.param(
            [one_slot("n1"), pod_manifest("a"), pod_manifest("b", spec={"priority": 5})],
            {"default/b": "n1", "default/a": None},
            3,
            id="higher priority first",
        ),
        pytest.param(
            [one_slot("n1"), pod_manifest("there", node="n1"), pod_manifest("a")],
            {"default/a": None},
            3,
            id="placed pods count and are not placed again",
        ),
        pytest.param(
            [
                one_slot("n1"),
                pod_manifest("over", node="n1", status={"phase": "Succeeded"}),
                pod_manifest("dead", status={"phase": "Failed"}),
                pod_manifest("a"),
            ],
            {"default/a": "n1"},
            0,
            id="finished pods neither count nor wait",
        ),
        pytest.param(
            [one_slot("n1"), pod_manifest("a", spec={"schedulingGates": [{"name": "quota"}]})],
            {"default/a": None},
            3,
            id="gated",
        ),
    ],
)
def test_placements(
    objects: list[dict[str, Any]],
    placed: dict[str, str | None],
    code: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = write_manifests(tmp_path / "m.yaml", *objects)
    result = call(capsys, "schedule", "--manifests", file, "-o", "json")
    assert result.code == code
    assert [(row["pod"], row["node"]) for row in result.document] == list(placed.items())
    assert [bool(row["message"]) for row in result.document] == [node is None for node in placed.values()]


def group(name: str, least: int, **spec: Any) -> dict[str, Any]:
    policy = {"schedulingPolicy": {"gang": {"minCount": least}}, **spec}
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": policy,
    }


def members(*names: str) -> list[dict[str, Any]]:
    """Return pods of the groups that their names begin with."""
    return [pod_manifest(name, spec={"schedulingGroup": {"podGroupName": name[0]}}) for name in names]


@pytest.mark.parametrize(
    ("slots", "objects", "placed"),
    [
        pytest.param(3, [group("a", 3), *members("a1", "a2", "a3")], ["a1", "a2", "a3"], id="all have room"),
        pytest.param(
            2,
            [group("a", 3), *members("a1", "a2", "a3"), pod_manifest("later")],
            ["later"],
            id="an incomplete gang leaves the room to others",
        ),
        pytest.param(
            2,
            [group("a", 2), group("b", 2), *members("a1", "b1", "a2", "b2")],
            ["a1", "a2"],
            id="gangs come one after the other",
        ),
        pytest.param(3, [group("a", 3), *members("a1", "a2")], [], id="a pod is missing"),
        pytest.param(
            3, [group("a", 2), *members("a1", "a2", "a3")], ["a1", "a2", "a3"], id="more than enough"
        ),
    ],
)
def test_a_gang_is_placed_as_a_whole_or_not_at_all_and_at_once(
    slots: int,
    objects: list[dict[str, Any]],
    placed: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    nodes = [one_slot(f"n{number}") for number in range(slots)]
    file = write_manifests(tmp_path / "m.yaml", *nodes, *objects)
    gates = ("--feature-gates", "GenericWorkload=true")
    rows = call(capsys, "schedule", "--manifests", file, *gates, "-o", "json").document
    assert [row["pod"] for row in rows if row["node"]] == [f"default/{name}" for name in placed]
    assert all(row["message"] for row in rows if not row["node"])


def in_zone(zone: str, number: int) -> dict[str, Any]:
    return node_manifest(f"{zone}{number}", labels={"zone": zone}, allocatable={"pods": 1})


TOGETHER: dict[str, Any] = {"schedulingConstraints": {"topology": [{"key": "zone"}]}}


@pytest.mark.parametrize(
    ("objects", "placed"),
    [
        pytest.param(
            [in_zone("x", 1), in_zone("x", 2), group("a", 2), *members("a1", "a2")],
            {"a1": "x1", "a2": "x2"},
            id="all have room",
        ),
        pytest.param(
            [in_zone("x", 1), in_zone("x", 2), group("a", 3), *members("a1", "a2", "a3"), pod_manifest("b")],
            {"b": "x1"},
            id="none has, and what comes later gets the room",
        ),
        pytest.param(
            [
                *(in_zone("x", 1), in_zone("y", 1), in_zone("y", 2)),
                *(group("a", 2, **TOGETHER), *members("a1", "a2")),
            ],
            {"a1": "y1", "a2": "y2"},
            id="in one zone",
        ),
        pytest.param(
            [in_zone("x", 1), in_zone("x", 2), group("a", 2), *members("a1"), pod_manifest("b")],
            {"b": "x1"},
            id="a pod is missing",
        ),
        pytest.param(
            [in_zone("x", 1), in_zone("x", 2), *members("a1"), pod_manifest("b")],
            {"b": "x1"},
            id="the group is missing",
        ),
    ],
)
def test_groups_are_placed_as_a_whole(
    objects: list[dict[str, Any]], placed: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_manifests(tmp_path / "m.yaml", *objects)
    gates = ("--feature-gates", "GenericWorkload=true,TopologyAwareWorkloadScheduling=true")
    result = call(capsys, "schedule", "--manifests", file, *gates, "-o", "json")
    found = {row["pod"].removeprefix("default/"): row["node"] for row in result.document}
    assert {pod: bool(node) for pod, node in found.items()} == {pod: pod in placed for pod in found}
    zones = {pod: node[0] for pod, node in found.items() if node}
    assert zones == {pod: node[0] for pod, node in placed.items()}
    assert all(row["message"] for row in result.document if not row["node"])


def test_workloads_become_pods(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_manifests(tmp_path / "m.yaml", one_slot("n1"), one_slot("n2"), deployment("web", 3))
    result = call(capsys, "schedule", "--manifests", file, "-o", "json")
    assert result.code == 3
    assert [row["pod"].startswith("default/web-") for row in result.document] == [True] * 3
    assert sorted(str(row["node"]) for row in result.document) == ["None", "n1", "n2"]


@pytest.mark.parametrize("again", [[], ["--manifests"]], ids=["one flag", "two flags"])
def test_files_and_directories_are_one_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], again: list[str]
) -> None:
    (tmp_path / "nodes").mkdir()
    write_manifests(tmp_path / "nodes" / "n.yaml", one_slot("n1"))
    pods = write_manifests(tmp_path / "pods.yaml", pod_manifest("a"))
    result = call(capsys, "schedule", "--manifests", tmp_path / "nodes", *again, pods, "-o", "json")
    assert [row["node"] for row in result.document] == ["n1"]


def test_a_pod_of_no_profile_stays_and_the_others_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path / "c.yaml", {"schedulerName": "one"}, {"schedulerName": "two"})
    pods = [pod_manifest(name, spec={"schedulerName": name}) for name in ("other", "two")]
    file = write_manifests(tmp_path / "m.yaml", node_manifest("n1"), *pods)
    result = call(capsys, "schedule", "--manifests", file, "--config", config, "-o", "json")
    assert result.code == 3
    assert [row["node"] for row in result.document] == [None, "n1"]
    assert (
        result.document[0]["message"]
        == "its scheduler is 'other', which is not one of the profiles: one, two"
    )


def test_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pods = [pod_manifest("a"), pod_manifest("b")]
    file = write_manifests(tmp_path / "m.yaml", one_slot("n1"), one_slot("n2"), one_slot("n3"), *pods)
    lines = call(capsys, "schedule", "--manifests", file).out.splitlines()
    assert lines[0].split() == ["POD", "NODE", "TOTAL", "REASON"]
    assert [line.split()[0] for line in lines[1:3]] == ["default/a", "default/b"]
    assert lines[3] == "2 of 2 pending pods placed"


def test_a_row_of_the_table_is_one_line_for_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = {f"example.com/device-{number}": "1" for number in range(8)}
    pods = [pod_manifest("web", requests=wanted), pod_manifest("db")]
    file = write_manifests(tmp_path / "m.yaml", node_manifest("n1"), *pods)
    result = call(capsys, "schedule", "--manifests", file)
    lines = result.out.splitlines()
    assert [line.split()[0] for line in lines] == ["POD", "default/web", "default/db", "1"]
    assert [name for name in wanted if f"Insufficient {name}" not in lines[1]] == []
    assert len(lines[1]) > 160
    assert [line for line in lines if line != line.rstrip()] == []


def test_what_nobody_reads_is_said_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    result = call(capsys, "schedule", "--manifests", write_manifests(tmp_path / "m.yaml", secret))
    assert (result.code, result.out) == (0, "0 of 0 pending pods placed\n")
    assert "objects of these kinds are ignored: Secret (1)" in result.err


@pytest.mark.parametrize("app", ["web", "other"])
def test_a_pod_is_tried_again_when_a_later_one_helps_it(
    app: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
    near = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    objects = [
        node_manifest("n1", labels={"kubernetes.io/hostname": "n1"}),
        pod_manifest("near", spec=near),
        pod_manifest("later", labels={"app": app}),
    ]
    file = write_manifests(tmp_path / "m.yaml", *objects)
    rows = call(capsys, "schedule", "--manifests", file, "-o", "json").document
    assert [row["node"] for row in rows] == ["n1" if app == "web" else None, "n1"]
