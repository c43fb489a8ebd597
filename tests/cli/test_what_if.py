"""`mooring what-if`: how many more pods would fit and which nodes could go, of manifests and of a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.testing.builders import node_manifest, pod_manifest
from tests.cli.commands import Ready, call, serving, write_config, write_manifests
from tests.fake_api_server import FakeApiServer

SMALL: dict[str, Any] = {"cpu": "1", "memory": "1Gi", "pods": 10}
OWNED = {"ownerReferences": [{"kind": "ReplicaSet", "name": "rs", "uid": "rs", "controller": True}]}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return two small nodes and a larger one, each with a pod; the pod of `c` has no controller. Three pods
    wait.
    """
    return write_manifests(
        tmp_path_factory.mktemp("what-if") / "cluster.yaml",
        node_manifest("a", allocatable=SMALL),
        node_manifest("b", allocatable=SMALL),
        node_manifest("c", allocatable={**SMALL, "cpu": "2"}),
        pod_manifest("on-a", node="a", requests={"cpu": "900m"}, metadata=OWNED),
        pod_manifest("on-b", node="b", requests={"cpu": "900m"}, metadata=OWNED),
        pod_manifest("on-c", node="c", requests={"cpu": "200m"}),
        *(pod_manifest(f"waiting-{at}", requests={"cpu": "990m"}) for at in range(3)),
    )


@pytest.fixture(scope="module")
def server(cluster: Path) -> Iterator[Ready]:
    with serving("--source", f"files:{cluster}") as started:
        yield started


@pytest.fixture
def shapes(tmp_path: Path) -> Path:
    """Return a pod, and a workload of three pods that have to be apart."""
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
            ]
        }
    }
    requests = {"resources": {"requests": {"cpu": "50m"}}}
    pod = {"affinity": apart, "containers": [{"name": "c", "image": "i", **requests}]}
    labels = {"app": "web"}
    spec = {
        "replicas": 3,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    workload = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    return write_manifests(tmp_path / "shapes.yaml", pod_manifest("one", requests={"cpu": "500m"}), workload)


def test_how_many_more_pods_of_each_shape_there_is_room_for(
    cluster: Path, shapes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words: list[Any] = ["what-if", "capacity", "--manifests", cluster, "--shape", shapes, "--nodes"]
    result = call(capsys, *words, "--ignore-pending", "-o", "json")
    one, web = result.document
    assert (result.code, one["shape"], one["count"]) == (0, "default/one", 3)
    assert one["nodes"] == {"c": 3}
    assert one["end"] == "0/3 nodes are available: 3 Insufficient cpu."
    assert (web["count"], web["nodes"]) == (3, {"a": 1, "b": 1, "c": 1})
    assert "anti-affinity" in web["end"]


def test_pods_that_wait_already_come_before_the_shape(
    cluster: Path, shapes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words: list[Any] = ["what-if", "capacity", "--manifests", cluster, "--shape", shapes]
    one = call(capsys, *words, "-o", "json").document[0]
    assert (one["count"], one["placedFirst"], one["stillPending"]) == (1, 1, 2)
    lines = call(capsys, *words, columns=120).out.splitlines()
    assert lines[-3] == "pending pods placed first: 1, still pending: 2"
    assert lines[-2].startswith("  default/waiting-1: 0/3 nodes are available: 3 Insufficient cpu.")


def test_which_nodes_could_go(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words: list[Any] = ["what-if", "removal", "--manifests", cluster, "--ignore-pending"]
    result = call(capsys, *words, columns=160)
    lines = [line.split() for line in result.out.splitlines()]
    assert [line[:3] for line in lines[1:3]] == [["a", "can", "go"], ["b", "can", "go"]]
    assert lines[3][:2] == ["c", "stays"]
    assert "default/on-c: no controller would recreate it" in result.out
    assert result.out.splitlines()[-1] == "2 of 3 nodes could go by drain, each alone"
    assert "by drain, together" in call(capsys, *words, "--cumulative").out


def test_no_node_goes_whose_room_pending_pods_need(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words: list[Any] = ["what-if", "removal", "--manifests", cluster, "-o", "json"]
    found = {each["node"]: each for each in call(capsys, *words, "--node", "a", "--node", "b").document}
    assert [found[name]["removable"] for name in "ab"] == [False, False]
    assert found["a"]["placedFirst"] == 1


def test_nodes_that_go_together_share_the_room_that_is_left(
    cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words: list[Any] = ["what-if", "removal", "--manifests", cluster, "--ignore-pending", "-o", "json"]
    each = call(capsys, *words, "--node", "a", "--node", "b").document
    assert [one["removable"] for one in each] == [True, True]
    assert each[0]["landings"] == [{"pod": "default/on-a", "node": "c", "message": "", "waits": False}]
    together = call(capsys, *words, "--cumulative", "--node", "a", "--node", "b").document
    assert [one["removable"] for one in together] == [True, True]
    assert [one["landings"][0]["node"] for one in together] == ["c", "c"]


@pytest.fixture
def groups(tmp_path: Path) -> Path:
    """Return two groups of nodes."""
    return write_manifests(
        tmp_path / "groups.yaml",
        node_manifest("small", allocatable=SMALL),
        node_manifest("large", allocatable={**SMALL, "cpu": "4"}),
    )


def test_which_more_nodes_would_help(cluster: Path, groups: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words: list[Any] = ["what-if", "node-groups", "--manifests", cluster, "--group", groups]
    result = call(capsys, *words, "--price", "large=3", columns=120)
    lines = [line.split() for line in result.out.splitlines()]
    assert lines[1:3] == [["small", "2", "2", "none"], ["large", "1", "3", "none"]]
    assert result.out.splitlines()[-1] == "pending pods that need more nodes: 2, that don't: 1"
    cheap = call(capsys, *words, "--price", "large=1.5", "-o", "json").document
    assert [each["group"] for each in cheap["options"]] == ["large", "small"]


@pytest.mark.parametrize("question", ["capacity", "removal", "node-groups"])
def test_a_server_says_what_the_manifests_say(
    question: str,
    cluster: Path,
    server: Ready,
    shapes: Path,
    groups: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: dict[str, list[Any]] = {
        "capacity": ["--shape", shapes, "--nodes"],
        "node-groups": ["--group", groups],
    }
    more = asked.get(question, [])
    offline = call(capsys, "what-if", question, "--manifests", cluster, "-o", "json", *more)
    remote = call(capsys, "what-if", question, "--server", server.address("grpc"), "-o", "json", *more)
    assert remote.document == offline.document


@pytest.mark.parametrize("words", [[], ["--node", "c", "--node", "a", "--node", "b"]], ids=["all", "named"])
def test_a_server_is_asked_about_some_nodes_at_a_time(
    words: list[str],
    cluster: Path,
    server: Ready,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mooring.cli.what_if_answers.NODES_A_CALL", 2)
    asked = ["what-if", "removal", "-o", "json", *words]
    offline = call(capsys, *asked, "--manifests", cluster)
    paged = call(capsys, *asked, "--server", server.address("grpc"))
    assert len(paged.document) == 3
    assert paged.document == offline.document


@pytest.mark.parametrize(
    ("words", "complaint", "code"),
    [
        pytest.param(["node-groups", "--manifests", "."], "give the groups with", 2, id="no group"),
        pytest.param(
            ["node-groups", "--manifests", "CLUSTER", "--group", "NODES", "--price", "n=-1"],
            "'n=-1' is not NAME=PRICE",
            1,
            id="price",
        ),
        pytest.param(
            ["node-groups", "--manifests", "CLUSTER", "--group", "NODES", "--price", "x=1"],
            "x is not one of the groups: n",
            1,
            id="price of another",
        ),
        pytest.param(["capacity", "--manifests", "."], "give the pods with --shape PATH", 2, id="no shape"),
        pytest.param(["removal", "--manifests", "CLUSTER", "--node", "x"], "no node x", 1, id="node"),
        pytest.param(
            ["capacity", "--manifests", "CLUSTER", "--shape", "NODES"],
            "has neither a pod nor a workload",
            1,
            id="no pod",
        ),
    ],
)
def test_what_is_wrong_is_said(
    words: list[str],
    complaint: str,
    code: int,
    cluster: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    nodes = write_manifests(tmp_path / "nodes.yaml", node_manifest("n"))
    known = {"CLUSTER": cluster, "NODES": nodes}
    result = call(capsys, "what-if", *(known.get(word, word) for word in words))
    assert result.code == code
    assert complaint in result.err


def test_what_would_make_a_pod_fit(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ("what-if", "change", "waiting-0", "--manifests", cluster)
    assert "pod default/waiting-0 fits as it is" in call(capsys, *argv).out
    result = call(capsys, *argv, "--node", "a", columns=120)
    assert result.code == 0
    assert [line.split(maxsplit=1) for line in result.out.splitlines()[2:]] == [
        ["1", "move default/on-a to c (a)"],
        ["1", "request 0.1 cpu instead of 0.99 (a)"],
    ]
    document = call(capsys, *argv, "--node", "a", "--kind", "move", "-o", "json").document
    assert document["options"] == [
        {
            "node": "a",
            "changes": [{"kind": "move", "pod": "default/on-a", "node": "c"}],
            "text": "move default/on-a to c (a)",
        }
    ]
    assert (document["fits"], document["complete"]) == (True, True)


def test_a_pod_that_nothing_would_make_fit(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ("what-if", "change", "waiting-0", "--manifests", cluster, "--node", "a", "--kind")
    result = call(capsys, *argv, "label")
    assert (result.code, result.out.splitlines()[-1]) == (3, "no such change would make it fit")
    assert "not one of toleration, label, request, move, node, end" in call(capsys, *argv, "luck").err


def test_what_would_make_a_group_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    meta = {"name": "g", "namespace": "default", "uid": "g"}
    spec = {"schedulingPolicy": {"gang": {"minCount": 3}}}
    group = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": meta, "spec": spec}
    fields: dict[str, Any] = {"requests": {"cpu": "600m"}, "spec": {"schedulingGroup": {"podGroupName": "g"}}}
    pods = [pod_manifest(f"p{at}", **fields) for at in range(3)]
    files = write_manifests(tmp_path / "group.yaml", node_manifest("a", allocatable=SMALL), group, *pods)
    argv = (
        "what-if",
        "change",
        "podgroup/g",
        "--feature-gates",
        "GenericWorkload=true",
        "--kube-version",
        "1.37",
    )
    result = call(capsys, *argv, "--manifests", files, columns=140)
    assert result.code == 0
    assert result.out.startswith("group default/g: ")
    assert "pod group preemption: " in result.out
    table = result.out[result.out.index("CHANGES ") :].splitlines()[1:]
    assert [line.split(maxsplit=1)[1].split("  ")[0] for line in table] == [
        "request 0.333 cpu instead of 0.6",
        "add 2 nodes like a",
    ]
    local = call(capsys, *argv, "--manifests", files, "-o", "json").document
    assert [len(option["landings"]) for option in local["options"]] == [3, 3]
    with serving("--source", f"files:{files}") as started:
        far = call(capsys, *argv, "--server", started.address("grpc"), "-o", "json").document
    assert far == local
    refused = call(capsys, *argv, "--manifests", files, "--kind", "move")
    assert (refused.code != 0, "not offered for groups" in refused.err) == (True, True)


def test_a_server_says_the_same_of_changes(
    server: Ready, cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ("what-if", "change", "waiting-0", "--node", "a", "-o", "json")
    local = call(capsys, *argv, "--manifests", cluster).document
    assert call(capsys, *argv, "--server", server.address("grpc")).document == local


def test_a_server_decides_as_the_flags_say(
    server: Ready, shapes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    without_fit = {"plugins": {"multiPoint": {"disabled": [{"name": "InterPodAffinity"}]}}}
    config = write_config(tmp_path / "config.yaml", without_fit)
    asked = ("what-if", "capacity", "--shape", shapes, "--limit", 5, "--server", server.address("grpc"))
    counts = [
        {each["shape"]: each["count"] for each in call(capsys, *asked, *flags, "-o", "json").document}
        for flags in ((), ("--config", config))
    ]
    apart = next(shape for shape in counts[0] if "web" in shape)
    assert [count[apart] for count in counts] == [3, 5]


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        pytest.param(("--kube-version", "1.30"), 2, "1.30", id="release"),
        pytest.param(("--feature-gates", "Nothing=true"), 0, "Nothing", id="gate is warned of"),
        pytest.param(("--config", "/none.yaml"), 1, "/none.yaml can't be read", id="no file"),
        pytest.param(("--plugin", "x:Y"), 2, "--plugin", id="plugin"),
        pytest.param(("--unknown-plugins", "stub"), 2, "--unknown-plugins", id="stubs"),
    ],
)
def test_what_a_server_can_not_decide_by_is_told(
    flags: tuple[str, ...], code: int, said: str, server: Ready, capsys: pytest.CaptureFixture[str]
) -> None:
    result = call(capsys, "what-if", "removal", "--server", server.address("grpc"), *flags)
    assert result.code == code
    assert said in result.err


def capacity(cluster: Path, shapes: Path, quotas: object) -> list[Any]:
    """Return the command that counts shapes by quotas."""
    return ["what-if", "capacity", "--manifests", cluster, "--shape", shapes, "--quota", quotas]


def quota(namespace: str, hard: dict[str, str], used: dict[str, str], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "compute", "namespace": namespace},
        "spec": {"hard": hard, **spec},
        "status": {"hard": hard, "used": used},
    }


IN_CLASS = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}


@pytest.mark.parametrize(
    ("found", "count", "end"),
    [
        pytest.param(
            quota("a", {"requests.cpu": "2"}, {"requests.cpu": "1"}), 2, "requests.cpu", id="requests"
        ),
        pytest.param(quota("a", {"cpu": "2"}, {"cpu": "3"}), 0, "cpu", id="spent"),
        pytest.param(quota("a", {"pods": "10"}, {"pods": "9"}), 1, "pods", id="pods"),
        pytest.param(
            quota("a", {"limits.memory": "1Gi"}, {}),
            0,
            "limits.memory, which the pod does not specify",
            id="must specify",
        ),
        pytest.param(quota("a", {"services": "0"}, {}), 3, "", id="nothing of pods"),
        pytest.param(quota("a", {"pods": "0"}, {}, scopes=["BestEffort"]), 3, "", id="another scope"),
        pytest.param(quota("a", {"pods": "0"}, {}, scopes=["NotBestEffort"]), 0, "pods", id="its scope"),
        pytest.param(
            quota("a", {"pods": "0"}, {}, scopeSelector={"matchExpressions": [IN_CLASS]}), 3, "", id="class"
        ),
    ],
)
def test_a_namespace_takes_what_its_quotas_and_the_nodes_have_room_for(
    cluster: Path,
    shapes: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    found: dict[str, Any],
    count: int,
    end: str,
) -> None:
    quotas = write_manifests(tmp_path / "quotas.yaml", found)
    words = [*capacity(cluster, shapes, quotas), "--ignore-pending"]
    shown = {each["shape"]: each for each in call(capsys, *words, "-o", "json").document}
    said = shown["default/one"]["namespaces"]["a"]
    assert (said["count"], f"ResourceQuota compute: {end}" == said["end"]) == (count, bool(end))
    assert f"{count} " in call(capsys, *words).out


def test_the_quotas_of_a_live_cluster_are_read(
    shapes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words: list[Any] = ["what-if", "capacity", "--shape", shapes, "--quota", "cluster", "-o", "json"]
    with FakeApiServer() as fake:
        fake.add(node_manifest("n1"), quota("a", {"pods": "10"}, {"pods": "9"}))
        words += ["--kubeconfig", fake.kubeconfig(tmp_path / "kubeconfig")]
        shown = {each["shape"]: each for each in call(capsys, *words).document}
        fake.forbidden.add("resourcequotas")
        rejected = call(capsys, *words)
    assert shown["default/one"]["namespaces"]["a"] == {"count": 1, "end": "ResourceQuota compute: pods"}
    assert (rejected.code, "resourcequotas" in rejected.err) == (1, True)


def test_quotas_of_a_cluster_need_one(
    cluster: Path, shapes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = capacity(cluster, shapes, "cluster")
    assert "--quota: cluster needs a live cluster" in call(capsys, *words).err


def test_a_quota_without_status_is_rejected(
    cluster: Path, shapes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = quota("a", {"pods": "1"}, {})
    del bare["status"]
    quotas = write_manifests(tmp_path / "quotas.yaml", bare)
    words = [*capacity(cluster, shapes, quotas), "--ignore-pending"]
    assert "has no status.used" in call(capsys, *words).err
