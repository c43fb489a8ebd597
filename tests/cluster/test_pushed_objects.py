"""Pushed objects that are neither nodes nor pods, from the request to the table."""

from __future__ import annotations

import json

import pytest

from mooring.app.bridge import PushBridge
from mooring.cluster.kinds import KINDS
from mooring.cluster.sources import PushSource
from mooring.cluster.state import State
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.objects import Service
from mooring.kubernetes.v1 import meta_pb2, workload_pb2
from mooring.service.backend import PushResult
from mooring.service.plugins import OBJECT_KINDS
from mooring_client.v1 import cluster_service_pb2 as pb
from mooring_client.v1 import objects_pb2

WEB = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"}}


def put(*manifests: object, kind: str = "", api_version: str = "") -> pb.PushEvent:
    encoded = [objects_pb2.KubernetesObject(json=json.dumps(manifest).encode()) for manifest in manifests]
    return pb.PushEvent(put=pb.PutObjects(kind=kind, api_version=api_version, objects=encoded))


def pushed(state: State, *events: pb.PushEvent) -> PushResult:
    request = pb.PushObjectsRequest(source="test", session="one", first_sequence=1, events=events)
    return PushBridge(PushSource(state)).push_objects(request, "")


def test_the_server_tells_which_kinds_it_stores() -> None:
    assert set(OBJECT_KINDS) == set(KINDS)


def test_a_full_load_and_a_removal() -> None:
    state = State()
    begin, end = pb.PushEvent(snapshot_begin=pb.SnapshotBegin()), pb.PushEvent(snapshot_end=pb.SnapshotEnd())
    gone = pb.PushEvent(remove=pb.RemoveObject(kind="Service", namespace="shop", name="web"))
    other = {**WEB, "metadata": {"name": "db", "namespace": "shop"}}
    pushed(state, begin, put(WEB, other), gone, end)
    assert [item.metadata.name for item in state.snapshot.objects.in_namespace(Service, "shop")] == ["db"]


def test_bare_protobuf_needs_the_kind() -> None:
    message = workload_pb2.Service(
        metadata=meta_pb2.ObjectMeta(name="web"), spec=workload_pb2.ServiceSpec(selector={"app": "web"})
    )
    encoded = objects_pb2.KubernetesObject(protobuf=message.SerializeToString())
    state = State()
    pushed(state, pb.PushEvent(put=pb.PutObjects(kind="Service", api_version="v1", objects=[encoded])))
    found = state.snapshot.objects.get(Service, "web", "default")
    assert found is not None
    assert found.spec.selector == {"app": "web"}


@pytest.mark.parametrize(
    ("manifest", "kind", "api_version", "warned"),
    [
        pytest.param({**WEB, "apiVersion": "example.com/v1"}, "", "", "other", id="a namesake, as it says"),
        pytest.param(
            {"metadata": {"name": "x"}}, "Service", "example.com/v1", "example.com/v1 Service", id="told"
        ),
        pytest.param({"metadata": {"name": "x"}}, "Secret", "", "kinds are ignored: Secret", id="ignored"),
    ],
)
def test_what_is_not_stored_is_warned_about(
    manifest: dict[str, object], kind: str, api_version: str, warned: str
) -> None:
    state = State()
    (warning,) = pushed(state, put(manifest, kind=kind, api_version=api_version)).warnings
    assert warned in warning
    assert list(state.snapshot.objects.all(Service)) == []


def test_a_version_that_contradicts_the_object_is_rejected() -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        pushed(State(), put(WEB, kind="Service", api_version="v2"))
    assert raised.value.violations[0].path == "events[0].put.objects[0].json.apiVersion"
