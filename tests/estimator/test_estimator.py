"""Karmada's questions: how many replicas, how many sets of components, and how many found no node."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import grpc
import pytest

from mooring.testing.builders import make_node, make_pod
from mooring_estimator.estimator import MOST
from mooring_estimator.wire import estimator_service_pb2 as pb
from tests.estimator.asking import NOW, component, estimator, quantities, selector, toleration

SMALL: dict[str, Any] = {"cpu": "4", "memory": "8Gi", "pods": 10}
ROOM = (
    make_node("a", allocatable=SMALL, labels={"zone": "east"}),
    make_node("b", allocatable=SMALL, labels={"zone": "west"}),
    make_node(
        "c", allocatable=SMALL, labels={"zone": "west"}, taints=[{"key": "gpu", "effect": "NoSchedule"}]
    ),
)
ONE = quantities({"cpu": "1"})
WEST, GPU = selector("zone", "west"), toleration("gpu")


@pytest.mark.parametrize(
    ("needs", "count"),
    [
        pytest.param(None, 20, id="no requirements: as many as nodes take pods"),
        pytest.param({"resource_request_bytes": ONE}, 8, id="bytes"),
        pytest.param({"resource_request": ONE}, 8, id="messages, as up to 1.18"),
        pytest.param(
            {"resource_request": quantities({"cpu": "4"}), "resource_request_bytes": ONE},
            8,
            id="both: the bytes count",
        ),
        pytest.param({"resource_request_bytes": quantities({"memory": "3Gi"})}, 4, id="per node, not in sum"),
        pytest.param({"resource_request_bytes": quantities({"cpu": "5"})}, 0, id="none"),
    ],
)
def test_replicas_by_requests(needs: dict[str, Any] | None, count: int) -> None:
    request = pb.MaxAvailableReplicasRequest()
    if needs is not None:
        request.replica_requirements.CopyFrom(pb.ReplicaRequirements(**needs))
    with estimator(*ROOM) as stub:
        assert stub.MaxAvailableReplicas(request).max_replicas == count


@pytest.mark.parametrize(
    ("claim", "count"),
    [
        pytest.param({"node_selector": {"zone": "east"}}, 4, id="node selector"),
        pytest.param({"node_affinity_bytes": WEST}, 4, id="affinity"),
        pytest.param({"node_affinity": WEST}, 4, id="affinity as up to 1.18"),
        pytest.param({"tolerations_bytes": [GPU]}, 12, id="toleration"),
        pytest.param({"tolerations": [GPU]}, 12, id="toleration as up to 1.18"),
        pytest.param({"node_affinity_bytes": WEST, "tolerations_bytes": [GPU]}, 8, id="both"),
        pytest.param({"node_affinity_bytes": WEST, "node_affinity": selector("zone", "no")}, 4, id="bytes"),
        pytest.param({"node_affinity": b""}, 0, id="a selector without terms matches nothing"),
    ],
)
def test_replicas_by_node_claim(claim: dict[str, Any], count: int) -> None:
    needs = pb.ReplicaRequirements(resource_request_bytes=ONE, node_claim=pb.NodeClaim(**claim))
    with estimator(*ROOM) as stub:
        request = pb.MaxAvailableReplicasRequest(replica_requirements=needs)
        assert stub.MaxAvailableReplicas(request).max_replicas == count


@pytest.mark.parametrize(
    ("workloads", "count"),
    [
        pytest.param([[component(3, "1")]], 5, id="one"),
        pytest.param([[component(3, "1")], [component(1, "2")]], 3, id="two"),
        pytest.param([[component(9, "1")]], 0, id="more than there is room for"),
        pytest.param([[component(0, "1")], []], 8, id="nothing"),
    ],
)
def test_assumed_workloads_take_their_room_first(workloads: list[list[pb.Component]], count: int) -> None:
    assumed = [pb.AssumedWorkload(namespace="default", components=each) for each in workloads]
    needs = pb.ReplicaRequirements(resource_request_bytes=ONE, namespace="team")
    with estimator(*ROOM) as stub:
        request = pb.MaxAvailableReplicasRequest(replica_requirements=needs, assumed_workloads=assumed)
        assert stub.MaxAvailableReplicas(request).max_replicas == count
        sets = pb.MaxAvailableComponentSetsRequest(
            components=[component(1, "1")], assumed_workloads=assumed, namespace="team"
        )
        assert stub.MaxAvailableComponentSets(sets).max_sets == count


@pytest.mark.parametrize(
    ("components", "sets"),
    [
        pytest.param([component(1, "2"), component(2, "1")], 2, id="two kinds"),
        pytest.param([component(3, "1")], 2, id="the last set is not complete"),
        pytest.param([component(3, "3")], 0, id="none"),
        pytest.param([component(1, "100m")], 20, id="until nodes take no more pods"),
        pytest.param([component(0, "1")], MOST, id="a set of nothing"),
        pytest.param([], MOST, id="nothing"),
    ],
)
def test_component_sets(components: list[pb.Component], sets: int) -> None:
    with estimator(*ROOM) as stub:
        request = pb.MaxAvailableComponentSetsRequest(components=components)
        assert stub.MaxAvailableComponentSets(request).max_sets == sets


def test_component_sets_of_several_batches() -> None:
    node = make_node("large", allocatable={"cpu": "1000", "pods": 1001})
    with estimator(node) as stub:
        request = pb.MaxAvailableComponentSetsRequest(components=[component(3, "1")])
        assert stub.MaxAvailableComponentSets(request).max_sets == 333


def pending(name: str, owner: str, age: float, *, reason: str = "Unschedulable", **fields: Any) -> Any:
    kind, _, owner_name = owner.partition("/")
    created = datetime.fromtimestamp(NOW - age, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    owners = [{"kind": kind, "name": owner_name, "uid": owner, "controller": True}]
    metadata = {"uid": name, "creationTimestamp": created, "ownerReferences": owners}
    condition = {"type": "PodScheduled", "status": "False", "reason": reason}
    return make_pod(name, metadata=metadata, status={"conditions": [condition]}, **fields)


HASHED = {"pod-template-hash": "5d4"}
PENDING = (
    pending("old", "ReplicaSet/web-5d4", 100, labels=HASHED),
    pending("young", "ReplicaSet/web-5d4", 10, labels=HASHED),
    pending("gated", "ReplicaSet/web-5d4", 100, labels=HASHED, reason="SchedulingGated"),
    pending("bound", "ReplicaSet/web-5d4", 100, labels=HASHED, node="a"),
    pending("no deployment", "ReplicaSet/web-blue", 100),
    pending("another namespace", "ReplicaSet/web-5d4", 100, labels=HASHED, namespace="other"),
    pending("stateful", "StatefulSet/db", 100),
)


@pytest.mark.parametrize(
    ("kind", "name", "seconds", "count"),
    [
        pytest.param("Deployment", "web", 0, 2, id="of a Deployment"),
        pytest.param("Deployment", "web", -5, 2, id="a negative threshold is none"),
        pytest.param("Deployment", "web", 60, 1, id="for longer than the threshold"),
        pytest.param("Deployment", "web", 100, 0, id="for just the threshold"),
        pytest.param("ReplicaSet", "web-blue", 0, 1, id="of a ReplicaSet"),
        pytest.param("StatefulSet", "db", 0, 1, id="of a StatefulSet"),
        pytest.param("Deployment", "none", 0, 0, id="of nothing"),
    ],
)
def test_unschedulable_replicas(kind: str, name: str, seconds: int, count: int) -> None:
    workload = pb.ObjectReference(api_version="apps/v1", kind=kind, namespace="default", name=name)
    request = pb.UnschedulableReplicasRequest(
        resource=workload, unschedulable_threshold=seconds * 1_000_000_000
    )
    with estimator(*ROOM, *PENDING) as stub:
        assert stub.GetUnschedulableReplicas(request).unschedulable_replicas == count


@pytest.mark.parametrize(
    ("method", "request_", "text"),
    [
        pytest.param(
            "MaxAvailableReplicas",
            pb.MaxAvailableReplicasRequest(cluster="other"),
            "cluster: this is the estimator of 'member'",
            id="another cluster",
        ),
        pytest.param(
            "MaxAvailableComponentSets",
            pb.MaxAvailableComponentSetsRequest(cluster="member", components=[component(-1, "1")]),
            "components[0].replicas: -1 is negative",
            id="negative",
        ),
        pytest.param(
            "GetUnschedulableReplicas",
            pb.UnschedulableReplicasRequest(
                cluster="member", resource=pb.ObjectReference(kind="Deployment", namespace="default")
            ),
            "resource.name: is missing",
            id="no workload",
        ),
        pytest.param(
            "MaxAvailableReplicas",
            pb.MaxAvailableReplicasRequest(
                cluster="member",
                replica_requirements=pb.ReplicaRequirements(resource_request_bytes={"cpu": b"\xff"}),
            ),
            "mooring: shapes[0].object.protobuf",
            id="not a quantity",
        ),
    ],
)
def test_rejected(method: str, request_: Any, text: str) -> None:
    with estimator(*ROOM, cluster="member") as stub, pytest.raises(grpc.RpcError) as failed:
        getattr(stub, method)(request_)
    error: Any = failed.value
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert text in error.details()
