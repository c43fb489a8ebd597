"""Lists in pages, each of one moment, and answers in parts, for clients whose messages are small."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.kinds import Put, Remove
from mooring.decisions.listed_pod import ListedPod
from mooring.service.calls import pages
from mooring.service.wire.parts import parts
from mooring.testing.builders import make_node, make_pod
from mooring_client.v1 import cluster_service_pb2 as pb
from mooring_client.v1 import decision_service_pb2 as decision_pb
from mooring_client.v1 import nodes_pb2
from mooring_client.v1 import scheduling_service_pb2 as scheduling_pb
from mooring_client.v1.verdicts_pb2 import PluginScores
from tests.service.backends import WAYS, direct, rejected, sent, served, world
from tests.service.harness import LONG

NAMES = [f"node-{at}" for at in range(7)]
FORMS = [
    pytest.param(nodes_pb2.NODE_FORM_NAMES, id="names"),
    pytest.param(nodes_pb2.NODE_FORM_JOINED_NAMES, id="joined names"),
    pytest.param(nodes_pb2.NODE_FORM_INDICES, id="indices"),
]


def names_in(answer: Any) -> list[str]:
    joined = answer.nodes.joined_names
    return joined.decode().split("\0") if joined else list(answer.nodes.names.names)


def paged(call: Callable[..., Any], request: Any) -> Iterator[Any]:
    while True:
        answer = call(request)
        yield answer
        if not answer.next_page_token:
            return
        request.page_token = answer.next_page_token


@contextmanager
def small_pages(size: int) -> Iterator[None]:
    """Limit pages and parts to ``size`` bytes unless a caller requests more."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("calls.pages", "cluster", "decisions", "scheduling.servicer"):
            patch.setattr(f"mooring.service.{module}.PAGE_BYTES", size)
        yield


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [pytest.param(3, id="by number"), pytest.param(0, id="by bytes")])
def test_nodes_are_listed_in_pages(way: Callable[..., Any], form: Any, size: int) -> None:
    with world(*map(make_node, NAMES)) as w, way(w.backend) as stubs, small_pages(40):
        request = pb.ListNodesRequest(form=form, page_size=size)
        answers = list(paged(stubs.cluster.ListNodes, request))
    assert len(answers) > 2
    assert [index for answer in answers for index in answer.indices] == list(range(7))
    expected = [] if form == nodes_pb2.NODE_FORM_INDICES else NAMES
    assert [name for answer in answers for name in names_in(answer)] == expected
    assert all(answer.complete for answer in answers)


def test_the_pages_of_a_list_have_one_epoch_whatever_happens_meanwhile() -> None:
    with world(*map(make_node, NAMES)) as w, direct(w.backend) as stubs:
        request = pb.ListNodesRequest(page_size=4)
        first = stubs.cluster.ListNodes(request)
        w.state.apply("test", [Remove("Node", "", NAMES[6]), Put(make_node("new"))])
        request.page_token = first.next_page_token
        second = stubs.cluster.ListNodes(request)
        since = stubs.cluster.ListNodes(pb.ListNodesRequest(since_epoch=second.provenance.node_epoch))
    assert first.provenance == second.provenance
    assert names_in(first) + names_in(second) == NAMES
    assert names_in(since) == ["new"]


def test_a_difference_comes_in_pages_too() -> None:
    with world(make_node("first")) as w, direct(w.backend) as stubs:
        epoch = stubs.cluster.ListNodes(pb.ListNodesRequest()).provenance.node_epoch
        w.state.apply("test", [Remove("Node", "", "first"), *(Put(make_node(name)) for name in NAMES)])
        request = pb.ListNodesRequest(since_epoch=epoch, page_size=3)
        answers = list(paged(stubs.cluster.ListNodes, request))
    assert [name for answer in answers for name in names_in(answer)] == NAMES
    assert [bool(answer.removed_indices) for answer in answers] == [True, False, False]
    assert not any(answer.complete for answer in answers)


@pytest.mark.parametrize("way", WAYS)
def test_pending_pods_and_the_queue_are_listed_in_pages(way: Callable[..., Any]) -> None:
    pods = [make_pod(f"p{at}") for at in range(6)]
    queued = [ListedPod(pod, "active", 0, 1.0, 1.0) for pod in pods]
    with world(make_node("n"), *pods, queue=lambda: queued) as w, way(w.backend) as stubs, small_pages(200):
        pending = list(paged(stubs.cluster.ListPendingPods, pb.ListPendingPodsRequest()))
        waiting = list(paged(stubs.decisions.ListQueue, decision_pb.ListQueueRequest(page_size=4)))
    for answers in (pending, waiting):
        assert len(answers) > 1
        assert [each.pod.name for answer in answers for each in answer.pods] == [f"p{at}" for at in range(6)]


@pytest.mark.parametrize(
    ("skip", "expected"),
    [
        pytest.param(None, ["p2", "p3"], id="the next"),
        pytest.param(0, ["p0", "p1"], id="the first again"),
        pytest.param(4, ["p4"], id="the last"),
        pytest.param(9, [], id="beyond the end"),
    ],
)
def test_any_part_of_a_list_of_pods_is_read_as_it_was_found(skip: int | None, expected: list[str]) -> None:
    with world(make_node("n"), *(make_pod(f"p{at}") for at in range(5))) as w, direct(w.backend) as stubs:
        token = stubs.cluster.ListPods(pb.ListPodsRequest(page_size=2)).next_page_token
        w.state.apply("test", [Put(make_pod("a"))])
        answer = stubs.cluster.ListPods(pb.ListPodsRequest(page_size=2, page_token=token, skip=skip))
        fresh = stubs.cluster.ListPods(pb.ListPodsRequest(page_size=2, skip=skip))
    assert [each.pod.name for each in answer.pods] == expected
    assert answer.pod_count == 5
    assert fresh.pod_count == 6


def test_the_usage_of_nodes_comes_in_pages_with_them() -> None:
    nodes = [make_node(name, allocatable={"cpu": at + 1}) for at, name in enumerate(NAMES)]
    with world(*nodes) as w, direct(w.backend) as stubs, small_pages(300):
        answers = list(paged(stubs.cluster.ListNodes, pb.ListNodesRequest(include_usage=True)))
    assert len(answers) > 1
    found = [amount for answer in answers for amount in answer.usage.resources[0].allocatable]
    assert found == [1000 * (at + 1) for at in range(7)]
    assert all(len(answer.usage.zone_positions) == len(answer.indices) for answer in answers)


def test_decisions_that_take_more_than_a_page_come_in_several() -> None:
    with world(make_node("n")) as w, direct(w.backend) as stubs, small_pages(600):
        for at in range(9):
            stubs.scheduling.Schedule(
                scheduling_pb.ScheduleRequest(
                    templates=[scheduling_pb.PodTemplate(pod=sent(make_pod(f"p{at}")))]
                )
            )
        seen, after = [], 0
        while after < 9:
            answer = stubs.decisions.ListDecisions(decision_pb.ListDecisionsRequest(after_seq=after))
            assert 0 < len(answer.decisions) < 9
            seen += [each.seq for each in answer.decisions]
            after = answer.next_after_seq
        newest = stubs.decisions.ListDecisions(decision_pb.ListDecisionsRequest()).decisions
    assert seen == list(range(1, 10))
    assert [each.seq for each in newest] == seen[-len(newest) :]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("token", "reason"),
    [
        pytest.param("0123456789abcdef.3", "PAGE_TOKEN_STALE", id="of another process"),
        pytest.param("nonsense", "REQUEST_INVALID", id="no token"),
    ],
)
def test_a_page_that_is_not_there_is_told(way: Callable[..., Any], token: str, reason: str) -> None:
    with world(make_node("n")) as w, way(w.backend) as stubs:
        failure = rejected(lambda: stubs.cluster.ListNodes(pb.ListNodesRequest(page_token=token)))
    assert failure.info.reason == reason


def test_a_page_is_forgotten_after_a_while_and_belongs_to_its_request() -> None:
    with world(*map(make_node, NAMES)) as w, direct(w.backend) as stubs:
        request = pb.ListNodesRequest(page_size=3)
        token = stubs.cluster.ListNodes(request).next_page_token
        other = rejected(
            lambda: stubs.cluster.ListNodes(
                pb.ListNodesRequest(form=nodes_pb2.NODE_FORM_INDICES, page_token=token)
            )
        )
        request.page_token = token
        assert stubs.cluster.ListNodes(request) == stubs.cluster.ListNodes(request)
        for listing in w.backend.pages._lists.values():
            listing.until -= pages.KEPT_SECONDS + 1
        late = rejected(lambda: stubs.cluster.ListNodes(request))
    assert [field for field, _ in other.violations] == ["page_token"]
    assert (late.code, late.info.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "PAGE_TOKEN_STALE")


def test_a_client_that_lists_without_end_forgets_its_own_lists_alone() -> None:
    with world(*map(make_node, NAMES)) as w, served(w.backend) as one, served(w.backend) as other:
        request = pb.ListNodesRequest(page_size=3)
        kept = other.cluster.ListNodes(request, timeout=LONG).next_page_token
        for _ in range(2 * pages.MOST_LISTS):
            one.cluster.ListNodes(request, timeout=LONG)
        request.page_token = kept
        assert len(other.cluster.ListNodes(request, timeout=LONG).indices) == 3


EXPLAINED = scheduling_pb.ExplainRequest(pod=sent(make_pod(requests={"cpu": "1"})), all_rejections=True)


@pytest.mark.parametrize("form", [*FORMS, pytest.param(nodes_pb2.NODE_FORM_UNSPECIFIED, id="as asked")])
@pytest.mark.parametrize("method", ["Filter", "Score", "Explain"])
def test_an_answer_in_parts_is_the_answer(method: str, form: Any) -> None:
    question = getattr(scheduling_pb, f"{method}Request")(pod=EXPLAINED.pod)
    if method == "Score":
        question.include_totals = True
    question.nodes.answer_form = form
    stream = getattr(scheduling_pb, f"{method}StreamRequest")(request=question)
    nodes = [make_node(name, allocatable={"cpu": str(at), "pods": "10"}) for at, name in enumerate(NAMES)]
    with world(*nodes) as w, served(w.backend) as stubs, small_pages(100):
        answered = list(getattr(stubs.scheduling, f"{method}Stream")(stream, timeout=LONG))
        if form == nodes_pb2.NODE_FORM_JOINED_NAMES:
            question.nodes.answer_form = nodes_pb2.NODE_FORM_NAMES
        whole = getattr(stubs.scheduling, method)(question, timeout=LONG)
    together = type(whole)()
    for each in answered:
        together.MergeFrom(each.part)
    assert len(answered) > 1
    assert together == whole


numbers = st.lists(st.integers(0, 2**32 - 1), max_size=60)
words = st.lists(st.text(max_size=12), max_size=40)


@given(st.integers(40, 400), numbers, words, st.lists(numbers, max_size=4), st.text(max_size=9), words)
def test_parts_merge_to_the_message(
    most: int, positions: list[int], names: list[str], raw: list[list[int]], node: str, warnings: list[str]
) -> None:
    message = scheduling_pb.ExplainResponse(
        scored_positions=positions,
        plugins=[PluginScores(plugin=f"P{at}", raw=column) for at, column in enumerate(raw)],
        assigned_node=node,
        warnings=warnings,
    )
    message.nodes.names.names.extend(names)
    message.verdicts.node_verdicts.extend(positions)
    message.rejections.node_positions.extend(positions)
    found = list(parts(message, most))
    together = scheduling_pb.ExplainResponse()
    for part in found:
        together.MergeFrom(part)
    assert together == message
    largest = max((column.ByteSize() for column in message.plugins), default=0)
    assert all(part.ByteSize() <= max(most, largest) + 60 for part in found)
