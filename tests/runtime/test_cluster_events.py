"""Cluster events that the queue gets for changes of objects."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.cluster.decoding import from_manifest
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, ObjectChange
from mooring.framework.objects import Service
from mooring.framework.releases import NEWEST, Gates, KubeVersion
from mooring.scheduler.queue.cluster_events import as_scheduler_sees, concerns, events_of, nomination_ended
from mooring.testing.builders import ROOMY, make_node, make_pod

PLACED = make_pod(node="n", requests={"cpu": "1"})
ENDED = make_pod(node="n", status={"phase": "Failed"})
PENDING = make_pod(requests={"cpu": "1"})
NODE = make_node(labels={"zone": "a"}, allocatable={"cpu": "2"}, spec={"unschedulable": True})
TODAY = Gates(NEWEST)
GANGS = Gates(KubeVersion(1, 37), {"GenericWorkload": True})
BEFORE_137 = Gates(KubeVersion(1, 36))
OLD_RELEASE = Gates(KubeVersion(1, 34))
CLAIM = {"resourceClaimStatuses": [{"name": "c", "resourceClaimName": "c-1"}]}


def names(change: ObjectChange, gates: Gates = TODAY) -> list[str]:
    seen = as_scheduler_sees(change)
    events = events_of(seen, gates) if seen is not None else ()
    return [f"{event.resource.value} {event.action.name}" for event in events]


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        pytest.param({}, ["UPDATE_OTHER"], id="nothing that has a name"),
        pytest.param({"labels": {"a": "b"}}, ["UPDATE_POD_LABEL"], id="labels"),
        pytest.param({"requests": {"cpu": "500m"}}, ["UPDATE_POD_SCALE_DOWN"], id="smaller"),
        pytest.param({"requests": {"cpu": "2"}}, ["UPDATE_POD_SCALE_UP"], id="larger"),
        pytest.param(
            {"requests": {"memory": "1"}},
            ["UPDATE_POD_SCALE_DOWN", "UPDATE_POD_SCALE_UP"],
            id="another request",
        ),
        pytest.param({"spec": {"tolerations": [{}]}}, ["UPDATE_POD_TOLERATION"], id="a toleration"),
        pytest.param({"status": CLAIM}, ["UPDATE_POD_GENERATED_RESOURCE_CLAIM"], id="a claim"),
    ],
)
@pytest.mark.parametrize("node", ["n", ""])
def test_updates_of_pods(fields: dict[str, Any], wanted: list[str], node: str) -> None:
    resource = "AssignedPod" if node else "TargetPod"
    old = PLACED if node else PENDING
    new = make_pod(**({"requests": {"cpu": "1"}, "node": node} | fields))
    assert names(ObjectChange("Pod", old, new)) == [f"{resource} {action}" for action in wanted]


def test_the_last_gate_of_a_pod_counts() -> None:
    two, one = (make_pod(spec={"schedulingGates": [{"name": name} for name in held]}) for held in ("ab", "a"))
    assert names(ObjectChange("Pod", two, one)) == ["TargetPod UPDATE_OTHER"]
    free = ObjectChange("Pod", one, make_pod())
    assert names(free) == ["TargetPod UPDATE_POD_SCHEDULING_GATES_ELIMINATED"]


def test_before_a_waiting_pod_was_a_target_its_update_was_that_of_any() -> None:
    larger = make_pod(requests={"cpu": "2"})
    assert names(ObjectChange("Pod", PENDING, larger), BEFORE_137) == ["UnscheduledPod UPDATE_OTHER"]


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        pytest.param(None, PLACED, ["AssignedPod ADD"], id="appears on a node"),
        pytest.param(PENDING, PLACED, ["AssignedPod ADD"], id="gets its node"),
        pytest.param(PLACED, None, ["AssignedPod DELETE"], id="deleted from a node"),
        pytest.param(
            PLACED, make_pod(node="n", status={"phase": "Failed"}), ["AssignedPod DELETE"], id="ends"
        ),
        pytest.param(None, ENDED, [], id="had ended before"),
        pytest.param(None, PENDING, [], id="a waiting pod appears"),
        pytest.param(PENDING, None, [], id="a waiting pod is deleted"),
    ],
)
def test_pods_come_and_go(old: Any, new: Any, wanted: list[str]) -> None:
    assert names(ObjectChange("Pod", old, new)) == wanted


def test_gangs_hear_of_waiting_pods() -> None:
    assert names(ObjectChange("Pod", None, PENDING), GANGS) == ["UnscheduledPod ADD"]


def test_a_pod_that_got_its_node_is_new_there() -> None:
    assert as_scheduler_sees(ObjectChange("Pod", PENDING, PLACED)) == ObjectChange("Pod", None, PLACED)


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        pytest.param({}, [], id="nothing"),
        pytest.param({"spec": {"unschedulable": False}}, ["UPDATE_NODE_TAINT"], id="uncordoned"),
        pytest.param({"allocatable": {"cpu": "2000m"}}, [], id="another spelling"),
        pytest.param({"allocatable": {"cpu": "1"}}, ["UPDATE_NODE_ALLOCATABLE"], id="less CPU"),
        pytest.param({"allocatable": {"cpu": "2", "gpu": 1}}, ["UPDATE_NODE_ALLOCATABLE"], id="one more"),
        pytest.param({"labels": {"zone": "b"}}, ["UPDATE_NODE_LABEL"], id="a label"),
        pytest.param({"taints": [{"key": "a"}]}, ["UPDATE_NODE_TAINT"], id="a taint"),
        pytest.param(
            {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
            ["UPDATE_NODE_CONDITION"],
            id="ready",
        ),
        pytest.param({"metadata": {"annotations": {"a": "b"}}}, ["UPDATE_NODE_ANNOTATION"], id="annotated"),
        pytest.param(
            {"status": {"declaredFeatures": ["F"]}}, ["UPDATE_NODE_DECLARED_FEATURE"], id="a feature"
        ),
    ],
)
def test_updates_of_nodes(fields: dict[str, Any], wanted: list[str]) -> None:
    same: dict[str, Any] = {
        "labels": {"zone": "a"},
        "allocatable": {"cpu": "2"},
        "spec": {"unschedulable": True},
    }
    new = make_node(**{**same, **fields, "metadata": fields.get("metadata", {})})
    if "status" in fields:
        new = make_node(**same, status={"allocatable": NODE.status.allocatable, **fields["status"]})
    assert names(ObjectChange("Node", NODE, new)) == [f"Node {action}" for action in wanted]


def test_uncordoned_with_another_taint_is_one_event() -> None:
    old, new = make_node(spec={"unschedulable": True}), make_node(taints=[{"key": "a"}])
    assert names(ObjectChange("Node", old, new)) == ["Node UPDATE_NODE_TAINT"]


def test_older_releases_know_less() -> None:
    features = ObjectChange(
        "Node", make_node(), make_node(status={"allocatable": ROOMY, "declaredFeatures": ["F"]})
    )
    assert names(features, OLD_RELEASE) == []
    claim = ObjectChange("Pod", PENDING, make_pod(requests={"cpu": "1"}, status=CLAIM))
    assert names(claim, Gates(KubeVersion(1, 34), {"DynamicResourceAllocation": False})) == [
        "UnscheduledPod UPDATE_OTHER"
    ]


def test_objects_of_other_kinds() -> None:
    assert names(ObjectChange("CSINode", object(), object())) == ["storage.k8s.io/CSINode UPDATE_OTHER"]
    assert names(ObjectChange("PodGroup", None, object())) == ["PodGroup ADD"]
    assert names(ObjectChange("Service", None, Service())) == ["Service ADD"]
    assert names(ObjectChange("Namespace", object(), object())) == ["Namespace UPDATE_OTHER"]
    assert names(ObjectChange("Measurement", object(), None)) == ["Measurement DELETE"]


@pytest.mark.parametrize(
    ("old", "new", "ended"),
    [
        pytest.param("n", None, True, id="deleted"),
        pytest.param("n", make_pod(), True, id="taken back"),
        pytest.param("n", make_pod(status={"nominatedNodeName": "m"}), True, id="another node"),
        pytest.param("n", make_pod(status={"nominatedNodeName": "n"}), False, id="the same"),
        pytest.param("n", make_pod(node="n"), False, id="bound"),
        pytest.param("", None, False, id="never nominated"),
    ],
)
def test_nominations_end(old: str, new: Any, ended: bool) -> None:
    assert nomination_ended(make_pod(status={"nominatedNodeName": old}), new) is ended


@pytest.mark.parametrize(
    ("resource", "action", "hears"),
    [
        pytest.param(EventResource.POD, ActionType.UPDATE_POD_LABEL, True, id="the event itself"),
        pytest.param(EventResource.POD, ActionType.ADD | ActionType.UPDATE, True, id="any update"),
        pytest.param(EventResource.ANY, ActionType.ALL, True, id="anything"),
        pytest.param(EventResource.POD, ActionType.ADD, False, id="additions"),
        pytest.param(EventResource.NODE, ActionType.ALL, False, id="nodes"),
        pytest.param(EventResource.UNSCHEDULED_POD, ActionType.ALL, False, id="other pods"),
    ],
)
def test_who_hears(resource: EventResource, action: ActionType, hears: bool) -> None:
    event = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_LABEL)
    assert concerns(ClusterEvent(resource, action), event) is hears


def taint_rule(**spec: Any) -> Any:
    return from_manifest(
        {
            "apiVersion": "resource.k8s.io/v1beta2",
            "kind": "DeviceTaintRule",
            "metadata": {"name": "rule"},
            "spec": {"taint": {"key": "broken", "effect": "NoSchedule"}, **spec},
        }
    )


RULE = taint_rule()
UNRULED = Gates(NEWEST, {"DRADeviceTaintRules": False})


@pytest.mark.parametrize(
    ("old", "new", "gates", "told"),
    [
        pytest.param(None, RULE, TODAY, True, id="it comes"),
        pytest.param(RULE, None, TODAY, True, id="it goes"),
        pytest.param(RULE, taint_rule(deviceSelector={"pool": "p"}), TODAY, True, id="it is about others"),
        pytest.param(RULE, taint_rule(), TODAY, False, id="it says what it said"),
        pytest.param(None, RULE, UNRULED, False, id="rules taint nothing"),
    ],
)
def test_a_change_of_a_rule_that_taints_devices_is_one_of_slices(
    old: Any, new: Any, gates: Gates, *, told: bool
) -> None:
    events = names(ObjectChange("DeviceTaintRule", old, new), gates)
    assert events == (["ResourceSlice UPDATE_OTHER"] if told else [])
