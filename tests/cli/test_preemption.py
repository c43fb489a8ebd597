"""Answers of the commands about a pod that fits no node and for which other pods would be preempted."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.testing.builders import node_manifest, pod_manifest
from tests.cli.commands import Ready, call, serving, write_manifests
from tests.fake_api_server import FakeApiServer

OWNED = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "batch", "uid": "1", "controller": True}]
SINCE = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}
SIMPLE: list[dict[str, Any]] = [
    node_manifest("n1", allocatable={"cpu": "2", "memory": "4Gi", "pods": "110"}),
    pod_manifest(
        "batch", node="n1", requests={"cpu": "2"}, metadata={"ownerReferences": OWNED}, spec={"priority": 0}
    ),
    pod_manifest("important", requests={"cpu": "1"}, spec={"priority": 1000}),
]
SIMPLE_SENTENCE = (
    "0/1 nodes are available: 1 Insufficient cpu. "
    "preemption: found a potential placement for pod on node n1, preempting 1 victims"
)


def placed(name: str, node: str, priority: int) -> dict[str, Any]:
    labels = {"app": name}
    return pod_manifest(name, node=node, labels=labels, spec={"priority": priority}, status=SINCE)


def guarded(name: str) -> dict[str, Any]:
    """Return a budget that allows no disruption of the pods called so."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": name}}},
        "status": {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1},
    }


VICTIMS: list[dict[str, Any]] = [
    node_manifest("worker", allocatable={"pods": "2"}),
    node_manifest("worker2", allocatable={"pods": "1"}),
    placed("high", "worker", 1000),
    placed("low", "worker", 0),
    placed("mid", "worker2", 100),
    guarded("low"),
    guarded("mid"),
    pod_manifest("very-high", spec={"priority": 10000}),
]
VICTIMS_SENTENCE = (
    "0/2 nodes are available: 2 Too many pods. "
    "preemption: found a potential placement for pod on node worker, preempting 1 victims"
)


def candidate(node: str, pod: str, priority: int, violations: int) -> dict[str, Any]:
    victims = [{"pod": f"default/{pod}", "priority": priority}]
    budgets = [f"default/{pod}"] * violations
    return {"node": node, "victims": victims, "violations": violations, "budgets": budgets}


BOTH = [candidate("worker", "high", 1000, 0), candidate("worker2", "mid", 100, 1)]
CASES = [
    pytest.param("important", SIMPLE_SENTENCE, [candidate("n1", "batch", 0, 0)], id="preemption-simple"),
    pytest.param("very-high", VICTIMS_SENTENCE, BOTH, id="preemption-victims"),
]
OBJECTS = {"important": SIMPLE, "very-high": VICTIMS}


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("preemption")
    return {pod: write_manifests(folder / f"{pod}.yaml", *objects) for pod, objects in OBJECTS.items()}


@pytest.fixture(scope="module")
def servers(clusters: dict[str, Path]) -> Iterator[dict[str, Ready]]:
    first, second = clusters
    with (
        serving("--source", f"files:{clusters[first]}") as one,
        serving("--source", f"files:{clusters[second]}") as other,
    ):
        yield {first: one, second: other}


@pytest.mark.parametrize(("pod", "sentence", "candidates"), CASES)
@pytest.mark.parametrize("command", ["explain", "change"])
def test_files_a_live_cluster_and_a_server_name_node_victims_and_violations(
    command: str,
    pod: str,
    sentence: str,
    candidates: list[dict[str, Any]],
    clusters: dict[str, Path],
    servers: dict[str, Ready],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("what-if", "change") if command == "change" else (command,)
    with FakeApiServer() as fake:
        fake.add(*copy.deepcopy(OBJECTS[pod]))
        sources = (
            ["--manifests", clusters[pod]],
            ["--server", servers[pod].address("grpc")],
            ["--kubeconfig", fake.kubeconfig(tmp_path / "kubeconfig")],
        )
        offline, remote, live = (call(capsys, *words, pod, *source, "-o", "json") for source in sources)
    assert remote == offline
    assert (live.document, live.code) == (offline.document, offline.code)
    document = offline.document
    assert document["preemption"] == {"node": candidates[0]["node"], "candidates": candidates}
    if command == "explain":
        assert (document["status"]["message"], offline.code) == (sentence, 4)
    else:
        assert document["message"] == sentence


@pytest.mark.parametrize(("pod", "sentence", "candidates"), CASES)
def test_tables_say_it_in_eighty_columns(
    pod: str,
    sentence: str,
    candidates: list[dict[str, Any]],
    clusters: dict[str, Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    for command in (("explain", pod), ("why-pending", pod), ("what-if", "change", pod)):
        result = call(capsys, *command, "--manifests", clusters[pod], columns=80)
        said = " ".join(result.out.split())
        assert sentence in said
        for at, each in enumerate(candidates):
            victim = each["victims"][0]
            row = f"{each['node']} {victim['pod']} (priority {victim['priority']}) {each['violations']}"
            assert f"→ {row}" in said if not at else row in said
        assert max(map(len, result.out.splitlines())) <= 80
        assert result.code == (0 if command[0] == "what-if" else 4)


def test_a_candidate_that_is_not_taken_is_told_of_too(
    clusters: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    out = call(capsys, "explain", "very-high", "--manifests", clusters["very-high"], "--node", "worker2").out
    victims = "default/mid (priority 100) would go, budget violation: 1 (default/mid)"
    assert f"room could be made on worker2: {victims}" in out


@pytest.mark.parametrize(
    ("pods", "code"),
    [
        pytest.param([], 4, id="others go"),
        pytest.param([pod_manifest("huge", requests={"cpu": "100"})], 3, id="and one has no room anywhere"),
    ],
)
def test_how_many_run_after_preemption(
    pods: list[dict[str, Any]], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_manifests(tmp_path / "m.yaml", *SIMPLE, *pods)
    for command in ("why-pending", "explain"):
        everything = ("-A",) if command == "explain" else ()
        assert call(capsys, command, *everything, "--manifests", file).code == code
    groups = call(capsys, "why-pending", "--manifests", file, "-o", "json").document
    assert sorted((group["pods"], group["nominated"]) for group in groups) == [(1 + len(pods), 1)], (
        "pods with one reason are one group"
    )
    assert "(n1)" in call(capsys, "explain", "-A", "--manifests", file).out


def test_releases_that_announce_nothing_still_name_the_victims(
    clusters: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ("--manifests", clusters["important"], "--kube-version", "1.36", "-o", "json")
    document = call(capsys, "explain", "important", *flags).document
    assert document["status"]["message"] == "0/1 nodes are available: 1 Insufficient cpu."
    assert document["preemption"]["node"] == "n1"
