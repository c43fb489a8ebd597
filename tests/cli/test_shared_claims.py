"""Claims that pods share: what one of them got offline is there for the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mooring.testing.builders import node_manifest, pod_manifest
from tests.cli.commands import call, write_manifests
from tests.plugins.test_dynamic_resources import asking, claim, device_class, slice_of

FABRIC = slice_of("fabric", {"name": "channel"}, allNodes=True, driver="fabric.example.com")
ONLY_FABRIC = device_class("fabric")
ONLY_FABRIC["spec"]["selectors"] = [{"cel": {"expression": "device.driver == 'fabric.example.com'"}}]
OWN_DRIVER = [{"cel": {"expression": "device.driver != 'fabric.example.com'"}}]


def claiming(name: str, *claims: str, **spec: Any) -> dict[str, Any]:
    entries = [{"name": each, "resourceClaimName": each} for each in claims]
    return pod_manifest(name, requests={"cpu": "3"}, spec={"resourceClaims": entries, **spec})


def devices(*names: str) -> list[dict[str, Any]]:
    """Return a class, and for each name a node with one device."""
    nodes = [node_manifest(name, allocatable={"cpu": "4", "memory": "8Gi", "pods": "110"}) for name in names]
    gpus = device_class()
    gpus["spec"]["selectors"] = OWN_DRIVER
    return [gpus, *(slice_of(name, {"name": "d"}) for name in names), *nodes]


def in_cluster(tmp_path: Path, *objects: dict[str, Any]) -> Path:
    return write_manifests(tmp_path / "cluster.yaml", ONLY_FABRIC, FABRIC, *objects)


SHARED = claim("shared", {"exactly": asking(deviceClassName="fabric")})
TWO = [
    SHARED,
    *(claim(f"own-{at}") for at in range(2)),
    *(claiming(f"p{at}", "shared", f"own-{at}") for at in range(2)),
]


def test_pods_that_share_a_claim_each_get_a_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The case shared-device-claim."""
    result = call(
        capsys, "schedule", "--manifests", in_cluster(tmp_path, *devices("a", "b", "c"), *TWO), "-o", "json"
    )
    assert result.code == 0
    assert len({row["node"] for row in result.document}) == 2


def test_new_nodes_take_them_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a session nothing is written either."""
    file = in_cluster(tmp_path, *devices("a", "b"), *TWO)
    group = write_manifests(tmp_path / "group.yaml", node_manifest("more"))
    found = call(
        capsys, "what-if", "node-groups", "--manifests", file, "--group", group, "-o", "json"
    ).document
    assert (found["placed"], found["unplaced"]) == (2, [])


TRAIN = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "train", "namespace": "default"},
    "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
}


@pytest.mark.parametrize(
    ("gates", "messages"),
    [
        pytest.param(
            [],
            ["", "0/2 nodes are available: 1 Insufficient cpu, 1 resourceclaim not available on the node."],
            id="pod by pod",
        ),
        pytest.param(
            ["--feature-gates", "GenericWorkload=true"],
            [
                (
                    "pod group is unschedulable, minCount (2) cannot be satisfied: 1 scheduled, 0 remaining, "
                    "pod group preemption: No preemption victims found for incoming preemptor"
                ),
                "0/2 nodes are available: 1 Insufficient cpu, 1 resourceclaim not available on the node.",
            ],
            id="as a group",
        ),
    ],
)
def test_a_table_cuts_no_sentence_and_a_claim_in_use_is_not_to_be_deallocated(
    gates: list[str], messages: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The case cut-reason."""
    group = {"schedulingGroup": {"podGroupName": "train"}}
    pods = [claiming(f"pod{at}", "first", **group) for at in range(2)]
    worker = node_manifest("b", allocatable={"cpu": "4", "memory": "8Gi", "pods": "110"})
    file = in_cluster(tmp_path, *devices("a"), worker, claim("first"), TRAIN, *pods)
    lines = call(capsys, "schedule", "--manifests", file, *gates).out.splitlines()
    assert [" ".join(line.split()[2:]) for line in lines[1:3]] == messages
    rows = call(capsys, "schedule", "--manifests", file, *gates, "-o", "json").document
    assert all(row["message"].startswith(said) for row, said in zip(rows, messages, strict=True))
    assert not any("could be deallocated" in row["message"] for row in rows)
