"""Lists of nodes that are recognised are those that were sent, whatever stands before and between them."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring_extender import wire
from mooring_extender.questions import Question, Questions
from mooring_extender.questions import question as read_once
from tests.extender.fakes import question

NAMES = st.lists(st.sampled_from(["a", "b", "c", '","', '"', "\\", "ü", '],"']), min_size=1, max_size=4)
VALUES = st.recursive(
    st.none() | st.text(max_size=3) | st.integers(),
    lambda values: (
        st.lists(values, max_size=2)
        | st.dictionaries(st.sampled_from(["Pod", "Nodes", "NodeNames", "x"]), values, max_size=3)
    ),
    max_leaves=6,
)
PODS = st.dictionaries(st.sampled_from(["Pod", "Nodes", "NodeNames", "metadata"]), VALUES, max_size=3)


def read(questions: Questions, body: bytes) -> tuple[Any, ...] | str:
    """Return the result, errors included."""
    try:
        return told(questions.read(body))
    except (wire.MalformedBodyError, wire.ArgumentsError) as error:
        return str(error)


def read_anew(body: bytes) -> tuple[Any, ...] | str:
    try:
        return told(read_once(wire.read_extender_args(body)))
    except (wire.MalformedBodyError, wire.ArgumentsError) as error:
        return str(error)


def told(asked: Question) -> tuple[Any, ...]:
    names = asked.names
    assert json.loads(names.array) == names.listed == names.joined.decode().split("\0")
    return asked.pod, names.listed, asked.items


@given(st.lists(st.tuples(PODS, NAMES, st.booleans()), min_size=1, max_size=6))
def test_remembered_lists_change_no_answer(calls: list[tuple[Any, list[str], bool]]) -> None:
    questions = Questions()
    for pod, names, remembered in calls:
        body = question(names, Pod=pod)
        assert read(questions, body) == read_anew(body)
        if remembered:
            with suppress(wire.ArgumentsError):
                questions.remember(questions.read(body).names)


HEADS = [
    pytest.param(b'{"Pod":{}', id="as Go writes it"),
    pytest.param(b'{"Pod":{},"Pod":{"x":1}', id="pod twice"),
    pytest.param(b'{"Pod":null', id="pod null"),
    pytest.param(b'{"Pod":[]', id="pod no object"),
    pytest.param(b"{", id="no pod"),
    pytest.param(b"", id="nothing"),
    pytest.param(b"[", id="list"),
    pytest.param(b'{"Pod":{}}', id="ends too early"),
    pytest.param(b'{"Pod":{},', id="comma"),
    pytest.param(b'{"Pod":{', id="inside the pod"),
    pytest.param(b'{"Pod":"', id="inside a string"),
    pytest.param(b'{"Pod":{"a":"\\', id="inside an escape"),
    pytest.param(b'{"pod":{}', id="another casing"),
    pytest.param(b'{"Pod":{},"NodeNames":["z"]', id="names before"),
    pytest.param(b'{"Pod":{},"Nodes":{"items":[]}', id="nodes before"),
    pytest.param(b'{"Pod":{},"More":1', id="unknown field"),
    pytest.param(b'{"Pod":{"x":NaN}', id="no JSON"),
    pytest.param(b'{"Pod":{"x":"\xff"}', id="no UTF-8"),
]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("end", [b"", b"}", b" ", b"{}"], ids=["exact", "one more", "blank", "second"])
def test_whatever_stands_before_a_remembered_list_is_read_as_ever(head: bytes, end: bytes) -> None:
    questions = Questions()
    asked = questions.read(question())
    tail = b',"Nodes":null,"NodeNames":' + asked.names.array + b"}"
    assert question().endswith(tail)
    assert read(questions, head + tail + end) == read_anew(head + tail + end)


def test_a_list_that_was_read_or_answered_is_not_read_again() -> None:
    questions = Questions()
    first = questions.read(question(["a", "b"]))
    assert questions.read(question(["a", "b"], Pod={"other": 1})).names is first.names
    assert questions.read(question(["b", "a"])).names is not first.names
    answered = first.names.only(np.array([False, True]))
    assert answered is not None
    questions.remember(answered)
    assert questions.read(question(["b"])).names is answered
