"""The objects made of workloads are those that their controllers make."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from mooring.cluster.manifests import Manifests, objects_from
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.objects import (
    PersistentVolumeClaim,
    Pod,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from mooring.testing.builders import node_manifest, pod_manifest

Manifest = dict[str, Any]

TEMPLATE: Manifest = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "resources": {"limits": {"cpu": "1"}}}]},
}
SELECTOR: Manifest = {"matchLabels": {"app": "web"}}
INDEX = "batch.kubernetes.io/job-completion-index"


def workload(kind: str, version: str = "apps/v1", **spec: Any) -> Manifest:
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"template": TEMPLATE, **spec},
    }


def owned(manifest: Manifest, kind: str, name: str, uid: str = "") -> Manifest:
    """Return the manifest of an object that belongs to another."""
    reference = {"kind": kind, "name": name, "controller": True} | ({"uid": uid} if uid else {})
    return {**manifest, "metadata": {**manifest["metadata"], "ownerReferences": [reference]}}


def replica_set(name: str, replicas: int, revision: int = 1) -> Manifest:
    """Return one that a Deployment named web has."""
    made = owned(workload("ReplicaSet", replicas=replicas, selector=SELECTOR), "Deployment", "web")
    annotations = {"deployment.kubernetes.io/revision": str(revision)}
    return {**made, "metadata": {**made["metadata"], "name": name, "annotations": annotations}}


def member(name: str, kind: str, owner: str, **fields: Any) -> Manifest:
    """Return a pod that a controller has made."""
    return owned(pod_manifest(name, namespace="shop", labels={"app": "web"}, **fields), kind, owner)


def owners(pods: Iterable[Pod]) -> list[tuple[str, str]]:
    return [(ref.kind, ref.name) for pod in pods for ref in pod.metadata.owner_references]


def of_kind(manifests: Manifests, kind: type) -> list[Any]:
    return [item for item in manifests.objects if isinstance(item, kind)]


@pytest.mark.parametrize(
    ("manifest", "owner", "count"),
    [
        pytest.param(workload("ReplicaSet", replicas=2), "apps/v1", 2, id="replica set"),
        pytest.param(workload("ReplicaSet"), "apps/v1", 1, id="one replica unless said otherwise"),
        pytest.param(workload("ReplicaSet", "extensions/v1beta1", replicas=2), "apps/v1", 2, id="old group"),
        pytest.param(workload("ReplicaSet", template=None), "", 0, id="a selector alone"),
        pytest.param(workload("ReplicationController", "v1", replicas=2), "v1", 2, id="the oldest kind"),
        pytest.param(workload("StatefulSet", replicas=2), "apps/v1", 2, id="stateful set"),
        pytest.param(workload("Job", "batch/v1"), "batch/v1", 1, id="job"),
        pytest.param(workload("Job", "batch/v1", parallelism=3), "batch/v1", 3, id="work queue"),
        pytest.param(workload("Job", "batch/v1", completions=3), "batch/v1", 1, id="one after the other"),
        pytest.param(workload("Job", "batch/v1", parallelism=3, completions=2), "batch/v1", 2, id="two ends"),
        pytest.param(workload("Job", "batch/v1", parallelism=3, suspend=True), "", 0, id="suspended job"),
        pytest.param(workload("CronJob", "batch/v1", schedule="* * * * *"), "", 0, id="not before its time"),
    ],
)
def test_a_workload_becomes_the_pods_that_its_controller_makes(
    manifest: Manifest, owner: str, count: int
) -> None:
    pods = objects_from([manifest]).pods
    assert len(pods) == count
    assert objects_from([manifest]).pods == pods
    for pod in pods:
        (reference,) = pod.metadata.owner_references
        assert (reference.api_version, reference.kind, reference.name) == (owner, manifest["kind"], "web")
        assert reference.controller
        assert pod.metadata.namespace == "shop"
        assert pod.metadata.labels.items() >= {"app": "web"}.items()
        assert pod.spec.containers[0].resources.requests == {"cpu": "1"}
    assert len({pod.metadata.uid for pod in pods}) == count


@pytest.mark.parametrize("version", ["apps/v1", "apps/v1beta1", "extensions/v1beta1"])
def test_a_deployment_makes_a_replica_set_and_that_makes_the_pods(version: str) -> None:
    loaded = objects_from([workload("Deployment", version, replicas=3, selector=SELECTOR)])
    (made,) = of_kind(loaded, ReplicaSet)
    own = made.metadata.labels["pod-template-hash"]
    assert made.metadata.name == f"web-{own}"
    assert made.spec.selector.match_labels == {"app": "web", "pod-template-hash": own}
    assert owners([made]) == [("Deployment", "web")]
    assert [pod.metadata.name for pod in loaded.pods] == [f"web-{own}-{ordinal}" for ordinal in range(3)]
    for pod in loaded.pods:
        (reference,) = pod.metadata.owner_references
        assert (reference.api_version, reference.kind, reference.name, reference.uid) == (
            "apps/v1",
            "ReplicaSet",
            made.metadata.name,
            made.metadata.uid,
        )
        assert pod.metadata.labels == {"app": "web", "pod-template-hash": own}


def test_every_template_has_a_hash_of_its_own() -> None:
    other = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "priority": 1}}
    manifests = [workload("Deployment", template=template) for template in (TEMPLATE, other, TEMPLATE)]
    hashes = [objects_from([one]).pods[0].metadata.labels["pod-template-hash"] for one in manifests]
    assert hashes[0] == hashes[2] != hashes[1]


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([replica_set("web-a", 3)], {"web-a": 5}, id="its replica set"),
        pytest.param(
            [replica_set("web-b", 1, revision=10), replica_set("web-a", 3, revision=9)],
            {"web-a": 3, "web-b": 2},
            id="of two the newest makes up the difference",
        ),
        pytest.param(
            [
                replica_set("web-a", 3),
                *(member(f"web-a-{one}", "ReplicaSet", "web-a", node="n") for one in "xyz"),
            ],
            {"web-a": 5},
            id="some pods are there",
        ),
        pytest.param(
            [
                member(
                    "web-a-x",
                    "ReplicaSet",
                    "web-a",
                    metadata={"labels": {"app": "web", "pod-template-hash": "a"}},
                )
            ],
            {"web-a": 5},
            id="of the replica set there are only pods",
        ),
        pytest.param(
            [
                replica_set("web-a", 5),
                *(member(f"web-a-{one}", "ReplicaSet", "web-a") for one in range(7)),
            ],
            {"web-a": 7},
            id="nothing is taken away",
        ),
    ],
)
def test_of_a_deployment_that_is_there_only_what_is_missing_is_made(
    objects: list[Manifest], expected: dict[str, int]
) -> None:
    deployment = workload("Deployment", replicas=5, selector=SELECTOR)
    for given in ([deployment, *objects], [*objects, deployment]):
        loaded = objects_from(given)
        names = [name for _, name in owners(loaded.pods)]
        assert {name: names.count(name) for name in names} == expected
        assert {one.metadata.name for one in of_kind(loaded, ReplicaSet)} == expected.keys()


@pytest.mark.parametrize(
    ("pods", "made"),
    [
        pytest.param([member("a", "ReplicaSet", "web")], 1, id="one is there"),
        pytest.param([member("a", "ReplicaSet", "web", status={"phase": "Failed"})], 2, id="one has failed"),
        pytest.param(
            [member("a", "ReplicaSet", "web", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
            2,
            id="one is going",
        ),
        pytest.param([member("a", "StatefulSet", "web")], 2, id="a namesake's"),
        pytest.param(
            [owned(pod_manifest("a", namespace="shop"), "ReplicaSet", "web", uid="before")],
            2,
            id="that of a namesake that was there before",
        ),
    ],
)
def test_pods_that_are_there_are_not_made_again(pods: list[Manifest], made: int) -> None:
    manifest = workload("ReplicaSet", replicas=2, selector=SELECTOR)
    manifest["metadata"]["uid"] = "now"
    assert len(objects_from([manifest, *pods]).pods) - len(pods) == made


def test_a_selector_that_is_not_given_is_that_of_the_template() -> None:
    manifests = [
        workload("ReplicationController", "v1"),
        workload("ReplicaSet"),
        workload("StatefulSet"),
    ]
    loaded = objects_from(manifests)
    (oldest,) = of_kind(loaded, ReplicationController)
    assert oldest.spec.selector == oldest.metadata.labels == {"app": "web"}
    for kind in (ReplicaSet, StatefulSet):
        assert of_kind(loaded, kind)[0].spec.selector.match_labels == {"app": "web"}


def test_a_stateful_sets_pods_have_names_and_claims_of_their_own() -> None:
    claim = {"metadata": {"name": "data", "labels": {"tier": "db"}}, "spec": {"storageClassName": "fast"}}
    spec = {**TEMPLATE["spec"], "volumes": [{"name": "data", "emptyDir": {}}, {"name": "x", "csi": {}}]}
    loaded = objects_from(
        [
            workload(
                "StatefulSet",
                replicas=2,
                ordinals={"start": 5},
                selector=SELECTOR,
                template={**TEMPLATE, "spec": spec},
                volumeClaimTemplates=[claim],
            ),
            {"kind": "PersistentVolumeClaim", "metadata": {"name": "data-web-5", "namespace": "shop"}},
        ]
    )
    assert [pod.metadata.name for pod in loaded.pods] == ["web-5", "web-6"]
    labels = loaded.pods[1].metadata.labels
    assert labels["statefulset.kubernetes.io/pod-name"] == "web-6"
    assert labels["apps.kubernetes.io/pod-index"] == "6"
    assert labels["controller-revision-hash"].startswith("web-")
    assert loaded.pods[1].claim_names == ("data-web-6",)
    assert [volume.name for volume in loaded.pods[1].spec.volumes] == ["data", "x"]
    made = {one.metadata.name: one for one in of_kind(loaded, PersistentVolumeClaim)}
    assert made.keys() == {"data-web-5", "data-web-6"}
    assert made["data-web-6"].metadata.labels == {"tier": "db", "app": "web"}
    assert made["data-web-6"].spec.storage_class_name == "fast"


def test_a_stateful_set_fills_the_gaps() -> None:
    there = member("web-1", "StatefulSet", "web", node="n")
    pods = objects_from([workload("StatefulSet", replicas=3), there]).pods
    assert sorted(pod.metadata.name for pod in pods) == ["web-0", "web-1", "web-2"]


def test_namesakes_of_different_kinds_do_not_collide() -> None:
    kinds = ("Deployment", "StatefulSet", "ReplicaSet")
    pods = objects_from([*map(workload, kinds), workload("Job", "batch/v1")]).pods
    assert len({pod.metadata.name for pod in pods}) == 4


@pytest.mark.parametrize(
    ("spec", "status", "there", "indices"),
    [
        pytest.param({"completions": 5, "parallelism": 3}, {}, {}, [0, 1, 2], id="at first"),
        pytest.param(
            {"completions": 5, "parallelism": 3},
            {"succeeded": 2, "completedIndexes": "0,2"},
            {1: "Running"},
            [3, 4],
            id="next",
        ),
        pytest.param(
            {"completions": 5, "parallelism": 3}, {}, {0: "Succeeded", 1: "Pending"}, [2, 3], id="by its pods"
        ),
        pytest.param(
            {"completions": 3, "parallelism": 3},
            {"succeeded": 3, "completedIndexes": "0-2"},
            {},
            [],
            id="all have succeeded",
        ),
        pytest.param(
            {"completions": 3, "parallelism": 3},
            {"conditions": [{"type": "Failed", "status": "True"}]},
            {},
            [],
            id="failed",
        ),
    ],
)
def test_an_indexed_job_starts_the_pods_that_come_next(
    spec: Manifest, status: Manifest, there: dict[int, str], indices: list[int]
) -> None:
    job = {**workload("Job", "batch/v1", completionMode="Indexed", **spec), "status": status}
    pods = [
        member(
            f"there-{index}",
            "Job",
            "web",
            status={"phase": phase},
            metadata={"annotations": {INDEX: str(index)}},
        )
        for index, phase in there.items()
    ]
    made = [pod for pod in objects_from([job, *pods]).pods if not pod.metadata.name.startswith("there")]
    assert [int(pod.metadata.labels[INDEX]) for pod in made] == indices
    assert [int(pod.metadata.annotations[INDEX]) for pod in made] == indices
    for pod in made:
        assert pod.metadata.labels["batch.kubernetes.io/job-name"] == "web"


def pinned_to(pods: Iterable[Pod]) -> list[str]:
    """Return the nodes that a DaemonSet's pods ask for by name."""
    names: list[str] = []
    for pod in pods:
        assert pod.spec.affinity is not None
        assert pod.spec.affinity.node_affinity is not None
        required = pod.spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution
        assert required is not None
        (term,) = required.node_selector_terms
        names += term.match_fields[0].values
    return names


SSD = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}


@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param({"nodeSelector": {"disk": "ssd"}}, id="node selector"),
        pytest.param(
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [SSD]}
                    }
                }
            },
            id="node affinity",
        ),
    ],
)
def test_a_daemon_set_has_a_pod_on_each_node_that_lets_it(chosen: Manifest) -> None:
    spec = {**TEMPLATE["spec"], **chosen, "tolerations": [{"key": "gpu", "operator": "Exists"}]}
    cordoned = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    pods = objects_from(
        [
            workload("DaemonSet", template={**TEMPLATE, "spec": spec}),
            member("there", "DaemonSet", "web", node="served"),
            node_manifest("plain"),
            node_manifest("fits", labels={"disk": "ssd"}),
            node_manifest("served", labels={"disk": "ssd"}),
            node_manifest("gpu", labels={"disk": "ssd"}, taints=[{"key": "gpu", "effect": "NoSchedule"}]),
            node_manifest("cordoned", labels={"disk": "ssd"}, taints=[cordoned]),
            node_manifest("other", labels={"disk": "ssd"}, taints=[{"key": "x", "effect": "NoExecute"}]),
        ]
    ).pods
    made = [pod for pod in pods if pod.metadata.name != "there"]
    assert pinned_to(made) == ["fits", "gpu", "cordoned"]


@pytest.mark.parametrize("on_host", [False, True])
def test_a_daemon_sets_pods_bear_what_nodes_suffer_from(on_host: bool) -> None:
    given = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    spec = {"hostNetwork": on_host, "tolerations": [{**given, "tolerationSeconds": 5}]}
    template = {"spec": {**TEMPLATE["spec"], **spec}}
    (pod,) = objects_from([workload("DaemonSet", template=template), node_manifest("n")]).pods
    tolerations = [(one.key.partition("/")[2], one.effect) for one in pod.spec.tolerations]
    assert tolerations == [
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
        *([("network-unavailable", "NoSchedule")] if on_host else []),
    ]


def test_objects_are_in_the_order_of_the_manifests_with_what_is_made_behind_its_workload() -> None:
    manifests = [
        pod_manifest("first"),
        workload("ReplicaSet", replicas=2),
        node_manifest("n"),
        workload("Deployment"),
        pod_manifest("last"),
    ]
    kinds = [type(item).__name__ for item in objects_from(manifests).objects]
    assert kinds == ["Node", "Pod", "ReplicaSet", "Pod", "Pod", "ReplicaSet", "Pod", "Pod"]


@pytest.mark.parametrize(
    ("manifest", "path", "message"),
    [
        pytest.param(workload("Deployment", replicas=-1), "spec.replicas", "not a number", id="negative"),
        pytest.param(workload("Deployment", replicas="2"), "spec.replicas", "not a number", id="a text"),
        pytest.param(workload("Deployment", template=None), "spec.template", "required", id="no template"),
        pytest.param(
            workload("DaemonSet", template={"spec": {"hostNetwork": 3}}),
            "DaemonSet web: spec.template.spec.hostNetwork",
            "Expected bool, got int",
            id="wrong type",
        ),
    ],
)
def test_an_unusable_workload_is_named_with_its_field(manifest: Manifest, path: str, message: str) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        objects_from([node_manifest("n"), manifest])
    assert raised.value.violations[0].path == f"objects[1]: {path}"
    assert message in raised.value.violations[0].message
