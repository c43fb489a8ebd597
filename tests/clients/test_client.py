"""The client against a real server: batches, indices that follow the nodes, and what it sends again."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from mooring.cluster.kinds import Put, Remove
from mooring.framework.errors import ResourceExhaustedError, UnavailableError
from mooring.service.scheduling.servicer import SchedulingServicer
from mooring.testing.builders import make_node, make_pod, to_json
from mooring_client import Client, Pods, reason_of
from mooring_client.v1.cluster_service_pb2 import PushEvent, PushObjectsRequest, SnapshotBegin, SnapshotEnd
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from mooring_client.v1.scheduling_service_pb2 import (
    COMMIT_MODE_BIND,
    COMMIT_MODE_DRY_RUN,
    COMMIT_MODE_RESERVE,
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
def client_of(w: World, **how: Any) -> Iterator[Client]:
    with listening(w.backend) as address, grpc.insecure_channel(address) as channel:
        yield Client(channel, **how)


@pytest.fixture
def w() -> Iterator[World]:
    with world(*NODES) as made:
        yield made


def test_a_batch_of_one_template(w: World) -> None:
    with client_of(w) as client:
        placed = client.schedule([some(HALF, 7)])
        assert (client.nodes.epoch, len(client.nodes)) == (w.state.snapshot.nodes.epoch, 3)
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
def test_commits_are_answered_by_name(w: World, mode: Any) -> None:
    with client_of(w) as client:
        placed = client.schedule([some(HALF, 3, named=True)], commit_mode=mode)
        assert client.nodes.epoch is None
    assert {p.verdict.code for p in placed} == {VERDICT_CODE_SUCCESS}
    records = w.state.snapshot.pods.records.values()
    assert {r.pod.metadata.name: r.pod.spec.node_name for r in records} == {
        f"pod-{number}": placement.node for number, placement in enumerate(placed)
    }


def renamed(w: World) -> None:
    """Another node has the index of one that is gone."""
    w.state.apply("test", [Remove("Node", "", "a"), Put(make_node("z"))])


def test_nodes_that_change_between_calls_have_their_new_names(w: World) -> None:
    with client_of(w) as client:
        assert sorted(p.node for p in client.schedule([some(LARGE, 3)])) == ["a", "b", "c"]
        renamed(w)
        assert sorted(p.node for p in client.schedule([some(LARGE, 3)])) == ["b", "c", "z"]


@pytest.mark.parametrize("mode", [COMMIT_MODE_DRY_RUN, COMMIT_MODE_BIND], ids=["dry run", "bind"])
def test_a_choice_among_some_follows_a_stale_epoch(w: World, mode: Any) -> None:
    with client_of(w) as client:
        assert [p.node for p in client.schedule([some(LARGE, 1)], among=["b"])] == ["b"]
        renamed(w)
        placed = client.schedule([some(LARGE, 3)], among=["z", "a", "c"], commit_mode=mode)
    assert sorted(p.node for p in placed) == ["", "c", "z"]


def test_nodes_that_change_between_decision_and_names_are_asked_about_again(w: World) -> None:
    with client_of(w) as client:
        client.schedule([some(LARGE, 1)])
        renamed(w)
        refresh, times = client.nodes.refresh, iter([lambda: renamed_back(w)])

        def meanwhile(timeout: float) -> None:
            next(times, lambda: None)()
            refresh(timeout)

        client.nodes.refresh = meanwhile  # type: ignore[method-assign]
        placed = client.schedule([some(LARGE, 3)])
    assert sorted(p.node for p in placed) == ["b", "c", "y"]


def renamed_back(w: World) -> None:
    w.state.apply("test", [Remove("Node", "", "z"), Put(make_node("y"))])


Reject = Callable[[], Exception]


@contextmanager
def failing(reject: Reject, times: int) -> Iterator[list[None]]:
    """The server rejects so many calls of Schedule; the list grows with each."""
    seen: list[None] = []
    answer = SchedulingServicer.Schedule

    def schedule(self: Any, request: Any, context: Any) -> Any:
        seen.append(None)
        if len(seen) <= times:
            raise reject()
        return answer(self, request, context)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SchedulingServicer, "Schedule", schedule)
        yield seen


def not_synced() -> Exception:
    return UnavailableError("not yet", reason="NOT_SYNCED")


def overloaded() -> Exception:
    return ResourceExhaustedError("too many", reason="OVERLOADED")


def draining() -> Exception:
    return UnavailableError("bye", reason="DRAINING")


@pytest.mark.parametrize(
    ("reject", "mode", "calls"),
    [
        pytest.param(not_synced, COMMIT_MODE_DRY_RUN, 3, id="dry run, not synced"),
        pytest.param(draining, COMMIT_MODE_DRY_RUN, 3, id="dry run, draining"),
        pytest.param(overloaded, COMMIT_MODE_BIND, 3, id="bind, rejected before it began"),
        pytest.param(draining, COMMIT_MODE_BIND, 1, id="bind, nobody knows how far it came"),
        pytest.param(lambda: ValueError("a defect"), COMMIT_MODE_DRY_RUN, 1, id="dry run, a defect"),
    ],
)
def test_only_what_is_safe_is_sent_again(w: World, reject: Reject, mode: Any, calls: int) -> None:
    with failing(reject, 2) as seen, client_of(w) as client:
        if calls == 1:
            with pytest.raises(grpc.RpcError):
                client.schedule([some(HALF, 1)], commit_mode=mode)
        else:
            assert client.schedule([some(HALF, 1)], commit_mode=mode)[0].node
    assert len(seen) == calls


def test_it_ends_with_the_time_that_it_has(w: World) -> None:
    with (
        failing(not_synced, 1000) as seen,
        client_of(w, timeout=1.5) as client,
        pytest.raises(grpc.RpcError) as caught,
    ):
        client.schedule([some(HALF, 1)])
    assert reason_of(caught.value) == "NOT_SYNCED"
    assert len(seen) > 1


def test_names_for_some_pods_only_are_rejected(w: World) -> None:
    with client_of(w) as client, pytest.raises(ValueError, match="group 1 has 0 names for 1 pods"):
        client.schedule([Pods(HALF, ["x"], ["one"]), Pods(HALF, ["y"])])


def test_a_source_is_removed_once() -> None:
    load = [PushEvent(snapshot_begin=SnapshotBegin()), PushEvent(snapshot_end=SnapshotEnd())]
    with (
        world(push=True) as w,
        listening(w.backend) as address,
        grpc.insecure_channel(address) as channel,
    ):
        ClusterServiceStub(channel).PushObjects(
            PushObjectsRequest(source="x", session="s", first_sequence=1, events=load), timeout=LONG
        )
        client = Client(channel)
        assert [client.remove_source("x"), client.remove_source("x")] == [True, False]
        with pytest.raises(grpc.RpcError) as raised:
            client.remove_source("no name!")
    assert reason_of(raised.value) == "REQUEST_INVALID"
