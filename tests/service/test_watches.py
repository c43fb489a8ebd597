"""Streams that last: nodes and decisions as they come, resumed, ended, and limited for each client."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from mooring.app.options import DecisionOptions
from mooring.cluster.kinds import Put, Remove
from mooring.service import server
from mooring.service.server import build
from mooring.service.services import Servicers
from mooring.testing.builders import make_node, make_pod
from mooring_client.v1 import cluster_service_pb2 as pb
from mooring_client.v1 import decision_service_pb2 as decision_pb
from mooring_client.v1 import scheduling_service_pb2 as scheduling_pb
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from tests.process import until
from tests.service.backends import Stubs, sent, served, world
from tests.service.harness import LONG, QUIET, decode, failed
from tests.service.test_pages import names_in, small_pages

NAMES = [f"node-{at}" for at in range(7)]


@contextmanager
def watching(call: Any, request: Any) -> Iterator[Any]:
    """Yield a stream that is cancelled in the end."""
    stream = call(request, timeout=LONG)
    try:
        yield stream
    finally:
        stream.cancel()


def decide(stubs: Stubs, name: str, mode: Any = scheduling_pb.COMMIT_MODE_DRY_RUN) -> None:
    template = scheduling_pb.PodTemplate(pod=sent(make_pod(name)))
    request = scheduling_pb.ScheduleRequest(templates=[template], commit_mode=mode)
    stubs.scheduling.Schedule(request, timeout=LONG)


def test_a_watch_of_nodes_begins_with_all_and_goes_on_with_changes() -> None:
    with (
        world(*map(make_node, NAMES)) as w,
        served(w.backend) as stubs,
        small_pages(60),
        watching(stubs.cluster.WatchNodes, pb.WatchNodesRequest()) as stream,
    ):
        first = [next(stream)]
        while first[-1].more:
            first.append(next(stream))
        w.state.apply("test", [Put(make_node("new"))])
        added = next(stream)
        w.state.apply("test", [Remove("Node", "", NAMES[0])])
        removed = next(stream)
    assert len(first) > 1
    assert [name for each in first for name in names_in(each)] == NAMES
    assert [each.complete for each in first] == [True] + [False] * (len(first) - 1)
    assert (added.complete, names_in(added)) == (False, ["new"])
    assert (names_in(removed), list(removed.removed_indices)) == ([], [0])


def test_a_watch_of_nodes_goes_on_where_it_ended() -> None:
    with world(*map(make_node, NAMES)) as w, served(w.backend) as stubs:
        with watching(stubs.cluster.WatchNodes, pb.WatchNodesRequest()) as stream:
            epoch = next(stream).provenance.node_epoch
        w.state.apply("test", [Put(make_node("new")), Put(make_node("newer"))])
        with watching(stubs.cluster.WatchNodes, pb.WatchNodesRequest(since_epoch=epoch)) as stream:
            missed = next(stream)
        with watching(stubs.cluster.WatchNodes, pb.WatchNodesRequest(since_epoch=5)) as stream:
            other = next(stream)
    assert (missed.complete, names_in(missed)) == (False, ["new", "newer"])
    assert (other.complete, len(names_in(other))) == (True, 9)


def test_a_watch_of_decisions_sends_each_once_and_goes_on_by_seq() -> None:
    with world(make_node("n")) as w, served(w.backend) as stubs:
        decide(stubs, "early")
        with watching(stubs.decisions.WatchDecisions, decision_pb.WatchDecisionsRequest()) as stream:
            begin = next(stream)
            decide(stubs, "a")
            first = next(stream)
            decide(stubs, "b")
            second = next(stream)
        again = decision_pb.WatchDecisionsRequest(after_seq=first.next_after_seq, journal_id=begin.journal_id)
        with watching(stubs.decisions.WatchDecisions, again) as stream:
            resumed = next(stream)
        again.journal_id = "of another start"
        with watching(stubs.decisions.WatchDecisions, again) as stream:
            anew = next(stream)
    assert (list(begin.decisions), begin.next_after_seq) == ([], 1)
    assert [each.pod.name for each in (*first.decisions, *second.decisions)] == ["a", "b"]
    assert [each.pod.name for each in resumed.decisions] == ["b"]
    assert [each.pod.name for each in anew.decisions] == ["early", "a", "b"]


def test_a_filter_says_which_decisions_are_watched() -> None:
    request = decision_pb.WatchDecisionsRequest(filter=decision_pb.DecisionFilter(pod="b"), after_seq=0)
    with world(make_node("n")) as w, served(w.backend) as stubs:
        for name in "abc":
            decide(stubs, name)
        with watching(stubs.decisions.WatchDecisions, request) as stream:
            found = next(stream)
    assert ([each.pod.name for each in found.decisions], found.next_after_seq) == (["b"], 3)


def test_who_reads_too_slowly_is_told_what_was_missed() -> None:
    small = DecisionOptions(journal=20_000)
    with world(make_node("n"), remembering=small) as w, served(w.backend) as stubs:
        request = decision_pb.WatchDecisionsRequest(after_seq=0)
        for at in range(300):
            decide(stubs, f"p{at}")
        with watching(stubs.decisions.WatchDecisions, request) as stream:
            first = next(stream)
    assert first.missed_count > 0
    assert first.decisions[0].seq == first.missed_count + 1


def test_watches_end_with_a_reason_when_the_server_drains() -> None:
    with world(make_node("n")) as w:
        services = Servicers.of(w.backend)
        metrics, slots = w.backend.metrics, w.backend.slots
        made = build(
            services.services(),
            QUIET,
            metrics=metrics,
            slots=slots,
            ready=lambda: "",
        )
        made.start()
        with grpc.insecure_channel(made.address) as channel:
            stream = ClusterServiceStub(channel).WatchNodes(pb.WatchNodesRequest(), timeout=LONG)
            next(stream)
            made.drain()
            end = failed(lambda: next(stream))
    assert (end.code, end.info.reason) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")


def test_a_client_has_a_share_of_the_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "STREAMS", 4)
    with world(make_node("n")) as w, served(w.backend) as one:
        request = pb.WatchNodesRequest()
        mine = [one.cluster.WatchNodes(request, timeout=LONG) for _ in range(3)]
        for stream in mine:
            next(stream)
        end = failed(lambda: next(one.cluster.WatchNodes(request, timeout=LONG)))
        assert (end.code, end.info.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED")
        mine.pop().cancel()

        def free() -> bool:
            mine.append(one.cluster.WatchNodes(request, timeout=LONG))
            try:
                next(mine[-1])
            except grpc.RpcError as error:
                return decode(error).code is not grpc.StatusCode.RESOURCE_EXHAUSTED
            return True

        until(free, "a place among the streams")
        for stream in mine:
            stream.cancel()


def test_calls_are_answered_while_streams_wait() -> None:
    with world(make_node("n")) as w, served(w.backend) as stubs:
        streams = [stubs.cluster.WatchNodes(pb.WatchNodesRequest(), timeout=LONG) for _ in range(20)]
        for stream in streams:
            next(stream)
        for at in range(20):
            decide(stubs, f"p{at}")
        for stream in streams:
            stream.cancel()


def test_what_fails_in_a_stream_is_told_like_in_any_call() -> None:
    with world(make_node("n")) as w, served(w.backend) as stubs:
        stream = stubs.scheduling.ExplainStream(scheduling_pb.ExplainStreamRequest(), timeout=LONG)
        end = failed(lambda: next(stream))
    assert end.code is grpc.StatusCode.INVALID_ARGUMENT
    assert [field for field, _ in end.violations] == ["pod"]


@pytest.mark.parametrize("count", [pytest.param(1, id="one pod"), pytest.param(3, id="a batch")])
def test_what_is_observed_is_journaled_and_not_acted_on(count: int) -> None:
    observe = scheduling_pb.COMMIT_MODE_OBSERVE
    template = scheduling_pb.PodTemplate(pod=sent(make_pod("p")))
    request = scheduling_pb.ScheduleRequest(templates=[template], commit_mode=observe)
    request.pods.template_indices.extend([0] * count)
    request.pods.uids.extend(f"p{at}" for at in range(count))
    with world(make_node("n")) as w, served(w.backend) as stubs:
        before = w.state.version
        answer = stubs.scheduling.Schedule(request, timeout=LONG)
        kinds = decision_pb.DecisionFilter(kinds=[decision_pb.DECISION_KIND_OBSERVE])
        noted = stubs.decisions.ListDecisions(decision_pb.ListDecisionsRequest(filter=kinds), timeout=LONG)
        assert len(w.backend.committer.reservations) == 0
        assert w.state.version == before
    assert list(answer.nodes.names.names) == ["n"] * count
    assert list(answer.outcomes) == []
    assert [each.pod.uid for each in noted.decisions] == [f"p{at}" for at in range(count)]
