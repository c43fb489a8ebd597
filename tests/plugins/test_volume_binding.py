from typing import Any

import pytest

from mooring.framework import Code, CycleState, Status
from mooring.plugins.volume_binding.args import VolumeBindingArgs
from mooring.plugins.volume_binding.plugin import (
    REASON_BIND,
    REASON_GONE,
    REASON_NODE,
    REASON_SPACE,
    REASON_UNBOUND,
    VolumeBinding,
)
from mooring.testing import explain
from mooring.testing.builders import pod_manifest
from tests.plugins.harness import make, pre_filter, reasons
from tests.plugins.storage import (
    NODES,
    ZONE,
    claim,
    csi_driver,
    csi_node,
    pod_using,
    storage_class,
    using,
    view,
    volume,
)

LOCAL = storage_class(provisioner="kubernetes.io/no-provisioner")
GCE: dict[str, Any] = {"csi": None, "gcePersistentDisk": {"pdName": "disk"}}
KEPT = {"namespace": "default", "name": "c"}
SELECTED = {"annotations": {"volume.kubernetes.io/selected-node": "a"}}
IN_X = [{"matchLabelExpressions": [{"key": ZONE, "values": ["x"]}]}]


def room(size: str, **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": f"room-{size.lower()}", "namespace": "default"},
        "storageClassName": "wait",
        "capacity": size,
        "nodeTopology": {"matchLabels": {ZONE: "x"}},
        **fields,
    }


# The status of node a in zone x and of node b in zone y.
@pytest.mark.parametrize(
    ("objects", "on_a", "on_b"),
    [
        pytest.param([claim(volume="pv"), volume(zone="x")], "", REASON_NODE, id="bound, reached from x"),
        pytest.param([claim(volume="pv"), volume()], "", "", id="bound, reached from everywhere"),
        pytest.param([claim(volume="gone")], REASON_GONE, REASON_GONE, id="bound, the volume is gone"),
        pytest.param([claim(), LOCAL, volume(zone="y")], REASON_BIND, "", id="matched in y"),
        pytest.param([claim(), LOCAL, volume(size="1Mi")], REASON_BIND, REASON_BIND, id="too small"),
        pytest.param([claim(), LOCAL, volume(phase="Released")], REASON_BIND, REASON_BIND, id="released"),
        pytest.param(
            [claim(accessModes=["ReadWriteMany"]), LOCAL, volume()],
            REASON_BIND,
            REASON_BIND,
            id="access modes",
        ),
        pytest.param([claim(volumeMode="Block"), LOCAL, volume()], REASON_BIND, REASON_BIND, id="mode"),
        pytest.param(
            [claim(selector={"matchLabels": {"a": "b"}}), LOCAL, volume()],
            REASON_BIND,
            REASON_BIND,
            id="selector",
        ),
        pytest.param(
            [claim(), LOCAL, volume(zone="x", claimRef=KEPT), volume("free", size="2Gi")],
            "",
            REASON_BIND,
            id="the volume kept for the claim is the only one",
        ),
        pytest.param(
            [claim(), LOCAL, volume(claimRef={**KEPT, "uid": "old"})],
            REASON_BIND,
            REASON_BIND,
            id="kept for one of old",
        ),
        pytest.param([claim(), storage_class()], "", "", id="made"),
        pytest.param([claim(), storage_class(allowedTopologies=IN_X)], "", REASON_BIND, id="made in x alone"),
        pytest.param([claim(metadata=SELECTED), storage_class()], "", REASON_BIND, id="selected"),
        pytest.param(
            [claim(), storage_class(), csi_driver(storageCapacity=True), room("1Gi")],
            "",
            REASON_SPACE,
            id="room in x",
        ),
        pytest.param(
            [claim(), storage_class(), csi_driver(storageCapacity=True), room("1Mi")],
            REASON_SPACE,
            REASON_SPACE,
            id="too little room",
        ),
        pytest.param(
            [
                claim(),
                storage_class(),
                csi_driver(storageCapacity=True),
                room("9Gi", maximumVolumeSize="1Mi"),
            ],
            REASON_SPACE,
            REASON_SPACE,
            id="room for small volumes",
        ),
        pytest.param([claim(), storage_class(), csi_driver(), room("1Mi")], "", "", id="nobody reports room"),
        pytest.param(
            [
                claim(volume="pv"),
                volume(metadata={"labels": {ZONE: "y"}}, **GCE),
                csi_node("a", "kubernetes.io/gce-pd"),
            ],
            REASON_NODE,
            "",
            id="a kind of old, on a node with its CSI driver",
        ),
    ],
)
def test_filter(objects: list[dict[str, Any]], on_a: str, on_b: str) -> None:
    said = reasons(make(VolumeBinding), pod_using("c"), view(*NODES, *objects))
    assert {name: ", ".join(texts) for name, texts in said.items()} == {"a": on_a, "b": on_b}


def test_a_volume_without_a_name_with_the_driver_that_a_node_has_for_it_fails_the_decision() -> None:
    disk = volume(csi=None, awsElasticBlockStore={"volumeID": "aws://zone/disk"})
    migrated = csi_node("a", migrated="kubernetes.io/aws-ebs")
    plugin, state, pod = make(VolumeBinding), CycleState(), pod_using("c")
    nodes = view(*NODES, migrated, claim(volume="pv"), disk)
    assert plugin.pre_filter(state, pod, nodes).ok
    found = plugin.filter_nodes(state, pod, nodes)
    failed = Status.error("'aws://zone/disk' is not the name of an EBS volume; write aws://zone/vol-id")
    assert [found.status(position) for position in range(2)] == [failed, failed]


def test_a_volume_goes_to_one_claim_and_the_smallest_fits_first() -> None:
    small, large = volume("small", size="1Gi"), volume("large", size="2Gi")
    claims = [claim("c", size="2Gi"), claim("d", size="1Gi")]
    both = reasons(make(VolumeBinding), pod_using("c", "d"), view(*NODES, LOCAL, *claims, small, large))
    assert set(both.values()) == {()}
    one = reasons(make(VolumeBinding), pod_using("c", "d"), view(*NODES, LOCAL, *claims, large))
    assert set(one.values()) == {(REASON_BIND,)}


def test_several_reasons_are_told_in_order() -> None:
    objects = [claim("b", volume="pv"), volume(zone="x", phase="Bound"), claim("c"), LOCAL]
    said = reasons(make(VolumeBinding), pod_using("b", "c"), view(*NODES, *objects))
    assert said == {"a": (REASON_BIND,), "b": (REASON_NODE, REASON_BIND)}


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        pytest.param([], 'persistentvolumeclaim "c" not found', id="no claim"),
        pytest.param([claim(), storage_class(mode="Immediate")], REASON_UNBOUND, id="should have been bound"),
        pytest.param([claim(), storage_class(mode=None)], REASON_UNBOUND, id="binds at once unless it says"),
        pytest.param([claim()], REASON_UNBOUND, id="no such class"),
        pytest.param([claim(volumeName="pv"), storage_class()], REASON_UNBOUND, id="not bound to the end"),
        pytest.param(
            [claim(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
            'persistentvolumeclaim "c" is being deleted',
            id="deleted",
        ),
        pytest.param(
            [claim(volume="pv") | {"status": {"phase": "Lost"}}],
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "pv"',
            id="lost",
        ),
    ],
)
def test_pre_filter(objects: list[dict[str, Any]], reason: str) -> None:
    early = pre_filter(make(VolumeBinding), pod_using("c"), view(*NODES, *objects))
    assert early == Status.unresolvable(reason)


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        pytest.param(
            [],
            'waiting for ephemeral volume controller to create the persistentvolumeclaim "pod-v0"',
            id="not made yet",
        ),
        pytest.param(
            [claim("pod-v0")],
            "PVC default/pod-v0 was not created for pod default/pod (pod is not owner)",
            id="another's",
        ),
    ],
)
def test_ephemeral_volumes(objects: list[dict[str, Any]], reason: str) -> None:
    early = pre_filter(make(VolumeBinding), pod_using({"ephemeral": {}}), view(*NODES, *objects))
    assert early == Status.unresolvable(reason)


@pytest.mark.parametrize(("kube", "code"), [("1.36", Code.SKIP), ("1.37", Code.SUCCESS)])
def test_without_claims_it_skips_and_scores_nothing(kube: str, code: Code) -> None:
    plugin, nodes = make(VolumeBinding, kube=kube), view(*NODES)
    assert pre_filter(plugin, pod_using({"emptyDir": {}}), nodes) == Status.skip()
    assert plugin.pre_score(CycleState(), pod_using(), nodes).code is code


@pytest.mark.parametrize(
    ("objects", "scores"),
    [
        pytest.param([claim(volume="pv"), volume()], [0, 0], id="all bound"),
        pytest.param(
            [claim(), LOCAL, volume(size="4Gi"), volume("x", size="2Gi", zone="x")], [75, 50], id="a volume"
        ),
        pytest.param(
            [claim(), storage_class(), csi_driver(storageCapacity=True), room("5Gi")],
            [0, 80],
            id="room for a new volume",
        ),
    ],
)
def test_the_more_room_a_claim_leaves_the_better(objects: list[dict[str, Any]], scores: list[int]) -> None:
    plugin, state, pod = make(VolumeBinding, VolumeBindingArgs(shape=())), CycleState(), pod_using("c")
    nodes = view(*NODES, *objects)
    plugin.pre_filter(state, pod, nodes)
    plugin.filter_nodes(state, pod, nodes)
    assert plugin.pre_score(state, pod, nodes) == Status()
    assert plugin.score_nodes(state, pod, nodes).tolist() == scores


def test_nodes_of_a_report_that_names_a_largest_volume_alone_are_scored() -> None:
    """kube-scheduler 1.37.2 ends with a nil pointer here."""
    report = room("1Gi", capacity=None, maximumVolumeSize="2Gi", nodeTopology={})
    objects = [*NODES, claim(), storage_class(), csi_driver(storageCapacity=True), report]
    document = explain(objects, pod_manifest("pod", **using("c")))
    assert {name: node["scores"]["VolumeBinding"]["raw"] for name, node in document["nodes"].items()} == {
        "a": 0,
        "b": 0,
    }
