"""Claims, volumes and budgets of files are as kube-controller-manager leaves them in a cluster."""

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mooring.cluster.manifests import Manifests, objects_from
from mooring.framework.objects import (
    PersistentVolume,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    ResourceClaim,
)
from tests.process import wait_until

from .api import Api, Manifest
from .applying import apply
from .guarded import GuardedControlPlane

pytestmark = pytest.mark.e2e

SEED = int(os.environ.get("MOORING_E2E_SEED", "1"))
SCENARIOS = 60
MODES = ("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany")
SIZES = ("1Gi", "2Gi", "1500Mi", "3G")

TEMPLATE: Manifest = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "one", "namespace": "default"},
    "spec": {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}},
}


class Settling(GuardedControlPlane):
    controllers = (
        *GuardedControlPlane.controllers,
        "disruption-controller",
        "ephemeral-volume-controller",
        "persistentvolume-binder-controller",
        "resourceclaim-controller",
    )


def named(kind: str, version: str, name: str, **fields: Any) -> Manifest:
    metadata = {"name": name, "namespace": "default", **fields.pop("metadata", {})}
    if kind in ("PersistentVolume", "StorageClass"):
        del metadata["namespace"]
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def storage(random: Random, at: int) -> list[Manifest]:
    """Return a class of its own, some volumes of it, and a claim: so no two claims want one volume."""
    mode = random.choice(("Immediate", "WaitForFirstConsumer"))
    provisioner = "kubernetes.io/no-provisioner"
    made = [
        named(
            "StorageClass",
            "storage.k8s.io/v1",
            f"c{at}",
            provisioner=provisioner,
            volumeBindingMode=mode,
        )
    ]
    sizes = random.sample(SIZES, random.randint(0, 3))
    for number, size in enumerate(sizes):
        spec = {
            "capacity": {"storage": size},
            "accessModes": random.sample(MODES, random.randint(1, 2)),
            "storageClassName": random.choice((f"c{at}", f"c{at}", f"c{at}", f"x{at}")),
            "hostPath": {"path": "/d"},
        }
        if random.random() < 0.3:
            name = random.choice((f"claim-{at}", f"claim-{at}", "nobody"))
            spec["claimRef"] = {"namespace": "default", "name": name}
        labels = {"labels": {"a": random.choice("bc")}}
        made.append(named("PersistentVolume", "v1", f"v{at}-{number}", metadata=labels, spec=spec))
    spec = {
        "accessModes": random.sample(MODES, random.choice((1, 1, 1, 2))),
        "resources": {"requests": {"storage": random.choice(SIZES)}},
        "storageClassName": f"c{at}",
    }
    if random.random() < 0.2:
        spec["selector"] = {"matchLabels": {"a": "b"}}
    if random.random() < 0.3:
        spec["volumeName"] = f"v{at}-{random.randint(0, 2)}"
    made.append(named("PersistentVolumeClaim", "v1", f"claim-{at}", spec=spec))
    return made


def claiming(random: Random, at: int) -> Manifest:
    """Return a pod with ephemeral volumes and devices from templates; one template is missing."""
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    spec: Manifest = {"containers": [{"name": "c", "image": "pause"}]}
    if random.random() < 0.6:
        template["spec"]["storageClassName"] = random.choice(("", "nothing"))
        spec["volumes"] = [{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}]
    if random.random() < 0.6:
        name = random.choice(("one", "one", "none"))
        spec["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": name}]
    return named("Pod", "v1", f"pod-{at}", spec=spec)


def budgeted(random: Random, at: int) -> list[Manifest]:
    labels = {"app": f"w{at}"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "pause"}]}}
    selector, replicas = {"matchLabels": labels}, random.randint(0, 4)
    kind = random.choice(("Deployment", "Deployment", "StatefulSet", "ReplicaSet"))
    spec = {"replicas": replicas, "selector": selector, "template": pod}
    if kind == "StatefulSet":
        spec |= {"serviceName": "s", "podManagementPolicy": "Parallel"}
    amount = random.choice((0, 1, 2, 5, "0%", "25%", "50%", "100%"))
    limit = {random.choice(("minAvailable", "maxUnavailable")): amount}
    return [
        named(kind, "apps/v1", f"w{at}", spec=spec),
        named("PodDisruptionBudget", "policy/v1", f"b{at}", spec={"selector": selector, **limit}),
    ]


def offline(loaded: Manifests) -> dict[str, object]:
    found: dict[str, object] = {}
    for item in loaded.objects:
        name = item.metadata.name
        if isinstance(item, PersistentVolume):
            kept = item.spec.claim_ref
            found[f"volume {name}"] = item.status.phase, kept.name if kept and kept.uid else ""
        elif isinstance(item, PersistentVolumeClaim):
            owners = [one.name for one in item.metadata.owner_references]
            found[f"claim {name}"] = item.status.phase, item.spec.volume_name, owners
        elif isinstance(item, ResourceClaim):
            owners = [one.name for one in item.metadata.owner_references]
            found[f"devices {name[:-5]}"] = owners, [one.name for one in item.spec.devices.requests]
        elif isinstance(item, PodDisruptionBudget):
            status = item.status
            found[f"budget {name}"] = (
                status.expected_pods,
                status.desired_healthy,
                status.current_healthy,
                status.disruptions_allowed,
            )
    return found | statuses_of_claims(loaded)


def statuses_of_claims(loaded: Manifests) -> dict[str, object]:
    return {
        f"pod {pod.metadata.name}": [
            (made.name, (made.resource_claim_name or "")[:-5]) for made in pod.status.resource_claim_statuses
        ]
        for pod in loaded.pods
        if pod.metadata.name.startswith("pod-")
    }


def in_cluster(api: Api) -> dict[str, object]:
    found: dict[str, object] = {}
    for item in api.items("/api/v1/persistentvolumes"):
        kept = item["spec"].get("claimRef", {})
        name = kept["name"] if kept.get("uid") else ""
        found[f"volume {item['metadata']['name']}"] = item["status"].get("phase"), name
    for item in api.items("/api/v1/persistentvolumeclaims"):
        volume = item["spec"].get("volumeName", "")
        found[f"claim {item['metadata']['name']}"] = item["status"]["phase"], volume, owners_of(item)
    for item in api.items("/apis/resource.k8s.io/v1/resourceclaims"):
        requests = [one["name"] for one in item["spec"]["devices"]["requests"]]
        found[f"devices {item['metadata']['name'][:-5]}"] = owners_of(item), requests
    for item in api.items("/apis/policy/v1/poddisruptionbudgets"):
        counts = ("expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed")
        found[f"budget {item['metadata']['name']}"] = tuple(
            item.get("status", {}).get(name) for name in counts
        )
    for item in api.items("/api/v1/pods"):
        if item["metadata"]["name"].startswith("pod-"):
            made = item.get("status", {}).get("resourceClaimStatuses", [])
            found[f"pod {item['metadata']['name']}"] = [
                (one["name"], one["resourceClaimName"][:-5]) for one in made
            ]
    return found


def owners_of(item: Manifest) -> list[str]:
    return [one["name"] for one in item["metadata"].get("ownerReferences", [])]


def make_ready(api: Api) -> None:
    """Report each pod as its kubelet would."""
    for pod in api.items("/api/v1/pods"):
        status = {
            **pod["status"],
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        path = f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}/status"
        api.call("PUT", path, {**pod, "status": status})


def test_what_controllers_make_of_claims_volumes_and_budgets(tmp_path: Path) -> None:
    random = Random(SEED)
    manifests = [TEMPLATE]
    for at in range(SCENARIOS):
        manifests += [*storage(random, at), claiming(random, at), *budgeted(random, at)]
    expected = offline(objects_from(manifests, settled=True))
    workloads = sum(name.startswith("pod ") for name in expected)
    assert workloads == SCENARIOS
    with Settling(tmp_path) as plane:
        wait_until(
            lambda: plane.api.items("/api/v1/namespaces/default/serviceaccounts"), "the service account"
        )
        apply(plane.api, manifests)
        pods = len(objects_from(manifests).pods)
        wait_until(lambda: len(plane.api.items("/api/v1/pods")) == pods, "the pods", seconds=120)
        make_ready(plane.api)

        def different() -> list[tuple[str, object, object]]:
            there = in_cluster(plane.api)
            names = sorted(expected.keys() | there.keys())
            return [
                (name, expected.get(name), there.get(name))
                for name in names
                if expected.get(name) != there.get(name)
            ]

        try:
            wait_until(lambda: not different(), "the controllers", seconds=90)
        except TimeoutError:
            assert different() == []
    print(f"{len(expected)} objects")
