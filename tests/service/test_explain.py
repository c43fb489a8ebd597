"""Explain: the whole cycle, every node, every plugin; and the same as the document of the runtime."""

from collections.abc import Callable
from typing import Any

import pytest

from mooring.framework import SUCCESS, Pod, Status
from mooring.framework.errors import InvalidArgumentError
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.cycle import CycleOptions
from mooring.runtime.cycle.explain import Explanation
from mooring.service.wire.explanation import from_response
from mooring.testing.builders import make_node, make_pod
from mooring_client.v1 import nodes_pb2 as nodes_pb
from mooring_client.v1 import scheduling_service_pb2 as pb
from tests.service.backends import WAYS, as_json, codes, direct, named, scores_of, sent, world
from tests.service.fakes import filtering, scoring
from tests.service.test_filter import joined, names

NODES = tuple(make_node(name) for name in ("a", "b", "c"))
NO_B = filtering("NoB", lambda name: Status.unschedulable("not b") if name == "b" else SUCCESS)
NOT_AB = filtering("NotAB", lambda name: Status.unresolvable("not a or b") if name in "ab" else SUCCESS)
BY_NAME = scoring("ByName", lambda name: {"a": 10, "b": 20, "c": 10}[name])
UNKNOWN = "UNSCHEDULABLE_AND_UNRESOLVABLE"


@pytest.mark.parametrize("way", WAYS)
def test_all_of_a_decision(way: Callable[..., Any]) -> None:
    request = pb.ExplainRequest(pod=sent(make_pod()), nodes=names("c", "x", "b", "a"), seed=3)
    with world(*NODES, plugins=[NO_B, BY_NAME]) as w, way(w.backend) as stubs:
        answer = stubs.scheduling.Explain(request)
    assert list(answer.nodes.names.names) == ["c", "x", "b", "a"]
    assert codes(answer.verdicts, 4) == ["SUCCESS", UNKNOWN, "UNSCHEDULABLE", "SUCCESS"]
    assert list(answer.scored_positions) == [0, 3]
    assert list(map(scores_of, answer.plugins)) == [("ByName", [10, 10], [10, 10], [10, 10])]
    assert list(answer.totals) == [10, 10]
    assert list(answer.tie_positions) == [0, 3]
    assert answer.selected_position in (0, 3)
    assert (answer.evaluated_count, answer.feasible_count, answer.weight_sum, answer.seed) == (3, 2, 1, 3)
    assert answer.pod.name == "pod"
    assert answer.verdict.code == 1
    assert not answer.HasField("rejections")


def test_every_rejection_if_asked_for() -> None:
    request = pb.ExplainRequest(pod=sent(make_pod()), nodes=names("x", "b", "a", "c"), all_rejections=True)
    with world(*NODES, plugins=[NO_B, NOT_AB]) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Explain(request)
    said = [answer.verdicts.distinct[number] for number in answer.rejections.verdicts]
    assert list(answer.rejections.node_positions) == [1, 1, 2]
    assert [(status.plugin, list(status.reasons)) for status in said] == [
        ("NoB", ["not b"]),
        ("NotAB", ["not a or b"]),
        ("NotAB", ["not a or b"]),
    ]
    assert codes(answer.verdicts, 4) == [UNKNOWN, "UNSCHEDULABLE", UNKNOWN, "SUCCESS"]


@pytest.mark.parametrize("written", [("cpu", "memory"), ("memory", "cpu")], ids=" ".join)
def test_resources_stand_in_one_order_however_they_are_written(written: tuple[str, ...]) -> None:
    pod = make_pod(requests=dict.fromkeys(written, "1"))
    with world(*NODES) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Explain(pb.ExplainRequest(pod=sent(pod)))
    assert [resource.name for resource in answer.resources] == ["pods", "cpu", "memory"]


def test_no_rejection_is_an_empty_list_if_asked_for() -> None:
    with world(*NODES, plugins=[NO_B]) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Explain(
            pb.ExplainRequest(pod=sent(make_pod()), nodes=names("a"), all_rejections=True)
        )
    assert answer.HasField("rejections")
    assert not answer.rejections.verdicts


@pytest.mark.parametrize(
    ("always", "scored"), [pytest.param(False, [], id="as the cycle"), pytest.param(True, [0], id="always")]
)
def test_a_single_feasible_node_is_scored_if_asked_for(always: bool, scored: list[int]) -> None:
    request = pb.ExplainRequest(pod=sent(make_pod()), nodes=names("a", "b"), always_score=always)
    with world(*NODES, plugins=[NO_B, BY_NAME]) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Explain(request)
    assert list(answer.scored_positions) == scored
    assert len(answer.totals) == len(scored)
    assert answer.selected_position == 0


def test_a_gated_pod_has_no_node_and_is_told_which_it_would_get() -> None:
    gated = make_pod(spec={"schedulingGates": [{"name": "quota"}]})
    with world(*NODES) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Explain(pb.ExplainRequest(pod=sent(gated)))
    assert answer.verdict.plugin == "SchedulingGates"
    assert answer.HasField("nodes")
    assert not answer.HasField("selected_position")
    assert list(answer.nodes.names.names) == ["a", "b", "c"]
    assert answer.nodes.names.names[answer.otherwise_position] in ("a", "b", "c")
    assert not answer.HasField("selected_position")


def test_nodes_that_nobody_knows_are_listed_with_their_verdict() -> None:
    with world(*NODES) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Explain(pb.ExplainRequest(pod=sent(make_pod()), nodes=joined(b"x\0y")))
    assert answer.nodes.joined_names == b"x\0y"
    assert codes(answer.verdicts, 2) == [UNKNOWN, UNKNOWN]
    assert not answer.HasField("selected_position")


def test_prefilter_tells_which_nodes_it_lets_through() -> None:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["c", "a"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    pod = make_pod(spec={"affinity": {"nodeAffinity": required}})
    with world(*NODES) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Explain(pb.ExplainRequest(pod=sent(pod)))
    said = {verdict.plugin: verdict for verdict in answer.prefilter}
    assert list(said["NodeAffinity"].nodes.names) == ["a", "c"]
    assert not said["NodeResourcesFit"].HasField("nodes")


@pytest.mark.parametrize("every", [False, True], ids=["first rejections", "all rejections"])
def test_a_nominated_node_is_selected_and_the_others_are_shown_too(every: bool) -> None:
    pod = make_pod(status={"nominatedNodeName": "a"})
    with world(*NODES, plugins=[NO_B, BY_NAME]) as w, direct(w.backend) as stubs:
        request = pb.ExplainRequest(pod=sent(pod), all_rejections=every)
        answer = stubs.scheduling.Explain(request)
        placed = stubs.scheduling.Schedule(pb.ScheduleRequest(templates=[pb.PodTemplate(pod=sent(pod))]))
    assert list(placed.nodes.names.names) == ["a"]
    assert (answer.selected_position, list(answer.tie_positions)) == (0, [0])
    assert codes(answer.verdicts, 3) == ["SUCCESS", "UNSCHEDULABLE", "SUCCESS"]
    assert (answer.evaluated_count, answer.feasible_count, list(answer.totals)) == (3, 2, [10, 10])
    assert answer.warnings[-1].startswith("node a is nominated for the pod")


def test_a_nominated_node_that_does_not_fit_is_one_of_the_others() -> None:
    pod = make_pod(status={"nominatedNodeName": "b"})
    with world(*NODES, plugins=[NO_B, BY_NAME]) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Explain(pb.ExplainRequest(pod=sent(pod)))
    assert answer.selected_position in (0, 2)
    assert codes(answer.verdicts, 3) == ["SUCCESS", "UNSCHEDULABLE", "SUCCESS"]
    assert not answer.warnings


def test_a_placed_pod_does_not_count_against_itself() -> None:
    placed = make_pod("p", node="b", requests={"cpu": "3"})
    with world(*NODES, placed) as w, direct(w.backend) as stubs:
        version = w.state.version
        answer = stubs.scheduling.Explain(pb.ExplainRequest(pod=named("p")))
        assert w.state.version == version
    assert answer.assigned_node == "b"
    assert codes(answer.verdicts, 3) == ["SUCCESS"] * 3
    assert len(set(answer.totals)) == 1


def test_inline_nodes_by_name() -> None:
    nodes = nodes_pb.NodeSelection(inline=nodes_pb.InlineNodes(nodes=[as_json(make_node("z"))]))
    with world(*NODES) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Explain(pb.ExplainRequest(pod=sent(make_pod()), nodes=nodes))
        epoch = w.state.snapshot.nodes.epoch
    assert list(answer.nodes.names.names) == ["z"]
    assert answer.provenance.node_epoch == epoch


GATED = make_pod(spec={"schedulingGates": [{"name": "quota"}]})


@pytest.mark.parametrize("form", [nodes_pb.NODE_FORM_NAMES, nodes_pb.NODE_FORM_JOINED_NAMES])
@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize(
    "pod", [make_pod(), make_pod("huge", requests={"cpu": "1000"}), GATED], ids=lambda pod: str(pod.key)
)
def test_what_comes_back_is_what_was_sent(
    pod: Pod, everything: bool, form: nodes_pb.NodeForm.ValueType
) -> None:
    request = pb.ExplainRequest(
        pod=sent(pod),
        nodes=nodes_pb.NodeSelection(answer_form=form),
        seed=3,
        all_rejections=everything,
        always_score=everything,
    )
    options = CycleOptions(always_score=everything, all_rejections=everything)
    with world(*NODES, plugins=[NO_B, NOT_AB, BY_NAME]) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Explain(request)
        engine = w.backend.engine
        choice = engine.decide(pod, engine.profile(), ALL_NODES, seed=3, options=options)
    received, made = from_response(answer), Explanation.of(choice, 3)
    assert list(received.document()["nodes"]) == list(made.document()["nodes"])
    assert received.document() == made.document()
    assert (received.uid, received.weight_sum) == (made.uid, made.weight_sum)


def test_unknown_nodes_are_among_those_that_come_back() -> None:
    request = pb.ExplainRequest(pod=sent(make_pod()), nodes=names("x", "b", "a"), all_rejections=True)
    with world(*NODES, plugins=[NO_B]) as w, direct(w.backend) as stubs:
        document = from_response(stubs.scheduling.Explain(request)).document()
    assert list(document["nodes"]) == ["x", "b", "a"]
    assert document["nodes"]["x"]["status"]["reasons"] == ["node(s) not known to mooring"]
    assert document["nodes"]["x"]["rejections"] == []
    assert document["selected"] == "a"


def test_indices_cannot_be_read_without_the_server() -> None:
    nodes = nodes_pb.NodeSelection(answer_form=nodes_pb.NODE_FORM_INDICES)
    with world(*NODES) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Explain(pb.ExplainRequest(pod=sent(make_pod()), nodes=nodes))
    with pytest.raises(InvalidArgumentError, match="ask for names"):
        from_response(answer)
