"""The documents of extender/v1: golden texts after Go's types, malformed ones, casing, null and absent."""

import json
import sys
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mooring_extender import wire
from tests.extender.fakes import BIND, BODIES, CAPTURED, PREEMPT, FakeClient, ask, question

POD = '{"metadata":{"name":"foo"},"spec":{"containers":null},"status":{}}'
NODES = (
    '{"metadata":{},"items":[{"metadata":{"name":"baz"},"spec":{},"status":{"nodeInfo":{"machineID":"m"}}}]}'
)

# Exact spelling and order of every key, as Go's encoder gives them for these types: no field has a tag, so
# none is left out.
GOLDEN_ANSWERS = [
    pytest.param(
        wire.ExtenderFilterResult(
            nodes=msgspec.Raw(NODES.encode()),
            node_names=["foo"],
            failed_nodes={"foo": "bar"},
            failed_and_unresolvable_nodes={"baz": "qux"},
            error="foo",
        ),
        f'{{"Nodes":{NODES},"NodeNames":["foo"],"FailedNodes":{{"foo":"bar"}},'
        '"FailedAndUnresolvableNodes":{"baz":"qux"},"Error":"foo"}',
        id="filter-all-set",
    ),
    pytest.param(
        wire.ExtenderFilterResult(),
        '{"Nodes":null,"NodeNames":null,"FailedNodes":null,"FailedAndUnresolvableNodes":null,"Error":""}',
        id="filter-nothing-set",
    ),
    pytest.param(wire.ExtenderBindingResult(error="foo"), '{"Error":"foo"}', id="bind"),
    pytest.param(
        wire.ExtenderPreemptionResult({"foo": wire.MetaVictims([wire.MetaPod("myuid")], 1)}),
        '{"NodeNameToMetaVictims":{"foo":{"Pods":[{"UID":"myuid"}],"NumPDBViolations":1}}}',
        id="preempt",
    ),
]


@pytest.mark.parametrize(("answer", "text"), GOLDEN_ANSWERS)
def test_answers_are_spelt_as_go_spells_them(answer: msgspec.Struct, text: str) -> None:
    assert msgspec.json.encode(answer).decode() == text


GOLDEN_QUESTIONS = {
    "filter": f'{{"Pod":{POD},"Nodes":{NODES},"NodeNames":["foo"]}}',
    "bind": '{"PodName":"foo","PodNamespace":"bar","PodUID":"baz","Node":"qux"}',
    "preempt": f'{{"Pod":{POD},"NodeNameToVictims":{{"foo":{{"Pods":[{POD}],"NumPDBViolations":1}}}},'
    '"NodeNameToMetaVictims":{"foo":{"Pods":[{"UID":"myuid"}],"NumPDBViolations":1}}}',
}
READERS: dict[str, Any] = {
    "filter": wire.read_extender_args,
    "bind": wire.read_binding_args,
    "preempt": wire.read_preemption_args,
}


def plain(document: msgspec.Struct) -> Any:
    return json.loads(msgspec.json.encode(document))


@pytest.mark.parametrize("kind", GOLDEN_QUESTIONS)
def test_every_field_of_a_question_is_read(kind: str) -> None:
    text = GOLDEN_QUESTIONS[kind]
    assert msgspec.json.encode(READERS[kind](text.encode())).decode() == text


IN_FULL = question(NodeNames=None, Nodes={"metadata": {}, "items": [{"metadata": {"name": "a"}}]})


@pytest.mark.parametrize(("verb", "body"), [*BODIES.items(), ("filter", IN_FULL)])
def test_a_wholly_lower_cased_question_is_the_same(verb: str, body: bytes) -> None:
    exact, lowered = FakeClient(), FakeClient()
    assert ask(exact, f"/{verb}", body).json == ask(lowered, f"/{verb}", body.lower()).json
    assert exact.rules.requests == lowered.rules.requests != []


def test_null_is_absent() -> None:
    for kind, reader in READERS.items():
        nulls = dict.fromkeys(json.loads(GOLDEN_QUESTIONS[kind]))
        assert plain(reader(json.dumps(nulls).encode())) == plain(reader(b"{}"))


def test_of_repeated_keys_the_last_wins() -> None:
    assert bytes(wire.read_extender_args(b'{"NodeNames":["a"],"NodeNames":["b"]}').node_names) == b'["b"]'


def test_an_empty_list_beside_the_other_one_is_none() -> None:
    nodes = {"items": [{"metadata": {"name": "a"}}]}
    assert ask(FakeClient(), "/filter", question([], Nodes=nodes)).json["Nodes"]["items"] == nodes["items"]
    assert ask(FakeClient(), "/filter", question(["a"], Nodes={"items": []})).json["NodeNames"] == ["a"]


def test_unknown_fields_are_ignored() -> None:
    assert ask(FakeClient(), "/filter", question(FutureField={"x": 1})).json["NodeNames"] == ["a", "b", "c"]


NO_CALL = [
    pytest.param(b"", id="empty"),
    pytest.param(b" \n", id="blank"),
    pytest.param(b"\xef\xbb\xbf" + question(), id="byte-order-mark"),
    pytest.param(question().decode().encode("utf-16"), id="utf-16"),
    pytest.param(question() + b"\0", id="nul-after"),
    pytest.param(b"\0" + question(), id="nul-before"),
    pytest.param(question() + b"{}", id="second-document"),
    pytest.param(question() + b" x", id="trailing-text"),
    pytest.param(b"[]", id="array"),
    pytest.param(b"null", id="null"),
    pytest.param(b"7.5", id="number"),
    pytest.param(b'"Pod"', id="string"),
    pytest.param(question().replace(b'"a"', b'"\\ud800"'), id="lone-surrogate"),
    pytest.param(question().replace(b'"a"', b'"\n"'), id="raw-newline"),
    pytest.param(b'{"Pod":NaN}', id="nan"),
    pytest.param(b'{"Pod":-Infinity}', id="infinity"),
    pytest.param(b'{"Pod":01}', id="leading-zero"),
    pytest.param(b"{'Pod':{}}", id="single-quotes"),
    pytest.param(b'{"Pod":{},}', id="trailing-comma"),
]
DEEP = [
    pytest.param(b'{"Pod":' + b"[" * 100_000 + b"]" * 100_000 + b"}", id="array"),
    pytest.param(b'{"pod":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}", id="object"),
]


@pytest.mark.parametrize("verb", BODIES)
@pytest.mark.parametrize("body", NO_CALL)
def test_what_is_no_json_object_is_400(verb: str, body: bytes) -> None:
    client = FakeClient()
    reply = ask(client, f"/{verb}", body)
    assert (reply.status, list(reply.json)) == (400, ["error"])
    assert len(reply.body) < 1024
    assert client.rules.requests == []


@pytest.mark.parametrize("verb", BODIES)
@pytest.mark.parametrize("body", DEEP)
def test_what_nests_too_deep_is_rejected(verb: str, body: bytes) -> None:
    """Python 3.14 has room to read it, and it is wrong then."""
    client = FakeClient()
    reply = ask(client, f"/{verb}", body)
    if sys.version_info >= (3, 14):
        assert reply.status == 400 or reply.json["Error"]
    else:
        assert (reply.status, list(reply.json)) == (400, ["error"])
    assert len(reply.body) < 1024
    assert client.rules.requests == []


@pytest.mark.parametrize("verb", ["filter", "prioritize"])
def test_names_that_are_not_utf_8_are_400(verb: str) -> None:
    assert ask(FakeClient(), f"/{verb}", question().replace(b'"a"', b'"\xff"')).status == 400


@pytest.mark.parametrize("file", ["cache-true-04-filter-rich.json", "cache-true-03-bind-plain.json"])
@pytest.mark.parametrize("lower", [False, True], ids=["exact", "lower"])
def test_truncated_anywhere_is_400(file: str, lower: bool) -> None:
    body = (CAPTURED / file).read_bytes()
    reader = wire.read_binding_args if "bind" in file else wire.read_extender_args
    body = body.lower() if lower else body
    for length in range(len(body)):
        with pytest.raises(wire.MalformedBodyError):
            reader(body[:length])


def test_white_space_around_the_document_is_allowed() -> None:
    assert ask(FakeClient(), "/bind", b" \r\n\t" + BIND + b"\n").json == {"Error": ""}


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
@example(b'{"NodeNames":{"a":1}}')
def test_any_bytes_are_read_or_rejected(body: bytes) -> None:
    for reader in READERS.values():
        with suppress(wire.MalformedBodyError, wire.ArgumentsError):
            assert isinstance(reader(body), msgspec.Struct)


ARGUMENT_ERRORS = [
    pytest.param("filter", b"{}", "Pod is missing", id="nothing"),
    pytest.param("filter", question(Pod=None), "Pod is missing", id="pod-null"),
    pytest.param("filter", question(Pod=[]), "Pod is not an object", id="pod-array"),
    pytest.param("filter", question(NodeNames=None), "none is", id="no-nodes"),
    pytest.param("filter", question(Nodes={"items": [{}]}), "both are", id="both"),
    pytest.param("filter", question([]), "the node list is empty", id="no-names"),
    pytest.param("filter", question(NodeNames=None, Nodes={"items": []}), "list is empty", id="no-items"),
    pytest.param("filter", question(NodeNames=None, Nodes={"items": None}), "list is empty", id="null-items"),
    pytest.param("filter", question(NodeNames=None, Nodes={}), "list is empty", id="items-absent"),
    pytest.param("filter", question(NodeNames=None, Nodes=[]), "Nodes is not an object", id="nodes-array"),
    pytest.param("filter", question(NodeNames=None, Nodes={"items": [None]}), "items[0] is", id="item-null"),
    pytest.param(
        "filter", question(NodeNames=None, Nodes={"items": [{"metadata": {}}]}),
        "Nodes.items[0].metadata.name: None is not a node name", id="node-without-name",
    ),
    pytest.param("filter", question(["a", None]), "NodeNames[1]: None is not a node name", id="name-null"),
    pytest.param("filter", question(["a", ""]), "NodeNames[1]: '' is not a node name", id="name-empty"),
    pytest.param("filter", question(["a\0b"]), "NodeNames[0]: 'a\\x00b' is not", id="name-with-nul"),
    pytest.param("filter", question(["a", 5]), "at `NodeNames[1]`", id="name-number"),
    pytest.param("filter", question(NodeNames={"a": 1}), "at `NodeNames`", id="names-object"),
    pytest.param("bind", b"{}", "PodNamespace is missing", id="bind-nothing"),
    pytest.param("bind", BIND.replace(b'"p"', b'""'), "PodName is missing", id="bind-name-empty"),
    pytest.param("bind", BIND.replace(b'"u1"', b"null"), "PodUID is missing", id="bind-uid-null"),
    pytest.param("bind", BIND.replace(b'"a"', b"7"), "at `Node`", id="bind-node-number"),
    pytest.param("preempt", b'{"NodeNameToMetaVictims":{}}', "Pod is missing", id="preempt-no-pod"),
    pytest.param("preempt", b'{"Pod":{}}', "exactly one of NodeNameToVictims", id="preempt-no-victims"),
    pytest.param(
        "preempt", PREEMPT.replace(b"null", b"{}"), "exactly one of NodeNameToVictims", id="preempt-both"
    ),
    pytest.param(
        "preempt", PREEMPT.replace(b":1}", b":9223372036854775808}"), "NumPDBViolations", id="preempt-2^63"
    ),
    pytest.param("preempt", PREEMPT.replace(b":1}", b":-1}"), "NumPDBViolations", id="preempt-negative"),
    pytest.param("preempt", PREEMPT.replace(b":1}", b":1.5}"), "NumPDBViolations", id="preempt-fraction"),
]  # fmt: skip


@pytest.mark.parametrize(("verb", "body", "text"), ARGUMENT_ERRORS)
def test_wrong_arguments_are_named(verb: str, body: bytes, text: str) -> None:
    client = FakeClient()
    reply = ask(client, f"/{verb}", body)
    if verb == "preempt":
        assert (reply.status, text in reply.json["error"]) == (400, True)
    else:
        assert (reply.status, text in reply.json["Error"]) == (200, True)
        assert [value for key, value in reply.json.items() if key != "Error"] == [None] * (
            len(reply.json) - 1
        )
    assert client.rules.requests == []


@pytest.mark.parametrize(
    "body", [case.values[1] for case in ARGUMENT_ERRORS if case.values[0] == "filter"]
)  # fmt: skip
def test_prioritize_cannot_carry_an_error_so_it_is_400(body: Any) -> None:
    reply = ask(FakeClient(), "/prioritize", body)
    assert (reply.status, list(reply.json)) == (400, ["error"])


_ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, [], {}, [None], ["a"], "a", 0, -1, 2**63, 1e308, True, {"items": [{}]}, {"metadata": None}]
)


@given(
    st.fixed_dictionaries(
        {}, optional={"Pod": _ODD, "nodes": _ODD, "Nodes": _ODD, "NodeNames": _ODD, "x": _ODD}
    )
)
def test_any_object_is_answered(document: dict[str, Any]) -> None:
    body = json.dumps(document).encode()
    for verb in ("filter", "prioritize"):
        reply = ask(FakeClient(), f"/{verb}", body)
        assert reply.status in ((200,) if verb == "filter" else (200, 400))
        assert reply.json
