"""`mooring explain` about many nodes and about one: reasons, the closest node, what it would take."""

from __future__ import annotations

import threading
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.framework.resources import amount
from mooring.testing.builders import node_manifest, pod_manifest
from tests.cli.commands import Result, call, scoring, write_config, write_manifests

ENDING = ".eu-central-1.compute.internal"
BIG, SMALL, CORDONED = (f"ip-192-168-110-{number}{ENDING}" for number in (101, 102, 103))
NODES = [
    node_manifest(BIG, allocatable={"cpu": "15200m", "memory": "32Gi", "pods": "110"}),
    node_manifest(SMALL, allocatable={"cpu": "4", "memory": "8Gi", "pods": "110"}),
    node_manifest(
        CORDONED,
        allocatable={"cpu": "8", "memory": "8Gi", "pods": "110"},
        spec={"unschedulable": True},
    ),
]
PODS = [
    pod_manifest("huge", namespace="prod", requests={"cpu": "64"}),
    pod_manifest("web", namespace="prod", requests={"cpu": "1", "memory": "4Gi"}),
]


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    return write_manifests(tmp_path / "cluster.yaml", *NODES, *PODS)


def explain(capsys: pytest.CaptureFixture[str], cluster: Path, pod: str, *flags: object) -> Result:
    return call(capsys, "explain", pod, "-n", "prod", "--manifests", cluster, *flags, columns=200)


def test_a_reason_is_one_row_with_its_count_and_the_closest_node(
    capsys: pytest.CaptureFixture[str], cluster: Path
) -> None:
    out = explain(capsys, cluster, "huge").out
    closest = "needs 64 cpu, but the whole node has 15.2 (ip-192-168-110-101)"
    row = next(line for line in out.splitlines() if "Insufficient cpu " in line)
    assert row.split(maxsplit=1)[0] == "2"
    assert closest in row
    assert "1      NodeUnschedulable: the node is cordoned" in out
    assert out.count("Insufficient cpu") == 1 + 1  # the table's, and the sentence's
    assert f"the names of nodes go on with {ENDING}" in out


def test_the_closest_node_has_the_resource_that_is_lacking(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gpu = {"nvidia.com/gpu": "2"}
    file = write_manifests(
        tmp_path / "m.yaml",
        *(node_manifest(name, allocatable={"cpu": "8", "pods": "110"}) for name in ("a", "c")),
        node_manifest("b", allocatable={"cpu": "8", "pods": "110", **gpu}),
        pod_manifest("there", node="b", requests=gpu),
        pod_manifest("web", namespace="prod", requests=gpu),
    )
    assert "needs 2 nvidia.com/gpu; 0 of 2 free (b)" in explain(capsys, file, "web").out


def test_a_node_that_one_reason_alone_keeps_out_is_named(
    capsys: pytest.CaptureFixture[str], cluster: Path
) -> None:
    out = explain(capsys, cluster, "web", "--all-rejections").out
    assert "ip-192-168-110-103: nothing else rejects it" in out


@pytest.mark.parametrize("columns", [80, 100])
@pytest.mark.parametrize("pod", ["huge", "web"])
def test_long_names_fit_eighty_columns(
    pod: str, columns: int, capsys: pytest.CaptureFixture[str], cluster: Path
) -> None:
    out = call(capsys, "explain", f"prod/{pod}", "--manifests", cluster, columns=columns).out
    assert max(map(len, out.splitlines())) <= columns
    if pod == "web":
        row = next(line for line in out.splitlines() if "ip-192-168-110-101" in line)
        assert row.split()[-1].isdecimal(), "a node is one line"
        assert "equal on all: TaintToleration 300" in out


def test_names_are_whole_where_nothing_has_to_fit(capsys: pytest.CaptureFixture[str], cluster: Path) -> None:
    argv = ("explain", "prod/web", "--manifests", cluster)
    assert BIG in call(capsys, *argv).out
    wide = call(capsys, *argv, "-o", "wide", columns=80).out
    assert BIG in wide
    assert "× 3 = 300" in wide


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        pytest.param(["--node", SMALL], "feasible, number 2 of 2", id="feasible"),
        pytest.param(["--node", BIG], f"{BIG}: selected, total", id="selected"),
        pytest.param(["--node", CORDONED], "the node is cordoned", id="rejected"),
        pytest.param(["--compare", f"{SMALL},{BIG}"], "NodeResourcesFit ", id="compared"),
        pytest.param(["--compare", f"{BIG},{CORDONED}"], f"{CORDONED}: rejected: NodeUns", id="one rejected"),
        pytest.param(["--what-would-it-take", BIG], "is selected already", id="takes nothing"),
        pytest.param(["--what-would-it-take", SMALL], "more points to have the highest total", id="points"),
        pytest.param(["--what-would-it-take", CORDONED], "the node is cordoned", id="a cordon"),
    ],
)
def test_one_node(flags: list[str], said: str, capsys: pytest.CaptureFixture[str], cluster: Path) -> None:
    result = explain(capsys, cluster, "web", *flags)
    assert said in result.out
    assert f"selected: {BIG}" in result.out
    assert result.code == 0


def test_what_is_lacking_is_counted(capsys: pytest.CaptureFixture[str], cluster: Path) -> None:
    result = explain(capsys, cluster, "huge", "--what-would-it-take", SMALL)
    assert "request 4 cpu instead of 64" in result.out
    assert "node.kubernetes.io/unschedulable" not in result.out
    assert result.code == 3
    node = explain(capsys, cluster, "huge", "--node", SMALL)
    assert "needs 64 cpu, but the whole node has 4" in node.out


def test_a_weight_that_is_said_to_win_wins_and_one_less_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SMALL has the image, BIG has the room."""
    image = {"names": ["registry/app:1"], "sizeBytes": 900_000_000}
    nodes = [
        node_manifest("big", allocatable={"cpu": "32", "memory": "64Gi", "pods": "110"}),
        node_manifest(
            "small", allocatable={"cpu": "4", "memory": "8Gi", "pods": "110"}, status={"images": [image]}
        ),
    ]
    pod = pod_manifest("web", requests={"cpu": "1", "memory": "2Gi"})
    pod["spec"]["containers"][0]["image"] = "registry/app:1"
    file = write_manifests(tmp_path / "m.yaml", *nodes, pod)

    def ask(weight: int, *flags: str) -> Result:
        config = write_config(
            tmp_path / "c.yaml", scoring(("NodeResourcesFit", 10), ("ImageLocality", weight))
        )
        return call(capsys, "explain", "web", "--manifests", file, "--config", config, *flags)

    taking = ask(1, "--what-would-it-take", "small").out
    row = next(line.split() for line in taking.splitlines() if line.startswith("ImageLocality"))
    weight = int(row[2])
    assert ask(weight, "-o", "json").document["selected"] == "small"
    assert ask(weight - 1, "-o", "json").document["ties"] != ["small"]


def test_a_node_that_does_not_exist(capsys: pytest.CaptureFixture[str], cluster: Path) -> None:
    result = explain(capsys, cluster, "web", "--node", BIG.replace("101", "109"))
    assert result.code == 1
    assert f"no node ip-192-168-110-109{ENDING}; did you mean ip-192-168-110-10" in result.err


def test_the_beginning_of_a_name_that_a_table_shortened_is_the_node(
    capsys: pytest.CaptureFixture[str], cluster: Path
) -> None:
    short = BIG.removesuffix(ENDING)
    for flags in (["--node", short], ["--what-would-it-take", short], ["--compare", f"{short},{BIG}"]):
        whole = [flag.replace(short, BIG) if flag.endswith(short) else f"{BIG},{BIG}" for flag in flags[1:]]
        assert (
            explain(capsys, cluster, "web", *flags).out
            == explain(capsys, cluster, "web", flags[0], *whole).out
        )
    several = explain(capsys, cluster, "web", "--node", "ip-192-168-110-10")
    assert several.code == 1
    assert "no node ip-192-168-110-10: 3 names begin with it, ip-192-168-110-101" in several.err


def test_a_short_name_is_not_the_beginning_of_a_longer_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [node_manifest(f"ip-10-0-0-{number}{ENDING}") for number in (1, 10, 11)]
    cluster = write_manifests(tmp_path / "cluster.yaml", *nodes, *PODS)
    assert f"ip-10-0-0-1{ENDING}: " in explain(capsys, cluster, "web", "--node", "ip-10-0-0-1").out


@pytest.mark.parametrize("flags", [["--compare", "a"], ["--compare", "a,b,c"], ["--top", "0"], ["--by", "x"]])
def test_wrong_usage(flags: list[str], capsys: pytest.CaptureFixture[str], cluster: Path) -> None:
    assert explain(capsys, cluster, "web", *flags).code == 2


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["web", "-n", "prod"], 0),
        (["pod/web", "-n=prod"], 0),
        (["pods/web", "--namespace", "prod"], 0),
        (["prod/web"], 0),
        (["prod/web", "-n", "prod"], 0),
        (["prod/web", "-n", "other"], 1),
        (["pod/web"], 1),
        (["web"], 1),
    ],
    ids=str,
)
def test_how_a_pod_is_named(
    argv: list[str], code: int, capsys: pytest.CaptureFixture[str], cluster: Path
) -> None:
    result = call(capsys, "explain", *argv, "--manifests", cluster, "-o", "name")
    assert result.code == code, result.err
    assert result.out == (f"node/{BIG}\n" if not code else "")


def test_yaml_is_the_json(capsys: pytest.CaptureFixture[str], cluster: Path) -> None:
    argv = (capsys, cluster, "huge", "--node", SMALL)
    document: dict[str, Any] = explain(*argv, "-o", "json").document
    assert yaml.safe_load(explain(*argv, "-o", "yaml").out) == document
    assert list(document["nodes"]) == [SMALL]
    assert document["resources"]["cpu"]["requested"] == 64000


@pytest.mark.parametrize(
    ("resource", "value", "text"),
    [
        ("cpu", 15200, "15.2"),
        ("cpu", 64000, "64"),
        ("memory", 1536 * 2**20, "1.5Gi"),
        ("memory", 100, "100"),
        ("ephemeral-storage", 2**40, "1Ti"),
        ("hugepages-2Mi", 2**21, "2Mi"),
        ("example.com/gpu", 8, "8"),
        ("pods", 1, "1"),
    ],
)
def test_amounts(resource: str, value: int, text: str) -> None:
    assert amount(resource, value) == text


def test_an_answer_without_a_plugin_says_so_and_nothing_that_commits_goes_without_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cluster: Path
) -> None:
    profile = {"schedulerName": "default-scheduler", "plugins": {"filter": {"enabled": [{"name": "Quota"}]}}}
    config = write_config(tmp_path / "c.yaml", profile)
    assert explain(capsys, cluster, "web", "--config", config).code == 1
    answer = explain(capsys, cluster, "web", "--config", config, "--unknown-plugins=stub", "-o", "json")
    assert answer.document["warnings"] == ["not evaluated: Quota; they may reject or prefer nodes"]
    for command in ("serve", "scheduler"):
        assert "unrecognized" in call(capsys, command, "--unknown-plugins=stub").err


def test_a_watch_shows_each_answer_that_differs_until_it_is_interrupted(
    capsys: pytest.CaptureFixture[str], cluster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_big = [node for node in NODES if node["metadata"]["name"] != BIG]
    pauses, sleep = count(1), time.sleep

    def pause(seconds: float) -> None:
        if threading.current_thread() is not threading.main_thread():
            # Others in this process sleep, too.
            sleep(seconds)
            return
        match next(pauses):
            case 2:
                write_manifests(cluster, *without_big, *PODS)
            case 3:
                raise KeyboardInterrupt

    monkeypatch.setattr("mooring.cli.explain.time.sleep", pause)
    result = explain(capsys, cluster, "web", "--watch", "-o", "name")
    assert (result.out, result.code) == (f"node/{BIG}\nnode/{SMALL}\n", 130)
