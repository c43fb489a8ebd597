"""YAML and JSON of configuration files, read as kube-scheduler reads them."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.config import ConfigError
from mooring.config.documents import read_configuration


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("yes", True, id="yes is true"),
        pytest.param("4.0", 4, id="a whole number of YAML"),
        pytest.param('{"a": 4.0}', {"a": 4.0}, id="a float of JSON"),
        pytest.param('{\n\t"a": 1\n}', {"a": 1}, id="JSON with tabs"),
        pytest.param("---\na: 1\n---\n", {"a": 1}, id="empty documents do not count"),
    ],
)
def test_values(text: str, expected: Any) -> None:
    assert repr(read_configuration(text)) == repr(expected)


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        pytest.param(
            "a: 1\nb: 2\na: 3", "a", "line 3: given twice, first on line 1", id="duplicate at the top"
        ),
        pytest.param(
            "x:\n- b: 1\n  b: 2", "x[0].b", "line 3: given twice, first on line 2", id="duplicate inside"
        ),
        pytest.param("a: [\n", "", "line 2: not YAML", id="unfinished"),
        pytest.param("a: *b", "", "line 1: not YAML", id="unknown alias"),
        pytest.param(
            "a: 1\nb:\n{{- if .Values.b }}\n  c: 2\n{{- end }}",
            "",
            "line 3: {{- if .Values.b }} looks like a template: render it first",
            id="a template of Helm",
        ),
        pytest.param("a: {{ .A }}", "", "line 1: {{ .A }} looks like a template", id="a template as a value"),
        pytest.param(
            "", "", "one KubeSchedulerConfiguration is expected, by itself or in another object", id="empty"
        ),
        pytest.param("a: 1\n---\nb: 1", "", "one KubeSchedulerConfiguration is expected", id="two documents"),
        pytest.param("? [a]\n: 1", "", "line 1: a key must be a plain word", id="list as key"),
        pytest.param("a: !!int x", "a", "line 1: 'x' can't be read", id="wrong tag"),
        pytest.param(
            "a: &x {b: 1}\nc:\n  b: 2\n  <<: *x",
            "c.b",
            "line 4: given twice, first on line 3",
            id="merged over a key",
        ),
        pytest.param(
            "a: &x {b: 1}\nc:\n  <<: *x\n  b: 2",
            "c.b",
            "line 4: given twice, first on line 3",
            id="a key over a merged one",
        ),
        pytest.param("a: {<<: 5}", "a", "line 1: << takes a mapping", id="merging a number"),
        pytest.param("a: &a [*a]", "", "nested too deeply, or an alias", id="recursive alias"),
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
