"""Regular expressions of selectors, as Go's regexp package has them."""

from __future__ import annotations

import pytest

from mooring.plugins.dynamic_resources.cel.patterns import Pattern
from mooring.plugins.dynamic_resources.cel.syntax import UnsupportedExpressionError


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        pytest.param("b+c", ["abbc"], ["ac"], id="anywhere"),
        pytest.param("^a.*0$", ["a100"], ["ba100", "a100\n"], id="anchored"),
        pytest.param("^.$", ["é"], ["", "\n", "ab"], id="one character"),
        pytest.param("^(a|b(?:c|d))$", ["a", "bc", "bd"], ["b", "ac"], id="alternatives"),
        pytest.param("^(|a)$", ["", "a"], ["aa"], id="an empty alternative"),
        pytest.param("^a{2,3}$", ["aa", "aaa"], ["a", "aaaa"], id="counted"),
        pytest.param("^a{2,}?$", ["aa", "aaaaa"], ["a"], id="counted without an end"),
        pytest.param(
            "^((a{250}){0}|(b{2}){2,}c{500}){2}$", ["", "bbbb" + "c" * 500], ["a"], id="counts in counts"
        ),
        pytest.param("^a{,2}$", ["a{,2}"], ["aa"], id="a brace that counts nothing"),
        pytest.param("^(a*)*$", ["", "aaa"], ["ab"], id="nothing repeated"),
        pytest.param(r"^[\w.-]+$", ["a-1._"], ["a b", "é"], id="a class"),
        pytest.param("^[]a]+$", ["a]"], ["b"], id="a bracket in a class"),
        pytest.param("^[^a-c]$", ["d", "\n"], ["b"], id="all but a class"),
        pytest.param("^[[:digit:][:^alnum:]]+$", ["1-2"], ["a"], id="a named class"),
        pytest.param(r"^\s+$", [" \t\r\n\f"], ["\v"], id="white space"),
        pytest.param(r"\bon\b", ["is on."], ["one"], id="words"),
        pytest.param(r"\Aa\.b\z", ["a.b"], ["axb"], id="escaped"),
        pytest.param("(?i)^a[b-c]k$", ["ABK", "aC\u212a"], ["ADK"], id="any case"),
        pytest.param("(?i)^[^a]$", ["b"], ["A"], id="all but a class in any case"),
        pytest.param("(?s)^.$", ["\n"], [""], id="a dot for new lines"),
    ],
)
def test_patterns(pattern: str, inside: list[str], outside: list[str]) -> None:
    compiled = Pattern(pattern)
    assert all(map(compiled.found_in, inside))
    assert not any(map(compiled.found_in, outside))


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "(",
            "a)",
            "*",
            "a**",
            "a{2}{3}",
            "a{2,1}",
            "a{1001}",
            "[b-a]",
            "[a",
            "[[:word",
            "\\",
            "\\1",
            "(?=a)",
        ),
        *(
            "\\pL",
            "(?P<n>a)",
            "(?m)a",
            "\\Qa",
            "(" * 60 + ")" * 60,
            "((a{99}){99}){99}",
            "(?:a{500}){0,3}",
            "(b|a{500}c){3}",
        ),
    ],
)
def test_patterns_that_are_none_or_not_supported(pattern: str) -> None:
    with pytest.raises(UnsupportedExpressionError):
        Pattern(pattern)


def test_no_pattern_takes_exponential_time() -> None:
    """Python's own engine would need 2 ** 60 steps."""
    assert not Pattern("^((a|a)+)+$").found_in("a" * 60 + "b")
