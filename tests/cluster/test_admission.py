"""Fields that the API server adds to new objects, from other objects or by itself."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.cluster.manifests import objects_from
from mooring.framework.objects import PersistentVolumeClaim
from mooring.testing.builders import pod_manifest

Manifest = dict[str, Any]
CREATED = {"creationTimestamp": "2026-01-01T00:00:00Z"}
UNKNOWN = "is in no manifest: an API server would reject pods that name it (2); here"


@pytest.mark.parametrize(
    ("given", "metadata", "added"),
    [
        pytest.param([], {}, ["not-ready", "unreachable"], id="a new pod"),
        pytest.param(
            [{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "tolerationSeconds": 5}],
            {},
            ["unreachable"],
            id="one is there",
        ),
        pytest.param([{"operator": "Exists"}], {}, [], id="all are borne"),
        pytest.param(
            [{"operator": "Exists", "effect": "NoSchedule"}],
            {},
            ["not-ready", "unreachable"],
            id="other effect",
        ),
        pytest.param([], CREATED, [], id="a pod that has been in a cluster"),
    ],
)
def test_a_pod_stays_for_a_while_where_the_kubelet_falls_silent(
    given: list[Manifest], metadata: Manifest, added: list[str]
) -> None:
    (pod,) = objects_from([pod_manifest(metadata=metadata, spec={"tolerations": given})]).pods
    tolerations = pod.spec.tolerations[len(given) :]
    assert [one.key for one in tolerations] == [f"node.kubernetes.io/{name}" for name in added]
    assert {(one.operator, one.effect) for one in tolerations} <= {("Exists", "NoExecute")}


def limit_range(namespace: str = "default", **limits: Any) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l", "namespace": namespace},
        "spec": {"limits": [{"type": "Pod", "max": {"cpu": "64"}}, {"type": "Container", **limits}]},
    }


@pytest.mark.parametrize(
    ("ranges", "resources", "requests", "limits"),
    [
        pytest.param(
            [limit_range(defaultRequest={"cpu": "1"}, default={"cpu": "2", "memory": "1Gi"})],
            {},
            {"cpu": "1", "memory": "1Gi"},
            {"cpu": "2", "memory": "1Gi"},
            id="defaults",
        ),
        pytest.param(
            [limit_range(defaultRequest={"cpu": "1"}, default={"cpu": "3"})],
            {"limits": {"cpu": "2"}},
            {"cpu": "2"},
            {"cpu": "2"},
            id="a limit of its own comes first",
        ),
        pytest.param(
            [limit_range(max={"cpu": "4"}, min={"memory": "1Gi"})],
            {},
            {"cpu": "4", "memory": "1Gi"},
            {"cpu": "4"},
            id="bounds are defaults too",
        ),
        pytest.param([limit_range("other", default={"cpu": "2"})], {}, {}, {}, id="another namespace's"),
    ],
)
def test_a_limit_range_completes_containers(
    ranges: list[Manifest], resources: Manifest, requests: Manifest, limits: Manifest
) -> None:
    containers = [{"name": "main", "resources": resources}]
    spec = {"containers": containers, "initContainers": containers}
    loaded = objects_from([pod_manifest(spec=spec), *ranges])
    for container in (*loaded.pods[0].spec.containers, *loaded.pods[0].spec.init_containers):
        assert (container.resources.requests, container.resources.limits) == (requests, limits)
    assert not loaded.skipped
    assert objects_from([pod_manifest(metadata=CREATED, spec=spec), *ranges]).pods[0].spec.containers[
        0
    ].resources.requests == resources.get("limits", {})


def test_a_runtime_class_says_what_its_pods_cost_and_where_they_run() -> None:
    runtime = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "sandbox"},
        "handler": "x",
        "overhead": {"podFixed": {"cpu": "250m"}},
        "scheduling": {"nodeSelector": {"vm": "yes"}, "tolerations": [{"key": "vm", "operator": "Exists"}]},
    }
    spec = {"runtimeClassName": "sandbox", "nodeSelector": {"disk": "ssd"}}
    (pod,) = objects_from([runtime, pod_manifest(spec=spec)]).pods
    assert pod.spec.overhead == {"cpu": "250m"}
    assert pod.spec.node_selector == {"disk": "ssd", "vm": "yes"}
    assert "vm" in [toleration.key for toleration in pod.spec.tolerations]


@pytest.mark.parametrize(
    ("spec", "metadata", "notes"),
    [
        pytest.param(
            {"priorityClassName": "top"},
            {},
            [f"PriorityClass top {UNKNOWN} their priority is 0"],
            id="an unknown priority",
        ),
        pytest.param(
            {"runtimeClassName": "gvisor"},
            {},
            [f"RuntimeClass gvisor {UNKNOWN} they have no overhead"],
            id="an unknown runtime",
        ),
        pytest.param({"priorityClassName": "given"}, {}, [], id="a given priority"),
        pytest.param({"priorityClassName": "system-node-critical"}, {}, [], id="a built-in priority"),
        pytest.param({"priorityClassName": "top", "priority": 7}, {}, [], id="the value is known"),
        pytest.param(
            {"priorityClassName": "top", "runtimeClassName": "gvisor"}, CREATED, [], id="pods of a cluster"
        ),
    ],
)
def test_classes_that_no_manifest_has_are_told(spec: Manifest, metadata: Manifest, notes: list[str]) -> None:
    given = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "given"},
        "value": 5,
    }
    pods = [pod_manifest(name, metadata=metadata, spec=spec) for name in ("a", "b")]
    assert [*objects_from([given, *pods]).notes] == notes


def storage_class(name: str, created: str = "", default: str = "true") -> Manifest:
    annotations = {"storageclass.kubernetes.io/is-default-class": default}
    metadata = {"name": name, "annotations": annotations} | (
        {"creationTimestamp": created} if created else {}
    )
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata}


@pytest.mark.parametrize(
    ("classes", "claim", "expected"),
    [
        pytest.param([storage_class("b"), storage_class("a")], {}, "a", id="the first by name"),
        pytest.param(
            [storage_class("a", "2025-01-01T00:00:00Z"), storage_class("b", "2026-01-01T00:00:00Z")],
            {},
            "b",
            id="the newest",
        ),
        pytest.param([storage_class("a", default="false")], {}, None, id="no default"),
        pytest.param([storage_class("a")], {"spec": {"storageClassName": ""}}, "", id="none is wanted"),
        pytest.param([storage_class("a")], {"status": {"phase": "Bound"}}, None, id="bound"),
    ],
)
def test_a_claim_gets_the_default_class(
    classes: list[Manifest], claim: Manifest, expected: str | None
) -> None:
    manifest = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, **claim}
    loaded = objects_from([manifest, *classes])
    (found,) = [item for item in loaded.objects if isinstance(item, PersistentVolumeClaim)]
    assert found.spec.storage_class_name == expected
