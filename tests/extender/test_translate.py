"""Translation of mooring's answers: verdicts, scores, bindings, victims."""

import json
from fractions import Fraction
from math import floor
from typing import Any

import grpc
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring_client.v1 import scheduling_service_pb2 as scheduling
from mooring_client.v1.verdicts_pb2 import (
    VERDICT_CODE_ERROR,
    VERDICT_CODE_PENDING,
    VERDICT_CODE_UNSCHEDULABLE,
    NodeVerdicts,
    Verdict,
)
from mooring_extender import translate
from mooring_extender.failures import CallError
from mooring_extender.questions import Questions
from mooring_extender.scores import extender_scores
from tests.extender.fakes import (
    BIND,
    FAILED,
    PREEMPT,
    STATUSES,
    UNRESOLVABLE,
    FakeClient,
    Rules,
    ask,
    question,
)

NAME = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=12)
NODES = st.lists(st.tuples(NAME, st.integers(0, 2)), min_size=1, max_size=30, unique_by=lambda node: node[0])


def rules_for(nodes: list[tuple[str, int]], **fields: Any) -> Rules:
    return Rules(verdict=dict(nodes).__getitem__, **fields)


def node_objects(names: list[str]) -> dict[str, Any]:
    return {"items": [{"metadata": {"name": name}, "status": {"odd": "ü"}} for name in names]}


@given(NODES, st.booleans())
def test_the_answer_is_a_part_of_the_question_and_every_other_node_is_named(
    nodes: list[tuple[str, int]], by_name: bool
) -> None:
    names = [name for name, _ in nodes]
    kept = [name for name, verdict in nodes if verdict == 0]
    asked = question(names) if by_name else question(NodeNames=None, Nodes=node_objects(names))
    answer = ask(FakeClient(rules_for(nodes)), "/filter", asked).json
    assert list(answer) == ["Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error"]
    if by_name:
        assert (answer["NodeNames"], answer["Nodes"]) == (kept, None)
    else:
        assert answer["NodeNames"] is None
        assert answer["Nodes"] == {"metadata": {}, **node_objects(kept)}
    assert (answer["FailedNodes"] or {}) == {name: FAILED for name, verdict in nodes if verdict == 1}
    assert (answer["FailedAndUnresolvableNodes"] or {}) == {
        n: UNRESOLVABLE for n, verdict in nodes if verdict == 2
    }
    assert answer["Error"] == ""


@given(NODES, st.integers(0, 1000), st.booleans(), st.randoms(use_true_random=False))
def test_every_known_node_has_one_score_of_its_own(
    nodes: list[tuple[str, int]], weight_sum: int, by_name: bool, random: Any
) -> None:
    totals = {name: random.randint(0, 100 * weight_sum) for name, _ in nodes}
    names = list(totals)
    rules = rules_for(nodes, total=totals.__getitem__, weight_sum=weight_sum)
    asked = question(names) if by_name else question(NodeNames=None, Nodes=node_objects(names))
    answer = ask(FakeClient(rules), "/prioritize", asked).json
    assert [entry["Host"] for entry in answer] == [name for name, verdict in nodes if verdict == 0]
    for entry in answer:
        share = Fraction(totals[entry["Host"]], 10 * weight_sum) if weight_sum else Fraction(0)
        assert type(entry["Score"]) is int
        assert entry["Score"] == floor(share + Fraction(1, 2))
        assert 0 <= entry["Score"] <= 10


@given(st.integers(1, 10**6), st.data())
def test_scores_rise_with_totals_and_do_not_depend_on_the_call(weight_sum: int, data: st.DataObject) -> None:
    low = data.draw(st.integers(0, 100 * weight_sum))
    high = data.draw(st.integers(low, 100 * weight_sum))
    scores = extender_scores(np.array([low, high]), weight_sum)
    assert scores[0] <= scores[1]


@pytest.mark.parametrize(
    ("total", "weight_sum", "score"),
    [
        pytest.param(0, 1, 0, id="lowest"),
        pytest.param(100, 1, 10, id="highest"),
        pytest.param(4, 1, 0, id="below-half"),
        pytest.param(5, 1, 1, id="half-rounds-up"),
        pytest.param(94, 1, 9, id="below-the-last-half"),
        pytest.param(95, 1, 10, id="last-half"),
        pytest.param(350, 7, 5, id="several-plugins"),
        pytest.param(0, 0, 0, id="no-score-plugin"),
        pytest.param(100 * 2**40, 2**40, 10, id="huge-weights"),
    ],
)
def test_score(total: int, weight_sum: int, score: int) -> None:
    assert extender_scores(np.array([total]), weight_sum).tolist() == [score]


@pytest.mark.parametrize(
    ("name", "spelt"),
    [
        pytest.param('a"b', '"a\\"b"', id="quote"),
        pytest.param('x","y', '"x\\",\\"y"', id="looks-like-two"),
        pytest.param("back\\slash", '"back\\\\slash"', id="backslash"),
        pytest.param("tab\t", '"tab\\t"', id="control"),
        pytest.param("ü漢😀", '"ü漢😀"', id="unicode"),
    ],
)
def test_odd_names_are_spelt_as_they_came(name: str, spelt: str) -> None:
    asked = question([name, "plain"])
    for verb in ("filter", "prioritize"):
        assert spelt in ask(FakeClient(), f"/{verb}", asked).body.decode()


def verdicts(statuses: list[Verdict], indices: list[int]) -> NodeVerdicts:
    return NodeVerdicts(distinct=statuses, node_verdicts=indices)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        pytest.param(verdicts(list(STATUSES), [0]), "1 verdicts for 3 nodes", id="too-few"),
        pytest.param(verdicts(list(STATUSES), [0] * 4), "4 verdicts for 3 nodes", id="too-many"),
        pytest.param(verdicts(list(STATUSES), [0, 3, 0]), "only 3 verdicts", id="unknown-verdict"),
        pytest.param(
            verdicts(
                [STATUSES[0], Verdict(code=VERDICT_CODE_ERROR, plugin="P", reasons=["boom"])], [0, 1, 0]
            ),
            "plugin P: boom",
            id="error-on-a-node",
        ),
    ],
)
def test_an_answer_that_does_not_fit_is_rejected(answer: NodeVerdicts, text: str) -> None:
    asked = Questions().read(question())
    with pytest.raises(CallError, match=text) as caught:
        translate.filtered(asked, scheduling.FilterResponse(verdicts=answer))
    assert caught.value.code is grpc.StatusCode.INTERNAL


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        pytest.param({"totals": [1, 2], "weight_sum": 1}, "2 totals for 3 nodes", id="too-few"),
        pytest.param({"totals": [], "weight_sum": 1}, "0 totals for 3 nodes", id="none"),
        pytest.param({"totals": [0, 0, 101], "weight_sum": 1}, "a total of 101, outside", id="above"),
        pytest.param({"totals": [0, 0, -1], "weight_sum": 1}, "a total of -1, outside", id="below"),
    ],
)
def test_scores_that_do_not_fit_are_rejected(answer: dict[str, Any], text: str) -> None:
    asked = Questions().read(question())
    with pytest.raises(CallError, match=text):
        translate.host_priorities(asked, scheduling.ScoreResponse(**answer))


def test_verdicts_may_be_left_out_when_every_node_is_feasible() -> None:
    asked = Questions().read(question())
    answer = json.loads(translate.filtered(asked, scheduling.FilterResponse()).body)
    assert answer["NodeNames"] == ["a", "b", "c"]


def test_other_codes_are_unresolvable_and_a_missing_reason_is_replaced() -> None:
    asked = Questions().read(question())
    statuses = [
        STATUSES[0],
        Verdict(code=VERDICT_CODE_PENDING, plugin="Gate"),
        Verdict(code=VERDICT_CODE_UNSCHEDULABLE, plugin="Q"),
    ]
    response = scheduling.FilterResponse(verdicts=verdicts(statuses, [1, 2, 0]))
    answer = json.loads(translate.filtered(asked, response).body)
    assert answer["FailedAndUnresolvableNodes"] == {"a": "rejected by plugin Gate, which gave no reason"}
    assert answer["FailedNodes"] == {"b": "rejected by plugin Q, which gave no reason"}


def test_no_survivor_is_an_empty_list_not_null() -> None:
    client = FakeClient(Rules(verdict=lambda _name: 1))
    assert ask(client, "/filter", question()).json["NodeNames"] == []
    by_object = ask(client, "/filter", question(NodeNames=None, Nodes=node_objects(["a"]))).json
    assert by_object["Nodes"] == {"metadata": {}, "items": []}
    assert ask(FakeClient(Rules(verdict=lambda _name: 2)), "/prioritize", question()).json == []


def test_names_travel_joined_and_inline_nodes_as_they_came() -> None:
    client = FakeClient()
    ask(client, "/filter", question(["b", "a"]))
    ask(client, "/filter", question(NodeNames=None, Nodes=node_objects(["n"])))
    ask(client, "/prioritize", question())
    names, inline, scored = client.rules.requests
    assert names.nodes.joined_names == b"b\0a"
    assert names.pod.object.json == b'{"metadata":{"name":"p","namespace":"d","uid":"u"}}'
    assert [json.loads(node.json) for node in inline.nodes.inline.nodes] == node_objects(["n"])["items"]
    assert scored.include_totals
    assert scored.omit_plugins


def test_filter_is_asked_in_the_scheduling_cycle_of_the_pod() -> None:
    assert translate.filter_request(b"{}", "").in_scheduling_cycle


def test_a_hundred_thousand_names() -> None:
    names = [f"node-{i}" for i in range(100_000)]
    rules = Rules(verdict=lambda name: int(name.endswith("7")), total=lambda name: int(name[5:]) % 101)
    answer = ask(FakeClient(rules), "/filter", question(names)).json
    assert answer["NodeNames"] == [name for name in names if not name.endswith("7")]
    assert list(answer["FailedNodes"]) == [name for name in names if name.endswith("7")]
    assert len(ask(FakeClient(rules), "/prioritize", question(names)).json) == 90_000


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        pytest.param(scheduling.COMMIT_OUTCOME_BOUND, "", id="bound"),
        pytest.param(scheduling.COMMIT_OUTCOME_ALREADY_BOUND, "", id="already-bound"),
        pytest.param(scheduling.COMMIT_OUTCOME_LOCAL, "no API server", id="local"),
        pytest.param(scheduling.COMMIT_OUTCOME_UNSPECIFIED, "bind outcome 0", id="unspecified"),
        pytest.param(99, "bind outcome 99", id="from-the-future"),
    ],
)
def test_only_a_real_binding_is_success(outcome: scheduling.CommitOutcome.ValueType, text: str) -> None:
    client = FakeClient(Rules(outcome=outcome))
    reply = ask(client, "/bind", BIND)
    assert (reply.status, bool(reply.json["Error"])) == (200, bool(text))
    assert text in reply.json["Error"]
    request = client.rules.requests[0]
    assert (request.pod.namespace, request.pod.name, request.pod.uid, request.node) == ("d", "p", "u1", "a")


def test_preempt_keeps_violations_and_answers_by_uid() -> None:
    full = {"Pods": [{"metadata": {"uid": "v9"}}], "NumPDBViolations": 3}
    by_object = json.dumps({"Pod": {}, "NodeNameToVictims": {"x": full, "y": full}}).encode()
    assert ask(FakeClient(), "/preempt", by_object).json == {
        "NodeNameToMetaVictims": {"y": {"Pods": [{"UID": "v9"}], "NumPDBViolations": 3}}
    }
    assert ask(FakeClient(), "/preempt", PREEMPT).json == {
        "NodeNameToMetaVictims": {"b": {"Pods": [{"UID": "v2"}, {"UID": "v3"}], "NumPDBViolations": 2}}
    }


def test_preempt_without_candidates_is_empty() -> None:
    nothing = b'{"Pod":{},"NodeNameToMetaVictims":{"a":{"Pods":null}}}'
    assert ask(FakeClient(), "/preempt", nothing).json == {"NodeNameToMetaVictims": {}}
