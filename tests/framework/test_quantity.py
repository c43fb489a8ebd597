"""Quantities, against what Kubernetes' own parser says (k8s.io/apimachinery v0.36.3, recorded)."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.framework.quantity import (
    MAX_INT64,
    NANO,
    QuantityError,
    exact_quantity,
    millis,
    parse_quantity,
    units,
)

VALUES = [
    ("0", 0, 0),
    ("1", 1, 1000),
    ("-1", -1, -1000),
    ("-0.5", -1, -500),
    ("+5", 5, 5000),
    ("100m", 1, 100),
    ("1500m", 2, 1500),
    ("0.5", 1, 500),
    (".5", 1, 500),
    ("5.", 5, 5000),
    ("1.5Gi", 1610612736, 1610612736000),
    ("0.1Ki", 103, 102400),
    ("3.7Ti", 4068193022772, 4068193022771200),
    ("1e3", 1000, 1000000),
    ("1E3", 1000, 1000000),
    ("1e+3", 1000, 1000000),
    ("2e-3", 1, 2),
    ("1k", 1000, 1000000),
    ("1Ki", 1024, 1024000),
    ("129e6", 129000000, 129000000000),
    ("129M", 129000000, 129000000000),
    ("123Mi", 128974848, 128974848000),
    ("1T", 1000000000000, 1000000000000000),
    ("1Pi", 1125899906842624, 1125899906842624000),
    ("1n", 1, 1),
    ("999n", 1, 1),
    ("1u", 1, 1),
    ("0.0000000001", 1, 1),
    ("0.9999999999", 1, 1000),
    ("1.0000000001", 2, 1001),
    ("1.0005", 2, 1001),
    ("1e-10", 1, 1),
    ("999999999999999m", 1000000000000, 999999999999999),
    ("00012", 12, 12000),
    ("m", 0, 0),
    (".", 0, 0),
    ("+", 0, 0),
    ("1e-400", 1, 1),
]
REJECTED = [
    "",
    "e",
    "1K",
    "12e6m",
    "1.2.3",
    "1 ",
    " 1",
    "1mi",
    "1Gib",
    "0x10",
    "1_000",
    "1e",
    "½",
    "٣",
    "5Ki5",
]
SUFFIXES: dict[str, Fraction | int] = {
    "": 1,
    "m": Fraction(1, 1000),
    "k": 1000,
    "Ki": 1024,
    "Mi": 2**20,
    "e3": 1000,
}


@pytest.mark.parametrize(("text", "value", "milli_value"), VALUES, ids=[text for text, _, _ in VALUES])
def test_values_are_those_of_kubernetes(text: str, value: int, milli_value: int) -> None:
    nanos = parse_quantity(text)
    assert (units(nanos), millis(nanos)) == (value, milli_value)


@pytest.mark.parametrize("text", REJECTED)
def test_what_kubernetes_rejects_is_rejected(text: str) -> None:
    with pytest.raises(QuantityError, match="is not a quantity"):
        parse_quantity(text)


@pytest.mark.parametrize("text", ["100000000000000000000", "10E", "8Ei", "1e19", "1e1000", "9" * 300])
def test_what_int64_cannot_hold_counts_as_its_largest_value(text: str) -> None:
    assert units(parse_quantity(text)) == MAX_INT64


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e19", 10**19), ("-1e19", -(10**19)), ("100000000000000000000", 10**20), ("16Ei", MAX_INT64)],
)
def test_only_a_binary_suffix_bounds_an_exact_quantity(text: str, value: int) -> None:
    assert exact_quantity(text) == value * NANO


def test_a_quantity_without_end_is_rejected() -> None:
    with pytest.raises(QuantityError, match="digits"):
        parse_quantity("1" * 5000)


@given(st.integers(0, 10**9), st.text("0123456789", max_size=12), st.sampled_from(sorted(SUFFIXES)))
def test_any_spelling_is_exact_to_a_billionth(whole: int, fraction: str, suffix: str) -> None:
    text = f"{whole}.{fraction}{suffix}" if fraction else f"{whole}{suffix}"
    exact = Fraction(f"{whole}.{fraction or 0}") * SUFFIXES[suffix]
    assert parse_quantity(text) == -(-exact * NANO // 1)
