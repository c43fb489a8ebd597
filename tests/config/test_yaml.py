"""YAML is read by JSON's rules."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.config import ConfigError
from mooring.config.documents import read_configuration


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("on", "on", id="on is a word"),
        pytest.param("yes", "yes", id="yes is a word"),
        pytest.param("true", True, id="true"),
        pytest.param("False", False, id="False"),
        pytest.param("~", None, id="tilde is null"),
        pytest.param("2024-01-02", "2024-01-02", id="a date is a word"),
        pytest.param("1_000", "1_000", id="an underscore makes a word"),
        pytest.param("010", "010", id="no octal numbers"),
        pytest.param("1:30", "1:30", id="no sexagesimal numbers"),
        pytest.param("-12", -12, id="a negative number"),
        pytest.param("1.5e3", 1500.0, id="a float"),
        pytest.param('"5"', "5", id="quotes keep a string"),
        pytest.param("!!str 5", "5", id="an explicit tag"),
        pytest.param("a: {b: [1, x]}", {"a": {"b": [1, "x"]}}, id="nested"),
        pytest.param(
            "a: &x {b: 1}\nc: {<<: *x, d: 2}", {"a": {"b": 1}, "c": {"b": 1, "d": 2}}, id="merge key"
        ),
        pytest.param(
            "a: &x {b: 1}\nc: {b: 2, <<: *x}", {"a": {"b": 1}, "c": {"b": 2}}, id="own key beats merged"
        ),
        pytest.param("---\na: 1\n---\n", {"a": 1}, id="empty documents do not count"),
    ],
)
def test_values(text: str, expected: Any) -> None:
    read = read_configuration(text)
    assert read == expected
    assert type(read) is type(expected)


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        pytest.param(
            "a: 1\nb: 2\na: 3", "a", "line 3: given twice, first on line 1", id="duplicate at the top"
        ),
        pytest.param(
            "x:\n- y: 1\n  y: 2", "x[0].y", "line 3: given twice, first on line 2", id="duplicate inside"
        ),
        pytest.param("a: [", "", "line 1: not YAML", id="unfinished"),
        pytest.param("a: *b", "", "line 1: not YAML", id="unknown alias"),
        pytest.param(
            "", "", "one KubeSchedulerConfiguration is expected, by itself or in a ConfigMap", id="empty"
        ),
        pytest.param("a: 1\n---\nb: 1", "", "one KubeSchedulerConfiguration is expected", id="two documents"),
        pytest.param("? [a]\n: 1", "", "line 1: a key must be a plain word", id="list as key"),
        pytest.param(
            "a: !!timestamp 2024-01-02", "a", "line 1: '2024-01-02' cannot be read", id="foreign tag"
        ),
        pytest.param("a: !!int x", "a", "line 1: 'x' cannot be read", id="wrong tag"),
        pytest.param("a: {<<: 5}", "a", "line 1: << takes a mapping", id="merging a number"),
        pytest.param("a: &a [*a]", "", "nested too deeply or refers to itself", id="recursive alias"),
        pytest.param("[" * 3000, "", "", id="very deep"),
        pytest.param("a: \x00", "", "not YAML", id="control character"),
    ],
)
def test_faults(text: str, path: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_configuration(text)
    error = caught.value.errors[0]
    assert error.path == path
    assert message in error.message


def test_aliases_cannot_multiply_without_end() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    with pytest.raises(ConfigError, match="more than"):
        read_configuration("\n".join(lines))


def test_all_duplicates_are_reported() -> None:
    with pytest.raises(ConfigError) as caught:
        read_configuration("a: 1\na: 2\nb: {c: 1, c: 2}")
    assert [error.path for error in caught.value.errors] == ["a", "b.c"]
