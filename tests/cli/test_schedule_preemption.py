"""`mooring schedule` preempts as a cluster would: victims, recreated pods, and their order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mooring.testing.builders import node_manifest, pod_manifest
from tests.cli.commands import call, write_manifests
from tests.cli.test_shared_claims import devices
from tests.plugins.test_dynamic_resources import allocation, claim

OWNED = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "1", "controller": True}]


def node(name: str, cpu: str) -> dict[str, Any]:
    return node_manifest(name, allocatable={"cpu": cpu, "memory": "8Gi", "pods": "110"})


def pod(
    name: str, cpu: str, priority: int = 0, on: str = "", *, owned: bool = False, **spec: Any
) -> dict[str, Any]:
    metadata = {"ownerReferences": OWNED} if owned else {}
    fields: dict[str, Any] = {"node": on} if on else {}
    return pod_manifest(
        name, requests={"cpu": cpu}, metadata=metadata, spec={"priority": priority, **spec}, **fields
    )


def group(name: str, least: int) -> dict[str, Any]:
    policy = {"schedulingPolicy": {"gang": {"minCount": least}}, "priority": 9}
    api = "scheduling.k8s.io/v1beta1"
    return {
        "apiVersion": api,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": policy,
    }


IN_GROUP: dict[str, Any] = {"schedulingGroup": {"podGroupName": "train"}}


@pytest.mark.parametrize(
    ("objects", "nodes", "code"),
    [
        pytest.param(
            [node("n1", "2"), pod("batch", "2", on="n1"), pod("important", "1", 1000)],
            {"important": "n1", "batch": None},
            4,
            id="preemption-simple",
        ),
        pytest.param(
            [
                node("n1", "2"),
                node("n2", "1"),
                pod("batch", "1", on="n1", owned=True),
                pod("important", "2", 9),
            ],
            {"important": "n1", "batch": "n2"},
            4,
            id="a controller makes the victim anew, and it goes elsewhere",
        ),
        pytest.param(
            [node("n1", "2"), pod("batch", "2", on="n1"), pod("important", "2", 9), pod("later", "1", 5)],
            {"important": "n1", "later": None, "batch": None},
            3,
            id="room is kept from less important pods",
        ),
        pytest.param(
            [node("n1", "2"), pod("batch", "2", on="n1"), pod("important", "1", 9), pod("later", "1")],
            {"important": "n1", "later": "n1", "batch": None},
            4,
            id="what else is free then is there for others",
        ),
        pytest.param(
            [
                *(node("n1", "2"), node("n2", "1"), node("n3", "1")),
                *(pod("low", "1", on="n2", owned=True), pod("mid", "1", 5, on="n1", owned=True)),
                pod("high", "2", 9),
            ],
            {"high": "n1", "mid": "n3"},
            4,
            id="what comes anew preempts nobody where there is room",
        ),
        pytest.param(
            [
                *(node("n1", "2"), node("n2", "1")),
                *(pod("low", "1", on="n2"), pod("mid", "1", 5, on="n1", owned=True), pod("high", "2", 9)),
            ],
            {"high": "n1", "mid": "n2", "low": None},
            4,
            id="and preempts in its turn where there is none",
        ),
        pytest.param(
            [node("n1", "2"), pod("batch", "2", on="n1"), pod("important", "1", 9, preemptionPolicy="Never")],
            {"important": None},
            3,
            id="never",
        ),
        pytest.param(
            [
                *(node("n1", "2"), pod("batch", "2", on="n1"), group("train", 2)),
                *(pod("train-0", "1", 9, **IN_GROUP), pod("train-1", "1", 9, **IN_GROUP)),
            ],
            {"train-0": "n1", "train-1": "n1", "batch": None},
            4,
            id="a group",
        ),
    ],
)
def test_pods_go_for_more_important_ones(
    objects: list[dict[str, Any]],
    nodes: dict[str, str | None],
    code: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = write_manifests(tmp_path / "m.yaml", *objects)
    gates = (
        ("--feature-gates", "GenericWorkload=true")
        if any(one["kind"] == "PodGroup" for one in objects)
        else ()
    )
    result = call(capsys, "schedule", "--manifests", file, *gates, "-o", "json")
    found = {row["pod"].removeprefix("default/"): row["node"] for row in result.document}
    assert (found, result.code) == (nodes, code)


def test_rows_say_who_went_for_whom(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    objects = [
        node("n1", "2"),
        node("n2", "1"),
        pod("batch", "1", on="n1", owned=True),
        pod("important", "2", 9),
    ]
    file = write_manifests(tmp_path / "m.yaml", *objects)
    rows = call(capsys, "schedule", "--manifests", file, "-o", "json").document
    assert [(row["preempts"], row["preemptedBy"]) for row in rows] == [
        (["default/batch"], None),
        ([], "pod default/important"),
    ]
    out = call(capsys, "schedule", "--manifests", file).out
    assert "preempts default/batch" in out
    assert "preempted by pod default/important, and recreated" in out
    assert out.splitlines()[-1] == "1 of 1 pending pods placed, 1 preempted"


def test_a_victim_uses_up_its_disruption_budget(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second preemptor would violate the budget by taking the other pod of priority 0."""
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2},
    }
    guarded = [
        pod_manifest(f"web-{at}", labels={"app": "web"}, requests={"cpu": "1"}, node=f"n{at}")
        for at in (1, 2)
    ]
    nodes = [node(f"n{at}", "1") for at in (1, 2, 3)]
    important = [pod(f"important-{at}", "1", 9) for at in range(2)]
    file = write_manifests(
        tmp_path / "m.yaml", *nodes, budget, *guarded, pod("other", "1", 1, on="n3"), *important
    )
    rows = call(capsys, "schedule", "--manifests", file, "-o", "json").document
    first, second = (row["preempts"] for row in rows[:2])
    assert first in (["default/web-1"], ["default/web-2"])
    assert second == ["default/other"]


@pytest.mark.parametrize("users", [1, 2], ids=["its only user goes", "another pod uses them, too"])
def test_devices_of_victims(users: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    using = [
        {"resource": "pods", "name": name, "uid": f"pod/default/{name}"}
        for name in ("batch", "other")[:users]
    ]
    held = claim("held", status={"allocation": allocation("d", node="a"), "reservedFor": using})
    batch = pod("batch", "3", on="a", resourceClaims=[{"name": "held", "resourceClaimName": "held"}])
    wanting = pod("wanting", "1", resourceClaims=[{"name": "free", "resourceClaimName": "free"}])
    objects = [*devices("a"), held, claim("free"), batch, pod("important", "3", 9), wanting]
    file = write_manifests(tmp_path / "m.yaml", *objects)
    rows = call(capsys, "schedule", "--manifests", file, "-o", "json").document
    assert [row["node"] for row in rows] == ["a", "a" if users == 1 else None, None]


TRAIN = [group("train", 2), pod("train-0", "1", 9, **IN_GROUP), pod("train-1", "1", 9, **IN_GROUP)]


def test_a_group_that_would_have_room_is_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_manifests(tmp_path / "m.yaml", node("n1", "2"), pod("batch", "2", on="n1"), *TRAIN)
    flags = ("--feature-gates", "GenericWorkload=true", "--no-preemption", "-o", "json")
    result = call(capsys, "schedule", "--manifests", file, *flags)
    assert ([row["roomOn"] for row in result.document], result.code) == (["n1", "n1"], 4)
    for words in (("explain", "train-0"), ("what-if", "change", "podgroup/train", "--kind", "label")):
        result = call(capsys, *words, "--manifests", file, *flags[:2], "-o", "json")
        (candidate,) = result.document["preemption"]["candidates"]
        victims = [each["pod"] for each in candidate["victims"]]
        assert (candidate["node"], victims, result.code) == ("n1", ["default/batch"], 4)


@pytest.mark.parametrize(
    ("more", "code"),
    [
        pytest.param([], 4, id="it would help"),
        pytest.param([pod("huge", "64", 1)], 3, id="and one pod has no room anywhere"),
    ],
)
def test_no_pod_goes_where_that_is_asked_for(
    more: list[dict[str, Any]], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = [node("n1", "2"), pod("batch", "2", on="n1"), pod("important", "1", 1000), *more]
    file = write_manifests(tmp_path / "m.yaml", *objects)
    result = call(capsys, "schedule", "--manifests", file, "--no-preemption", "-o", "json")
    first = result.document[0]
    assert (first["node"], first["roomOn"], result.code) == (None, "n1", code)
    assert first["message"].endswith("found a potential placement for pod on node n1, preempting 1 victims")
    assert [row["pod"] for row in result.document if row["preemptedBy"]] == []
