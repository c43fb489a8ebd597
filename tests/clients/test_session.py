"""The client's sessions against a real server."""

import json
from collections.abc import Iterator

import pytest

from mooring.testing.builders import make_node, make_pod, node_manifest, pod_manifest, to_json
from mooring_client import CallFailedError, Client, Pods, Session
from mooring_client.v1.objects_pb2 import KubernetesObject
from mooring_client.v1.scheduling_service_pb2 import GroupToSchedule
from mooring_client.v1.simulation_service_pb2 import CHANGE_KIND_NODE, NodeGroup
from tests.service.backends import World, listening, world

NODES = tuple(make_node(name) for name in "ab")
LARGE = to_json(make_pod("large", requests={"cpu": "4"}))
OWNED = {"ownerReferences": [{"kind": "ReplicaSet", "name": "rs", "uid": "rs", "controller": True}]}


@pytest.fixture
def w() -> Iterator[World]:
    with world(*NODES) as made:
        yield made


@pytest.fixture
def session(w: World) -> Iterator[Session]:
    with listening(w.backend) as address, Client(address) as client, client.session() as opened:
        yield opened


def large(*uids: str) -> list[Pods]:
    return [Pods(LARGE, list(uids), list(uids))]


def nodes_of(session: Session, *uids: str) -> list[str]:
    return [placement.node for placement in session.place(large(*uids))]


def test_what_is_placed_counts_in_the_session_alone(session: Session, w: World) -> None:
    assert [placement.node for placement in session.schedule(large("p"))] in (["a"], ["b"])
    assert sorted(nodes_of(session, "p", "q", "r")) == ["", "a", "b"]
    assert len(w.state.snapshot.pods) == 0


def test_a_trial_is_taken_back_unless_it_is_kept(session: Session) -> None:
    with session.trying():
        nodes_of(session, "p", "q")
        with session.trying() as inner:
            session.remove("Pod", "p", "default")
            inner.keep()
        assert nodes_of(session, "r") != [""]
    assert "" not in nodes_of(session, "p", "q")


def test_a_trial_that_fails_is_taken_back(session: Session) -> None:
    def fail() -> None:
        with session.trying() as trial:
            trial.keep()
            session.remove("Node", "a")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    session.remove("Node", "a")


def test_objects_come_and_go(session: Session) -> None:
    session.put(json.dumps(node_manifest("c")).encode())
    assert sorted(nodes_of(session, "p", "q", "r")) == ["a", "b", "c"]


def test_a_fork_goes_on_by_itself(session: Session) -> None:
    nodes_of(session, "p")
    with session.fork() as other:
        assert "" in nodes_of(other, "q", "r")
    assert nodes_of(session, "q") != [""]


def test_questions_are_about_the_session(session: Session) -> None:
    (before,) = session.estimate_capacity(LARGE, by_node=True)
    assert (before.count, {each.node: each.count for each in before.nodes}) == (2, {"a": 1, "b": 1})
    session.put(json.dumps(pod_manifest("p", node="a", requests={"cpu": "1"}, metadata=OWNED)).encode())
    (after,) = session.estimate_capacity(LARGE)
    assert after.count == 1
    assert [each.removable for each in session.plan_removal(["a"])] == [True]


def test_more_nodes_and_changes_are_asked_about_in_the_session(session: Session) -> None:
    huge = to_json(make_pod("huge", requests={"cpu": "9"}, metadata={"uid": "huge"}))
    template = json.dumps(node_manifest("t", allocatable={"cpu": "16", "memory": "8Gi", "pods": 9})).encode()
    group = NodeGroup(name="huge", node=KubernetesObject(json=template))
    (option,) = session.plan_node_groups([group], [huge]).options
    assert (option.group, option.node_count, list(option.left_over)) == ("huge", 1, [])
    assert session.plan_node_groups([group]).options[0].node_count == 0
    session.put(json.dumps(pod_manifest("huge", requests={"cpu": "9"}, metadata={"uid": "huge"})).encode())
    assert session.plan_node_groups([group]).options[0].node_count == 1
    first = session.suggest_changes(huge).options[0]
    assert [step.WhichOneof("step") for step in first.steps] == ["request"]


def test_changes_for_a_group_are_asked_about_in_the_session() -> None:
    gates = {"GenericWorkload": True}
    spec = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    meta = {"name": "g", "namespace": "default", "uid": "g"}
    group = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": meta, "spec": spec}
    pods = [
        pod_manifest(
            f"p{at}",
            requests={"cpu": "3"},
            metadata={"uid": f"p{at}"},
            spec={"schedulingGroup": {"podGroupName": "g"}},
        )
        for at in range(2)
    ]
    with (
        world(make_node("a", allocatable={"cpu": "4", "memory": "8Gi", "pods": 9}), gates=gates) as w,
        listening(w.backend) as address,
        Client(address) as client,
        client.session() as session,
    ):
        session.put(*(json.dumps(each).encode() for each in (group, *pods)))
        named = GroupToSchedule(namespace="default", name="g")
        found = session.suggest_changes(named)
        steps = [[step.WhichOneof("step") for step in option.steps] for option in found.options]
        assert steps == [["node"], ["request"]]
        only = session.suggest_changes(named, kinds=[CHANGE_KIND_NODE])
        assert sorted(landing.node for landing in only.options[0].landings) == ["a", "a-1"]


def test_a_closed_session_is_unknown(session: Session) -> None:
    other = session.fork()
    other.close()
    with pytest.raises(CallFailedError) as failed:
        other.schedule(large("p"))
    assert failed.value.reason == "SESSION_NOT_FOUND"
