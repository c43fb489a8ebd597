"""YAML and JSON become what kubectl makes of them.

The values are those of ``NewYAMLOrJSONDecoder`` of k8s.io/apimachinery 0.37.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring import documents
from mooring.documents import DocumentError, Fault, read_documents, write_documents


def values(text: str, *, strict: bool = False) -> list[Any]:
    return [document.value for document in read_documents(text, strict=strict)]


@pytest.mark.parametrize(
    ("scalar", "expected"),
    [
        *(
            pytest.param(word, True, id=f"{word} is true")
            for word in ("y", "Yes", "on", "ON", "true", "True")
        ),
        *(pytest.param(word, False, id=f"{word} is false") for word in ("n", "NO", "off", "Off", "FALSE")),
        *(pytest.param(word, word, id=f"{word} is a word") for word in ("yEs", "oN", "tRUE")),
        pytest.param("'yes'", "yes", id="quotes keep a string"),
        *(pytest.param(word, None, id=f"{word or 'nothing'} is null") for word in ("", "~", "null", "Null")),
        pytest.param("2024-01-02", "2024-01-02", id="a date is a word"),
        pytest.param("1:30", "1:30", id="no sexagesimal numbers"),
        pytest.param("-12", -12, id="negative"),
        pytest.param("+5", 5, id="with a sign"),
        pytest.param("010", 8, id="octal"),
        pytest.param("0o17", 15, id="octal with a letter"),
        pytest.param("08", 8, id="decimal with a zero in front"),
        pytest.param("-0x1F", -31, id="hexadecimal"),
        pytest.param("0b11", 3, id="binary"),
        pytest.param("1_6", 16, id="underscores"),
        pytest.param("_1", "_1", id="an underscore in front makes a word"),
        pytest.param("4.0", 4, id="a whole float"),
        pytest.param("1e3", 1000, id="a whole float with an exponent"),
        pytest.param("1e21", 1e21, id="a float that Go writes with an exponent"),
        pytest.param(".5", 0.5, id="a fraction"),
        pytest.param("1e400", "1e400", id="too large for a float"),
        pytest.param("18446744073709551615", 2**64 - 1, id="the largest integer"),
        pytest.param("0x10000000000000000", "0x10000000000000000", id="too large for an integer"),
        pytest.param("123456789012345678901234567890", 1.2345678901234568e29, id="a float for its size"),
        pytest.param("0xg", "0xg", id="not hexadecimal"),
        pytest.param("--1", "--1", id="two signs"),
        pytest.param("\u0661", "\u0661", id="a digit of another script"),
        pytest.param("!!str 5", "5", id="tagged as a string"),
        pytest.param("!!int '5'", 5, id="tagged as an integer"),
        pytest.param("!!float 3", 3, id="tagged as a float"),
        pytest.param("!unknown x", "x", id="tagged with anything else"),
    ],
)
def test_a_scalar(scalar: str, expected: object) -> None:
    assert repr(values(f"a: {scalar}")) == repr(
        [{"a": expected.strip("'") if isinstance(expected, str) else expected}]
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("yes: 1\n2: a\n1.5: b", [{"true": 1, "2": "a", "1.5": "b"}], id="keys become strings"),
        pytest.param('"on": 1', [{"on": 1}], id="a key in quotes stays"),
        pytest.param(
            "a: &x {b: 1}\nc: {<<: *x, b: 2}", [{"a": {"b": 1}, "c": {"b": 2}}], id="key below a merge"
        ),
        pytest.param(
            "a: &x {b: 1}\nc: {b: 2, <<: *x}", [{"a": {"b": 1}, "c": {"b": 1}}], id="key above a merge"
        ),
        pytest.param(
            "a: {<<: [{b: 1}, {b: 2, c: 3}]}",
            [{"a": {"b": 1, "c": 3}}],
            id="of several merged the first wins",
        ),
        pytest.param('"<<": {a: 1}', [{"<<": {"a": 1}}], id="no merge in quotes"),
        pytest.param("a: 1\n---\n---\n# nothing\n---\nb: 2", [{"a": 1}, {"b": 2}], id="empty documents"),
        pytest.param('{"a":1}{"b":2}\n\n{"c":3}\n', [{"a": 1}, {"b": 2}, {"c": 3}], id="JSON after JSON"),
        pytest.param('{"a":1}\n---\n{"b":2}', [{"a": 1}, {"b": 2}], id="JSON between lines of YAML"),
        pytest.param('{"a":1}\n---\nb: 2', [{"a": 1}, {"b": 2}], id="YAML after JSON"),
        pytest.param('{\n\t"a":\t1\n}', [{"a": 1}], id="tabs in JSON"),
        pytest.param('{\n\t"a":\t1\n}\n---\n{\n\ta: 2}', [{"a": 1}, {"a": 2}], id="tabs in braces"),
        pytest.param(r'{"a":"\ud83d\ude00"}', [{"a": "\U0001f600"}], id="two halves of a character"),
        pytest.param(r'{"a":"\ud83d \ude00"}', [{"a": "\ufffd \ufffd"}], id="halves alone"),
        pytest.param(r'{"a":"\\ud83d"}', [{"a": r"\ud83d"}], id="a backslash before what looks like a half"),
        pytest.param(
            r'{"a": yes, "b": "\ud83d\ude00"}', [{"a": True, "b": "\U0001f600"}], id="halves in braces"
        ),
        pytest.param('{"a": NaN}', [{"a": "NaN"}], id="a number that JSON has not"),
        pytest.param('{"a": 4.0, "b": 0.5}', [{"a": 4, "b": 0.5}], id="whole floats of JSON"),
        pytest.param('\ufeff{"a":1}', [{"a": 1}], id="byte order mark"),
        pytest.param("{}{}", [{}, {}], id="empty objects"),
    ],
)
def test_documents(text: str, expected: list[Any]) -> None:
    assert repr(values(text)) == repr(expected)


def test_json_is_left_to_the_fast_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_composed", None)
    assert values('{"a": [1, "x"]}\n{"b": null}\n') == [{"a": [1, "x"]}, {"b": None}]


def test_documents_know_their_lines() -> None:
    text = '{"a":1}\n\n{"b":2}\n---\nc: 3\n---\n\nd: 4\n'
    assert [document.line for document in read_documents(text)] == [1, 3, 5, 8]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param(
            "a: 1\nb:\n- c: 1\n  c: 2", Fault("b[0].c", 4, "given twice, first on line 3"), id="twice"
        ),
        pytest.param("yes: 1\non: 2", Fault("true", 2, "given twice, first on line 1"), id="twice true"),
        pytest.param('{"a": 1,\n"a": 2}', Fault("a", 2, "given twice, first on line 1"), id="twice in JSON"),
        pytest.param(
            '{"x": "\\ud83d\\ude00",\n"a": 1, "a": 2}',
            Fault("a", 2, "given twice, first on line 2"),
            id="twice beside halves of a character",
        ),
        pytest.param(
            '{"a":1}\n{"b":2,\n"b":3}', Fault("b", 3, "given twice, first on line 2"), id="second JSON"
        ),
        pytest.param("a: .inf", Fault("a", 1, "'.inf' is not a number that JSON has"), id="infinity"),
        pytest.param("a: .NaN", Fault("a", 1, "'.NaN' is not a number that JSON has"), id="not a number"),
        pytest.param("~: 1", Fault("", 1, "a key must be a plain word"), id="null as key"),
    ],
)
def test_a_fault_has_path_and_line(text: str, fault: Fault) -> None:
    with pytest.raises(DocumentError) as raised:
        read_documents(text)
    assert raised.value.faults == (fault,)


@given(st.recursive(st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(), st.lists))
def test_json_is_read_alike_as_yaml(value: object) -> None:
    for ascii_only in (True, False):
        text = json.dumps({"a": value}, ensure_ascii=ascii_only)
        assert values(text) == [{"a": value}]


@given(
    st.text() | st.sampled_from(("y", "off", "010", "0o7", "08", "1e3", "1_0", ".5", "~", "<<", "=", "1:30"))
)
def test_what_is_written_is_read_back(word: str) -> None:
    assert values(write_documents({word: word}, [word])) == [{word: word}, [word]]


def test_no_depth_of_nesting_ends_the_process() -> None:
    # libyaml's own recursion would: hence a process that may die.
    program = "from mooring.documents import read_documents; read_documents('[' * 40_000)"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "nested more than 1000 levels deep" in ended.stderr
