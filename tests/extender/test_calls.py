"""Nodes given by index: the answers are those by name, whatever happened to the nodes in between."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mooring.app.extender import LocalContext
from mooring.cluster.kinds import Put, Remove
from mooring.service.services import Servicers
from mooring.serving.calls.errors import failure_of
from mooring.testing import make_node
from mooring_extender import translate
from mooring_extender.calls import NodeQueryClient
from mooring_extender.failures import CallError
from mooring_extender.questions import Questions
from tests.examples import examples
from tests.extender.fakes import question
from tests.service.backends import World, world

NODES = tuple(f"n{number}" for number in range(6))
NAMES = st.lists(st.sampled_from((*NODES, "never-there")), min_size=1, max_size=6, unique=True)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), NAMES),
        st.tuples(st.just("ask"), NAMES),
        st.tuples(st.just("put"), st.sampled_from(NODES), st.sampled_from(("0", "1", "2"))),
        st.tuples(st.just("remove"), st.sampled_from(NODES)),
        st.tuples(st.just("fail"), st.booleans()),
    ),
    max_size=20,
)


class DirectClient:
    """The calls of a world, in the thread of the caller.

    Attributes:
        forms: How the nodes of each Filter call were chosen.
        failing: Whether ListNodes fails.
    """

    def __init__(self, w: World) -> None:
        self._servicers = Servicers.of(w.backend)
        self.forms: list[str | None] = []
        self.failing = False

    async def filter(self, request: Any, _seconds: float) -> Any:
        self.forms.append(request.nodes.WhichOneof("selection"))
        return self._answered(self._servicers.scheduling.Filter, request)

    async def score(self, request: Any, _seconds: float) -> Any:
        return self._answered(self._servicers.scheduling.Score, request)

    async def list_nodes(self, request: Any, _seconds: float) -> Any:
        if self.failing:
            raise CallError(grpc.StatusCode.UNAVAILABLE, "not now")
        return self._answered(self._servicers.cluster.ListNodes, request)

    def _answered(self, method: Any, request: Any) -> Any:
        try:
            return method(request, LocalContext(30.0))
        except Exception as error:
            failure = failure_of(error)
            raise CallError(failure.code, failure.text) from error


async def answers(calls: NodeQueryClient, questions: Questions, names: list[str]) -> tuple[bytes, bytes]:
    asked = questions.read(question(names, Pod={"metadata": {"name": "p", "namespace": "d", "uid": "u"}}))
    filtering = translate.filter_request(asked.pod, "")
    scoring = translate.score_request(asked.pod, "")
    filtered = translate.filtered(asked, await calls.filter(filtering, asked, lambda: 30.0))
    scored = translate.host_priorities(asked, await calls.score(scoring, asked, lambda: 30.0))
    for _ in range(3):
        await asyncio.sleep(0)
    return filtered.body, scored


async def play(w: World, steps: list[tuple[Any, ...]]) -> DirectClient:
    client = DirectClient(w)
    calls, questions = NodeQueryClient(client), Questions()  # type: ignore[arg-type]  # all that is needed
    for step, *arguments in steps:
        if step == "ask":
            anew = NodeQueryClient(DirectClient(w))  # type: ignore[arg-type]
            by_name = await answers(anew, Questions(), *arguments)
            assert await answers(calls, questions, *arguments) == by_name
            await anew.close()
        elif step == "put":
            name, pods = arguments
            w.state.apply("test", [Put(make_node(name, allocatable={"cpu": "1", "pods": pods}))])
        elif step == "remove":
            w.state.apply("test", [Remove("Node", "", *arguments)])
        else:
            [client.failing] = arguments
    await calls.close()
    return client


# An index that is given to another node.
REUSED = [("ask", ["n0"]), ("remove", "n0"), ("put", "n5", "0"), ("ask", ["n1"]), ("ask", ["n0"])]


@examples(40)
@given(STEPS)
@example(REUSED)
def test_answers_by_index_are_those_by_name(steps: list[tuple[Any, ...]]) -> None:
    with world(make_node("n0"), make_node("n1")) as w:
        asyncio.run(play(w, steps))


@pytest.mark.parametrize(
    ("steps", "forms"),
    [
        pytest.param([], ["joined_names", "indices"], id="known from the second time on"),
        pytest.param(
            [("put", "n5", "1"), ("ask", ["n1", "n0"])],
            ["joined_names", "indices", "indices", "joined_names"],
            id="stale",
        ),
        pytest.param(
            [("put", "n5", "1"), ("ask", ["n1"]), ("ask", ["n5", "n1"])],
            ["joined_names", "indices", "indices", "joined_names", "indices"],
            id="followed",
        ),
        pytest.param(
            [("ask", ["n1", "other"])], ["joined_names", "indices", "joined_names"], id="unknown name"
        ),
        pytest.param(
            [("fail", True), ("put", "n5", "1"), ("ask", ["n1"]), ("ask", ["n1"])],
            ["joined_names", "indices", *["indices", "joined_names"] * 2],
            id="not listed",
        ),
    ],
)
def test_indices_are_used_while_they_are_true(steps: list[tuple[Any, ...]], forms: list[str]) -> None:
    with world(make_node("n0"), make_node("n1")) as w:
        client = asyncio.run(play(w, [("ask", ["n0", "n1"]), ("ask", ["n0", "n1"]), *steps]))
    assert client.forms == forms
