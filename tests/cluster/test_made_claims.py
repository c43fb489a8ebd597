"""Claims that controllers make from templates, and volumes that they bind."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest

from mooring.cluster.manifests import Manifests
from mooring.cluster.manifests import objects_from as read
from mooring.cluster.manifests.controllers import volumes
from mooring.framework.objects import PersistentVolume, PersistentVolumeClaim, PodGroup, ResourceClaim
from mooring.framework.releases import DEFAULT_KUBE_VERSION, NEWEST_GATES, Gates, KubeVersion
from mooring.framework.volume_matching import BIND_COMPLETED, usable_volumes
from mooring.testing.builders import pod_manifest

Manifest = dict[str, Any]
T = TypeVar("T")

GROUP_CLAIMS = {"GenericWorkload": True, "DRAWorkloadResourceClaims": True}
GATES = Gates(KubeVersion.parse(DEFAULT_KUBE_VERSION), GROUP_CLAIMS)
REQUESTS = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
TEMPLATE: Manifest = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "one"},
    "spec": {"metadata": {"labels": {"a": "b"}}, "spec": REQUESTS},
}
ENTRY = {"name": "gpu", "resourceClaimTemplateName": "one"}
STORAGE = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def objects_from(manifests: list[Manifest], gates: Gates = NEWEST_GATES) -> Manifests:
    return read(manifests, gates, settled=True)


def of_kind(loaded: Manifests, kind: type[T]) -> list[T]:
    return [item for item in loaded.objects if isinstance(item, kind)]


def claiming(name: str = "p", **fields: Any) -> Manifest:
    return pod_manifest(name, spec={"containers": [{"name": "c"}], "resourceClaims": [ENTRY], **fields})


def test_a_pod_gets_a_claim_of_its_template() -> None:
    loaded = objects_from([claiming(), TEMPLATE])
    [claim], [pod] = of_kind(loaded, ResourceClaim), loaded.pods
    assert claim.metadata.name.startswith("p-gpu-")
    assert [(made.name, made.resource_claim_name) for made in pod.status.resource_claim_statuses] == [
        ("gpu", claim.metadata.name)
    ]
    [owner] = claim.metadata.owner_references
    assert (owner.kind, owner.name, owner.uid, owner.controller) == ("Pod", "p", pod.metadata.uid, True)
    assert claim.metadata.labels == {"a": "b"}
    assert claim.spec.devices.requests[0].exactly is not None
    assert claim.spec.devices.requests[0].exactly.count == 1
    assert objects_from([TEMPLATE, claiming()]).pods == [pod]


def test_each_pod_of_a_workload_gets_its_own() -> None:
    spec = claiming()["spec"]
    sets: Manifest = {
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 3, "template": {"metadata": {"labels": {"a": "b"}}, "spec": spec}},
    }
    loaded = objects_from([sets, TEMPLATE])
    claims = {claim.metadata.name for claim in of_kind(loaded, ResourceClaim)}
    named = {made.resource_claim_name for pod in loaded.pods for made in pod.status.resource_claim_statuses}
    assert len(claims) == 3
    assert named == claims


@pytest.mark.parametrize(
    ("pod", "templates"),
    [
        pytest.param(claiming(), [], id="no template"),
        pytest.param({**claiming(), "status": {"phase": "Succeeded"}}, [TEMPLATE], id="ended"),
        pytest.param(
            {**claiming(), "status": {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "x"}]}},
            [TEMPLATE],
            id="made already",
        ),
        pytest.param(
            claiming(resourceClaims=[{"name": "gpu", "resourceClaimName": "x"}]),
            [TEMPLATE],
            id="no template named",
        ),
    ],
)
def test_no_claim_is_made(pod: Manifest, templates: list[Manifest]) -> None:
    assert of_kind(objects_from([pod, *templates]), ResourceClaim) == []


def test_a_group_shares_the_claim_that_its_pods_name_alike() -> None:
    group: Manifest = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": {"resourceClaims": [ENTRY]},
    }
    pods = [claiming(name, schedulingGroup={"podGroupName": "g"}) for name in ("p", "q")]
    loaded = objects_from([group, *pods, TEMPLATE], GATES)
    [claim], [stored] = of_kind(loaded, ResourceClaim), of_kind(loaded, PodGroup)
    statuses = [made for pod in loaded.pods for made in pod.status.resource_claim_statuses]
    assert {made.resource_claim_name for made in statuses} == {claim.metadata.name}
    assert [made.resource_claim_name for made in stored.status.resource_claim_statuses] == [
        claim.metadata.name
    ]
    assert [(one.kind, one.name) for one in claim.metadata.owner_references] == [("PodGroup", "g")]
    assert len(of_kind(objects_from([group, *pods, TEMPLATE]), ResourceClaim)) == 2


def with_ephemeral(**spec: Any) -> Manifest:
    volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {**STORAGE, **spec}}}}
    return pod_manifest("p", spec={"containers": [{"name": "c"}], "volumes": [volume]})


def test_an_ephemeral_volume_gets_its_claim() -> None:
    loaded = objects_from([with_ephemeral(storageClassName="late"), storage_class("late", late=True)])
    [claim], [pod] = of_kind(loaded, PersistentVolumeClaim), loaded.pods
    assert (claim.metadata.name, claim.status.phase) == ("p-v", "Pending")
    assert [(one.kind, one.uid) for one in claim.metadata.owner_references] == [("Pod", pod.metadata.uid)]
    given: Manifest = {"kind": "PersistentVolumeClaim", "metadata": {"name": "p-v"}, "spec": STORAGE}
    kept = of_kind(objects_from([with_ephemeral(), given]), PersistentVolumeClaim)
    assert [claim.metadata.owner_references for claim in kept] == [()]


def storage_class(
    name: str, *, late: bool = False, provisioner: str = "csi.example.com", **fields: Any
) -> Manifest:
    mode = {"volumeBindingMode": "WaitForFirstConsumer"} if late else {}
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
    return {**head, "provisioner": provisioner, **mode, **fields}


def claim_of(name: str = "data", **spec: Any) -> Manifest:
    return {"kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": {**STORAGE, **spec}}


def volume(
    name: str, size: str = "1Gi", kind: str = "", modes: tuple[str, ...] = ("ReadWriteOnce",), **spec: Any
) -> Manifest:
    fields = {"capacity": {"storage": size}, "accessModes": [*modes], "storageClassName": kind, **spec}
    return {"kind": "PersistentVolume", "metadata": {"name": name}, "spec": fields}


KEPT = {"namespace": "default", "name": "data"}


@pytest.mark.parametrize(
    ("objects", "bound", "phases"),
    [
        pytest.param(
            [claim_of(), volume("b", "2Gi"), volume("a", "1Gi")],
            "a",
            {"a": "Bound", "b": "Available"},
            id="the smallest",
        ),
        pytest.param(
            [claim_of(), volume("a", modes=("ReadWriteOnce", "ReadWriteMany")), volume("b", "2Gi")],
            "b",
            {"a": "Available", "b": "Bound"},
            id="the fewest modes first",
        ),
        pytest.param([claim_of(), volume("a", "1Mi")], "", {"a": "Available"}, id="too small"),
        pytest.param(
            [claim_of(), volume("a", modes=("ReadOnlyMany",))], "", {"a": "Available"}, id="another mode"
        ),
        pytest.param(
            [claim_of(storageClassName=""), volume("a")], "a", {"a": "Bound"}, id="no class by name"
        ),
        pytest.param([claim_of(), volume("a", kind="x")], "", {"a": "Available"}, id="another class"),
        pytest.param(
            [claim_of(volumeName="b"), volume("a"), volume("b", "9Gi")],
            "b",
            {"a": "Available", "b": "Bound"},
            id="the named one",
        ),
        pytest.param(
            [claim_of(volumeName="b"), volume("a")], "", {"a": "Available"}, id="the named one is not there"
        ),
        pytest.param(
            [claim_of(volumeName="a"), volume("a", claimRef={**KEPT, "name": "other"})],
            "",
            {"a": "Available"},
            id="the named one is another claim's",
        ),
        pytest.param(
            [claim_of(), volume("a"), volume("b", "9Gi", claimRef=KEPT)],
            "b",
            {"a": "Available", "b": "Bound"},
            id="the one kept for it",
        ),
        pytest.param(
            [claim_of(selector={"matchLabels": {"a": "b"}}), volume("a")],
            "",
            {"a": "Available"},
            id="its selector",
        ),
        pytest.param(
            [claim_of(storageClassName="late"), volume("a", kind="late"), storage_class("late", late=True)],
            "",
            {"a": "Available"},
            id="it waits for a pod",
        ),
        pytest.param(
            [
                claim_of(storageClassName="late"),
                volume("a", kind="late", claimRef=KEPT),
                storage_class("late", late=True),
            ],
            "a",
            {"a": "Bound"},
            id="kept for one that waits",
        ),
        pytest.param(
            [claim_of(), volume("a", kind="x", claimRef=KEPT)],
            "a",
            {"a": "Bound"},
            id="kept for it, of another class",
        ),
        pytest.param(
            [claim_of(), volume("a", modes=("ReadWriteOnce", "ReadWriteMany"), claimRef=KEPT), volume("b")],
            "b",
            {"a": "Available", "b": "Bound"},
            id="kept for it, but with more modes",
        ),
        pytest.param(
            [claim_of(), volume("a", "1Mi", claimRef=KEPT), volume("b")],
            "b",
            {"a": "Available", "b": "Bound"},
            id="kept for it, but too small",
        ),
        pytest.param(
            [
                claim_of(storageClassName="late", volumeName="a"),
                volume("a", kind="late"),
                storage_class("late", late=True),
            ],
            "a",
            {"a": "Bound"},
            id="named by one that waits",
        ),
    ],
)
def test_a_claim_is_bound_as_the_controller_of_volumes_does(
    objects: list[Manifest], bound: str, phases: dict[str, str]
) -> None:
    loaded = objects_from(objects)
    [claim] = of_kind(loaded, PersistentVolumeClaim)
    given = claim.spec.volume_name if BIND_COMPLETED in claim.metadata.annotations else ""
    assert (given, claim.status.phase) == (bound, "Bound" if bound else "Pending")
    volumes = of_kind(loaded, PersistentVolume)
    assert {item.metadata.name: item.status.phase for item in volumes} == phases
    owned = {item.metadata.name for item in volumes if item.spec.claim_ref and item.spec.claim_ref.uid}
    assert owned == ({bound} if bound else set())


def test_two_claims_get_two_volumes() -> None:
    loaded = objects_from([claim_of("a"), claim_of("b"), volume("x"), volume("y")])
    assert [claim.spec.volume_name for claim in of_kind(loaded, PersistentVolumeClaim)] == ["x", "y"]
    assert loaded.notes == ()


def test_a_volume_is_provisioned_where_the_class_binds_at_once() -> None:
    zone = {"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}
    made = storage_class("fast", allowedTopologies=[zone])
    loaded = objects_from([claim_of(storageClassName="fast"), made])
    [claim], [provisioned] = of_kind(loaded, PersistentVolumeClaim), of_kind(loaded, PersistentVolume)
    assert claim.spec.volume_name == provisioned.metadata.name
    assert (claim.status.phase, provisioned.status.phase) == ("Bound", "Bound")
    assert provisioned.spec.csi is not None
    assert provisioned.spec.csi.driver == "csi.example.com"
    assert provisioned.spec.node_affinity is not None
    assert provisioned.spec.node_affinity.required is not None
    [term] = provisioned.spec.node_affinity.required.node_selector_terms
    assert [(one.key, one.values) for one in term.match_expressions] == [("zone", ("a", "b"))]


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        pytest.param([claim_of()], "they name no storage class, none is the default", id="no class"),
        pytest.param([claim_of(storageClassName="x")], "there is no StorageClass x", id="unknown class"),
        pytest.param(
            [claim_of(storageClassName="x"), storage_class("x", provisioner="kubernetes.io/no-provisioner")],
            "StorageClass x can't provision",
            id="no provisioner",
        ),
        pytest.param(
            [claim_of(storageClassName="x", selector={"matchLabels": {}}), storage_class("x")],
            "StorageClass x can't provision",
            id="provisioners take no selector",
        ),
        pytest.param([claim_of(volumeName="x")], "volume x is not there", id="unknown volume"),
    ],
)
def test_a_claim_that_nothing_can_be_bound_to_is_told(objects: list[Manifest], why: str) -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    pod = pod_manifest("p", spec={"containers": [{"name": "c"}], "volumes": volumes})
    [note] = objects_from([*objects, pod]).notes
    assert objects_from(objects).notes == ()
    assert note.startswith("claims on volumes wait, and no node can help (1: default/data): ")
    assert why in note


def test_what_a_dump_says_of_volumes_stays() -> None:
    annotations = {BIND_COMPLETED: "yes"}
    claim = claim_of(volumeName="gone", storageClassName="x")
    claim["metadata"]["annotations"] = annotations
    lost = {**claim_of("lost"), "status": {"phase": "Lost"}}
    released = {**volume("r"), "status": {"phase": "Released"}}
    loaded = objects_from([claim, lost, released])
    assert [item.spec.volume_name for item in of_kind(loaded, PersistentVolumeClaim)] == ["gone", ""]
    assert [item.status.phase for item in of_kind(loaded, PersistentVolume)] == ["Released"]
    assert loaded.notes == ()


def test_each_claim_looks_at_few_volumes(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []

    def counted(claim: PersistentVolumeClaim, some: list[PersistentVolume]) -> list[PersistentVolume]:
        looked_at.extend(volume.metadata.name for volume in some)
        return usable_volumes(claim, some)

    monkeypatch.setattr(volumes, "usable_volumes", counted)
    sizes = [{"storage": f"{1 + at % 7}Gi"} for at in range(140)]
    offers = [volume(f"v{at}", size["storage"]) for at, size in enumerate(sizes)]
    asked = [claim_of(f"c{at}", resources={"requests": size}) for at, size in enumerate(sizes)]
    bound = of_kind(objects_from([*offers, *asked]), PersistentVolumeClaim)
    assert all(each.spec.volume_name for each in bound)
    assert len(looked_at) <= 2 * len(asked)
