"""A watcher pushes a full load, then changes by number, and a full load again after whatever goes wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.cluster.decoding import checked, decode_json
from mooring.cluster.kinds import KINDS, ClusterObject, Put, Remove
from mooring.cluster.sources import push
from mooring.framework.errors import InvalidArgumentError
from mooring.pushing import replica as replicas
from mooring.pushing.batches import BATCH_BYTES, batches_of
from mooring.pushing.replica import Replica
from mooring.testing.builders import make_node, make_pod
from mooring_client.errors import CallFailedError
from mooring_client.v1 import cluster_service_pb2 as pb
from tests.cluster.histories import changes, content
from tests.cluster.messages import each_field
from tests.process import until
from tests.pushing.servers import Server, Watcher, failed

LOST = failed(grpc.StatusCode.UNAVAILABLE)


def names(server: Server) -> set[str]:
    return set(server.state.snapshot.nodes.index)


def changed(watcher: Watcher, *steps: Put | Remove) -> None:
    watcher.state.apply("own", steps)
    watcher.log.read_changes()


def raising(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


def started() -> tuple[Watcher, Server, Replica]:
    """Return a watcher with node a, a server, and what pushes to it, which has made the full load."""
    watcher, server = Watcher(), Server()
    watcher.state.replace("own", [make_node("a")])
    replica = watcher.replica(server)
    replica.step(server)
    assert names(server) == {"a"}
    return watcher, server, replica


def test_after_a_full_load_come_the_changes_alone() -> None:
    watcher, server, replica = started()
    changed(watcher, Put(make_node("b")), Remove("Node", "", "a"), Put(make_pod("p", node="b")))
    replica.step(server)
    assert names(server) == {"b"}
    assert content(server.state) == content(watcher.state)
    assert (server.loads, replica.loads, replica.kept) == (1, 1, True)


def test_objects_of_one_kind_are_one_event() -> None:
    steps: list[Put | Remove] = [
        Put(make_node("a")),
        Put(make_node("b")),
        Remove("Node", "", "a"),
        Put(make_pod("p")),
        Put(make_node("c")),
    ]
    (batch,) = batches_of(steps)
    request = pb.PushObjectsRequest.FromString(batch.data)
    assert [(event.WhichOneof("event"), len(event.put.objects)) for event in request.events] == [
        ("put", 2),
        ("remove", 0),
        ("put", 1),
        ("put", 1),
    ]
    assert batch.events == 4


def test_many_objects_are_several_batches() -> None:
    large = [Put(make_node(f"n{number}", labels={"large": "x" * (BATCH_BYTES // 3)})) for number in range(7)]
    assert [batch.events for batch in batches_of(large)] == [1, 1, 1]


def nothing(_: Watcher, __: Server, ___: Replica) -> None:
    """Let nothing happen."""


def replica_restarts(_: Watcher, server: Server, __: Replica) -> None:
    server.restart()


def events_are_missed(_: Watcher, __: Server, replica: Replica) -> None:
    replica._sequence += 5


def log_forgets(watcher: Watcher, _: Server, __: Replica) -> None:
    watcher.log._most_bytes = 0


def journal_forgets(watcher: Watcher, _: Server, __: Replica) -> None:
    watcher.state.journal().take()
    watcher.state.apply("own", [Put(make_node("c"))])
    watcher.state.journal().take()


def another_pushed(_: Watcher, server: Server, __: Replica) -> None:
    server.source.push_objects("cluster", "other", 1, [push.SnapshotBegin(), push.SnapshotEnd()])
    server.fall_silent()


def answer_is_lost(watcher: Watcher, server: Server, replica: Replica) -> None:
    changed(watcher, Put(make_node("c")))
    server.after = raising(LOST)
    with pytest.raises(CallFailedError):
        replica.step(server)
    server.after = lambda: None


def request_is_lost(watcher: Watcher, server: Server, replica: Replica) -> None:
    changed(watcher, Put(make_node("c")))
    server.before = raising(LOST)
    with pytest.raises(CallFailedError):
        replica.step(server)
    server.before = lambda: None


@pytest.mark.parametrize(
    ("happening", "loads"),
    [
        pytest.param(nothing, 1, id="nothing"),
        pytest.param(request_is_lost, 1, id="a cut before the call took effect"),
        pytest.param(answer_is_lost, 1, id="a cut after it"),
        pytest.param(replica_restarts, 2, id="the replica restarts"),
        pytest.param(events_are_missed, 2, id="a gap in the sequence"),
        pytest.param(log_forgets, 2, id="the replica is too slow"),
        pytest.param(journal_forgets, 2, id="changes come too fast for the watcher"),
        pytest.param(another_pushed, 2, id="another watcher came and went"),
    ],
)
def test_whatever_happens_the_replica_has_everything_then(
    happening: Callable[[Watcher, Server, Replica], None], loads: int
) -> None:
    watcher, server, replica = started()
    happening(watcher, server, replica)
    changed(watcher, Put(make_node("b")))
    for _ in range(3):
        replica.step(server)
    assert content(server.state) == content(watcher.state)
    assert replica.loads == loads


def test_a_replica_answers_by_what_it_has_until_a_full_load_is_whole() -> None:
    _, server, _ = started()
    second = Watcher()
    second.state.replace("own", [make_node("x"), make_node("y")])
    seen: list[set[str]] = []
    server.before = lambda: seen.append(names(server))
    server.fall_silent()
    second.replica(server).step(server)
    assert seen
    assert all(each == {"a"} for each in seen)
    assert server.source.synced
    assert names(server) == {"x", "y"}


def test_of_two_watchers_one_pushes() -> None:
    watcher, server, first = started()
    other = Watcher()
    other.state.replace("own", [make_node("a")])
    second = other.replica(server)
    second.step(server)
    assert (second.kept, second.error, server.loads) == (False, "another watcher keeps it", 1)

    server.fall_silent()
    second.step(server)
    assert (second.kept, server.loads) == (True, 2)

    # The first wakes: its session has ended, so nothing of it is taken.
    changed(watcher, Put(make_node("late")))
    first.step(server)
    first.step(server)
    assert (first.kept, names(server)) == (False, {"a"})
    changed(other, Put(make_node("b")))
    second.step(server)
    assert names(server) == {"a", "b"}


@pytest.mark.parametrize(
    ("synced", "staleness", "why"),
    [
        pytest.param(False, 0.0, "the first full list is not complete", id="not complete"),
        pytest.param(True, 60.0, "nothing was heard for 60 s", id="too old"),
    ],
)
def test_a_watcher_that_knows_too_little_is_silent(synced: bool, staleness: float, why: str) -> None:
    watcher, server = Watcher(), Server()
    watcher.synced, watcher.staleness = synced, staleness
    replica = watcher.replica(server)
    replica.step(server)
    assert (server.requests, replica.error) == ([], why)


def test_a_replica_knows_how_old_its_state_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        now = 100.0

        def monotonic(self) -> float:
            return self.now

    clock = Clock()
    monkeypatch.setattr(push, "time", clock)
    watcher, server, replica = started()
    source = server.source
    assert source.staleness == 0.0
    watcher.staleness, watcher.doubt = 2.0, "etcd went back"
    replica.step(server)
    assert (source.staleness, source.doubt) == (2.0, "etcd went back")
    clock.now += 7
    assert (source.staleness, source.late) == (9.0, "source cluster has not been current")
    assert [(each.staleness, each.silence) for each in source.describe()] == [(9.0, 7.0)]
    watcher.staleness, watcher.doubt = 0.0, ""
    replica.step(server)
    assert (source.staleness, source.doubt) == (0.0, "")

    # A new session says nothing of the objects that are there until its own are.
    clock.now += 3
    source.push_objects("cluster", "new", 1, [push.SnapshotBegin()], freshness=push.PushFreshness())
    assert (source.staleness, source.describe()[0].silence) == (3.0, 0.0)
    source.push_objects("cluster", "new", 2, [push.SnapshotEnd()], freshness=push.PushFreshness())
    assert source.staleness == 0.0


def test_a_slow_replica_delays_no_other() -> None:
    watcher = Watcher(most_bytes=1 << 12)
    watcher.state.replace("own", [make_node("a")])
    slow, fast, may_go_on = Server(), Server(), threading.Event()
    both = [watcher.replica(slow), watcher.replica(fast)]
    for replica in both:
        replica.start()
    try:
        until(lambda: names(slow) == names(fast) == {"a"})
        slow.before = may_go_on.wait
        for number in range(20):
            changed(watcher, Put(make_node(f"n{number}")))
            until(lambda number=number: f"n{number}" in names(fast))  # type: ignore[misc]
        assert names(slow) == {"a"}
        may_go_on.set()
        until(lambda: names(slow) == names(fast))
    finally:
        may_go_on.set()
        for replica in both:
            replica.stop()
            replica.join()
    assert [replica.loads for replica in both] == [2, 1]


def test_what_a_replica_rejects_is_tried_again_later() -> None:
    _, server, replica = started()
    assert replica._pause_after(failed(grpc.StatusCode.UNAVAILABLE), 0.0) < 0.1
    assert replica._pause_after(failed(grpc.StatusCode.UNAVAILABLE), 1.0) == replicas.LONGEST_PAUSE
    assert replica._position is not None
    assert (
        replica._pause_after(failed(grpc.StatusCode.PERMISSION_DENIED, "FORBIDDEN"), 0.0)
        == replicas.REJECTED_SECONDS
    )
    replica.step(server)
    assert server.loads == 2


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_every_field_of_every_kind_is_pushed(kind: type[ClusterObject]) -> None:
    sent = []
    for item in each_field(kind):
        # Some quantities can't be used, which an API server would not have stored.
        with suppress(InvalidArgumentError):
            sent.append(checked(replace(item, metadata=replace(item.metadata, name="it"))))
    (batch,) = batches_of(map(Put, sent))
    (event,) = pb.PushObjectsRequest.FromString(batch.data).events
    assert [decode_json(each.json, event.put.kind) for each in event.put.objects] == sent


CUTS = ("", "", "", "request", "answer", "replica", "watcher", "unread")


@given(
    st.lists(st.tuples(st.lists(changes(), max_size=4), st.sampled_from(CUTS)), max_size=12),
    st.integers(0, 3000),
)
def test_random_histories_with_cuts_end_equal(
    history: list[tuple[list[Put | Remove], str]], most_bytes: int
) -> None:
    watcher, server = Watcher(most_bytes), Server()
    replica = watcher.replica(server)
    for steps, cut in history:
        watcher.state.apply("own", steps)
        if cut != "unread":
            watcher.log.read_changes()
        server.before = raising(LOST) if cut == "request" else lambda: None
        server.after = raising(LOST) if cut == "answer" else lambda: None
        if cut == "replica":
            server.restart()
        if cut == "watcher":
            watcher = watcher.restarted()
            server.fall_silent()
            replica = watcher.replica(server)
        with suppress(CallFailedError):
            replica.step(server)
    server.before = server.after = lambda: None
    watcher.log.read_changes()
    for _ in range(4):
        replica.step(server)
    assert content(server.state) == content(watcher.state)
