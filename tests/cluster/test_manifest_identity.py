"""Which objects of files are read, and what they are called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mooring.cluster.kinds import API_VERSIONS, kind_in_files
from mooring.cluster.manifests import load_manifests, objects_from
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.objects import (
    DeviceClass,
    Namespace,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from mooring.testing.builders import node_manifest, pod_manifest

Manifest = dict[str, Any]


def foreign(kind: str, group: str = "example.com", **fields: Any) -> Manifest:
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "x"}, **fields}


LIMITS = {"limits": [{"type": "Container", "defaultRequest": {"cpu": "64"}}]}
WITH_TEMPLATE: Manifest = {"spec": {"replicas": 3, "template": {"spec": {"containers": [{"name": "c"}]}}}}


@pytest.mark.parametrize(
    "manifest",
    [
        *(pytest.param(foreign(kind.__name__), id=kind.__name__) for kind in API_VERSIONS),
        *(
            pytest.param(foreign(kind, **WITH_TEMPLATE), id=f"{kind} with a template")
            for kind in (
                "DaemonSet",
                "Deployment",
                "Job",
                "ReplicaSet",
                "ReplicationController",
                "StatefulSet",
            )
        ),
        *(
            pytest.param(foreign(kind), id=f"{kind} without a template")
            for kind in ("DaemonSet", "Deployment", "Job")
        ),
        pytest.param(foreign("LimitRange", spec=LIMITS), id="LimitRange"),
        pytest.param(foreign("RuntimeClass", overhead={"podFixed": {"cpu": "1"}}), id="RuntimeClass"),
        pytest.param(
            {**foreign("Deployment", **WITH_TEMPLATE), "apiVersion": "apps/v3"}, id="unknown version"
        ),
    ],
)
def test_a_namesake_of_another_group_is_ignored_by_name(manifest: Manifest) -> None:
    pod = pod_manifest("p", spec={"runtimeClassName": "x", "containers": [{"name": "c"}]})
    with_it, without = objects_from([pod, manifest, node_manifest()]), objects_from([pod, node_manifest()])
    assert with_it.objects == without.objects
    assert with_it.skipped == {f"{manifest['apiVersion']} {manifest['kind']}": 1}


def test_a_list_of_another_groups_objects_is_theirs(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "kind: NodeList\napiVersion: longhorn.io/v1beta2\nitems: [{metadata: {name: n}}]\n"
        "---\nkind: AllowList\napiVersion: example.com/v1\n"
    )
    loaded = load_manifests([tmp_path])
    assert loaded.objects == ()
    assert loaded.skipped == {"longhorn.io/v1beta2 Node": 1, "AllowList": 1}


def test_an_owner_of_another_group_is_not_the_workload_of_that_name() -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": WITH_TEMPLATE["spec"],
    }
    pod = pod_manifest("train-0")
    reference = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "name": "train",
        "controller": True,
    }
    pod["metadata"]["ownerReferences"] = [reference]
    assert len(objects_from([job, pod]).pods) == 2
    reference["apiVersion"] = "batch/v1"
    assert len(objects_from([job, pod]).pods) == 1


def test_a_kind_without_a_version_is_the_apis_own() -> None:
    assert kind_in_files("Job", "") == "Job"
    assert kind_in_files("Secret", "v1") == ""


def nameless(stem: str, namespace: str = "default", kind: str = "Pod") -> Manifest:
    pod = pod_manifest("", namespace=namespace)
    pod["metadata"] = {"generateName": stem, "namespace": namespace}
    return {**pod, "kind": kind}


def test_a_generated_name_is_made_up_and_the_same_each_time() -> None:
    pods = [nameless("sleep-"), nameless("sleep-"), nameless("sleep-", "other"), pod_manifest("p")]
    names = [pod.metadata.name for pod in objects_from(pods).pods]
    assert names == [pod.metadata.name for pod in objects_from(pods).pods]
    assert len(set(names)) == 4
    assert [name.rpartition("-")[0] for name in names] == ["sleep", "sleep", "sleep", ""]
    assert all(len(name) == len("sleep-") + 5 for name in names[:3])


def test_a_workload_may_have_a_generated_name() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "j-"}, **WITH_TEMPLATE}
    [pod] = objects_from([job]).pods
    assert pod.metadata.name.startswith("j-")
    assert pod.metadata.name != "j-"


@pytest.mark.parametrize("kind", ["Pod", "Node", "LimitRange", "Deployment"])
def test_an_object_that_is_given_twice_is_one_if_both_are_alike(kind: str) -> None:
    one: Manifest = {"kind": kind, "metadata": {"name": "x"}, **WITH_TEMPLATE}
    assert objects_from([one, dict(one)]).objects == objects_from([one]).objects
    with pytest.raises(InvalidArgumentError) as raised:
        objects_from([one, {**one, "spec": {**one["spec"], "replicas": 2}}])
    assert raised.value.message == (
        f"objects[1]: {kind} x: given twice with different content; the first one is at objects[0]"
    )


@pytest.mark.parametrize(
    ("files", "path", "message"),
    [
        pytest.param(
            {"kustomization.yaml": "resources: [a.yaml]"},
            "kustomization.yaml:1: kind",
            "kubectl kustomize DIR | mooring",
            id="kustomization",
        ),
        pytest.param(
            {"a.yaml": "x: 1", "values.yaml": "replicas: 1"},
            "values.yaml:1: kind",
            "helm template DIR | mooring",
            id="chart",
        ),
        pytest.param(
            {"a.json": '{"metadata": {}}'}, "a.json:1: kind", "write for example Pod", id="one object"
        ),
        pytest.param(
            {f"{n}.json": '{"metadata": {}}' for n in range(37)},
            "0.json:1: kind",
            "as in 36 more",
            id="an archive",
        ),
    ],
)
def test_what_names_no_kind_is_told_once(
    files: dict[str, str], path: str, message: str, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InvalidArgumentError) as raised:
        load_manifests([tmp_path])
    [violation] = raised.value.violations
    assert violation.path == f"{tmp_path}/{path}"
    assert message in violation.message


V1BETA1 = "resource.k8s.io/v1beta1"
REQUEST = {"name": "r", "deviceClassName": "gpu", "count": 2, "selectors": [{"cel": {"expression": "true"}}]}
EXACTLY = {"name": "r", "exactly": {name: value for name, value in REQUEST.items() if name != "name"}}
ANY = {"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "gpu"}]}
BASIC = {"attributes": {"model": {"string": "a"}}, "capacity": {"memory": {"value": "8Gi"}}}


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        pytest.param(
            ResourceClaim,
            {"devices": {"requests": [REQUEST, ANY]}},
            {"devices": {"requests": [EXACTLY, ANY]}},
            id="claim",
        ),
        pytest.param(
            ResourceClaimTemplate,
            {"spec": {"devices": {"requests": [REQUEST]}}},
            {"spec": {"devices": {"requests": [EXACTLY]}}},
            id="template",
        ),
        pytest.param(
            ResourceSlice,
            {"driver": "d", "nodeName": "n", "devices": [{"name": "d0", "basic": BASIC}]},
            {"driver": "d", "nodeName": "n", "devices": [{"name": "d0", **BASIC}]},
            id="slice",
        ),
        pytest.param(DeviceClass, {"selectors": []}, {"selectors": []}, id="class"),
    ],
)
def test_older_versions_of_devices_are_read_as_the_newest(kind: type, old: Manifest, new: Manifest) -> None:
    head = {"kind": kind.__name__, "metadata": {"name": "x"}}
    newest = objects_from([{**head, "apiVersion": "resource.k8s.io/v1", "spec": new}]).objects
    for version in (V1BETA1, "resource.k8s.io/v1alpha3"):
        assert objects_from([{**head, "apiVersion": version, "spec": old}]).objects == newest
    assert isinstance(newest[0], kind)


def test_sizes_of_devices_have_no_field_around_them_in_the_oldest_version() -> None:
    head = {"kind": "ResourceSlice", "metadata": {"name": "x"}}
    flat = {"name": "d", "basic": {"capacity": {"memory": "8Gi"}}}
    newest = {"name": "d", "capacity": {"memory": {"value": "8Gi"}}}
    old = {**head, "apiVersion": "resource.k8s.io/v1alpha3", "spec": {"devices": [flat]}}
    new = {**head, "apiVersion": "resource.k8s.io/v1", "spec": {"devices": [newest]}}
    assert objects_from([old]).objects == objects_from([new]).objects


def test_a_namespace_that_holds_something_is_there() -> None:
    shop = {"kind": "Namespace", "metadata": {"name": "shop", "labels": {"a": "b"}}}
    pods = [pod_manifest("p"), pod_manifest("p", namespace="shop"), pod_manifest("p", namespace="other")]
    loaded = objects_from([*pods, shop, node_manifest()], settled=True)
    labels = [item.metadata.labels for item in loaded.objects if isinstance(item, Namespace)]
    name = "kubernetes.io/metadata.name"
    assert labels == [{"a": "b", name: "shop"}, {name: "default"}, {name: "other"}]
