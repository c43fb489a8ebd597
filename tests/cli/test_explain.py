"""`mooring explain`: one document from manifests and server, tables that fit, the log of every score."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.cli import with_plugin
from mooring.framework import CycleState, FilterPlugin, NodeInfo, Pod, ScorePlugin, Status
from mooring.sessions.change import time_limit
from mooring.testing import explain
from mooring.testing.builders import node_manifest, pod_manifest
from tests.cli.commands import (
    BIN,
    Ready,
    call,
    environment,
    scoring,
    serving,
    write_config,
    write_manifests,
)

PREFERENCE = {
    "matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["k8s-0001"]}]
}
PREFERS_FIRST = {
    "affinity": {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": PREFERENCE}]
        }
    }
}
NODES = [
    node_manifest("k8s-0001"),
    node_manifest("k8s-0002", labels={"disk": "ssd"}),
    node_manifest("k8s-0003", taints=[{"key": "gpu", "effect": "NoSchedule"}]),
]
PENDING = {
    "test": pod_manifest("test", requests={"cpu": "1"}, spec=PREFERS_FIRST),
    "huge": pod_manifest("huge", requests={"cpu": "100"}),
    "ssd": pod_manifest("ssd", spec={"nodeSelector": {"disk": "ssd"}}),
    "free": pod_manifest("free"),
    "gated": pod_manifest("gated", spec={"schedulingGates": [{"name": "quota"}]}),
    "spread": pod_manifest(
        "spread",
        spec={
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
            ]
        },
    ),
}
CLUSTER = [*NODES, pod_manifest("nginx", node="k8s-0002", requests={"cpu": "1"}), *PENDING.values()]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_manifests(tmp_path_factory.mktemp("cluster") / "cluster.yaml", *CLUSTER)


@pytest.fixture(scope="module")
def server(cluster: Path) -> Iterator[Ready]:
    socket = f"unix:{cluster.parent}/mooring.sock"
    with serving("--source", f"files:{cluster}", "--listen", socket) as started:
        yield started


@pytest.mark.parametrize("pod", [*PENDING, "nginx"])
@pytest.mark.parametrize(
    "flags",
    [
        pytest.param([], id="plain"),
        pytest.param(["--all-rejections", "--always-score", "--seed", "7"], id="everything"),
    ],
)
def test_a_server_says_what_the_manifests_say(
    pod: str, flags: list[str], cluster: Path, server: Ready, capsys: pytest.CaptureFixture[str]
) -> None:
    offline = call(capsys, "explain", pod, "--manifests", cluster, "-o", "json", *flags)
    remote = call(capsys, "explain", pod, "--server", server.address("grpc"), "-o", "json", *flags)
    assert remote.document == offline.document
    assert remote.code == offline.code == (0 if offline.document["selected"] else 3)


def test_a_pod_that_the_server_does_not_know(server: Ready, capsys: pytest.CaptureFixture[str]) -> None:
    result = call(capsys, "explain", "ns/none", "--server", server.address("grpc"))
    assert result.code == 1
    assert "no pod ns/none is known; pending there: default/test, " in result.err


def test_a_pod_that_runs_already_is_asked_about_as_if_it_did_not(
    cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    full = {"cpu": "1"}
    manifests = [node_manifest(name, allocatable=full) for name in ("a", "b")]
    file = write_manifests(
        cluster.parent / "full.yaml", *manifests, pod_manifest("on-a", node="a", requests=full)
    )
    document = call(capsys, "explain", "on-a", "--manifests", file, "-o", "json").document
    assert (document["feasible"], sorted(document["ties"])) == (2, ["a", "b"])


@pytest.mark.parametrize(
    ("node", "taken", "said"),
    [
        pytest.param("small", {}, "runs on small; today another node is better (", id="better elsewhere"),
        pytest.param("large", {}, "runs on large, where it would go today", id="agrees"),
        pytest.param("gone", {}, "runs on gone, which no longer exists", id="node is gone"),
        pytest.param(
            "small",
            {"cpu": "1"},
            "runs on small, which would reject it today: Insufficient cpu",
            id="full today",
        ),
    ],
)
def test_where_a_pod_runs_is_said_before_where_it_would_go(
    node: str, taken: dict[str, str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_manifests(
        tmp_path / "cluster.yaml",
        node_manifest("small", allocatable={"cpu": "2", "memory": "4Gi"}),
        node_manifest("large", allocatable={"cpu": "8", "memory": "16Gi"}),
        pod_manifest("web", node=node, requests={"cpu": "1500m"}),
        pod_manifest("other", node="small", requests=taken),
    )
    assert said in call(capsys, "explain", "web", "--manifests", file).out


@pytest.mark.parametrize("question", [("explain", "big"), ("why-pending",)], ids=lambda question: question[0])
def test_it_is_said_that_there_was_no_time_for_advice(
    question: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time_limit, "FACTOR", 0.0)
    big = pod_manifest("big", requests={"cpu": "99"})
    file = write_manifests(tmp_path / "cluster.yaml", node_manifest("a"), big)
    said = call(capsys, *question, "--manifests", file, columns=200).out
    assert "there was no time to find what would make it fit" in said


def test_advice_about_pods_without_an_owner_names_its_pod(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taint = {"key": "example.com/gpu", "effect": "NoSchedule"}
    tainted = node_manifest("b", taints=[taint], allocatable={"cpu": "4", "example.com/gpu": "1"})
    file = write_manifests(
        tmp_path / "cluster.yaml",
        node_manifest("a", allocatable={"cpu": "4"}),
        tainted,
        pod_manifest("big", requests={"cpu": "64"}),
        pod_manifest("gpu", requests={"example.com/gpu": "1"}),
    )
    lines = call(capsys, "why-pending", "--manifests", file, columns=200).out.splitlines()
    assert lines[0] == "1 pod would fit with this: request 4 cpu instead of 64 (a)"
    assert "-> for default/big: request 4 cpu" in lines[2]


def test_since_when_a_pod_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    started = {"startTime": "2026-01-02T03:04:05Z"}
    file = write_manifests(
        tmp_path / "cluster.yaml", node_manifest("a"), pod_manifest("web", node="a", status=started)
    )
    assert "runs on a since 2026-01-02T03:04:05Z," in call(capsys, "explain", "web", "--manifests", file).out


@pytest.mark.parametrize("pod", PENDING)
def test_the_document_is_the_public_one(pod: str, cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = [item for item in CLUSTER if item["metadata"]["name"] != pod]
    result = call(capsys, "explain", pod, "--manifests", cluster, "-o", "json")
    advice = {key: result.document[key] for key in ("advice", "nothingHelps", "adviceUnfinished")}
    assert result.document == {**explain(given, PENDING[pod]), **advice}


def test_a_weight_decides_and_its_score_is_in_log_document_and_table(
    tmp_path: Path, cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path / "c.yaml", scoring(("NodeAffinity", 100), ("ImageLocality", 1)))
    argv = ("explain", "default/test", "--manifests", cluster, "--config", config)
    result = call(capsys, *argv, "-o", "json", "-v=10")
    assert result.document["selected"] == "k8s-0001"
    score = result.document["nodes"]["k8s-0001"]["scores"]["NodeAffinity"]
    assert score == {"raw": 1, "normalized": 100, "weight": 100, "weighted": 10000}
    lines = re.findall(r'plugin="(\w+)" node="([\w-]+)" .* weight=(\d+) weighted=(\d+)', result.err)
    assert sorted(lines) == [
        ("ImageLocality", "k8s-0001", "1", "0"),
        ("ImageLocality", "k8s-0002", "1", "0"),
        ("NodeAffinity", "k8s-0001", "100", "10000"),
        ("NodeAffinity", "k8s-0002", "100", "0"),
    ]
    table = call(capsys, *argv)
    assert "1 → 100 × 100 = 10000" in table.out
    assert "weighted=" not in table.err


class Picky(FilterPlugin[None]):
    name = "Picky"
    reason = "node(s) were [not] what /this pod/ wanted"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return Status.unschedulable(self.reason)


def scorer(number: int) -> type[ScorePlugin[None]]:
    class Scorer(ScorePlugin[None]):
        name = f"PreferNodesWithManyWords{number}"

        def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
            return number

    return Scorer


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("count", [1, 5, 12])
def test_the_table_fits_the_terminal(
    columns: int,
    count: int,
    tmp_path: Path,
    cluster: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plugins = [scorer(number) for number in range(count)]
    config = write_config(tmp_path / "c.yaml", scoring(*((plugin.name, 100) for plugin in plugins)))
    options = [with_plugin(plugin.name, plugin) for plugin in plugins]
    argv = ("explain", "test", "--manifests", cluster, "--config", config)
    result = call(capsys, *argv, options=options, columns=columns)
    assert max(map(len, result.out.splitlines())) <= columns
    assert "selected: k8s-000" in result.out
    assert re.search(r"^1 +TaintToleration: taint", result.out, re.MULTILINE)


def test_reasons_are_shown_as_they_are(
    tmp_path: Path, cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = {"schedulerName": "default-scheduler", "plugins": {"filter": {"enabled": [{"name": "Picky"}]}}}
    config = write_config(tmp_path / "c.yaml", profile)
    argv = ("explain", "free", "--manifests", cluster, "--config", config)
    result = call(capsys, *argv, options=[with_plugin("Picky", Picky)])
    assert result.code == 3
    assert f"2 Picky: {Picky.reason} k8s-0001 k8s-0002" in " ".join(result.out.split())
    by_node = call(capsys, *argv, "--by", "node", options=[with_plugin("Picky", Picky)])
    assert f"k8s-0001  Picky: {Picky.reason}" in by_node.out
    assert "\nunschedulable: 0/3 nodes are available: " in result.out


def test_long_lists_are_cut_unless_all_are_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [node_manifest(f"n{number:02}") for number in range(30)]
    cordoned = [node_manifest(f"c{number:02}", spec={"unschedulable": True}) for number in range(25)]
    file = write_manifests(tmp_path / "m.yaml", *nodes, *cordoned, pod_manifest("web"))
    short = call(capsys, "explain", "web", "--manifests", file, "--by", "node").out
    assert "... and 10 more feasible nodes; --all shows them" in short
    assert "... and 5 more rejected nodes; --all shows them" in short
    full = call(capsys, "explain", "web", "--manifests", file, "--all", "--by=node").out
    assert "and 27 more feasible" in call(capsys, "explain", "web", "--manifests", file, "--top", "3").out
    assert [name for name in (f"n{number:02}" for number in range(30)) if name not in full] == []
    assert "more" not in full


def test_no_node_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = call(
        capsys, "explain", "web", "--manifests", write_manifests(tmp_path / "m", pod_manifest("web"))
    )
    assert result.code == 3
    assert "unschedulable: " in result.out


def on_a_terminal(*command: Any, changes: dict[str, str]) -> str:
    reader, writer = pty.openpty()
    subprocess.run(command, stdout=writer, check=True, env=environment({"TERM": "xterm"} | changes))
    os.close(writer)
    return os.read(reader, 65536).decode()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "coloured"),
    [pytest.param({}, True, id="plain"), pytest.param({"NO_COLOR": "1"}, False, id="NO_COLOR")],
)
def test_colour_is_for_terminals(changes: dict[str, str], coloured: bool, cluster: Path) -> None:
    shown = on_a_terminal(BIN / "mooring", "explain", "test", "--manifests", cluster, changes=changes)
    assert ("\x1b[1;32m→ k8s-0001" in shown) is coloured


def test_no_colour_in_a_pipe(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "\x1b" not in call(capsys, "explain", "test", "--manifests", cluster).out
