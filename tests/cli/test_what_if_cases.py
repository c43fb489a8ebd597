"""Answers of `mooring what-if` about clusters from public reports, as a cluster would give them.

Each test is called like its case. The answers are the same of manifests and of a server that has them, and
of a live cluster that has the pods.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mooring.testing.builders import node_manifest, pod_manifest
from tests.cli.commands import call, serving, write_manifests
from tests.fake_api_server import FakeApiServer

Asked = Any
"""Asks a question of a cluster's objects in every way, and returns the one answer, as `-o json` has it."""


@pytest.fixture
def asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Asked:
    def ask(question: str, objects: Sequence[Mapping[str, Any]], *words: object) -> Any:
        files = write_manifests(tmp_path / "cluster.yaml", *objects)
        offline = call(capsys, "what-if", question, *words, "--manifests", files, "-o", "json")
        assert offline.code == 0, offline.err
        with serving("--source", f"files:{files}") as server:
            remote = call(
                capsys, "what-if", question, *words, "--server", server.address("grpc"), "-o", "json"
            )
        assert remote.document == offline.document
        # The nodes that pods get depend on their UIDs, and workloads in a live cluster have no controller
        # here.
        if question != "removal" and {each["kind"] for each in objects} <= {"Node", "Pod"}:
            with FakeApiServer() as fake:
                # They come in the order of the file, a second after one another.
                for second, item in enumerate(copy.deepcopy(objects)):
                    item["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:{second:02}Z"
                    fake.add(item)
                kubeconfig = fake.kubeconfig(tmp_path / "kubeconfig")
                live = call(capsys, "what-if", question, *words, "--kubeconfig", kubeconfig, "-o", "json")
            assert live.document == offline.document
        return offline.document

    return ask


def controlled(by: str) -> dict[str, Any]:
    return {"ownerReferences": [{"kind": "ReplicaSet", "name": by, "uid": by, "controller": True}]}


def workload(
    kind: str, name: str, requests: Mapping[str, Any], replicas: int = 1, **spec: Any
) -> dict[str, Any]:
    labels = {"app": name}
    container = {"name": "c", "image": "registry.example/app", "resources": {"requests": dict(requests)}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container], **spec}}
    counted = {} if kind == "DaemonSet" else {"replicas": replicas}
    return {
        "apiVersion": "v1" if kind == "ReplicationController" else "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            **counted,
            "selector": labels if kind == "ReplicationController" else {"matchLabels": labels},
            "template": template,
        },
    }


FOUR = [
    node_manifest(f"kube-node-{at}", allocatable={"cpu": "2", "memory": "32Gi", "pods": "110"})
    for at in range(1, 5)
]
FRONT = workload("ReplicationController", "front", {"cpu": "150m", "memory": "100Mi"}, 6)


def test_workloads_not_counted(asked: Asked, tmp_path: Path) -> None:
    small = pod_manifest("small-pod", requests={"cpu": "150m", "memory": "100Mi"})
    shape = write_manifests(tmp_path / "shape.yaml", small)
    (found,) = asked("capacity", [*FOUR, FRONT], "--shape", shape)
    assert (found["count"], found["placedFirst"], found["stillPending"]) == (46, 6, 0)
    (empty,) = asked("capacity", [*FOUR, FRONT], "--shape", shape, "--ignore-pending")
    assert (empty["count"], empty["placedFirst"]) == (52, 0)
    gone = asked("removal", [*FOUR, FRONT], "--cumulative")
    assert [each["removable"] for each in gone] == [True, True, True, False]
    assert gone[-1]["landings"][0]["message"].startswith("it is pending, and no room is left for it: ")


@pytest.mark.parametrize(
    ("priorities", "placed"),
    [
        pytest.param((0, 0), "first", id="the first in the file"),
        pytest.param((0, 7), "second", id="the more important one"),
    ],
)
def test_pending_pods_come_in_the_order_of_the_queue(
    priorities: tuple[int, int], placed: str, asked: Asked, tmp_path: Path
) -> None:
    pods = [
        pod_manifest(name, requests={"cpu": "1500m"}, spec={"priority": priority})
        for name, priority in zip(("first", "second"), priorities, strict=True)
    ]
    shape = write_manifests(tmp_path / "shape.yaml", pod_manifest("shape", requests={"cpu": "100m"}))
    files = [FOUR[0], *pods]
    (found,) = asked("capacity", files, "--shape", shape)
    assert (found["count"], found["placedFirst"], found["stillPending"]) == (5, 1, 1)
    answer = asked("node-groups", files, "--group", write_manifests(tmp_path / "group.yaml", *FOUR[:1]))
    assert [each["pod"] for each in answer["unplaced"]] == [
        f"default/{name}" for name in ("first", "second") if name != placed
    ]


def pending_beside(priority: int, *, owned: bool, **spec: Any) -> list[dict[str, Any]]:
    """Return a node of 2 cpu that a pod fills, and a pod of a priority that waits for one of them."""
    batch = pod_manifest(
        "batch", requests={"cpu": "2"}, node="n1", metadata=controlled("rs") if owned else {}
    )
    waiting = pod_manifest("important", requests={"cpu": "1"}, spec={"priority": priority, **spec})
    return [node_manifest("n1", allocatable={"cpu": "2", "memory": "8Gi", "pods": "110"}), batch, waiting]


@pytest.mark.parametrize(
    ("cluster", "preempted", "placed", "waiting", "count"),
    [
        pytest.param(pending_beside(9, owned=True), ["default/batch"], 1, 1, 10, id="made anew, and waits"),
        pytest.param(pending_beside(9, owned=False), ["default/batch"], 1, 0, 10, id="gone for good"),
        pytest.param(pending_beside(0, owned=True), [], 0, 1, 0, id="no more important"),
        pytest.param(
            pending_beside(9, owned=True, preemptionPolicy="Never"), [], 0, 1, 0, id="preempts nobody"
        ),
    ],
)
def test_pending_pods_preempt_others_as_in_a_cluster(
    cluster: list[dict[str, Any]],
    preempted: list[str],
    placed: int,
    waiting: int,
    count: int,
    asked: Asked,
    tmp_path: Path,
) -> None:
    shape = write_manifests(tmp_path / "shape.yaml", pod_manifest("shape", requests={"cpu": "100m"}))
    (found,) = asked("capacity", cluster, "--shape", shape)
    queue = (found["preempted"], found["placedFirst"], found["stillPending"])
    assert (queue, found["count"]) == ((preempted, placed, waiting), count)
    (gone,) = asked("removal", cluster)
    assert (gone["preempted"], gone["placedFirst"], gone["stillPending"]) == queue
    group = write_manifests(
        tmp_path / "group.yaml", node_manifest("new", allocatable={"cpu": "2", "pods": "9"})
    )
    answer = asked("node-groups", cluster, "--group", group)
    assert (answer["preempted"], answer["placed"], len(answer["unplaced"])) == queue
    assert answer["options"][0]["nodes"] == waiting


def test_node_groups_order(asked: Asked, tmp_path: Path) -> None:
    def room(name: str) -> dict[str, Any]:
        return node_manifest(name, labels={"pool": name}, allocatable={"cpu": "16", "pods": "110"})

    pods = [pod_manifest(name, requests={"cpu": "8"}) for name in ("aa-1", "aa-2")]
    first = pod_manifest("zz-first", requests={"cpu": "8"}, spec={"nodeSelector": {"pool": "old"}})
    group = write_manifests(tmp_path / "group.yaml", room("new"))
    answer = asked("node-groups", [room("old"), first, *pods], "--group", group)
    assert [each["pod"] for each in answer["unplaced"]] == ["default/aa-2"]
    assert [(each["nodes"], each["left"]) for each in answer["options"]] == [(1, [])]


def spread(policy: str | None = None) -> dict[str, Any]:
    policies = {"nodeTaintsPolicy": policy} if policy else {}
    constraint = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **policies,
    }
    return {"topologySpreadConstraints": [constraint]}


def spread_over(names: str, **spec: Any) -> Iterator[dict[str, Any]]:
    for name in names:
        labels, requests = {"app": "web"}, {"cpu": "100m"}
        yield node_manifest(f"node-{name}", labels={"kubernetes.io/hostname": f"node-{name}"})
        yield pod_manifest(
            f"web-{name}",
            labels=labels,
            node=f"node-{name}",
            requests=requests,
            metadata=controlled("web"),
            spec=spec,
        )


def test_drain_keeps_its_domain(asked: Asked) -> None:
    cluster = list(spread_over("abc", **spread()))
    drained = asked("removal", cluster)
    assert [each["removable"] for each in drained] == [False] * 3
    for each in drained:
        (landing,) = each["landings"]
        assert landing["waits"]
        assert landing["node"] not in ("", each["node"])
        assert "2 node(s) didn't match pod topology spread constraints" in landing["message"]
    deleted = asked("removal", cluster, "--by", "deletion")
    assert [each["removable"] for each in deleted] == [True] * 3


@pytest.mark.parametrize(
    ("spec", "landings"),
    [
        pytest.param(spread("Honor"), [("node-b", False)], id="tainted nodes are no domains"),
        pytest.param(
            {"tolerations": [{"operator": "Exists"}]}, [("node-b", False)], id="tolerates the cordon"
        ),
        pytest.param({}, [("node-b", False)], id="plain"),
    ],
)
def test_pods_that_need_not_wait_for_the_deletion(
    spec: dict[str, Any], landings: list[tuple[str, bool]], asked: Asked
) -> None:
    (found,) = asked("removal", list(spread_over("ab", **spec)), "--node", "node-a")
    assert found["removable"]
    assert [(each["node"], each["waits"]) for each in found["landings"]] == landings


def test_every_pod_that_waits_is_named(asked: Asked) -> None:
    cluster = list(spread_over("ab", **spread()))
    second = pod_manifest(
        "more", labels={"app": "web"}, node="node-a", metadata=controlled("web"), spec=spread()
    )
    third = pod_manifest(
        "else", labels={"app": "web"}, node="node-b", metadata=controlled("web"), spec=spread()
    )
    (found,) = asked("removal", [*cluster, second, third], "--node", "node-a")
    assert [(each["pod"], each["waits"]) for each in found["landings"]] == [
        ("default/web-a", True),
        ("default/more", True),
    ]


def test_what_a_drain_disrupts(asked: Asked, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [node_manifest(name) for name in ("a", "b", "c")]
    scratch = {"volumes": [{"name": "scratch", "emptyDir": {}}]}
    pods = [
        pod_manifest("only", node="a", metadata=controlled("only"), spec=scratch),
        pod_manifest("web-1", node="a", metadata=controlled("web")),
        pod_manifest("web-2", node="b", metadata=controlled("web")),
        pod_manifest("db-1", node="c", labels={"app": "db"}, metadata=controlled("db")),
        pod_manifest("db-2", node="c", labels={"app": "db"}, metadata=controlled("db")),
    ]
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "db"}}},
        "status": {"disruptionsAllowed": 0, "expectedPods": 2, "currentHealthy": 2, "desiredHealthy": 2},
    }
    cluster = [*nodes, *pods, budget]
    found = asked("removal", cluster)
    assert [(each["node"], each["removable"]) for each in found] == [("b", True), ("a", True), ("c", False)]
    assert [each["alone"] for each in found] == [[], ["default/only"], []]
    assert [each["exhaustedBudgets"] for each in found] == [[], [], ["default/db"]]
    assert [each["localData"] for each in found] == [[], ["default/only"], []]
    files = write_manifests(tmp_path / "cluster.yaml", *cluster)
    lines = call(capsys, "what-if", "removal", "--manifests", files, columns=200).out.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["b", "a", "c"]
    lost = "emptyDir data is lost (kubectl drain --delete-emptydir-data): default/only"
    assert lines[2].endswith(f"single replica: default/only; {lost}")
    assert lines[3].endswith("PodDisruptionBudget default/db allows no disruption")
    assert lines[4] == "2 of 3 nodes could go by drain, each alone"


def test_nodes_are_named_as_tables_print_them(asked: Asked) -> None:
    ending = ".eu-central-1.compute.internal"
    names = [f"node-{number}{ending}" for number in (1, 10, 11)]
    room = {"cpu": "2", "memory": "8Gi", "pods": "110"}
    nodes = [node_manifest(name, allocatable=room) for name in names]
    cluster = [*nodes, pod_manifest("big", requests={"cpu": "4"})]
    assert [each["node"] for each in asked("removal", cluster, "--node", "node-10")] == [names[1]]
    answer = asked("change", cluster, "big", "--node", "node-1")
    assert {each["node"] for each in answer["options"]} == {names[0]}


ZONE = "topology.kubernetes.io/zone"


def pool(name: str, zone: str) -> dict[str, Any]:
    labels = {ZONE: zone, "kubernetes.io/hostname": name, "tier": "x"}
    return node_manifest(name, labels=labels, allocatable={"cpu": "2", "memory": "8Gi", "pods": "110"})


def spread_by_zone(replicas: int) -> dict[str, Any]:
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "repro"}},
    }
    requests = {"cpu": "1", "memory": "64Mi"}
    return workload(
        "Deployment",
        "repro",
        requests,
        replicas,
        nodeSelector={"tier": "x"},
        topologySpreadConstraints=[constraint],
    )


def test_pools_by_zone(asked: Asked, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = [pool("a-1", "a"), pool("b-1", "b"), spread_by_zone(12)]
    groups = write_manifests(tmp_path / "groups.yaml", pool("pool-a", "a"), pool("pool-b", "b"))
    answer = asked("node-groups", cluster, "--group", groups)
    assert [(each["nodes"], len(each["left"])) for each in answer["options"]] == [(1, 7), (1, 7)]
    together = answer["together"]
    assert (together["groups"], together["left"]) == ({"pool-a": 2, "pool-b": 2}, [])
    assert (together["nodes"], together["price"], answer["lackingDomains"]) == (4, 4, [])
    files = write_manifests(tmp_path / "cluster.yaml", *cluster)
    words = ("what-if", "node-groups", "--manifests", files, "--group", groups)
    first = call(capsys, *words, columns=160).out.splitlines()[1]
    assert first.split() == ["2", "pool-a", "+", "2", "pool-b", "4", "4", "none"]


def test_a_domain_for_which_no_group_has_nodes_is_named(
    asked: Asked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = [pool("a-1", "a"), pool("b-1", "b"), spread_by_zone(12)]
    group = write_manifests(tmp_path / "group.yaml", pool("pool-a", "a"))
    answer = asked("node-groups", cluster, "--group", group)
    assert (answer["together"], answer["lackingDomains"]) == (None, [f"{ZONE}=b"])
    files = write_manifests(tmp_path / "cluster.yaml", *cluster)
    out = call(capsys, "what-if", "node-groups", "--manifests", files, "--group", group).out
    assert f"more nodes are needed in {ZONE}=b" in out


def test_groups_that_are_not_needed_are_left_out(asked: Asked, tmp_path: Path) -> None:
    big = node_manifest("dear", labels={ZONE: "a", "tier": "x"}, allocatable={"cpu": "4", "pods": "110"})
    pools = [pool("pool-a", "a"), pool("pool-b", "b"), big]
    groups = write_manifests(tmp_path / "groups.yaml", *pools)
    cluster = [pool("a-1", "a"), pool("b-1", "b"), spread_by_zone(12)]
    answer = asked("node-groups", cluster, "--group", groups, "--price", "dear=9")
    assert answer["together"]["groups"] == {"pool-a": 2, "pool-b": 2}


GPU = {
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "example.com/gpu", "operator": "Exists"}]},
                    {
                        "matchExpressions": [
                            {"key": "example.com/gpu-vendor", "operator": "In", "values": ["nvidia"]}
                        ]
                    },
                ]
            }
        }
    }
}
TAINT = [{"key": "gpu", "effect": "NoSchedule"}]


@pytest.mark.parametrize(
    ("labels", "taints", "daemon", "app", "nodes", "daemons"),
    [
        pytest.param({"example.com/gpu-vendor": "nvidia"}, [], GPU, {}, 2, 1, id="node-groups-daemonset"),
        pytest.param({}, [], GPU, {}, 1, 0, id="selects other nodes"),
        pytest.param(
            {}, TAINT, {}, {"tolerations": [{"operator": "Exists"}]}, 1, 0, id="doesn't tolerate the taint"
        ),
        pytest.param(
            {},
            TAINT,
            {"tolerations": [{"key": "gpu", "operator": "Exists"}]},
            {"tolerations": [{"operator": "Exists"}]},
            2,
            1,
            id="tolerates the taint",
        ),
    ],
)
def test_pods_of_daemon_sets_on_new_nodes(
    labels: dict[str, str],
    taints: list[dict[str, str]],
    daemon: dict[str, Any],
    app: dict[str, Any],
    nodes: int,
    daemons: int,
    asked: Asked,
    tmp_path: Path,
) -> None:
    room = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    group = write_manifests(
        tmp_path / "group.yaml", node_manifest("gpu", labels=labels, taints=taints, allocatable=room)
    )
    workloads = [
        workload("DaemonSet", "gpu-plugin", {"cpu": "8"}, **daemon),
        workload("Deployment", "app", {"cpu": "8"}, 2, **app),
    ]
    answer = asked("node-groups", workloads, "--group", group)
    (option,) = answer["options"]
    assert (option["nodes"], option["daemonPods"], option["left"]) == (nodes, daemons, [])


@pytest.mark.parametrize(
    ("daemon", "steps"),
    [
        pytest.param("1", [["node"], ["request"]], id="there is room beside it on a new node"),
        pytest.param("3", [["request"]], id="a new node has too little room beside it"),
    ],
)
def test_a_node_that_would_help_has_the_pods_of_its_daemon_sets(
    daemon: str, steps: list[list[str]], asked: Asked
) -> None:
    room = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    full = pod_manifest("full", requests={"cpu": "2"}, node="n1")
    cluster = [
        node_manifest("n1", allocatable=room),
        full,
        workload("DaemonSet", "agent", {"cpu": daemon}),
        pod_manifest("app", requests={"cpu": "3"}),
    ]
    answer = asked("change", cluster, "app", "--kind", "node", "--kind", "request")
    assert [[each["kind"] for each in option["changes"]] for option in answer["options"]] == steps


ROOMS = [
    node_manifest(name, allocatable={"cpu": "4", "memory": "32Gi", "pods": "110"}) for name in ("n1", "n2")
]
LOCAL = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {
        "name": "local",
        "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
    },
    "provisioner": "csi.example.com",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def stateful_set(name: str) -> dict[str, Any]:
    found = workload("StatefulSet", name, {"cpu": "500m"}, 2)
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    found["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
    return found


def test_capacity_of_a_stateful_set(asked: Asked, tmp_path: Path) -> None:
    shape = write_manifests(tmp_path / "db.yaml", stateful_set("db"))
    (alone,) = asked("capacity", [*ROOMS, LOCAL], "--shape", shape, "--nodes")
    assert (alone["shape"], alone["count"], alone["nodes"]) == ("default/db-0", 16, {"n1": 8, "n2": 8})
    (beside,) = asked("capacity", [*ROOMS, LOCAL, stateful_set("db")], "--shape", shape, "--nodes")
    assert (beside["count"], beside["placedFirst"], beside["nodes"]) == (14, 2, {"n1": 7, "n2": 7})


def test_a_workload_has_one_row(asked: Asked, tmp_path: Path) -> None:
    shapes = [
        stateful_set("db"),
        stateful_set("log"),
        workload("Deployment", "web", {"cpu": "1"}, 3),
        pod_manifest("alone", requests={"cpu": "2"}),
    ]
    found = asked("capacity", [*ROOMS, LOCAL], "--shape", write_manifests(tmp_path / "shapes.yaml", *shapes))
    assert [each["count"] for each in found] == [16, 16, 8, 4]


def test_each_copy_has_devices_of_its_own(asked: Asked, tmp_path: Path) -> None:
    driver = "gpu.example.com"
    slices = {
        "driver": driver,
        "nodeName": "n2",
        "pool": {"name": "n2", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": f"gpu-{at}"} for at in range(3)],
    }
    version = {"apiVersion": "resource.k8s.io/v1"}
    request = {"name": "gpu", "exactly": {"deviceClassName": driver}}
    expression = {"expression": f"device.driver == '{driver}'"}
    devices = [
        {
            **version,
            "kind": "DeviceClass",
            "metadata": {"name": driver},
            "spec": {"selectors": [{"cel": expression}]},
        },
        {**version, "kind": "ResourceSlice", "metadata": {"name": "n2-gpus"}, "spec": slices},
        {
            **version,
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "one", "namespace": "default"},
            "spec": {"spec": {"devices": {"requests": [request]}}},
        },
    ]
    claims = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}]}
    shape = write_manifests(tmp_path / "shape.yaml", pod_manifest("train", spec=claims))
    (found,) = asked("capacity", [*ROOMS, *devices], "--shape", shape, "--nodes")
    assert (found["count"], found["nodes"]) == (3, {"n2": 3})
