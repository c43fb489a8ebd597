"""Answers of the commands about manifests from public reports, compared with a cluster's decisions.

Each test is called like its case.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mooring.testing.builders import node_manifest, pod_manifest
from tests.cli.commands import call, write_manifests
from tests.plugins import rejections

Capture = pytest.CaptureFixture[str]
Manifest = dict[str, Any]

DEVICE_CLASS: Manifest = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
}
SLICE: Manifest = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "n2-gpus"},
    "spec": {
        "driver": "gpu.example.com",
        "nodeName": "n2",
        "pool": {"name": "n2", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "gpu-0"}, {"name": "gpu-1"}],
    },
}
REQUESTS = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
CLAIM_TEMPLATE: Manifest = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "one"},
    "spec": {"spec": REQUESTS},
}
CLAIMING = {
    "containers": [{"name": "c", "resources": {"claims": [{"name": "gpu"}]}}],
    "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}],
}
DEVICES = [node_manifest("n1"), node_manifest("n2"), DEVICE_CLASS, SLICE, CLAIM_TEMPLATE]
STORAGE = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def placed(capsys: Capture, path: Path, *flags: str) -> dict[str, str]:
    """Return pods and their nodes, "" without one."""
    result = call(capsys, "schedule", "--manifests", path, "-o", "json", *flags)
    assert result.code in (0, 3), result.err
    return {row["pod"]: row["node"] or "" for row in result.document}


def stateful_set(replicas: int, **claim: Any) -> Manifest:
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c"}]}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {**STORAGE, **claim}}],
        },
    }


def test_foreign_group_job(tmp_path: Path, capsys: Capture) -> None:
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "train"}}
    files = write_manifests(tmp_path / "a.yaml", node_manifest("n1"), job, pod_manifest("web"))
    assert placed(capsys, files) == {"default/web": "n1"}
    told = call(capsys, "schedule", "--manifests", files).err
    assert "objects of these kinds are ignored: batch.volcano.sh/v1alpha1 Job (1)" in told


def test_claim_template(tmp_path: Path, capsys: Capture) -> None:
    pod = pod_manifest("pod0", spec=CLAIMING)
    files = write_manifests(tmp_path / "a.yaml", *DEVICES, pod)
    assert placed(capsys, files) == {"default/pod0": "n2"}
    explained = call(capsys, "explain", "pod0", "--manifests", files, "-o", "name")
    assert (explained.code, explained.out) == (0, "node/n2\n")
    changed = call(capsys, "what-if", "change", "pod0", "--manifests", files)
    assert "ResourceClaim not created yet" not in changed.out


def test_generate_name(tmp_path: Path, capsys: Capture) -> None:
    pods = [pod_manifest("", requests={"cpu": "1"}) for _ in range(2)]
    for pod in pods:
        pod["metadata"] = {"generateName": "sleep-"}
    files = write_manifests(tmp_path / "a.yaml", node_manifest("n1"), *pods)
    found = placed(capsys, files)
    assert list(found.values()) == ["n1", "n1"]
    assert all(name.startswith("default/sleep-") for name in found)
    assert placed(capsys, files) == found


def test_json_surrogate_pair(tmp_path: Path, capsys: Capture) -> None:
    node = node_manifest("n1")
    node["metadata"]["annotations"] = {"example.com/mood": "\U0001f600"}
    items = {"kind": "List", "items": [node, pod_manifest("web")]}
    (tmp_path / "a.json").write_text(json.dumps(items))
    assert "\\ud83d" in (tmp_path / "a.json").read_text()
    assert placed(capsys, tmp_path) == {"default/web": "n1"}


def test_json_one_after_another(tmp_path: Path, capsys: Capture) -> None:
    texts = (json.dumps(item, indent="\t") for item in (node_manifest("n1"), pod_manifest("web")))
    (tmp_path / "a.json").write_text("\n".join(texts))
    assert placed(capsys, tmp_path) == {"default/web": "n1"}


def test_must_gather(tmp_path: Path, capsys: Capture) -> None:
    pod = pod_manifest("web", spec={"nodeName": "n1", "containers": [{"name": "c"}]})
    for file in ("core/pods.yaml", "pods/web/web.yaml"):
        (tmp_path / file).parent.mkdir(parents=True)
    write_manifests(tmp_path / "core" / "pods.yaml", {"kind": "PodList", "apiVersion": "v1", "items": [pod]})
    write_manifests(tmp_path / "pods" / "web" / "web.yaml", pod)
    write_manifests(tmp_path / "nodes.yaml", node_manifest("n1"), node_manifest("n2"))
    assert "1 of 2 nodes could go" in call(capsys, "what-if", "removal", "--manifests", tmp_path).out


def test_immediate_storage_class(tmp_path: Path, capsys: Capture) -> None:
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    kind = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "standard", "annotations": default},
        "provisioner": "csi.example.com",
    }
    files = write_manifests(tmp_path / "a.yaml", node_manifest("n1"), kind, stateful_set(2))
    group = write_manifests(tmp_path / "group.yaml", node_manifest("new"))
    assert placed(capsys, files) == {"default/db-0": "n1", "default/db-1": "n1"}
    told = call(capsys, "what-if", "node-groups", "--manifests", files, "--group", group)
    assert "pending pods that need more nodes: 0" in told.out


def test_no_storage_class(tmp_path: Path, capsys: Capture) -> None:
    files = write_manifests(tmp_path / "a.yaml", node_manifest("n1"), stateful_set(2))
    assert placed(capsys, files) == {"default/db-0": "", "default/db-1": ""}
    note = "claims on volumes wait, and no node can help (2: default/data-db-0, default/data-db-1)"
    for words in (("schedule",), ("explain", "db-0"), ("what-if", "removal")):
        assert note in call(capsys, *words, "--manifests", files).err
    group = write_manifests(tmp_path / "group.yaml", node_manifest("new"))
    out = call(capsys, "what-if", "node-groups", "--manifests", files, "--group", group).out
    assert out.splitlines()[-2:] == [
        "pending pods that need more nodes: 0, that don't: 0",
        "pending pods that no number of these nodes would help: 2",
    ]


def test_pdb_without_status(tmp_path: Path, capsys: Capture) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1", "controller": True}
    pods = []
    for name in "abc":
        pod = pod_manifest(f"web-{name}", spec={"nodeName": f"n-{name}", "containers": [{"name": "c"}]})
        pod["metadata"] |= {"labels": {"app": "web"}, "ownerReferences": [owner]}
        pod["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        pods.append(pod)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    nodes = (node_manifest(f"n-{name}") for name in "abc")
    files = write_manifests(tmp_path / "a.yaml", *nodes, *pods, budget)
    told = call(capsys, "what-if", "removal", "--manifests", files).out
    assert "3 of 3 nodes could go" in told
    assert "violate" not in told


def test_claims_in_files(tmp_path: Path, capsys: Capture) -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": CLAIMING},
        },
    }
    kind = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "local"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}]}]
    volumes = [
        {
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": "10Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "local",
                "local": {"path": "/d"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
            },
        }
        for name in ("pv1", "pv2")
    ]
    template = {"spec": {**STORAGE, "storageClassName": "local"}}
    ephemeral = {"name": "v", "ephemeral": {"volumeClaimTemplate": template}}
    pod = pod_manifest("eph", spec={"containers": [{"name": "c"}], "volumes": [ephemeral]})
    objects = [*DEVICES, deployment, kind, *volumes, stateful_set(1, storageClassName="local"), pod]
    files = write_manifests(tmp_path / "a.yaml", *objects)
    assert sorted(placed(capsys, files).values()) == ["n1", "n1", "n2", "n2"]


HOST = "kubernetes.io/hostname"
SPREAD = {
    "maxSkew": 1,
    "topologyKey": HOST,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}
NEAR_BOTH = [
    {"topologyKey": HOST, "labelSelector": {"matchLabels": labels}}
    for labels in ({"app": "front"}, {"env": "prod"})
]
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
SLA = {"key": "example.com/sla", "value": "900", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("objects", "spec", "flags", "said"),
    [
        pytest.param(
            [node_manifest("n1", taints=[{"key": "maintenance", "effect": "NoSchedule"}])],
            {},
            (),
            "taint maintenance:NoSchedule is not tolerated",
            id="taint-unnamed",
        ),
        pytest.param(
            [
                node_manifest("n1", labels={HOST: "n1"}),
                node_manifest("n2", labels={HOST: "n2"}, spec={"unschedulable": True}),
                pod_manifest("web-b", node="n1", labels={"app": "web"}),
            ],
            {"topologySpreadConstraints": [SPREAD]},
            (),
            "n2 (cordoned) has the fewest, 0; it counts because nodeTaintsPolicy is",
            id="drain-in-progress",
        ),
        pytest.param(
            [
                node_manifest("n1", labels={HOST: "n1"}),
                pod_manifest("front", node="n1", labels={"app": "front"}),
                pod_manifest("prod", node="n1", labels={"env": "prod"}),
            ],
            {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": NEAR_BOTH}}},
            (),
            "no single pod matches all 2 terms; default/front matches term 1, default/prod matches term 2",
            id="affinity-one-pod-for-all-terms",
        ),
        pytest.param(
            [node_manifest("n1", taints=[SLA])],
            {"tolerations": [{**SLA, "operator": "Gt"}]},
            (),
            "operator Gt has no effect while the feature gate TaintTolerationComparisonOperators is off",
            id="gt-toleration",
        ),
        pytest.param(
            [node_manifest("n1", taints=[SLA])],
            {"tolerations": [{**SLA, "operator": "Gt"}]},
            ("--feature-gates", "TaintTolerationComparisonOperators=true"),
            "taint example.com/sla=900:NoSchedule is not tolerated: 900 is not greater than 900",
            id="gt-toleration, gate on",
        ),
        pytest.param(
            [
                node_manifest("n1", labels={HOST: "n1"}),
                node_manifest("cp-1", taints=[{"key": CONTROL_PLANE, "effect": "NoSchedule"}]),
                pod_manifest("web-b", node="n1", labels={"app": "web"}),
            ],
            {"topologySpreadConstraints": [SPREAD]},
            (),
            f"cp-1 (tainted {CONTROL_PLANE}:NoSchedule) has the fewest, 0; it counts because",
            id="spread-counts-tainted-nodes",
        ),
        pytest.param(
            [node_manifest("n1", allocatable={"cpu": "4"}), rejections.GROWS],
            {"containers": [{"name": "c", "resources": {"requests": {"cpu": "500m"}}}]},
            (),
            "taken by default/grows (counts as 3.8 because its resize is deferred; it has 1)",
            id="deferred-resize",
        ),
        pytest.param(
            [
                node_manifest("n1"),
                *rejections.FACTS["devices, counters"].objects[1:],
            ],
            rejections.FACTS["devices, counters"].pod["spec"],
            (),
            "half-1 needs 2 of counter set/slices, 1 of 3 left (1 of 2 devices); taken by default/used",
            id="dra-why-not",
        ),
    ],
)
def test_the_explanation_names_the_cause(
    objects: list[Manifest],
    spec: Manifest,
    flags: tuple[str, ...],
    said: str,
    tmp_path: Path,
    capsys: Capture,
) -> None:
    asked = pod_manifest("asked", labels={"app": "web"}, spec=spec)
    manifests = write_manifests(tmp_path / "cluster.yaml", *objects, asked)
    found = call(capsys, "explain", "asked", "--manifests", manifests, "--node", "n1", *flags)
    assert found.code == 3
    assert said in found.out
