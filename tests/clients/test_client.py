"""Test the client in Python with a real server. The contract suite covers the behaviour that all clients
share.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from mooring.cluster.kinds import Put, Remove
from mooring.testing.builders import make_node, make_pod, to_json
from mooring_client import CallFailedError, Client, Pods
from mooring_client.v1.cluster_service_pb2 import PushEvent, PushObjectsRequest, SnapshotBegin, SnapshotEnd
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from mooring_client.v1.scheduling_service_pb2 import (
    COMMIT_MODE_BIND,
    COMMIT_MODE_RESERVE,
    COMMIT_OUTCOME_ALREADY_RESERVED,
    COMMIT_OUTCOME_RESERVED,
)
from mooring_client.v1.verdicts_pb2 import VERDICT_CODE_SUCCESS, VERDICT_CODE_UNSCHEDULABLE
from tests.service.backends import World, listening, world
from tests.service.harness import LONG

NODES = tuple(make_node(name) for name in "abc")
HALF = to_json(make_pod("half", requests={"cpu": "2"}))
LARGE = to_json(make_pod("large", requests={"cpu": "4"}))


def some(template: bytes, count: int, *, named: bool = False) -> Pods:
    uids = [f"uid-{number}" for number in range(count)]
    return Pods(template, uids, [f"pod-{number}" for number in range(count)] if named else ())


@contextmanager
def client_of(w: World) -> Iterator[Client]:
    with listening(w.backend) as address, Client(address) as client:
        yield client


@pytest.fixture
def w() -> Iterator[World]:
    with world(*NODES) as made:
        yield made


def test_a_batch_of_one_template(w: World) -> None:
    with client_of(w) as client:
        placed = client.schedule([some(HALF, 7)])
    assert [p.uid for p in placed] == [f"uid-{number}" for number in range(7)]
    assert sorted(p.node for p in placed) == ["", "a", "a", "b", "b", "c", "c"]
    assert [p.verdict.code for p in placed] == [VERDICT_CODE_SUCCESS] * 6 + [VERDICT_CODE_UNSCHEDULABLE]
    assert "Insufficient cpu" in placed[-1].verdict.message
    assert len(w.state.snapshot.pods) == 0


def test_groups_share_a_batch_in_their_order(w: World) -> None:
    with client_of(w) as client:
        placed = client.schedule([Pods(LARGE, ["x", "y"]), Pods(HALF, ["z"])])
    assert [p.uid for p in placed] == ["x", "y", "z"]
    assert len({p.node for p in placed}) == 3


@pytest.mark.parametrize("mode", [COMMIT_MODE_BIND, COMMIT_MODE_RESERVE], ids=["bind", "reserve"])
def test_a_batch_is_committed(w: World, mode: Any) -> None:
    with client_of(w) as client:
        placed = client.schedule([some(HALF, 3, named=True)], commit_mode=mode)
    assert {p.verdict.code for p in placed} == {VERDICT_CODE_SUCCESS}
    records = w.state.snapshot.pods.records.values()
    assert {r.pod.metadata.name: r.pod.spec.node_name for r in records} == {
        f"pod-{number}": placement.node for number, placement in enumerate(placed)
    }


def test_a_repeated_batch_keeps_its_places(w: World) -> None:
    with client_of(w) as client:
        first, again = (
            client.schedule([some(HALF, 3, named=True)], commit_mode=COMMIT_MODE_RESERVE) for _ in range(2)
        )
    assert [p.node for p in first] == [p.node for p in again]
    assert {p.outcome for p in first} == {COMMIT_OUTCOME_RESERVED}
    assert {p.outcome for p in again} == {COMMIT_OUTCOME_ALREADY_RESERVED}


def test_nodes_that_change_between_calls_have_their_new_names(w: World) -> None:
    with client_of(w) as client:
        assert sorted(client.filter(HALF).nodes) == ["a", "b", "c"]
        w.state.apply("test", [Remove("Node", "", "a"), Put(make_node("z"))])
        assert sorted(client.filter(HALF).nodes) == ["b", "c", "z"]
        assert sorted(client.score(HALF, among=["z", "b"]).nodes) == ["b", "z"]


@pytest.mark.parametrize("name", ["b", "gone"], ids=["known", "not known"])
def test_a_choice_among_some(w: World, name: str) -> None:
    with client_of(w) as client:
        assert set(client.filter(HALF, among=[name]).nodes) == {name}
        assert set(client.explain(HALF, among=[name]).nodes) == {name}


def test_all_answers_about_a_pod_agree(w: World) -> None:
    with client_of(w) as client:
        explained = client.explain(HALF)
        totals = client.score(HALF).nodes
        (placed,) = client.schedule([Pods(HALF, ["x"])])
    assert {name: node.total for name, node in explained.nodes.items()} == totals
    assert max(totals.values()) == placed.total == totals[explained.node]
    for node in explained.nodes.values():
        assert sum(score.weighted for score in node.scores.values()) == node.total


def test_names_for_some_pods_only_are_rejected(w: World) -> None:
    with client_of(w) as client, pytest.raises(ValueError, match="group 1 has 0 names for 1 pods"):
        client.schedule([Pods(HALF, ["x"], ["one"]), Pods(HALF, ["y"])])


def test_a_source_is_removed_once() -> None:
    load = [PushEvent(snapshot_begin=SnapshotBegin()), PushEvent(snapshot_end=SnapshotEnd())]
    with world(push=True) as w, listening(w.backend) as address, Client(address) as client:
        with grpc.insecure_channel(address) as channel:
            ClusterServiceStub(channel).PushObjects(
                PushObjectsRequest(source="x", session="s", first_sequence=1, events=load), timeout=LONG
            )
        assert [client.remove_source("x"), client.remove_source("x")] == [True, False]
        with pytest.raises(CallFailedError) as raised:
            client.remove_source("no name!")
    assert raised.value.reason == "REQUEST_INVALID"
    assert [each.field for each in raised.value.fields] == ["source"]
