"""Pods that wait for a gate or their group, whatever the nodes have, and pods among other pending ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.app import what_if
from mooring.framework import PodGroupInfo
from mooring.runtime.answers import GroupDecision
from mooring.runtime.engine import Engine
from mooring.testing.builders import node_manifest, pod_manifest
from mooring_client.v1.simulation_service_pb2 import SuggestChangesResponse
from tests.cli.commands import Ready, call, serving, write_manifests

IN_GROUP: dict[str, Any] = {"schedulingGroup": {"podGroupName": "train"}}
GATED: dict[str, Any] = {"schedulingGates": [{"name": "kueue.x-k8s.io/topology"}]}
CLUSTER: list[dict[str, Any]] = [
    node_manifest("n1", allocatable={"cpu": "4", "memory": "8Gi", "pods": "110"}),
    node_manifest("n2", allocatable={"cpu": "1", "memory": "8Gi", "pods": "110"}),
    {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    },
    pod_manifest("tas-0", requests={"cpu": "2"}, spec=GATED),
    pod_manifest("huge", requests={"cpu": "64"}, spec=GATED),
    *(pod_manifest(f"train-{at}", requests={"cpu": "3"}, spec=IN_GROUP) for at in range(2)),
    pod_manifest("alone", requests={"cpu": "1"}),
]
GATE = "waiting for scheduling gates: [kueue.x-k8s.io/topology]"
GATES = ("--feature-gates", "GenericWorkload=true")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_manifests(tmp_path_factory.mktemp("held") / "cluster.yaml", *CLUSTER)


@pytest.fixture(scope="module")
def server(cluster: Path) -> Iterator[Ready]:
    with serving("--source", f"files:{cluster}", *GATES) as started:
        yield started


@pytest.mark.parametrize(
    ("pod", "message", "otherwise"),
    [
        pytest.param("tas-0", GATE, "n1", id="gated-pod-node"),
        pytest.param("huge", GATE, None, id="gated, and it wouldn't fit either"),
        pytest.param(
            "train-0",
            "pod group default/train: minCount (2) cannot be satisfied: 1 scheduled, 0 remaining, "
            "pod group preemption: No preemption victims found for incoming preemptor",
            "n1",
            id="gang-explain",
        ),
    ],
)
def test_why_it_is_kept_back_and_what_would_be_but_for_that(
    pod: str,
    message: str,
    otherwise: str | None,
    cluster: Path,
    server: Ready,
    capsys: pytest.CaptureFixture[str],
) -> None:
    sources = (["--manifests", cluster, *GATES], ["--server", server.address("grpc")])
    offline, remote = (call(capsys, "explain", pod, *source, "-o", "json") for source in sources)
    assert (remote.code, remote.out) == (offline.code, offline.out)
    document = offline.document
    assert (document["selected"], document["status"]["message"], offline.code) == (None, message, 3)
    assert document["otherwise"]["selected"] == otherwise
    assert set(document["nodes"]) == {"n1", "n2"}


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        pytest.param([], "otherwise: selected: n1", id="whole"),
        pytest.param(["--node", "n1"], "n1: selected", id="node"),
        pytest.param(["--node", "n2"], "needs 2 cpu, but the whole node has 1", id="a node that rejects it"),
        pytest.param(["--what-would-it-take", "n1"], "n1 is selected already", id="what it takes"),
        pytest.param(["--what-would-it-take", "n2"], "request 1 cpu instead of 2", id="what else it takes"),
        pytest.param(["--compare", "n1,n2"], "n2: rejected: NodeResourcesFit: needs 2 cpu", id="compared"),
    ],
)
def test_a_gated_pod_is_asked_about_each_node(
    flags: list[str], said: str, cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The case gated-pod-node."""
    result = call(capsys, "explain", "tas-0", "--manifests", cluster, *flags)
    assert said in result.out
    assert f"unschedulable: {GATE}" in result.out
    assert result.code == 3


@pytest.mark.parametrize(
    ("pod", "said"),
    [pytest.param("tas-0", "it fits", id="fits"), pytest.param("huge", "2 Insufficient cpu", id="doesn't")],
)
def test_changes_are_looked_for_as_if_the_gates_were_gone(
    pod: str, said: str, cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = call(capsys, "what-if", "change", pod, "--manifests", cluster, "-o", "json").document
    assert document["message"].startswith(f"{GATE}; otherwise: ")
    assert said in document["message"]
    assert bool(document["options"]) is (pod == "huge")


def test_a_group_that_fits_keeps_no_pod_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = node_manifest("n3", allocatable={"cpu": "4", "memory": "8Gi", "pods": "110"})
    file = write_manifests(tmp_path / "m.yaml", *CLUSTER, more)
    document = call(capsys, "explain", "train-0", "--manifests", file, *GATES, "-o", "json").document
    assert (document["status"]["code"], document["otherwise"]) == ("Success", None)


def test_a_group_is_one_reason_for_all_of_its_pods_and_decided_once(
    cluster: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    decided: list[str] = []
    decide = Engine.decide_group

    def noted(self: Engine, group: PodGroupInfo, *args: Any, **fields: Any) -> GroupDecision:
        decided.append(group.group.metadata.name)
        return decide(self, group, *args, **fields)

    monkeypatch.setattr(Engine, "decide_group", noted)
    # Advice tries the group with changes.
    monkeypatch.setattr(what_if, "advising", lambda *_: lambda *_: SuggestChangesResponse())
    selection = ("--manifests", cluster, *GATES, "-o", "json")
    groups = call(capsys, "why-pending", *selection).document
    [train] = [each for each in groups if any("train" in name for name in each["examples"])]
    assert (train["plugin"], train["pods"]) == ("GangScheduling", 2)
    assert train["reason"].startswith("pod group default/train: minCount (2) cannot be satisfied")
    assert decided == ["train"]


def test_other_pending_pods_are_told_of(
    cluster: Path, server: Ready, capsys: pytest.CaptureFixture[str]
) -> None:
    """The answer names other pending pods: the case ``explain-beside-schedule``."""
    for source in (["--manifests", cluster], ["--server", server.address("grpc")]):
        out = call(capsys, "explain", "alone", *source).out
        assert "4 other pending pods are not placed here; mooring schedule places all" in out
        document = call(capsys, "explain", "alone", *source, "-o", "json").document
        assert document["otherPending"] == 4
