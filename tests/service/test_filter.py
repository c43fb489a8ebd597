"""Filter: every way to choose nodes and name them, and what is rejected."""

from collections.abc import Callable
from typing import Any

import grpc
import pytest

from mooring.framework import SUCCESS, Pod, Status
from mooring.service.backend import Limits
from mooring.service.wire.selection import Selection
from mooring.testing.builders import make_node, make_pod
from mooring_client.v1 import nodes_pb2 as nodes_pb
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.objects_pb2 import KubernetesObject
from tests.service.backends import WAYS, as_json, codes, direct, named, rejected, sent, world
from tests.service.fakes import filtering

NODES = tuple(make_node(name) for name in ("a", "b", "c"))
NO_B = filtering("NoB", lambda name: Status.unschedulable("b is full") if name == "b" else SUCCESS)
UNKNOWN = "UNSCHEDULABLE_AND_UNRESOLVABLE"
EPOCH = 1_003
"""The version of a fresh state with three nodes: its first epoch and one for each."""


def names(*listed: str) -> nodes_pb.NodeSelection:
    return nodes_pb.NodeSelection(names=nodes_pb.NodeNames(names=listed))


def joined(text: bytes) -> nodes_pb.NodeSelection:
    return nodes_pb.NodeSelection(joined_names=text)


def indices(*listed: int, epoch: int = EPOCH) -> nodes_pb.NodeSelection:
    return nodes_pb.NodeSelection(indices=nodes_pb.NodeIndices(node_epoch=epoch, indices=listed))


def bitmap(bits: bytes, epoch: int = EPOCH) -> nodes_pb.NodeSelection:
    return nodes_pb.NodeSelection(bitmap=nodes_pb.NodeBitmap(node_epoch=epoch, bits=bits))


def inline(*listed: str) -> nodes_pb.NodeSelection:
    return nodes_pb.NodeSelection(
        inline=nodes_pb.InlineNodes(nodes=[as_json(make_node(name)) for name in listed])
    )


def assumed(*pods: Pod, selection: nodes_pb.NodeSelection | None = None) -> nodes_pb.NodeSelection:
    chosen = selection or nodes_pb.NodeSelection()
    chosen.assumed_pods.extend(as_json(pod) for pod in pods)
    return chosen


def formed(selection: nodes_pb.NodeSelection, form: Any) -> nodes_pb.NodeSelection:
    selection.answer_form = form
    return selection


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        pytest.param(nodes_pb.NodeSelection(), ["SUCCESS", "UNSCHEDULABLE", "SUCCESS"], id="absent"),
        pytest.param(
            nodes_pb.NodeSelection(all=nodes_pb.AllNodes()), ["SUCCESS", "UNSCHEDULABLE", "SUCCESS"], id="all"
        ),
        pytest.param(names("c", "b"), ["SUCCESS", "UNSCHEDULABLE"], id="names"),
        pytest.param(names("b", "x", "a"), ["UNSCHEDULABLE", UNKNOWN, "SUCCESS"], id="unknown name"),
        pytest.param(names("x", "y"), [UNKNOWN, UNKNOWN], id="unknown names alone"),
        pytest.param(names(), [], id="no names"),
        pytest.param(joined(b"c\0b"), ["SUCCESS", "UNSCHEDULABLE"], id="joined names"),
        pytest.param(joined(b"c\0\xc3\xa9"), ["SUCCESS", UNKNOWN], id="joined unknown"),
        pytest.param(joined(b""), [], id="joined none"),
        pytest.param(indices(2, 1), ["SUCCESS", "UNSCHEDULABLE"], id="indices"),
        pytest.param(indices(), [], id="no indices"),
        pytest.param(bitmap(b"\x06"), ["UNSCHEDULABLE", "SUCCESS"], id="bitmap"),
        pytest.param(bitmap(b"\x05" + bytes(1 << 20)), ["SUCCESS", "SUCCESS"], id="long bitmap of zeros"),
        pytest.param(bitmap(b""), [], id="empty bitmap"),
        pytest.param(inline("z", "b"), ["SUCCESS", "UNSCHEDULABLE"], id="inline"),
        pytest.param(inline(), [], id="no inline nodes"),
    ],
)
def test_every_way_to_choose_nodes(
    way: Callable[..., Any], selection: nodes_pb.NodeSelection, expected: list[str]
) -> None:
    with world(*NODES, plugins=[NO_B]) as w, way(w.backend) as stubs:
        answer = stubs.scheduling.Filter(pb.FilterRequest(pod=sent(make_pod()), nodes=selection))
    assert codes(answer.verdicts, len(expected)) == expected
    assert len(answer.verdicts.node_verdicts) in (0, len(expected))
    assert answer.feasible_count == expected.count("SUCCESS")
    assert answer.verdicts.distinct[0].code == 1
    assert (answer.verdict.code == 1) == ("SUCCESS" in expected)
    assert answer.provenance.node_epoch == EPOCH
    assert answer.provenance.profile == "default-scheduler"


@pytest.mark.parametrize(
    ("selection", "kind", "listed"),
    [
        pytest.param(nodes_pb.NodeSelection(), "names", ["a", "b", "c"], id="all"),
        pytest.param(names("a"), None, [], id="names"),
        pytest.param(joined(b"a"), None, [], id="joined"),
        pytest.param(indices(1), None, [], id="indices"),
        pytest.param(inline("a"), None, [], id="inline"),
        pytest.param(bitmap(b"\x05"), "indices", [0, 2], id="bitmap"),
        pytest.param(
            formed(bitmap(b"\x05"), nodes_pb.NODE_FORM_NAMES), "names", ["a", "c"], id="bitmap, names"
        ),
        pytest.param(
            formed(nodes_pb.NodeSelection(), nodes_pb.NODE_FORM_INDICES),
            "indices",
            [0, 1, 2],
            id="all, indices",
        ),
        pytest.param(
            formed(nodes_pb.NodeSelection(), nodes_pb.NODE_FORM_JOINED_NAMES),
            "joined_names",
            b"a\0b\0c",
            id="joined",
        ),
    ],
)
def test_the_answer_lists_nodes_where_the_caller_cannot_know_them(
    selection: nodes_pb.NodeSelection, kind: str | None, listed: Any
) -> None:
    with world(*NODES, plugins=[NO_B]) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Filter(pb.FilterRequest(pod=sent(make_pod()), nodes=selection))
    assert answer.HasField("nodes") == (kind is not None)
    if kind is not None:
        assert answer.nodes.WhichOneof("nodes") == kind
        value = getattr(answer.nodes, kind)
        assert (value if kind == "joined_names" else list(getattr(value, kind))) == listed
        assert kind != "indices" or value.node_epoch == EPOCH


def test_a_node_that_is_gone_leaves_no_gap_among_names() -> None:
    with world(*NODES, plugins=[NO_B]) as w, direct(w.backend) as stubs:
        w.put(*(node for node in NODES if node.metadata.name != "b"))
        by_name, by_index = (
            stubs.scheduling.Filter(
                pb.FilterRequest(pod=sent(make_pod()), nodes=formed(nodes_pb.NodeSelection(), form))
            )
            for form in (nodes_pb.NODE_FORM_NAMES, nodes_pb.NODE_FORM_INDICES)
        )
    assert list(by_name.nodes.names.names) == ["a", "c"]
    assert list(by_index.nodes.indices.indices) == [0, 2]
    assert by_name.feasible_count == by_index.feasible_count == 2


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("selection", "path"),
    [
        pytest.param(names("a", "b", "a"), "nodes.names.names[2]", id="name twice"),
        pytest.param(names("a", "ghost", "ghost"), "nodes.names.names[2]", id="unknown name twice"),
        pytest.param(joined(b"a\0a"), "nodes.joined_names", id="joined name twice"),
        pytest.param(joined(b"a\0"), "nodes.joined_names", id="NUL at the end"),
        pytest.param(joined(b"\xff"), "nodes.joined_names", id="not UTF-8"),
        pytest.param(indices(0, 7), "nodes.indices", id="unknown index"),
        pytest.param(indices(2**32 - 1), "nodes.indices", id="no-node index"),
        pytest.param(indices(0, 1, 0), "nodes.indices.indices[2]", id="index twice"),
        pytest.param(bitmap(b"\x08"), "nodes.bitmap", id="bit of a free row"),
        pytest.param(bitmap(bytes(9999) + b"\x01"), "nodes.bitmap", id="bit far beyond"),
        pytest.param(inline("z", "z"), "nodes.inline.nodes[1]", id="inline twice"),
        pytest.param(
            formed(inline("a", "z"), nodes_pb.NODE_FORM_INDICES),
            "nodes.inline.nodes[1]",
            id="inline has no index",
        ),
        pytest.param(formed(names("a"), 9), "nodes.answer_form", id="unknown form"),
        pytest.param(
            nodes_pb.NodeSelection(inline=nodes_pb.InlineNodes(nodes=[KubernetesObject()])),
            "nodes.inline.nodes[0]",
            id="no object",
        ),
        pytest.param(assumed(make_pod("p")), "nodes.assumed_pods[0].spec.nodeName", id="assumed nowhere"),
        pytest.param(
            assumed(make_pod("p", node="x")),
            "nodes.assumed_pods[0].spec.nodeName",
            id="assumed on unknown node",
        ),
        pytest.param(names("a", "b", "c", "d"), "nodes.names", id="too many names"),
        pytest.param(inline("a", "b", "c", "d"), "nodes.inline", id="too many inline"),
    ],
)
def test_a_selection_that_makes_no_sense_is_rejected_by_its_path(
    way: Callable[..., Any], selection: nodes_pb.NodeSelection, path: str
) -> None:
    with world(*NODES, plugins=[NO_B], limits=Limits(max_selected_nodes=3)) as w, way(w.backend) as stubs:
        failure = rejected(
            lambda: stubs.scheduling.Filter(pb.FilterRequest(pod=sent(make_pod()), nodes=selection))
        )
    assert (failure.code, failure.info.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "REQUEST_INVALID")
    assert [field for field, _ in failure.violations] == [path]


@pytest.mark.parametrize(
    "selection",
    [
        pytest.param(indices(0, epoch=EPOCH - 1), id="older indices"),
        pytest.param(bitmap(b"\x01", epoch=EPOCH + 1), id="later bitmap"),
        pytest.param(indices(epoch=0), id="no epoch"),
    ],
)
@pytest.mark.parametrize("way", WAYS)
def test_indices_of_another_epoch_are_stale(
    way: Callable[..., Any], selection: nodes_pb.NodeSelection
) -> None:
    with world(*NODES) as w, way(w.backend) as stubs:
        failure = rejected(
            lambda: stubs.scheduling.Filter(pb.FilterRequest(pod=sent(make_pod()), nodes=selection))
        )
    assert (failure.code, failure.info.reason) == (
        grpc.StatusCode.FAILED_PRECONDITION,
        "NODE_EPOCH_STALE",
    )
    assert failure.info.metadata["node_epoch"] == str(EPOCH)


def test_inline_nodes_override_stored_ones_and_keep_their_pods() -> None:
    small = make_node("a", allocatable={"cpu": "2"})
    resident = make_pod("resident", node="a", requests={"cpu": "3"})
    asking = make_pod("asking", requests={"cpu": "1"})
    with world(make_node("a"), resident) as w, direct(w.backend) as stubs:
        for nodes, expected in (
            (nodes_pb.NodeSelection(), "SUCCESS"),
            (nodes_pb.NodeSelection(inline=nodes_pb.InlineNodes(nodes=[as_json(small)])), "UNSCHEDULABLE"),
            (nodes_pb.NodeSelection(), "SUCCESS"),
        ):
            answer = stubs.scheduling.Filter(pb.FilterRequest(pod=sent(asking), nodes=nodes))
            assert codes(answer.verdicts, 1) == [expected]


def test_pods_sent_along_count_for_one_call() -> None:
    asking = make_pod("asking", requests={"cpu": "2"})
    other = make_pod("other", node="a", requests={"cpu": "3"})
    with world(make_node("a")) as w, direct(w.backend) as stubs:
        before = stubs.scheduling.Filter(pb.FilterRequest(pod=sent(asking)))
        crowded = stubs.scheduling.Filter(pb.FilterRequest(pod=sent(asking), nodes=assumed(other)))
        after = stubs.scheduling.Filter(pb.FilterRequest(pod=sent(asking)))
    assert codes(crowded.verdicts, 1) == ["UNSCHEDULABLE"]
    assert before == after
    assert before.provenance == crowded.provenance


def test_a_pod_sent_along_replaces_the_known_one_of_its_uid() -> None:
    asking = make_pod("asking", requests={"cpu": "3"})
    known = make_pod("known", node="a", requests={"cpu": "3"})
    with world(make_node("a"), make_node("b"), known) as w, direct(w.backend) as stubs:
        moved = make_pod("known", node="b", requests={"cpu": "3"})
        answer = stubs.scheduling.Filter(pb.FilterRequest(pod=sent(asking), nodes=assumed(moved)))
    assert codes(answer.verdicts, 2) == ["SUCCESS", "UNSCHEDULABLE"]


@pytest.mark.parametrize("source", [pytest.param(named("p"), id="named"), pytest.param(None, id="sent")])
def test_a_placed_pod_does_not_count_against_itself(source: Any) -> None:
    placed = make_pod("p", node="a", requests={"cpu": "3"})
    sent_pod = sent(make_pod("p", requests={"cpu": "3"}))
    with world(make_node("a"), make_node("b"), placed) as w, direct(w.backend) as stubs:
        version = w.state.version
        answer = stubs.scheduling.Filter(pb.FilterRequest(pod=source or sent_pod))
        assert w.state.version == version == answer.provenance.state_version
    assert codes(answer.verdicts, 2) == ["SUCCESS", "SUCCESS"]


@pytest.mark.parametrize("way", WAYS)
def test_a_hundred_thousand_names(way: Callable[..., Any]) -> None:
    listed = [f"unknown-{number}" for number in range(99_999)] + ["a"]
    with world(*NODES) as w, way(w.backend) as stubs:
        answers = [
            stubs.scheduling.Filter(pb.FilterRequest(pod=sent(make_pod()), nodes=selection))
            for selection in (names(*listed), joined("\0".join(listed).encode()))
        ]
    assert answers[0] == answers[1]
    assert answers[0].feasible_count == 1
    assert len(answers[0].verdicts.node_verdicts) == 100_000
    assert answers[0].verdicts.node_verdicts[-1] == 0


def test_what_is_rejected_says_why_in_one_sentence() -> None:
    with world(*NODES, plugins=[NO_B]) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Filter(pb.FilterRequest(pod=sent(make_pod()), nodes=names("b")))
    assert answer.verdict.message == "0/1 nodes are available: 1 b is full."
    rejection = answer.verdicts.distinct[answer.verdicts.node_verdicts[0]]
    assert (rejection.plugin, list(rejection.reasons)) == ("NoB", ["b is full"])


def test_names_mean_the_nodes_that_there_are_when_they_are_looked_at() -> None:
    with world(*NODES) as w:
        selection = Selection(names("c", "late"), w.state, w.backend.decoder, w.backend.limits)
        assert selection.find_rows(w.state).tolist() == [2]
        w.put(NODES[2], make_node("late"))
        assert selection.find_rows(w.state).tolist() == [
            w.state.snapshot.nodes.index[name] for name in ("c", "late")
        ]
