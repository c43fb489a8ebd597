"""Scores that came with filter answer exactly the prioritize call that follows it, and no other."""

from __future__ import annotations

import json
from typing import Any

import grpc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mooring_client.v1 import scheduling_service_pb2 as scheduling
from mooring_extender.failures import CallError
from mooring_extender.questions import Questions
from mooring_extender.score_prefetch import FRESH_SECONDS, ScorePrefetch
from mooring_extender.scores import Scores
from tests.extender.fakes import FakeClient, Rules, ask_often, question

PODS = [{"metadata": {"name": name, "uid": name}} for name in "pqr"]
LISTS = [["a", "b", "c"], ["c", "a", "b"], ["a", "c"], ["a"], ['","']]
VERBS = st.sampled_from(["filter", "prioritize"])
CALLS = st.lists(st.tuples(VERBS, st.sampled_from(PODS), st.sampled_from(LISTS)), max_size=12)
B_FAILS = Rules(verdict=lambda name: int(name == "b"))


class Moving(Rules):
    """A mooring whose totals are others at each call: how many calls there were, and for ``b`` one more."""

    def __init__(self) -> None:
        super().__init__(verdict=B_FAILS.verdict, weight_sum=10)
        self.total = lambda name: 100 * (len(self.requests) % 9 + int(name == "b"))

    @property
    def asked_to_score(self) -> int:
        return sum(isinstance(request, scheduling.ScoreRequest) for request in self.requests)


def play(rules: Rules, *calls: tuple[Any, ...], **options: Any) -> list[Any]:
    """Return the answers to the calls (path, pod, names), one after the other."""
    requests = [(f"/{path}", question(names, Pod=pod)) for path, pod, names in calls]
    return [reply.json for reply in ask_often(FakeClient(rules), requests, **options)]


PAIR = [("filter", PODS[0], LISTS[0]), ("prioritize", PODS[0], LISTS[2])]


@given(CALLS)
@example([("prioritize", *PAIR[0][1:]), *PAIR, *PAIR[1:]])
@example([("prioritize", *PAIR[0][1:]), *PAIR[:1], ("filter", PODS[0], ["a"]), PAIR[1]])
def test_each_answer_is_of_its_own_call_or_of_the_filter_call_that_left_these_nodes(
    calls: list[tuple[str, Any, list[str]]],
) -> None:
    rules = Moving()
    answers = play(rules, *calls)
    left: dict[str, tuple[list[str], int]] = {}
    number, prioritized = 0, False
    for (verb, pod, names), answer in zip(calls, answers, strict=True):
        name = pod["metadata"]["name"]
        if verb == "filter":
            number += 1
            left.pop(name, None)
            if prioritized and answer["NodeNames"]:
                left[name] = answer["NodeNames"], number
            continue
        prioritized = True
        then = left.get(name)
        if then is not None and then[0] == names:
            del left[name]
            of = then[1]
        else:
            number += 1
            of = number
        wanted = [{"Host": node, "Score": of % 9} for node in names if node != "b"]
        assert answer == wanted
    assert len(rules.requests) == number


FIRST = ("prioritize", PODS[2], ["a"])
"""With it a caller is known to request scores."""


@pytest.mark.parametrize(
    ("calls", "asked"),
    [
        pytest.param([*PAIR, *PAIR], 1, id="before the first prioritize nothing is known"),
        pytest.param([FIRST, *PAIR], 1, id="the next question"),
        pytest.param([FIRST, *PAIR, PAIR[1]], 2, id="asked again"),
        pytest.param([FIRST, PAIR[0], ("prioritize", PODS[0], ["a"])], 2, id="another extender drops a node"),
        pytest.param([FIRST, PAIR[0], ("prioritize", PODS[0], ["c", "a"])], 2, id="in another order"),
        pytest.param([FIRST, PAIR[0], ("prioritize", PODS[1], ["a", "c"])], 2, id="another pod"),
        pytest.param([FIRST, PAIR[0], ("profiles/second/prioritize", *PAIR[1][1:])], 2, id="another profile"),
        pytest.param([FIRST, PAIR[0], ("filter", PODS[0], ["b"]), PAIR[1]], 2, id="filtered once more"),
        pytest.param(
            [FIRST, *[("filter", {"metadata": {"uid": str(n)}}, ["a"]) for n in range(4)], *PAIR],
            1,
            id="many",
        ),
        pytest.param(
            [FIRST, PAIR[0], *[("filter", {"metadata": {"uid": str(n)}}, ["a"]) for n in range(4)], PAIR[1]],
            2,
            id="too many in between",
        ),
    ],
)
def test_score_is_called_for_scores_that_were_not_prefetched(calls: list[Any], asked: int) -> None:
    rules = Moving()
    play(rules, *calls)
    assert rules.asked_to_score == asked


def test_scores_are_not_asked_for_where_nobody_prioritizes() -> None:
    rules = Moving()
    play(rules, *[PAIR[0]] * 3, ("profiles/second/prioritize", *PAIR[1][1:]), PAIR[0])
    filters = [request for request in rules.requests if isinstance(request, scheduling.FilterRequest)]
    assert [request.include_totals for request in filters] == [False] * 4


def test_only_profiles_that_mooring_has_are_known_to_be_prioritized() -> None:
    class Unknown(Moving):
        def score(self, request: scheduling.ScoreRequest) -> scheduling.ScoreResponse:
            raise CallError(grpc.StatusCode.NOT_FOUND, f"profile {request.profile} is unknown")

    rules = Unknown()
    failing = [("/profiles/none/prioritize", body) for body in (question(["a"]), b"{}")]
    ask_often(FakeClient(rules), [*failing, ("/profiles/none/filter", question(["a"]))])
    assert [request.include_totals for request in rules.requests] == [False]


def test_a_question_that_is_written_otherwise_is_asked() -> None:
    rules = Moving()
    spaced = json.dumps(json.loads(question(["a", "c"], Pod=PODS[0]))).encode()
    bodies = [
        ("/prioritize", spaced),
        ("/filter", question(["a", "c"], Pod=PODS[0])),
        ("/prioritize", spaced),
    ]
    ask_often(FakeClient(rules), bodies)
    assert rules.asked_to_score == 2


def test_scores_prefetched_before_a_filter_call_that_failed_are_not_answered() -> None:
    class Failing(Moving):
        def filter(self, request: scheduling.FilterRequest) -> scheduling.FilterResponse:
            response = super().filter(request)
            if len(self.requests) == 3:
                raise CallError(grpc.StatusCode.UNAVAILABLE, "not now")
            return response

    rules = Failing()
    play(rules, FIRST, PAIR[0], PAIR[0], PAIR[1])
    assert rules.asked_to_score == 2


@pytest.mark.parametrize(
    ("seconds", "known"),
    [pytest.param(FRESH_SECONDS - 0.01, True, id="fresh"), pytest.param(FRESH_SECONDS, False, id="old")],
)
def test_prefetched_scores_grow_old(seconds: float, known: bool) -> None:
    times = iter([100.0, 100.0 + seconds])
    prefetched, body = ScorePrefetch(lambda: next(times)), question(["a", "b"])
    asked = Questions().read(body)
    prefetched.expect("first", asked.pod, Scores(asked.names, (), 1))  # type: ignore[arg-type]  # never read
    assert (prefetched.take("first", body) is not None) == known
    assert prefetched.take("first", body) is None


def test_totals_that_do_not_fit_fail_the_filter_call() -> None:
    class TooMany(Moving):
        def filter(self, request: scheduling.FilterRequest) -> scheduling.FilterResponse:
            response = super().filter(request)
            response.totals.append(1)
            return response

    answer = play(TooMany(), FIRST, PAIR[0])[1]
    assert "3 totals for 2 nodes" in answer["Error"]
