"""Durations as Go reads and writes them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.config.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds", "written"),
    [
        pytest.param("15s", 15, "15s", id="seconds"),
        pytest.param("90s", 90, "1m30s", id="over a minute"),
        pytest.param("10m", 600, "10m0s", id="zero seconds are written"),
        pytest.param("2h", 7200, "2h0m0s", id="hours"),
        pytest.param("1h0.5m", 3630, "1h0m30s", id="fractions"),
        pytest.param("1500ms", 1.5, "1.5s", id="milliseconds add up"),
        pytest.param("250ms", 0.25, "250ms", id="under a second"),
        pytest.param("1.5ms", 0.0015, "1.5ms", id="fraction of a millisecond"),
        pytest.param("7us", 0.000007, "7µs", id="microseconds"),
        pytest.param("0", 0, "0s", id="zero needs no unit"),
        pytest.param("-5s", -5, "-5s", id="negative"),
        pytest.param(".5s", 0.5, "500ms", id="leading point"),
    ],
)
def test_read_and_written(text: str, seconds: float, written: str) -> None:
    value = parse_duration(text)
    assert value == timedelta(seconds=seconds)
    assert format_duration(value) == written


@pytest.mark.parametrize("text", ["", "5", "s", "5 s", "1d", "1.2.3s", "--5s", "5s ", "300000000h"])
def test_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


@given(st.integers(-(2**53), 2**53))
def test_what_is_written_is_read_back(micros: int) -> None:
    value = timedelta(microseconds=micros)
    assert parse_duration(format_duration(value)) == value
