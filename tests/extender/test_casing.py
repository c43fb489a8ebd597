"""Keys in another case, anywhere in a document: mooring gets the pod that Go reads there."""

from __future__ import annotations

import json
import typing
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.decoding.json_objects import decode_kind, decode_pod
from mooring.framework.objects import Node, Pod
from mooring_extender import casing, wire
from mooring_extender.casing import Spelling
from mooring_extender.questions import Questions
from tests.extender.fakes import CAPTURED, PREEMPT, FakeClient, ask, question
from tests.laboratories.conformance.casing import NODE, POD, QUESTION, questions
from tests.laboratories.conformance.families.draft import Manifest
from tests.laboratories.conformance.program import NEWEST
from tests.laboratories.conformance.recordings import read, recording

RECORDED = read(recording("casing", NEWEST))


def text_of(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def test_every_question_is_recorded() -> None:
    assert [answer["question"] for answer in RECORDED] == list(questions())


@pytest.mark.parametrize("answer", RECORDED, ids=range(len(RECORDED)))
def test_pod_and_nodes_are_those_that_go_decodes(answer: Manifest) -> None:
    asked = Questions().read(answer["question"].encode())
    theirs = answer["decoded"]
    assert decode_pod(asked.pod) == decode_pod(text_of(theirs["Pod"]))
    assert asked.items is not None
    nodes = [decode_kind(text_of(node), Node) for node in theirs["Nodes"]["items"]]
    assert [decode_kind(item, Node) for item in asked.items] == nodes


def test_extender_nested_case() -> None:
    """The pod's spec is in another case, and all keys of the top level are exact."""
    pod = {"metadata": {"name": "web"}, "Spec": {"containers": [{"resources": {"requests": {"cpu": "64"}}}]}}
    client = FakeClient()
    assert ask(client, "/filter", question(Pod=pod)).status == 200
    (request,) = client.rules.requests
    assert json.loads(request.pod.object.json) == {"metadata": pod["metadata"], "spec": pod["Spec"]}


def test_victims_have_their_keys_folded() -> None:
    body = PREEMPT.replace(
        b'"NodeNameToVictims":null', b'"NodeNameToVictims":{"A":{"pods":[{"Metadata":{"UID":"v"}}]}}'
    )
    client = FakeClient()
    ask(client, "/preempt", body.replace(b'"NodeNameToMetaVictims"', b'"More"'))
    ((candidate,),) = [request.candidates.candidates for request in client.rules.requests]
    assert candidate.node == "A"
    assert candidate.victims[0].object.json == b'{"metadata":{"uid":"v"}}'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            {"METADATA": {"LABELS": {"App": "X"}}}, {"metadata": {"labels": {"App": "X"}}}, id="labels"
        ),
        pytest.param(
            {"spec": {"NODESELECTOR": {"Disk": "A"}}}, {"spec": {"nodeSelector": {"Disk": "A"}}}, id="map"
        ),
        pytest.param(
            {"spec": {"containers": [{"resources": {"LIMITS": {"x.io/GPU": "1"}}}]}},
            {"spec": {"containers": [{"resources": {"limits": {"x.io/GPU": "1"}}}]}},
            id="resources",
        ),
        pytest.param(
            {"spec": {"NewField": {"Deep": 1}}}, {"spec": {"NewField": {"Deep": 1}}}, id="unknown-field"
        ),
        pytest.param(
            {"spec": {"nodename": "a", "NodeName": "b"}}, {"spec": {"nodeName": "b"}}, id="last-wins"
        ),
        pytest.param({"\u017fpec": {}}, {"spec": {}}, id="letter-that-folds-to-ascii"),
        pytest.param({"statu\u00df": {}}, {"statu\u00df": {}}, id="letter-that-folds-to-two"),
        pytest.param({"Spec": "text", "status": None}, {"spec": "text", "status": None}, id="wrong-type"),
        pytest.param(
            {"Spec": {"containers": [None, 7, []]}}, {"spec": {"containers": [None, 7, []]}}, id="no-structs"
        ),
    ],
)
def test_fold(before: Any, after: Any) -> None:
    assert json.loads(Spelling("Pod").fold(text_of(before))) == after
    assert list(json.loads(Spelling("Pod").fold(text_of(before)))) == list(after)


def test_values_survive_folding_as_they_are_spelt() -> None:
    body = (
        b'{"pod":{"Spec":{"priority":1e400,"x":123456789012345678901234567890,"y":1.10}},"nodenames":["a"]}'
    )
    assert (
        Questions().read(body).pod
        == b'{"spec":{"priority":1e400,"x":123456789012345678901234567890,"y":1.10}}'
    )


@given(st.data())
def test_any_way_to_write_the_keys_of_structs_reads_the_same(data: st.DataObject) -> None:
    cases: st.SearchStrategy[Callable[[str], str]] = st.sampled_from(
        [str.upper, str.lower, str.capitalize, str.swapcase, str]
    )

    def respelt(value: Any, schema: str) -> Any:
        if isinstance(value, list):
            return [respelt(item, schema) for item in value]
        if not isinstance(value, dict) or not schema:
            return value
        fields = casing._FIELDS[schema]
        return {data.draw(cases)(key): respelt(item, fields[key]) for key, item in value.items()}

    for spelling, kind, original in ((Spelling("Pod"), "Pod", POD), (Spelling("Node"), "Node", NODE)):
        written = respelt(original, kind)
        assert spelling.is_exact(text_of(written)) == (written == original)
        assert spelling.fold(text_of(written)) == text_of(original)


@pytest.mark.parametrize("file", sorted(CAPTURED.glob("*filter*")), ids=lambda file: file.stem)
def test_what_kube_scheduler_sends_is_taken_as_it_is(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Spelling, "fold", None)
    body = file.read_bytes()
    asked = Questions().read(body)
    assert body.startswith(b'{"Pod":%s,' % asked.pod)
    assert asked.items is None or b",".join(asked.items) in body


def fields_read(kind: Any, schema: str, path: str) -> Iterator[str]:
    """Yield the fields that mooring decodes and Go's type has not."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        for field in msgspec.structs.fields(kind):
            name = f"{path}.{field.encode_name}"
            if field.encode_name not in casing._FIELDS.get(schema, {}):
                yield name
            else:
                yield from fields_read(field.type, casing._FIELDS[schema][field.encode_name], name)
        return
    for part in typing.get_args(kind):
        yield from fields_read(part, schema, path)


@pytest.mark.parametrize("kind", [Pod, Node])
def test_every_field_that_is_decoded_is_one_of_gos(kind: type[msgspec.Struct]) -> None:
    assert list(fields_read(kind, kind.__name__, kind.__name__)) == []


def test_there_is_an_end_to_what_is_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_FOLDED_KEYS", 20)
    assert Questions().read(text_of(QUESTION)).names.listed == ["n"]
    with pytest.raises(
        wire.ArgumentsError, match=r"30 keys are not all in Go's casing; at most 20 may be so"
    ):
        Questions().read(question(NodeNames=None, Nodes={"items": [{"METADATA": {"NAME": "n"}}] * 15}))


def test_an_object_that_mooring_would_not_take_is_not_read() -> None:
    pod = {"metadata": {"annotations": {"a": "x" * wire.MAX_OBJECT_BYTES}}}
    with pytest.raises(wire.ArgumentsError, match=r"Pod has 41943\d\d bytes, more than 4194304"):
        Questions().read(question(Pod=pod))
