"""Volumes and devices: what Reserve keeps and PreBind writes is what the real API server accepts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import grpc
import pytest

from mooring_client.v1 import scheduling_service_pb2 as scheduling
from tests.process import wait_until

from . import objects
from .api import Api, ApiError, Manifest
from .control_plane import ControlPlane
from .mooring_client import MooringClient
from .processes import MooringScheduler, MooringServer

pytestmark = pytest.mark.e2e

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
PVC = "/api/v1/namespaces/default/persistentvolumeclaims"
PV = "/api/v1/persistentvolumes"
STORAGE = "/apis/storage.k8s.io/v1/storageclasses"
DRIVER = "gpu.example.com"


@pytest.fixture
def client(control_plane: ControlPlane, tmp_path: Path) -> Iterator[MooringClient]:
    """Yield a server that follows a control plane with one node, emptied of volumes and devices."""
    api = control_plane.api
    for path in (CLAIMS, CLASSES, SLICES, PVC, PV, STORAGE):
        for item in api.items(path):
            release(api, f"{path}/{item['metadata']['name']}")
    api.create(objects.node("n1"))
    source = f"kubernetes:{control_plane.kubeconfig('mooring')}"
    with MooringServer(tmp_path, source=source) as server, MooringClient(server.address) as connected:
        yield connected


def release(api: Api, path: str) -> None:
    """Delete an object, whatever holds it."""
    api.call("DELETE", path)
    try:
        item = api.call("GET", path)
        item["metadata"]["finalizers"] = []
        api.call("PUT", path, item)
    except ApiError as error:
        if error.status not in (404, 409):
            raise


def placed(client: MooringClient, pod: Manifest) -> str:
    """Schedules the pod once mooring knows what it needs; its status, "" = bound."""

    def attempt() -> list[str] | None:
        answer = client.schedule(pod, scheduling.COMMIT_MODE_BIND)
        status = answer.verdicts[answer.pod_verdicts[0]]
        if status.code == 1:
            return [""]
        # Each kind has a watch of its own, so a claim may be known before its volume.
        early = ("not found", "could not find", "didn't find available persistent volumes", "allocate")
        waiting = any(words in reason for words in early for reason in status.reasons)
        return None if waiting else [f"{status.reasons}"]

    def known() -> list[str] | None:
        try:
            return attempt()
        except grpc.RpcError as error:
            # The server has just started, or has not heard of the pod yet.
            if error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.NOT_FOUND):
                return None
            raise

    return wait_until(known, "the pod to be decided")[0]


def test_a_claim_on_devices_is_allocated_and_reserved(
    control_plane: ControlPlane, client: MooringClient
) -> None:
    api = control_plane.api
    resource = {"apiVersion": "resource.k8s.io/v1"}
    config = [{"opaque": {"driver": DRIVER, "parameters": {"kind": "x"}}}]
    api.call(
        "POST",
        CLASSES,
        {**resource, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {"config": config}},
    )
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": "n1", "pool": pool, "devices": [{"name": "d0"}]}
    api.call("POST", SLICES, {**resource, "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec})
    asked = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
    for name in ("first", "second"):
        metadata = {"name": name, "namespace": "default"}
        api.call("POST", CLAIMS, {**resource, "kind": "ResourceClaim", "metadata": metadata, "spec": asked})
    first, second = (
        api.create(objects.pod(name, resourceClaims=[{"name": "gpu", "resourceClaimName": name}]))
        for name in ("first", "second")
    )
    assert placed(client, first) == ""
    claim = api.call("GET", f"{CLAIMS}/first")
    assert claim["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
    status = claim["status"]
    assert [user["uid"] for user in status["reservedFor"]] == [first["metadata"]["uid"]]
    (result,) = status["allocation"]["devices"]["results"]
    assert (result["driver"], result["pool"], result["device"]) == (DRIVER, "n1", "d0")
    assert status["allocation"]["devices"]["config"] == [{"source": "FromClass", **config[0]}]
    assert api.node_of("first") == "n1"
    answer = client.schedule(second, scheduling.COMMIT_MODE_BIND)
    assert list(answer.verdicts[answer.pod_verdicts[0]].reasons) == ["cannot allocate all claims"]
    assert "allocation" not in api.call("GET", f"{CLAIMS}/second").get("status", {})


def test_a_claim_is_made_for_a_resource_for_which_a_device_stands(
    control_plane: ControlPlane, client: MooringClient
) -> None:
    api = control_plane.api
    resource = {"apiVersion": "resource.k8s.io/v1"}
    named = {"extendedResourceName": "example.com/gpu"}
    body = {**resource, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": named}
    api.call("POST", CLASSES, body)
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": "n1", "pool": pool, "devices": [{"name": "d0"}]}
    api.call("POST", SLICES, {**resource, "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec})
    amount = {"example.com/gpu": "1"}
    container = {**objects.container(), "resources": {"requests": amount, "limits": amount}}
    first, second = (api.create(objects.pod(name, containers=[container])) for name in ("first", "second"))
    assert placed(client, first) == ""
    (claim,) = api.items(CLAIMS)
    assert claim["metadata"]["name"].startswith("first-extended-resources-")
    assert [user["uid"] for user in claim["status"]["reservedFor"]] == [first["metadata"]["uid"]]
    told = api.call("GET", "/api/v1/namespaces/default/pods/first")["status"]["extendedResourceClaimStatus"]
    (request,) = claim["spec"]["devices"]["requests"]
    uses = {"containerName": "main", "resourceName": "example.com/gpu", "requestName": request["name"]}
    assert told == {"requestMappings": [uses], "resourceClaimName": claim["metadata"]["name"]}
    answer = client.schedule(second, scheduling.COMMIT_MODE_BIND)
    assert list(answer.verdicts[answer.pod_verdicts[0]].reasons) == ["cannot allocate all claims"]
    assert len(api.items(CLAIMS)) == 1


@pytest.mark.usefixtures("client")
def test_a_claim_that_nobody_uses_gets_devices_where_its_pod_fits(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    api = control_plane.api
    resource = {"apiVersion": "resource.k8s.io/v1"}
    api.call("POST", CLASSES, {**resource, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}})
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": "n1", "pool": pool, "devices": [{"name": "d0"}]}
    api.call("POST", SLICES, {**resource, "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec})
    asked = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
    metadata = {"name": "idle", "namespace": "default"}
    body = {**resource, "kind": "ResourceClaim", "metadata": metadata, "spec": asked}
    claim = api.call("POST", CLAIMS, body)
    gone = {"key": "metadata.name", "operator": "In", "values": ["gone"]}
    claim["status"] = {
        "allocation": {
            "devices": {"results": [{"request": "r", "driver": DRIVER, "pool": "gone", "device": "d0"}]},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [gone]}]},
        }
    }
    api.call("PUT", f"{CLAIMS}/idle/status", claim)
    uses = [{"name": "gpu", "resourceClaimName": "idle"}]
    api.create(objects.pod("p", schedulerName="mooring", resourceClaims=uses))
    config = {"profiles": [{"schedulerName": "mooring"}], "leaderElection": {"leaderElect": False}}
    folder = tmp_path / "scheduler"
    folder.mkdir()
    with MooringScheduler(folder, control_plane.kubeconfig("mooring"), config):
        assert api.wait_bound("p") == "n1"
        api.wait_failed_scheduling("p", "deallocation of ResourceClaim completed")
    allocation = api.call("GET", f"{CLAIMS}/idle")["status"]["allocation"]
    assert [result["pool"] for result in allocation["devices"]["results"]] == ["n1"]


def test_a_volume_is_kept_for_the_claim_and_waited_for(
    control_plane: ControlPlane, client: MooringClient
) -> None:
    api = control_plane.api
    head: dict[str, Any] = {"apiVersion": "v1"}
    api.call(
        "POST",
        STORAGE,
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "wait"},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
    )
    amount = {"storage": "1Gi"}
    common = {"accessModes": ["ReadWriteOnce"], "storageClassName": "wait"}
    volume = {"capacity": amount, "hostPath": {"path": "/data"}, **common}
    api.call("POST", PV, {**head, "kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": volume})
    available = api.call("GET", f"{PV}/pv")
    api.call("PUT", f"{PV}/pv/status", {**available, "status": {"phase": "Available"}})
    metadata = {"name": "c", "namespace": "default"}
    claim = {"resources": {"requests": amount}, **common}
    api.call("POST", PVC, {**head, "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": claim})
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    pod = api.create(objects.pod("p", volumes=volumes))
    stopped = Event()
    controller = Thread(target=bind_what_is_kept, args=(api, stopped))
    controller.start()
    try:
        assert placed(client, pod) == ""
    finally:
        stopped.set()
        controller.join()
    kept = api.call("GET", f"{PV}/pv")
    assert kept["spec"]["claimRef"]["uid"] == api.call("GET", f"{PVC}/c")["metadata"]["uid"]
    assert kept["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] == "yes"
    assert api.node_of("p") == "n1"


def bind_what_is_kept(api: Api, stopped: Event) -> None:
    """As the controller of volumes does once a volume names its claim."""
    while not stopped.wait(0.1):
        claim = api.call("GET", f"{PVC}/c")
        if "claimRef" in api.call("GET", f"{PV}/pv")["spec"] and not claim["spec"].get("volumeName"):
            claim["metadata"].setdefault("annotations", {})["pv.kubernetes.io/bind-completed"] = "yes"
            claim["spec"]["volumeName"] = "pv"
            api.call("PUT", f"{PVC}/c", claim)
